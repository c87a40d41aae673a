"""The table of contents of libraries: their kernels, and the processors they are for.

It is JSON. `kernels` has a digest of everything besides a kernel's own source that determines its
machine code: another version of pinnace compiles the same source to other code.
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

FILE = "kernels.json"
_FORMAT = 3
# Modules that kernels' sources import, and those that generate their entry points.
_SOURCES = (
    "ahead/calling.py",
    "ahead/systems.py",
    "codegen/activations.py",
    "codegen/alone.py",
    "codegen/atomics.py",
    "codegen/block_operations.py",
    "codegen/block_programs.py",
    "codegen/calls.py",
    "codegen/chains.py",
    "codegen/channel_tiles.py",
    "codegen/digits.py",
    "codegen/entry_points.py",
    "codegen/function_numbers.py",
    "codegen/intrinsics.py",
    "codegen/leaf_words.py",
    "codegen/mathematics.py",
    "codegen/number_views.py",
    "codegen/objects.py",
    "codegen/products.py",
    "codegen/register_tiles.py",
    "codegen/retargeting.py",
    "codegen/row_functions.py",
    "codegen/scaled_rows.py",
    "codegen/vectors.py",
    "codegen/winograd.py",
    "../ops/kernels/special_functions.py",
)


class RefusedError(Exception):
    """Machine code that is not used; the message says why."""


class Library(NamedTuple):
    """The kernels for one processor.

    Attributes:
        processor: its name.
        system: the operating system, as in `sys.platform`.
        machine: the architecture, as in `systems.machine()`.
        requires: the required processor features, as Linux names them.
        file: the library's name, in the table's folder.
        sha256: of that file.
        kernels: the symbol of each entry point, by the digest of the kernel's source.
        refused: why other kernels are missing, by the digest of their sources.
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


def digest_of_text(text: str) -> str:
    """The digest that identifies a kernel.

    Args:
        text: of its module, the header included.
    """
    return hashlib.sha256(text.encode()).hexdigest()


def symbol_of(digest: str) -> str:
    """The symbol of a kernel's entry point, by the digest of its source."""
    return f"pinnace_{digest[:24]}"


@functools.cache
def version() -> str:
    """A digest of everything besides its own source that determines a kernel's machine code."""
    digest = hashlib.sha256(f"format {_FORMAT}".encode())
    for name in _SOURCES:
        digest.update((Path(__file__).parents[1] / name).read_bytes())
    return digest.hexdigest()[:16]


def written(libraries: list[Library], pinnace: str) -> bytes:
    """The table as a file.

    Args:
        libraries: its entries.
        pinnace: the version that compiled them, for information.
    """
    told = {
        "format": _FORMAT,
        "pinnace": pinnace,
        "kernels": version(),
        "libraries": [one._asdict() for one in libraries],
    }
    return json.dumps(told, indent=1, sort_keys=True).encode() + b"\n"


def read(content: bytes) -> list[Library]:
    """The entries of a table.

    Raises:
        RefusedError: it is corrupt, or from a version with other kernels.
    """
    try:
        told = json.loads(content)
        if told["format"] != _FORMAT or told["kernels"] != version():
            raise RefusedError(
                f"they were made by another pinnace ({told['pinnace']}): "
                "python -m pinnace.engine.ahead.installing makes them again"
            )
        return [Library(**one) for one in told["libraries"]]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RefusedError(f"{FILE} is damaged: {error!r}") from error
