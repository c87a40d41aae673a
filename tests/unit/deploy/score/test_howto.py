"""The commands of docs/howto/score.md run as they are written, and its table has all flags."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from architecture.sources import ROOT
from support.command_line import pinnace
from support.scoring import read_results

PAGE = ROOT / "docs" / "howto" / "score.md"
TEXT = PAGE.read_text()
LINES = re.findall(r"^    (\S.*)$", TEXT, re.MULTILINE)


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0  # writes people.csv
    model = next(line.partition("=")[2] for line in LINES if line.startswith("MODEL="))
    said = []
    for line in LINES:
        if line.startswith("pinnace "):
            answer = pinnace(*shlex.split(line.replace("$MODEL", model))[1:])
            assert answer.code == 0, f"{line}\n{answer.err}"
            said.append(answer.out)
    assert "1 file: 1 scored, 0 there before" in said[1]
    assert "1 file: 0 scored, 1 there before" in said[2]
    found = read_results(tmp_path / "scores" / "people.csv")
    assert [row["id"] for row in found] == list(range(5))


def test_the_table_has_every_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = pinnace("score", "--help").out
    there = set(re.findall(r"^│ (?:\*\s+)?(--[a-z-]+)", shown.replace("│    ", "│ "), re.MULTILINE))
    there -= {"--help", "--no-allow-io"}
    told = set(re.findall(r"^\| `(--[a-z-]+)`", TEXT, re.MULTILINE)) - {"--import"}
    assert there
    assert told == there
