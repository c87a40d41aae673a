"""The sources of the general kernels, with the version and symbols of libraries made from them.

Wheels with libraries omit this module and everything else that only building a library requires
(`tools/build_only.py`). If it is present, a library is compared with it before it is used.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from pinnace.engine.ahead import table
from pinnace.engine.codegen import general

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
    "codegen/logarithms.py",
    "codegen/mathematics.py",
    "codegen/number_views.py",
    "codegen/objects.py",
    "codegen/products.py",
    "codegen/register_tiles.py",
    "codegen/retargeting.py",
    "codegen/row_functions.py",
    "codegen/scaled_rows.py",
    "codegen/softmax.py",
    "codegen/vectors.py",
    "codegen/winograd.py",
    "../ops/kernels/special_functions.py",
)


@functools.cache
def version() -> str:
    """A digest of everything besides its own source that determines a kernel's machine code."""
    digest = hashlib.sha256(f"format {table.FORMAT}".encode())
    for name in _SOURCES:
        digest.update((Path(__file__).parents[1] / name).read_bytes())
    return digest.hexdigest()[:16]


def texts() -> dict[str, str]:
    """The sources of the kernels' modules, including headers, by the kernels' names."""
    return {name: general.module_of(general.text(name)) for name in general.names()}


def symbols() -> dict[str, str]:
    """The symbols of the kernels' entry points, by the kernels' names."""
    return {name: table.symbol_of(text) for name, text in texts().items()}
