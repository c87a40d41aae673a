"""Any split into batches and parts gives the same rows in the same order."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.deploy.score import ScoreSettings, plan_run, run_plan
from pinnace.deploy.score.fitting import RowSpec, fit, shaped
from pinnace.framework import dtypes
from support.scoring import (
    bad_rows,
    read_results,
    rows_of,
    write_csv,
    write_examples,
    write_parquet,
)

ENDINGS = {"parquet": "parquet", "csv": "csv", "jsonl": "jsonl", "npy": "jsonl"}
ENDINGS |= {"npz": "jsonl", "tfrecord": "tfrecord"}


def write(path: Path, kind: str, x: np.ndarray[Any, Any], wrong: set[int]) -> None:
    """Rows with their numbers; those in `wrong` are short, if the format allows it."""
    rows = [row[:2] if n in wrong else row for n, row in enumerate(x.tolist())]
    if kind == "parquet":
        write_parquet(path, {"n": np.arange(len(x)), "x": rows}, row_group_size=5)
    elif kind == "csv":
        write_csv(path, ["n", "x"], [[n, str(row)] for n, row in enumerate(rows)])
    elif kind == "jsonl":
        lines = [json.dumps({"n": n, "x": row}) + "\n" * (1 + n % 2) for n, row in enumerate(rows)]
        path.write_text("\n" + "".join(lines))
    elif kind == "npy":
        np.save(path, x)
    elif kind == "npz":
        np.savez(path, n=np.arange(len(x)), x=x)
    else:
        write_examples(path, [{"n": n, "x": np.float32(row)} for n, row in enumerate(rows)])


@pytest.mark.parametrize("kind", list(ENDINGS))
@given(data=st.data())
def test_batches_and_parts_change_nothing(kind: str, data: st.DataObject, rowwise: Path) -> None:
    count = data.draw(st.integers(1, 40))
    batch = data.draw(st.integers(1, 50))
    part = data.draw(st.none() | st.integers(1, 50))
    can_be_bad = kind not in ("npy", "npz")
    wrong = data.draw(st.sets(st.integers(1, count), max_size=5)) if can_be_bad else set()
    x = rows_of(count, seed=count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / f"in.{kind}", kind, x, wrong)
        settings = ScoreSettings(
            str(rowwise),
            (str(folder / f"in.{kind}"),),
            str(folder / "out"),
            keep=() if kind == "npy" else ("n",),
            batch_size=batch,
            rows_per_part=part,
        )
        summary = run_plan(plan_run(settings))
        assert not summary.errors
        names = sorted(one.name for one in (folder / "out").glob("in*"))
        assert len(names) == (1 if part is None else -(-count // part))
        found = [row for one in names for row in read_results(folder / "out" / one)]
        told = [row for one in names for row, _ in bad_rows(folder / "out", one)]
        good = [n for n in range(count) if n not in wrong]
        assert told == sorted(wrong & set(range(count)))
        assert (summary.rows, summary.bad) == (len(good), len(told))
        assert [row["doubled"] for row in found] == (x[good] * 2).tolist()
        if kind != "npy":
            assert [row["n"] for row in found] == good


@given(
    values=st.lists(
        st.one_of(
            st.integers(-(2**70), 2**70), st.floats(), st.none(), st.booleans(), st.text(max_size=3)
        ),
        max_size=8,
    ),
    dtype=st.sampled_from([dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.uint64]),
)
def test_integers_are_what_they_were_or_bad(values: list[Any], dtype: Any) -> None:
    rows, bad = fit(values, RowSpec(dtype, ()))
    limits = np.iinfo(dtype.numpy)
    for place, value in enumerate(values):
        is_number = isinstance(value, (int, float)) and value == value
        fits = is_number and limits.min <= value <= limits.max and value == int(value)
        assert (place not in bad) == fits, (value, bad.get(place))
        if fits:
            assert int(rows[place]) == value


@given(
    values=st.lists(
        st.one_of(
            st.floats(width=32), st.integers(-(2**40), 2**40), st.sampled_from(["x", "", "1_0"])
        ),
        max_size=8,
    )
)
def test_numbers_in_texts_are_those_that_python_reads(values: list[Any]) -> None:
    texts = [value if isinstance(value, str) else repr(value) for value in values]
    rows, bad = fit(texts, RowSpec(dtypes.float64, ()), textual=True)
    assert sorted(bad) == [n for n, value in enumerate(values) if isinstance(value, str)]
    for place, value in enumerate(values):
        if place not in bad:
            np.testing.assert_equal(rows[place], np.float64(value))


def test_large_integers_beside_floats_keep_their_digits() -> None:
    large = 2**53 + 1
    rows, bad = fit([[large, 1.0], [0.5, 1.0], [2.0**64, 1.0]], RowSpec(dtypes.int64, (2,)))
    assert rows[0].tolist() == [large, 1]
    assert sorted(bad) == [1, 2]
    rows, bad = fit([large, 0.5], RowSpec(dtypes.int64, ()))
    assert int(rows[0]) == large
    assert sorted(bad) == [1]


@given(
    shape=st.lists(st.integers(0, 3), max_size=3).map(tuple),
    sizes=st.lists(st.none() | st.integers(0, 3), max_size=3).map(tuple),
)
def test_a_row_takes_a_shape_of_as_many_elements(
    shape: tuple[int, ...], sizes: tuple[int | None, ...]
) -> None:
    found = shaped(shape, sizes)
    if found is None:
        assert shape != sizes
        return
    assert np.prod(found) == np.prod(shape)
    assert len(found) == len(sizes)
    assert all(size in (None, got) for size, got in zip(sizes, found, strict=True))
