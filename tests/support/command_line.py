"""Runs the command line in this process: its output, and its exit code."""

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from pinnace.deploy.cli.main import main


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a command.

    Attributes:
        code: its exit code.
        out: its stdout.
        err: its stderr.
    """

    code: int
    out: str
    err: str


def pinnace(*arguments: str | Path) -> Answer:
    """Run `pinnace` with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(one) for one in arguments])
    return Answer(code, out.getvalue(), err.getvalue())
