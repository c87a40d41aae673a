"""An interrupted run continues where it stopped, and results of two runs do not mix."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from architecture.sources import ROOT
from pinnace.deploy.score.staging import Staged, sweep
from support import waiting
from support.command_line import pinnace
from support.scoring import (
    bad_rows,
    read_results,
    rows_of,
    save_rowwise,
    visible_files,
    write_jsonl,
    write_parquet,
)


def arguments(model: Path, folder: Path, *more: str) -> list[str | Path]:
    return ["score", model, "--input", folder / "data", "--output", folder / "out", *more]


def write_data(folder: Path, files: int, rows: int = 50) -> None:
    for number in range(files):
        ids = np.arange(rows) + number * rows
        write_parquet(folder / "data" / f"{number}.parquet", {"id": ids, "x": rows_of(rows)})


def test_what_is_there_is_not_done_again(rowwise: Path, tmp_path: Path) -> None:
    write_data(tmp_path, 3)
    first = pinnace(*arguments(rowwise, tmp_path, "--json"))
    assert json.loads(first.out)["done"] == 3
    (tmp_path / "out" / "1.parquet").unlink()
    before = (tmp_path / "out" / "0.parquet").stat().st_mtime_ns
    again = json.loads(pinnace(*arguments(rowwise, tmp_path, "--json")).out)
    assert (again["done"], again["skipped"]) == (1, 2)
    assert (tmp_path / "out" / "0.parquet").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--keep", "id"], "--keep was none, is id"),
        (["--outputs", "total"], "--outputs was none, is total"),
        (["--format", "csv"], "--format was not given, is csv"),
        (["--rows-per-part", "9"], "--rows-per-part was not given, is 9"),
        (["--refuse-nan"], "--refuse-nan was False, is True"),
    ],
)
def test_other_flags_are_refused(
    flags: list[str], said: str, rowwise: Path, tmp_path: Path
) -> None:
    write_data(tmp_path, 1)
    assert pinnace(*arguments(rowwise, tmp_path)).code == 0
    before = visible_files(tmp_path / "out")
    answer = pinnace(*arguments(rowwise, tmp_path, *flags))
    assert answer.code == 1
    assert f"holds results of a different run: {said}" in answer.err
    assert "Try: the same model and flags, or another --output" in answer.err
    assert visible_files(tmp_path / "out") == before


def test_another_model_is_refused_and_a_copy_is_the_same(rowwise: Path, tmp_path: Path) -> None:
    import shutil

    write_data(tmp_path, 1)
    assert pinnace(*arguments(rowwise, tmp_path)).code == 0
    copy = tmp_path / "copy"
    shutil.copytree(rowwise, copy)
    assert pinnace(*arguments(copy, tmp_path)).code == 0
    other = save_rowwise(tmp_path / "other")
    graph = other / "saved_model.pb"
    graph.write_bytes(graph.read_bytes() + b"\x10\x00" * 0)
    weights = next((other / "variables").glob("*.index"))
    weights.write_bytes(weights.read_bytes() + b"\x00")
    answer = pinnace(*arguments(other, tmp_path))
    assert answer.code == 1
    assert "holds results of a different run: MODEL was" in answer.err


def test_batch_size_and_shares_may_change(rowwise: Path, tmp_path: Path) -> None:
    write_data(tmp_path, 4)
    assert pinnace(*arguments(rowwise, tmp_path, "--shard", "0/2")).code == 0
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 2
    answer = pinnace(*arguments(rowwise, tmp_path, "--shard", "2/3", "--batch-size", "7"))
    assert answer.code == 0, answer.err
    assert pinnace(*arguments(rowwise, tmp_path)).code == 0
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 4


def test_files_of_others_are_not_taken_for_results(rowwise: Path, tmp_path: Path) -> None:
    write_data(tmp_path, 2)
    write_parquet(tmp_path / "out" / "1.parquet", {"x": rows_of(1)})
    answer = pinnace(*arguments(rowwise, tmp_path))
    assert answer.code == 1
    assert "1.parquet exists, and was not written by `pinnace score`" in answer.err
    into_itself = pinnace(
        *("score", rowwise, "--input", tmp_path / "data/*", "--output", tmp_path / "data")
    )
    assert into_itself.code == 1
    assert "are in the folder of --output" in into_itself.err
    assert len(read_results(tmp_path / "data" / "0.parquet")) == 50


def test_results_below_the_data_are_no_data(rowwise: Path, tmp_path: Path) -> None:
    write_data(tmp_path, 2)
    command = ["score", rowwise, "--input", tmp_path / "data"]
    for _ in range(2):
        answer = pinnace(*command, "--output", tmp_path / "data" / "scores", "--json")
        assert json.loads(answer.out)["parts"] == 2


def test_files_of_one_name_in_several_folders_keep_their_folders(
    rowwise: Path, tmp_path: Path
) -> None:
    for day in ("day=1", "day=2"):
        write_parquet(tmp_path / "data" / day / "a.parquet", {"x": rows_of(3)})
    assert pinnace(*arguments(rowwise, tmp_path)).code == 0
    assert [one for one in visible_files(tmp_path / "out") if one[0] != "_"] == [
        "day=1/a.parquet",
        "day=2/a.parquet",
    ]
    pattern = tmp_path / "data" / "day=*" / "a.parquet"
    pinnace("score", rowwise, "--input", pattern, "--output", tmp_path / "two")
    assert (tmp_path / "two" / "day=2" / "a.parquet").is_file()
    clash = pinnace(
        *("score", rowwise, "--output", tmp_path / "three"),
        *("--input", tmp_path / "data/day=1", "--input", tmp_path / "data/day=2"),
    )
    assert clash.code == 1
    assert "would both become a.parquet" in clash.err


def test_files_in_the_making_of_dead_processes_go_and_those_of_others_stay(
    rowwise: Path, tmp_path: Path
) -> None:
    write_data(tmp_path, 1)
    (tmp_path / "out").mkdir()
    dead = tmp_path / "out" / ".pinnace-score-0123456789abcdef.tmp"
    dead.write_bytes(b"half")
    with Staged(tmp_path / "out") as alive:
        assert pinnace(*arguments(rowwise, tmp_path)).code == 0
        assert not dead.exists()
        assert alive.path.exists()
    assert not alive.path.exists()
    assert sweep(tmp_path / "out") == 0


def test_bad_rows_of_earlier_runs_still_decide_the_exit_code(rowwise: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    write_jsonl(tmp_path / "data" / "a.jsonl", [[1, 2, 3, 4], "no"])
    write_jsonl(tmp_path / "data" / "b.jsonl", [[1, 2, 3, 4]])
    assert pinnace(*arguments(rowwise, tmp_path, "--shard", "0/2")).code == 3
    assert pinnace(*arguments(rowwise, tmp_path, "--shard", "1/2")).code == 0
    answer = pinnace(*arguments(rowwise, tmp_path))
    assert answer.code == 3
    assert "1 bad rows" in answer.out


_FILES, _ROWS = 5, 600
_PROGRAM = ROOT / "tests" / "support" / "kill_while_scoring.py"


def test_a_run_that_is_killed_again_and_again_ends_with_every_row_once(
    rowwise: Path, tmp_path: Path
) -> None:
    """The files equal those of an uninterrupted run, byte for byte."""
    (tmp_path / "data").mkdir()
    for number in range(_FILES):
        rows: list[object] = [
            {"id": number * _ROWS + n, "x": x} for n, x in enumerate(rows_of(_ROWS).tolist())
        ]
        rows[number] = {"id": number * _ROWS + number, "x": "bad"}
        write_jsonl(tmp_path / "data" / f"{number:02}.jsonl", rows)
    flags = ["--keep", "id", "--batch-size", "4", "--rows-per-part", "300"]
    whole = tmp_path / "whole"
    wanted = pinnace("score", rowwise, "--input", tmp_path / "data", "--output", whole, *flags)
    assert wanted.code == 3
    command = [sys.executable, _PROGRAM, tmp_path / "out", "8", "1"]
    command += arguments(rowwise, tmp_path, *flags)
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    kills, code = map(int, done.stdout.split())
    assert kills >= 3
    assert code == 3
    assert visible_files(tmp_path / "out") == visible_files(whole)
    for name in visible_files(whole):
        assert (tmp_path / "out" / name).read_bytes() == (whole / name).read_bytes()
    names = [name for name in visible_files(whole) if name[0] != "_"]
    found = [row["id"] for name in names for row in read_results(whole / name)]
    missing = {row for name in names for row, _ in bad_rows(whole, name)}
    assert missing == set(range(_FILES))
    assert sorted(found) == [n for n in range(_FILES * _ROWS) if n % _ROWS != n // _ROWS]


def test_a_run_that_is_asked_to_end_leaves_no_file_in_the_making(
    rowwise: Path, tmp_path: Path
) -> None:
    write_data(tmp_path, 60, rows=4000)  # far more rows than are scored before the signal
    command = [sys.executable, "-m", "pinnace.deploy.cli.main"]
    command += map(str, arguments(rowwise, tmp_path, "--batch-size", "1"))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        waiting.until(lambda: bool(list((tmp_path / "out").glob("*.parquet"))), 120)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == 128 + signal.SIGTERM
    assert not [name for name in visible_files(tmp_path / "out") if name.endswith(".tmp")]


class _AskedToEndError(BaseException):
    """Stands for the exception that SIGTERM raises."""


# Between the system call and the assignment only the descriptor exists, for the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_at_any_step_of_making_a_file_leaves_none(tmp_path: Path) -> None:
    """Raise an exception before each instruction in turn, as a signal may."""
    makers = {name.__code__ for name in (Staged.create, Staged._try_to_create, push_and_create)}
    steps = left = 0

    def raise_at_last(frame: FrameType, event: str, _: object) -> object:
        nonlocal left
        if frame.f_code not in makers:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left < 0:
                raise _AskedToEndError
        return raise_at_last

    is_whole = False
    while not is_whole:
        left = steps = steps + 1
        sys.settrace(raise_at_last)  # type: ignore[arg-type]  # it returns itself
        try:
            with contextlib.ExitStack() as stack:
                push_and_create(Staged(tmp_path), stack)
                sys.settrace(None)
                is_whole = True
                assert len(visible_files(tmp_path)) == 1
        except _AskedToEndError:
            pass
        finally:
            sys.settrace(None)
        assert not visible_files(tmp_path), steps
    assert steps > 50


def push_and_create(staged: Staged, stack: contextlib.ExitStack) -> None:
    """Create the file in the order in which scoring does."""
    stack.push(staged)
    staged.create()
