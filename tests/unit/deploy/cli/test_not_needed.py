"""`pinnace warmup` and `pinnace compile` of version 0.1, which scripts may still call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.command_line import pinnace

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = ["warmup", "compile"]
# Arguments in scripts for 0.1, and some that no version accepted.
ARGUMENTS = [
    (),
    ("no such model",),
    ("model", "--batch", "1,8", "--shared", "--json"),
    ("model", "--signature", "serving_default", "--input=ids=8,128"),
    ("model", "--processors=native,x86-64-v3"),
    ("--batch=0",),
    ("--unknown", "-x", "--", "more"),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_it_says_that_nothing_is_to_be_done(
    command: str, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = pinnace(command, *arguments)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"pinnace {command} is not needed any more, and does nothing")
    assert "Try: pinnace show --machine" in answer.out
    assert not list(tmp_path.iterdir())


def test_neither_is_listed() -> None:
    answer = pinnace("--help")
    assert answer.code == 0
    assert "show" in answer.out
    for command in COMMANDS:
        assert command not in answer.out.split()


@pytest.mark.parametrize("command", COMMANDS)
def test_its_help_says_so_too(command: str) -> None:
    answer = pinnace(command, "--help")
    assert answer.code == 0
    assert "pinnace show --machine" in answer.out
