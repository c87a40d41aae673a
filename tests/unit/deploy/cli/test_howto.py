"""The commands of docs/howto/look_at_a_model.md run as they are written."""

import re
import shlex
from pathlib import Path

import pytest

from architecture.sources import ROOT
from support.command_line import pinnace

TEXT = (ROOT / "docs" / "howto" / "look_at_a_model.md").read_text()
BLOCK = re.findall(r"^    (\S.*)$", TEXT, re.MULTILINE)
MODEL = next(line.partition("=")[2] for line in BLOCK if line.startswith("MODEL="))
COMMANDS = [line for line in BLOCK if line.startswith("pinnace ")]
_DIFFERS = 1


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) > 10
    for line in COMMANDS:
        answer = pinnace(*shlex.split(line.replace("$MODEL", MODEL))[1:])
        differs = " diff " in f" {line}" and "keras_mlp" in line
        assert answer.code == (_DIFFERS if differs else 0), f"{line}\n{answer.err}"
    assert (tmp_path / "graph.html").is_file()
    assert (tmp_path / "out" / "output_0.npy").is_file()
