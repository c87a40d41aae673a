"""Python's parser in several threads."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from pinnace.framework import parsing

# A garbage collection in the middle of parsing lets another thread run.
PROGRAM = """
import gc, threading, time
from pinnace.framework import parsing
gc.callbacks.append(lambda *_: time.sleep(1e-5))
gc.set_threshold(50)
lines = "\\n".join(f"x{n} = (a + {n}) * [b[{n}], f(c, d={n})][0]" for n in range(400))
failed, start = [], threading.Barrier(8)

def parse():
    start.wait()
    try:
        for _ in range(4):
            parsing.parsed(lines)
    except SystemError as error:
        failed.append(error)

threads = [threading.Thread(target=parse) for _ in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
assert not failed, failed
"""


def test_threads_parse_at_once() -> None:
    """With `ast.parse` itself CPython 3.11 raises a SystemError."""
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_who_is_disturbed_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, calls = ast.parse, []

    def disturbed(text: str, mode: str) -> ast.AST:
        calls.append(text)
        if len(calls) < 4:
            raise SystemError("AST constructor recursion depth mismatch (before=75, after=68)")
        return parse(text, mode=mode)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert isinstance(parsing.parsed("a + 1", "eval"), ast.Expression)
    assert len(calls) == 4
    with pytest.raises(SyntaxError):
        parsing.parsed("a +")


def test_what_parses_may_parse() -> None:
    assert parsing.in_turn(lambda: ast.unparse(parsing.parsed("a+1", "eval"))) == "a + 1"
