"""The table beside a model's libraries: which kernels they hold, and for which processors.

JSON. `kernels` names what the machine code was made from beside each kernel's own text: another
version of pinnace asks for the same texts, and would get other code.
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from pinnace.engine.ahead.trust import RefusedError

FOLDER = "assets.extra/pinnace_kernels"
FILE = "kernels.json"
_FORMAT = 2
# What texts of kernels import, and what stands between them and Python.
_SOURCES = (
    "ahead/calling.py",
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
    "codegen/mathematics.py",
    "codegen/number_views.py",
    "codegen/objects.py",
    "codegen/products.py",
    "codegen/register_tiles.py",
    "codegen/scaled_rows.py",
    "codegen/vectors.py",
    "codegen/winograd.py",
    "../ops/kernels/special_functions.py",
)


class Library(NamedTuple):
    """The kernels for one processor.

    Attributes:
        processor: its name.
        machine: the architecture, as the system names it.
        requires: the features that a machine must have, as Linux names them.
        file: the library's name, beside the table.
        sha256: of that file.
        kernels: the symbol of each entry point, by the digest of the kernel's text.
        refused: why others are not there, by the digest of their texts.
    """

    processor: str
    machine: str
    requires: list[str]
    file: str
    sha256: str
    kernels: dict[str, str]
    refused: dict[str, str]


def digest_of_text(text: str) -> str:
    """What a kernel is found by.

    Args:
        text: of its module, the header included.
    """
    return hashlib.sha256(text.encode()).hexdigest()


def symbol_of(digest: str) -> str:
    """The name of a kernel's entry point in machine code, by the digest of its text."""
    return f"pinnace_{digest[:24]}"


@functools.cache
def version() -> str:
    """Changes with whatever machine code is made from, beside its own text."""
    digest = hashlib.sha256(f"format {_FORMAT}".encode())
    for name in _SOURCES:
        digest.update((Path(__file__).parents[1] / name).read_bytes())
    return digest.hexdigest()[:16]


def written(libraries: list[Library], pinnace: str) -> bytes:
    """The table's file.

    Args:
        libraries: what it tells about.
        pinnace: the version that made them, for people.
    """
    told = {
        "format": _FORMAT,
        "pinnace": pinnace,
        "kernels": version(),
        "libraries": [one._asdict() for one in libraries],
    }
    return json.dumps(told, indent=1, sort_keys=True).encode() + b"\n"


def read(content: bytes) -> list[Library]:
    """What a table tells about.

    Raises:
        RefusedError: it is damaged, or made by a version whose kernels are others.
    """
    try:
        told = json.loads(content)
        if told["format"] != _FORMAT or told["kernels"] != version():
            raise RefusedError(
                f"they were compiled by another pinnace ({told['pinnace']}); compile them again"
            )
        return [Library(**one) for one in told["libraries"]]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RefusedError(f"{FILE} is damaged: {error!r}") from error
