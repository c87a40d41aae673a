"""Why names of TensorFlow are missing, and what to use instead.

`missing_names.toml` has patterns of names that will not be added; `not_yet.txt` lists names that
are not implemented yet, one namespace per line. Both are read only when a name is missing.
"""

from __future__ import annotations

import functools
import tomllib
from fnmatch import fnmatchcase
from importlib import resources
from typing import NamedTuple


class Reason(NamedTuple):
    """Names that will not be added, with the reason.

    Attributes:
        names: patterns as the shell has them, of full names such as `tf.lite.*`.
        why: the reason.
        instead: the replacement.
    """

    names: tuple[str, ...]
    why: str
    instead: str


@functools.cache
def reasons() -> tuple[Reason, ...]:
    """The patterns of names that will not be added, in the order in which they are tried."""
    return _rows("reason")


def package_of(name: str) -> Reason | None:
    """The replacement for a name of another package; None if it is not one.

    Args:
        name: the full name, such as `tf.hub`.
    """
    top = ".".join(name.split(".")[:2])
    return next((one for one in _packages() if top in one.names), None)


@functools.cache
def _packages() -> tuple[Reason, ...]:
    return _rows("package")


@functools.cache
def differences() -> tuple[Reason, ...]:
    """Names whose parameters permanently differ from TensorFlow's."""
    return _rows("difference")


def _rows(table: str) -> tuple[Reason, ...]:
    rows = tomllib.loads(_text("missing_names.toml"))[table]
    return tuple(Reason(tuple(row["names"]), row["why"], row["instead"]) for row in rows)


@functools.cache
def not_yet() -> frozenset[str]:
    """The full names that are not implemented yet."""
    found: set[str] = set()
    for line in _text("not_yet.txt").splitlines():
        space, _, names = line.partition(": ")
        found.update(f"{space}.{name}" for name in names.split())
    return frozenset(found)


def reason_of(name: str) -> Reason | None:
    """The reason why a name will not be here; None if there is none.

    Args:
        name: the full name, such as `tf.lite.Interpreter`.
    """
    for reason in reasons():
        if any(fnmatchcase(name, pattern) for pattern in reason.names):
            return reason
    return None


def explain(name: str) -> str | None:
    """The error text for a missing name; None if TensorFlow has no such name.

    Args:
        name: the full name, such as `tf.lite.Interpreter`.
    """
    reason = reason_of(name) or package_of(name)
    if reason is not None:
        return f"{name} is not in pinnace: {reason.why}\n  Try: {reason.instead}"
    if name in not_yet():
        return f"{name} is TensorFlow's, and not written yet in pinnace"
    return None


def _text(file: str) -> str:
    return resources.files("pinnace.framework").joinpath(file).read_text("utf-8")
