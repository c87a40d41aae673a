"""The report of an upgrade: first the advice for the user, then every change."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.upgrade.files import UpgradedFile

_LINE = "-" * 80
_DOUBLE = "=" * 80


def issues(files: Sequence[UpgradedFile]) -> int:
    """The number of findings that need the user's attention."""
    return sum(one.for_a_person for file in files for one in file.findings)


def summary(files: Sequence[UpgradedFile]) -> str:
    """A summary of the changes, and the advice for the user by file and line."""
    read = sum(file.read for file in files)
    changed = sum(file.changed for file in files)
    unread = f"{len(files) - read} not readable"
    count = issues(files)
    lines = [
        "Upgrade from TensorFlow 1 to TensorFlow 2",
        f"{_many(len(files), 'file')}: {changed} changed, {read - changed} as they were, {unread}",
        f"{_many(count, 'place')} for a person to look at",
    ]
    for file in files:
        left = [one for one in file.findings if one.for_a_person]
        if left:
            lines += [_LINE, f"{file.source}", _LINE]
            lines += [f"{file.source}:{one.text()}" for one in left]
    return "\n".join(lines) + "\n"


def full_report(files: Sequence[UpgradedFile]) -> str:
    """The summary, and every change of every file."""
    lines = [summary(files), _DOUBLE, "Everything that was done", _DOUBLE]
    for file in files:
        lines += ["", f"{file.source} -> {file.target}", _LINE]
        lines += [one.text() for one in file.findings] or ["nothing to change"]
    return "\n".join(lines) + "\n"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
