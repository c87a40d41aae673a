"""CSV files and databases as datasets, against Python's own reader."""

import csv
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.data.experimental import CsvDataset, SqlDataset, make_csv_dataset
from pinnace.framework.errors import InvalidArgumentError, NotFoundError

TEXT = st.text(st.characters(codec="latin-1", exclude_characters="\0"), min_size=1, max_size=8)
RECORDS = st.lists(
    st.tuples(st.integers(-(2**31), 2**31 - 1), st.floats(-1e6, 1e6), TEXT), max_size=600
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RECORDS, st.sampled_from([",", ";", "\t"]))
def test_records_are_what_was_written(tmp_path: Path, records: list[Any], delimiter: str) -> None:
    path = tmp_path / "x.csv"
    with path.open("w", encoding="latin-1", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([("i", "f", "s"), *records])
    kinds = [tf.int32, tf.float64, tf.string]
    dataset = CsvDataset(str(path), kinds, header=True, field_delim=delimiter)
    found = [(int(i), float(f), s.decode("latin-1")) for i, f, s in dataset.as_numpy_iterator()]
    assert found == records
    text = CsvDataset(str(path), [tf.string], header=True, field_delim=delimiter, select_cols=[2])
    assert [s.decode("latin-1") for (s,) in text.as_numpy_iterator()] == [r[2] for r in records]


def test_a_wrong_record_is_one_error_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("1,a\n2,b\nx,c\n4,d\n5\n6,f\n")
    dataset = CsvDataset(str(path), [tf.int32, tf.string])
    iterator = iter(dataset)
    assert [int(next(iterator)[0]) for _ in range(2)] == [1, 2]
    with pytest.raises(InvalidArgumentError, match=r"record 2.*int32, got 'x'"):
        next(iterator)
    assert int(next(iterator)[0]) == 4
    with pytest.raises(InvalidArgumentError, match="record 4 must have 2 fields, has 1"):
        next(iterator)
    assert int(next(iterator)[0]) == 6
    assert [int(i) for i, _ in dataset.ignore_errors()] == [1, 2, 4, 6]


def test_types_are_inferred_as_narrow_as_they_can_be(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,c,d,e\n1,1,1.5,1e300,x\n2,3000000000,2,1,2\n,,,,\n")
    dataset = make_csv_dataset(str(path), 3, num_epochs=1, shuffle=False, label_name="e")
    features, label = dataset.element_spec
    kinds = {name: spec.dtype.name for name, spec in features.items()}
    assert kinds == {"a": "int32", "b": "int64", "c": "float32", "d": "float64"}
    assert label.dtype.name == "string"
    ((batch, labels),) = dataset.as_numpy_iterator()
    assert batch["b"].tolist() == [1, 3_000_000_000, 0]
    assert labels.tolist() == [b"x", b"2", b""]


def test_shuffled_epochs_hold_every_record(tmp_path: Path) -> None:
    for part in range(3):
        lines = "".join(f"{part * 10 + i}\n" for i in range(10))
        (tmp_path / f"{part}.csv").write_text("n\n" + lines)
    pattern = str(tmp_path / "*.csv")
    found: list[int] = []
    for batch in make_csv_dataset(pattern, 7, num_epochs=2, shuffle_seed=1, num_parallel_reads=2):
        found += batch["n"].numpy().tolist()
    assert sorted(found) == sorted(list(range(30)) * 2)
    assert found[:30] != list(range(30))
    with pytest.raises(ValueError, match="no file matches"):
        make_csv_dataset(str(tmp_path / "none*"), 2)


def test_rows_of_a_query(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t(a int, b text)")
        connection.executemany("insert into t values(?, ?)", [(i, f"r{i}") for i in range(5)])
    connection.close()
    kinds = (tf.int64, tf.string)
    found = SqlDataset("sqlite", str(path), "select a, b from t where a > 2", kinds)
    assert list(found.as_numpy_iterator()) == [(3, b"r3"), (4, b"r4")]
    with pytest.raises(InvalidArgumentError, match=r"readonly|read-only"):
        list(SqlDataset("sqlite", str(path), "delete from t", kinds))
    with pytest.raises(InvalidArgumentError, match="2 columns, got 1"):
        list(SqlDataset("sqlite", str(path), "select a, b from t", (tf.int64,)))
    with pytest.raises(NotFoundError, match="no database"):
        list(SqlDataset("sqlite", str(tmp_path / "none"), "select 1", (tf.int64,)))
