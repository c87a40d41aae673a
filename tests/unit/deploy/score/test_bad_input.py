"""Missing, damaged or empty input: one error for each, and no partial results."""

import os
from pathlib import Path

import numpy as np
import pytest

from pinnace.deploy.score import parse_shard
from pinnace.framework.errors import InvalidArgumentError
from support.command_line import pinnace
from support.scoring import read_results, rows_of, visible_files, write_jsonl, write_parquet


def test_half_a_file_is_an_error_and_the_others_are_scored(rowwise: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    whole = write_parquet(data / "a.parquet", {"x": rows_of(5000)}, row_group_size=500).read_bytes()
    (data / "end.parquet").write_bytes(whole[: len(whole) // 2])
    hole = bytearray(whole)
    hole[2000:12000] = bytes(10000)
    (data / "hole.parquet").write_bytes(hole)
    (data / "none.parquet").write_bytes(b"")
    answer = pinnace("score", rowwise, "--input", data, "--output", tmp_path / "out")
    assert answer.code == 1
    lines = answer.err.splitlines()
    assert len(lines) == 3
    for name, line in zip(("end", "hole", "none"), lines, strict=True):
        assert line.startswith(f"pinnace score: {data}/{name}.parquet is damaged or cut short: ")
    assert visible_files(tmp_path / "out") == ["_score.json", "a.parquet"]
    assert len(read_results(tmp_path / "out" / "a.parquet")) == 5000


@pytest.mark.parametrize("kind", ["npy", "npz", "tfrecord", "jsonl.gz", "csv.gz"])
def test_files_of_other_formats_that_are_cut_short(
    kind: str, rowwise: Path, tmp_path: Path
) -> None:
    import gzip

    from support.scoring import write_examples

    path = tmp_path / f"a.{kind}"
    x = rows_of(3000)
    if kind == "npy":
        np.save(path, x)
    elif kind == "npz":
        np.savez_compressed(path, x=x)
    elif kind == "tfrecord":
        write_examples(path, [{"x": one} for one in x])
    elif kind == "jsonl.gz":
        path.write_bytes(gzip.compress(b"[1, 2, 3, 4]\n" * 20_000))
    else:
        path.write_bytes(gzip.compress(b"x\n" + b'"[1, 2, 3, 4]"\n' * 20_000))
    path.write_bytes(path.read_bytes()[: -path.stat().st_size // 3 - 1])
    answer = pinnace("score", rowwise, "--input", path, "--output", tmp_path / "out")
    assert answer.code == 1
    assert f"{path.name}" in answer.err
    assert "is damaged or cut short" in answer.err
    assert len(answer.err.splitlines()) == 1
    assert visible_files(tmp_path / "out") == ["_score.json"]


def test_a_model_or_file_that_is_not_there(rowwise: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [[1, 2, 3, 4]])
    (tmp_path / "a.bin").write_bytes(b"?")
    command = ["--output", tmp_path / "out", "--input"]
    answer = pinnace("score", tmp_path / "none", *command, tmp_path / "a.jsonl")
    assert answer.code == 1
    assert f"there is no model at {tmp_path}/none" in answer.err
    answer = pinnace("score", rowwise, *command, tmp_path / "b*.jsonl")
    assert f"--input: there is no file at {tmp_path}/b*.jsonl" in answer.err
    answer = pinnace("score", rowwise, *command, tmp_path / "a.bin")
    assert "a.bin does not say its format" in answer.err
    assert "Try: --input-format" in answer.err
    answer = pinnace(
        "score", rowwise, "--output", tmp_path / "a.bin", "--input", tmp_path / "a.jsonl"
    )
    assert answer.code == 1
    assert "a.bin is a file, not a folder" in answer.err
    (tmp_path / "x.npy").write_bytes(b"")
    np.save(tmp_path / "x.npy", np.array([{}], object))
    answer = pinnace("score", rowwise, *command, tmp_path / "x.npy")
    assert "pickled objects, which may run code and are refused" in answer.err


def test_another_format_than_the_name_says(rowwise: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "part-00000", [[1, 2, 3, 4]])
    answer = pinnace(
        *("score", rowwise, "--input", tmp_path / "part-00000", "--input-format", "jsonl"),
        *("--output", tmp_path / "out"),
    )
    assert answer.code == 0, answer.err
    assert read_results(tmp_path / "out" / "part-00000.jsonl")[0]["total"] == 10


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv", "tfrecord"])
def test_a_full_disk_ends_the_run_and_what_is_done_is_kept(
    kind: str, rowwise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit on file sizes stands for a full disk: writes fail with EFBIG."""
    import resource
    import signal

    write_parquet(tmp_path / "data" / "a.parquet", {"x": rows_of(10)})
    write_parquet(tmp_path / "data" / "b.parquet", {"x": rows_of(20000)})
    write_parquet(tmp_path / "data" / "c.parquet", {"x": rows_of(10)})
    command = ["score", rowwise, "--input", tmp_path / "data", "--output", tmp_path / "out"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
        answer = pinnace(*command, "--format", kind)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert answer.code == 1
    assert f"cannot write {tmp_path}/out/b.{kind}: File too large" in answer.err
    assert "1 of 3 files are done, and the same command goes on from there" in answer.err
    assert visible_files(tmp_path / "out") == ["_score.json", f"a.{kind}"]
    assert pinnace(*command, "--format", kind).code == 0
    assert len(read_results(tmp_path / "out" / f"b.{kind}")) == 20000
    del monkeypatch


def test_a_folder_that_may_not_be_written(rowwise: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [[1, 2, 3, 4]])
    (tmp_path / "file").write_bytes(b"")
    answer = pinnace(
        *("score", rowwise, "--input", tmp_path / "a.jsonl", "--output", tmp_path / "file" / "out")
    )
    assert answer.code == 1
    assert "Not a directory" in answer.err


def test_nothing_is_drawn_where_nobody_looks(rowwise: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [[1, 2, 3, 4]])
    answer = pinnace(
        "score", rowwise, "--input", tmp_path / "a.jsonl", "--output", tmp_path / "out"
    )
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("1 rows in ")


@pytest.mark.parametrize(
    ("text", "environment", "wanted"),
    [
        ("3/16", {}, (3, 16)),
        ("auto/4", {"JOB_COMPLETION_INDEX": "2"}, (2, 4)),
        ("auto", {"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "8"}, (7, 8)),
        (
            "auto",
            {
                "SLURM_ARRAY_TASK_ID": "9",
                "SLURM_ARRAY_TASK_COUNT": "3",
                "SLURM_ARRAY_TASK_MIN": "5",
                "SLURM_ARRAY_TASK_STEP": "2",
            },
            (2, 3),
        ),
    ],
)
def test_shares_are_read_from_flag_and_environment(
    text: str, environment: dict[str, str], wanted: tuple[int, int]
) -> None:
    assert parse_shard(text, environment) == wanted


@pytest.mark.parametrize(
    ("text", "environment", "said"),
    [
        ("3", {}, "must be I/N"),
        ("4/4", {}, "must be below 4, got 4"),
        ("auto", {}, "neither JOB_COMPLETION_INDEX"),
        ("auto", {"JOB_COMPLETION_INDEX": "2"}, "but not the number"),
        ("auto/2", {"JOB_COMPLETION_INDEX": "2"}, "must be below 2, got 2"),
        ("auto/2", {"JOB_COMPLETION_INDEX": "x"}, "has no number"),
    ],
)
def test_other_shares_are_refused(text: str, environment: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        parse_shard(text, environment)


def test_shares_are_all_files_and_each_once(rowwise: Path, tmp_path: Path) -> None:
    for number in range(7):
        write_parquet(tmp_path / "data" / f"{number}.parquet", {"x": rows_of(3)})
    seen: list[str] = []
    for index in range(3):
        out = tmp_path / f"out{index}"
        pinnace(
            *("score", rowwise, "--input", tmp_path / "data", "--output", out),
            *("--shard", f"{index}/3"),
        )
        seen += [path.name for path in out.glob("*.parquet")]
    assert sorted(seen) == [f"{number}.parquet" for number in range(7)]


def test_a_pipe_is_no_file(rowwise: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    answer = pinnace(
        "score", rowwise, "--input", tmp_path / "a.jsonl", "--output", tmp_path / "out"
    )
    assert answer.code == 1
    assert "it is not a file" in answer.err


MEMORY = """
import resource, sys
from pinnace.deploy.score import ScoreSettings, plan_run, run_plan

def score(data, out):
    settings = ScoreSettings(sys.argv[1], (data,), out)
    assert not run_plan(plan_run(settings)).errors
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

small = score(sys.argv[2], sys.argv[4] + "/small")
large = score(sys.argv[3], sys.argv[4] + "/large")
print((large - small) / 1024)
"""


@pytest.mark.parametrize("kind", ["parquet", "npy", "jsonl"])
def test_memory_does_not_grow_with_the_file(kind: str, rowwise: Path, tmp_path: Path) -> None:
    """Twenty times the rows, with 15 MB more of input and 19 of results, take little memory."""
    from support.fresh_process import run_fresh

    for name, count in (("small", 50_000), ("large", 1_000_000)):
        x = np.ones((count, 4), np.float32)
        path = tmp_path / f"{name}.{kind}"
        if kind == "npy":
            np.save(path, x)
        elif kind == "jsonl":
            path.write_bytes(b'{"x": [1, 1, 1, 1]}\n' * (count // 10))
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            column = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), 4)
            pq.write_table(pa.table({"x": column}), path, row_group_size=50_000)
    paths = [tmp_path / f"{name}.{kind}" for name in ("small", "large")]
    grown = float(run_fresh(MEMORY, rowwise, *paths, tmp_path / "out"))
    assert grown < 12


def test_the_command_needs_pyarrow_for_parquet_alone(
    rowwise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    write_parquet(tmp_path / "a.parquet", {"x": rows_of(3)})
    write_jsonl(tmp_path / "b.jsonl", [[1, 2, 3, 4]])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = pinnace("score", rowwise, "--input", tmp_path, "--output", tmp_path / "out")
    assert answer.code == 1
    assert "Parquet files need PyArrow" in answer.err
    assert "[score]'" in answer.err
    assert (tmp_path / "out" / "b.jsonl").is_file()
