"""The kernels that are the same for every program, and what a kernel is called."""

from __future__ import annotations

import functools

from pinnace.engine.codegen import (
    columns,
    cross_entropies,
    descents,
    extremes,
    forests,
    offered,
    segments,
    sliding,
    streams,
    volume_pools,
    walking,
    winograd_kernels,
)


@functools.cache
def texts() -> dict[str, str]:
    """The text of each kernel that `ops.kernels.compiled` asks for, by its name."""
    return {
        **sliding.TEXTS,
        **winograd_kernels.TEXTS,
        **columns.TEXTS,
        **streams.TEXTS,
        **volume_pools.TEXTS,
        **descents.TEXTS,
        **extremes.TEXTS,
        **forests.TEXTS,
        **segments.TEXTS,
        **cross_entropies.TEXTS,
        **offered.TEXTS,
    }


def every() -> dict[str, str]:
    """Those, and the one that walks the table of any network."""
    return {**texts(), "network": walking.WALK}
