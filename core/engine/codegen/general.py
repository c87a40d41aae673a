"""The kernels that are the same for every program, and their names."""

from __future__ import annotations

import functools
import importlib

from pinnace.engine.networks import fields

# Module of this folder -> the names of its kernels.
_MODULES = {
    "block_text": ("blocks",),
    "columns": (
        "moments",
        "normalised",
        "scaled",
        "projections",
        "slopes",
        "rectified_projections",
        "rectified_slopes",
    ),
    "compared_forests": ("forest words", "forest steps"),
    "cross_entropies": ("cross_entropies",),
    "descents": ("adam", "nesterov adam", "momentum", "nesterov momentum", "descent"),
    "extremes": ("extremes", "shared_extremes"),
    "forests": ("forest",),
    "halves": ("from_halves", "to_halves", "from_bfloats", "to_bfloats"),
    "number_lists": ("number lists",),
    "offered": ("pieces",),
    "pictures": ("resized_linearly", "resampled", "colours"),
    "segments": ("add_rows", "combine_rows", "add_weighted_rows"),
    "sliding": ("multiply", "convolve", "depthwise", "correlate", "correlate_channels"),
    "statement_text": ("statements",),
    "streams": ("maxima", "peaks", "philox", "shuffled", "stepped_maxima"),
    "volume_pools": ("volume_peaks", "volume_maxima"),
    "winograd_kernels": ("winograd", "winograd_correlate", "winograd_filter"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
NETWORK = fields.KERNEL

_HEADER = '''"""Written by pinnace.engine.codegen; it may be deleted."""

import numpy as np
from numba import njit, types
from numba.types import float32, int64, void
from pinnace.engine.codegen.mathematics import (
    erf, erfc, exp, expm1, larger, maximum, minimum, plus, row, sigmoid, tanh, whole_vectors,
)

ROWS = types.Array(float32, 2, "A", readonly=True)
READ = types.Array(float32, 1, "C", readonly=True)
WRITTEN = types.Array(float32, 1, "C")
sqrt = np.sqrt
'''


@functools.cache
def text(name: str) -> str:
    """The source of a kernel, by its name; only its own module is imported."""
    if name == NETWORK:
        from pinnace.engine.codegen import walking

        return walking.WALK
    module = importlib.import_module(f"pinnace.engine.codegen.{_MODULE_OF[name]}")
    return module.TEXTS[name]  # type: ignore[no-any-return]


def names() -> list[str]:
    """The names of all kernels; the last one interprets the table of any network."""
    return [*_MODULE_OF, NETWORK]


def module_of(text: str) -> str:
    """The source of a kernel's module: the header, and the text that defines `kernel`."""
    return _HEADER + text
