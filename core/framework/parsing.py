"""Parsing of Python source, safe with several threads.

CPython up to 3.12 counts the depth of the syntax tree that it hands to Python in one number for all
threads: if another thread is let in between, it raises a SystemError. Threads of this library
take turns, and try again where a program's own threads parse, too.

Source:
    python/cpython#106905.
"""

from __future__ import annotations

import ast
import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_turn", "parsed"]

T = TypeVar("T")

_TRIES = 100
_turn = threading.RLock()  # reentrant: parsing may parse parts of the text


def in_turn(parse: Callable[[], T]) -> T:
    """The result of a call that parses Python source, one thread at a time.

    Args:
        parse: called again where another thread has disturbed it.
    """
    with _turn:
        for _ in range(_TRIES):
            try:
                return parse()
            except SystemError:
                pass
        return parse()


def parsed(text: str, mode: str = "exec") -> Any:
    """The syntax tree of a source: `ast.Module`, or `ast.Expression`.

    Args:
        text: the source.
        mode: "exec" for statements, "eval" for an expression.

    Raises:
        SyntaxError: the source is not Python.
    """
    return in_turn(lambda: ast.parse(text, mode=mode))


def _after_a_fork() -> None:
    global _turn
    _turn = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_a_fork)
