"""Leftovers of killed saves are removed by a later one, and nothing that is still needed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinnace.storage import leftovers
from pinnace.storage.atomic import repair_folder, replace_folder, write_file

pytestmark = pytest.mark.skipif(os.name == "nt", reason="nothing is removed there")

# Writes into argv[1] in one of three ways, reports it, and never ends.
WRITER = """
import sys, time
from pathlib import Path
from pinnace.storage.atomic import create_sibling, replace_folder, write_file

folder, way = Path(sys.argv[1]), sys.argv[2]

def stay(file=None):
    if file is not None:
        file.write(b"half")
        file.flush()
    print("writing", flush=True)
    time.sleep(600)

if way == "file":
    write_file(folder / "file", stay)
elif way == "sibling":
    stay(create_sibling(folder / "file")[1])
else:
    with replace_folder(folder / "model") as stage:
        (stage / "inner").mkdir()
        (stage / "inner" / "part").write_bytes(b"half")
        stay()
"""
WAYS = pytest.mark.parametrize("way", ["file", "sibling", "folder"])
BY = pytest.mark.parametrize("by", ["file", "folder"])
DAY = 86_400


@pytest.fixture(autouse=True)
def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each test a process that has not searched any folder yet."""
    monkeypatch.setattr(leftovers, "_looked", {})


@pytest.fixture
def writers() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for one in started:
        if one.returncode is None:
            kill(one)


def begin(writers: list[subprocess.Popen[str]], folder: Path, way: str) -> subprocess.Popen[str]:
    writers.append(
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), way], stdout=subprocess.PIPE, text=True
        )
    )
    assert writers[-1].stdout is not None
    assert writers[-1].stdout.readline() == "writing\n"
    return writers[-1]


def kill(writer: subprocess.Popen[str]) -> None:
    writer.send_signal(signal.SIGKILL)
    writer.communicate()


def hidden(folder: Path) -> list[Path]:
    return sorted(folder.glob(".pinnace-*"))


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    for one in [path, *path.rglob("*")]:
        os.utime(one, (then, then))


def save(folder: Path, by: str) -> None:
    if by == "file":
        write_file(folder / "other", b"whole")
        assert (folder / "other").read_bytes() == b"whole"
    else:
        with replace_folder(folder / "other") as stage:
            (stage / "part").write_bytes(b"whole")
        assert (folder / "other" / "part").read_bytes() == b"whole"


DAY = 86_400


@WAYS
@BY
def test_what_a_killed_process_left_is_removed_a_day_later(
    tmp_path: Path, writers: list[subprocess.Popen[str]], way: str, by: str
) -> None:
    kill(begin(writers, tmp_path, way))
    (left,) = hidden(tmp_path)
    save(tmp_path, by)
    assert hidden(tmp_path) == [left], "it is young: its writer may be on another machine"
    leftovers._looked.clear()
    age(left, DAY + 60)
    save(tmp_path, by)
    assert hidden(tmp_path) == []


@WAYS
@BY
def test_what_a_living_process_writes_is_kept_however_old(
    tmp_path: Path, writers: list[subprocess.Popen[str]], way: str, by: str
) -> None:
    begin(writers, tmp_path, way)
    (left,) = hidden(tmp_path)
    age(left, 30 * DAY)
    save(tmp_path, by)
    assert hidden(tmp_path) == [left]


def test_a_folder_with_one_young_file_is_young(
    tmp_path: Path, writers: list[subprocess.Popen[str]]
) -> None:
    kill(begin(writers, tmp_path, "folder"))
    (left,) = hidden(tmp_path)
    age(left, DAY + 60)
    os.utime(left / "inner" / "part")
    save(tmp_path, "folder")
    assert hidden(tmp_path) == [left]


def test_many_kills_leave_nothing_behind_in_the_end(
    tmp_path: Path, writers: list[subprocess.Popen[str]]
) -> None:
    for way in ("file", "folder", "sibling"):
        kill(begin(writers, tmp_path, way))
    living = begin(writers, tmp_path, "folder")
    assert len(hidden(tmp_path)) == 4
    for left in hidden(tmp_path):
        age(left, 2 * DAY)
    save(tmp_path, "folder")
    assert len(hidden(tmp_path)) == 1
    kill(living)
    leftovers._looked.clear()
    for left in hidden(tmp_path):
        age(left, 2 * DAY)
    save(tmp_path, "folder")
    assert hidden(tmp_path) == []


def test_what_a_journal_names_is_kept_and_repaired(tmp_path: Path) -> None:
    token = "0123456789abcdef"
    new = tmp_path / f".pinnace-{token}.new"
    new.mkdir()
    (new / "part").write_bytes(b"new")
    (tmp_path / ".model.pinnace-journal").write_text(token)
    age(new, 30 * DAY)
    save(tmp_path, "folder")
    assert hidden(tmp_path) == [new]
    assert repair_folder(tmp_path / "model")
    assert (tmp_path / "model" / "part").read_bytes() == b"new"


@pytest.mark.parametrize(
    "name",
    [
        ".pinnace-0123456789abcdef.old",  # the only copy, if a journal was lost
        ".pinnace-notes.tmp",
        ".pinnace-0123456789ABCDEF.tmp",
        "0123456789abcdef.tmp",
        ".pinnace-0123456789abcdef.tmp.txt",
    ],
)
def test_names_of_others_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    age(tmp_path / name, 30 * DAY)
    save(tmp_path, "file")
    assert (tmp_path / name).read_text() == "mine"


def test_links_and_pipes_with_such_names_are_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    names = [folder / f".pinnace-{digit * 16}.new" for digit in "012"]
    names[0].symlink_to(kept)
    names[1].symlink_to(kept / "file")
    os.mkfifo(names[2])
    for one in names:
        os.utime(one, (0, 0), follow_symlinks=False)
    save(folder, "folder")
    assert (kept / "file").read_text() == "mine"
    assert hidden(folder) == names
