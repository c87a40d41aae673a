"""The kernels that are the same for every program, and their names."""

from __future__ import annotations

import functools
import importlib

# Module of this folder -> the names of its kernels.
_MODULES = {
    "block_programs": ("blocks",),
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
    "offered": ("pieces",),
    "segments": ("add_rows",),
    "sliding": ("multiply", "convolve", "depthwise", "correlate", "correlate_channels"),
    "statement_walk": ("statements",),
    "streams": ("maxima", "peaks", "philox", "stepped_maxima"),
    "volume_pools": ("volume_peaks", "volume_maxima"),
    "winograd_kernels": ("winograd", "winograd_correlate", "winograd_filter"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
NETWORK = "network"


@functools.cache
def text(name: str) -> str:
    """The source of a kernel, by its name; only its own module is imported."""
    if name == NETWORK:
        from pinnace.engine.codegen import walking

        return walking.WALK
    module = importlib.import_module(f"pinnace.engine.codegen.{_MODULE_OF[name]}")
    return module.TEXTS[name]  # type: ignore[no-any-return]


def every() -> dict[str, str]:
    """All sources by name; the last kernel interprets the table of any network."""
    return {name: text(name) for name in (*_MODULE_OF, NETWORK)}
