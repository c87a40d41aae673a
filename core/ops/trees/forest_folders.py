"""Folders of ydf models: detection, and reading of their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_HEADER, _SPEC = "header.pb", "data_spec.pb"


def prefix_of(folder: Path) -> str | None:
    """The prefix of a forest's file names; None if there is no forest."""
    if (folder / _HEADER).is_file() and (folder / _SPEC).is_file():
        return ""
    found = [path.name.removesuffix(_SPEC) for path in folder.glob(f"*_{_SPEC}")]
    there = [prefix for prefix in found if (folder / f"{prefix}{_HEADER}").is_file()]
    return there[0] if len(there) == 1 else None


def reader(folder: Path) -> Callable[[str], bytes]:
    """A function that reads a forest's files, by their names without the prefix.

    Raises:
        InvalidArgumentError: the folder has no forest.
    """
    prefix = prefix_of(folder)
    if prefix is None:
        raise InvalidArgumentError(f"{folder}: there is no forest, or there are several")

    def read(name: str) -> bytes:
        file = folder / f"{prefix}{name}"
        with explained("read", file), open_regular(file) as opened:
            return opened.read()

    return read
