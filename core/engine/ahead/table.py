"""The table of contents of libraries: their kernels, and the processors they are for.

It is JSON. A kernel's symbol has a digest of its source; `kernels` is a digest of everything else
that determines its machine code: another version of pinnace compiles the same source to other code.
If the sources are present, both are compared with them (`sources`).
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

FILE = "kernels.json"
FORMAT = 4


class RefusedError(Exception):
    """Machine code is not used; the message says why."""


class Library(NamedTuple):
    """The kernels for one processor.

    Attributes:
        processor: the processor's name.
        system: the operating system, as in `sys.platform`.
        machine: the architecture, as in `systems.machine()`.
        requires: the required processor features, as Linux names them.
        file: the library's name, in the table's folder.
        sha256: the digest of that file.
        kernels: the symbol of each entry point, by the kernel's name.
        refused: why other kernels are missing, by name.
    """

    processor: str
    system: str
    machine: str
    requires: list[str]
    file: str
    sha256: str
    kernels: dict[str, str]
    refused: dict[str, str]


def digest_of(content: bytes) -> str:
    """The SHA-256 of a library's file."""
    return hashlib.sha256(content).hexdigest()


def symbol_of(text: str) -> str:
    """The symbol of a kernel's entry point, by its source.

    Args:
        text: the source of the kernel's module, including the header.
    """
    return f"pinnace_{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def written(libraries: list[Library], version: str) -> bytes:
    """The table as a file.

    Args:
        libraries: the entries.
        version: the version of the sources (`sources.version`).
    """
    told = {
        "format": FORMAT,
        "pinnace": _pinnace(),
        "kernels": version,
        "libraries": [one._asdict() for one in libraries],
    }
    return json.dumps(told, indent=1, sort_keys=True).encode() + b"\n"


def read(content: bytes, version: str | None) -> list[Library]:
    """The entries of a table.

    Args:
        content: the content of the table's file.
        version: the version of the sources that are present; None without sources: pinnace's own
            version must then be the same.

    Raises:
        RefusedError: the table is corrupt, or from a version with other kernels.
    """
    try:
        told = json.loads(content)
        is_same = told["kernels"] == version if version else told["pinnace"] == _pinnace()
        if told["format"] != FORMAT or not is_same:
            raise RefusedError(f"they were made by another version of pinnace ({told['pinnace']})")
        return [Library(**one) for one in told["libraries"]]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RefusedError(f"{FILE} is damaged: {error!r}") from error


def _pinnace() -> str:
    from pinnace.framework.versions import VERSION  # it is looked up, and seldom wanted

    return VERSION
