"""Data and results in object stores, with fsspec's in-memory store."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.command_line import pinnace
from support.scoring import rows_of, write_jsonl, write_parquet

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    found = fsspec.filesystem("memory")
    for number in range(3):
        path = write_parquet(
            tmp_path / "local.parquet", {"id": np.arange(20) + 20 * number, "x": rows_of(20)}
        )
        found.pipe_file(f"/bucket/data/day={number}/a.parquet", path.read_bytes())
    write_jsonl(tmp_path / "rows.jsonl", [*rows_of(5).tolist(), "bad"])
    found.pipe_file("/bucket/lines/rows.jsonl", (tmp_path / "rows.jsonl").read_bytes())
    yield found
    found.rm("/bucket", recursive=True)


def test_results_stand_under_their_keys(store: Any, rowwise: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    command = ["score", rowwise, "--input", "memory://bucket/data/*/a.parquet", "--keep", "id"]
    answer = pinnace(*command, "--output", "memory://bucket/out", "--rows-per-part", "12")
    assert answer.code == 0, answer.err
    names = sorted(str(one) for one in store.find("/bucket/out"))
    assert names[0] == "/bucket/out/_score.json"
    assert names[1:] == [
        f"/bucket/out/day={day}/a-0000{part}-of-00002.parquet"
        for day in range(3)
        for part in (0, 1)
    ]
    found = [row for one in names[1:] for row in pq.read_table(store.open(one)).to_pylist()]
    assert [row["id"] for row in found] == list(range(60))
    np.testing.assert_array_equal([row["doubled"] for row in found[:20]], rows_of(20) * 2)
    store.rm_file(names[2])
    again = pinnace(*command, "--output", "memory://bucket/out", "--rows-per-part", "12", "--json")
    assert json.loads(again.out)["skipped"] == 5
    refused = pinnace(*command, "--output", "memory://bucket/out")
    assert "holds results of a different run: --rows-per-part was 12" in refused.err
    del tmp_path


def test_bad_rows_stand_in_the_store_too(store: Any, rowwise: Path) -> None:
    command = ["score", rowwise, "--input", "memory://bucket/lines", "--output"]
    for _ in range(2):
        answer = pinnace(*command, "memory://bucket/out")
        assert answer.code == 3, answer.err
    told = json.loads(store.cat_file("/bucket/out/_bad/rows.jsonl.jsonl"))
    assert told["row"] == 5


def test_nothing_is_sent_before_it_is_whole(
    store: Any, rowwise: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pinnace.deploy.score.writing import parquet

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "close", fail)
    answer = pinnace(
        *("score", rowwise, "--input", "memory://bucket/data", "--output", "memory://bucket/out")
    )
    assert answer.code == 1
    assert "No space left on device" in answer.err
    assert [str(one) for one in store.find("/bucket/out")] == ["/bucket/out/_score.json"]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("memory://bucket/none/*.parquet", "there is no file at memory://bucket/none/*.parquet"),
        ("memory://bucket/none.parquet", "there is no file at memory://bucket/none.parquet"),
        ("nonsense://bucket/a.parquet", "Protocol not known: nonsense"),
        ("s3://bucket/a.parquet", "s3fs"),
    ],
)
def test_places_that_are_not_there_are_one_error(
    store: Any, place: str, said: str, rowwise: Path, tmp_path: Path
) -> None:
    answer = pinnace("score", rowwise, "--input", place, "--output", tmp_path / "out")
    assert answer.code == 1
    assert said in answer.err
    assert len(answer.err.splitlines()) <= 2
    del store


def test_a_store_that_refuses_is_one_error(
    store: Any, rowwise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoCredentialsError(Exception):
        """Stands for botocore's, which derives from Exception only."""

    def refuse(*_: object, **__: object) -> None:
        raise NoCredentialsError("Unable to locate credentials")

    monkeypatch.setattr(type(store), "put_file", refuse)
    write_parquet(tmp_path / "a.parquet", {"x": rows_of(4)})
    answer = pinnace(
        *("score", rowwise, "--input", tmp_path / "a.parquet"),
        *("--output", "memory://bucket/out"),
    )
    assert answer.code == 1
    assert "memory://bucket/out/a.parquet: NoCredentialsError: Unable to locate" in answer.err
    assert "0 of 1 files are done" in answer.err
