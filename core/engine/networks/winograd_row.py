"""A 3×3 convolution of a network by Winograd's tiles: when to use them, and their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.networks.fields import KIND
from pinnace.ops.kernels import winograd

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Image, Layer
    from pinnace.engine.networks.memory import Memory
    from pinnace.engine.networks.table import Table
    from pinnace.engine.networks.weighing import Packed

# Outputs from which threads share these rather than rows of tiles: each thread then transforms all
# patches, which is relatively cheap, and reads only its part of the filters.
_MANY_OUTPUTS = 128
# Most pieces per thread.
_PIECES = 4


def is_tiled(layer: Layer, memory: Memory) -> bool:
    """Whether Winograd's method is faster for a layer's convolution.

    Args:
        layer: the layer.
        memory: the network's memory.
    """
    window, source = layer.window, memory.source(layer)
    if layer.kind != "PRODUCT" or layer.phases or layer.flat is not None:
        return False
    if (window.taps, window.steps, window.gaps) != ((3, 3), (1, 1), (1, 1)):
        return False
    if source not in memory.storages:  # a view of another value
        return False
    x, y = memory.of(source).image, memory.of(layer.out).image
    return winograd.wins(y.height, y.width, x.channels, y.channels)


def winograd_row(table: Table, form: Packed, x: Image, y: Image) -> dict[str, int]:
    """The columns that differ from those of a product.

    Args:
        table: the row's table.
        form: the packed weights.
        x: the layer's input.
        y: the layer's output.
    """
    assert form.transformed is not None  # noqa: S101 - for mypy: `is_tiled` had them made
    threads = table.threads
    across, down = -(-y.width // 2), -(-y.height // 2)
    tiles = winograd.block_tiles(x.channels, across)
    row = {
        "KIND": KIND["WINOGRAD"],
        "TRANSFORMED": form.transformed.ctypes.data,
        "LARGEST": form.largest,
        "TILE_STEP": winograd.tile_step(x.channels),
        "BLOCK": tiles,
    }
    lines, panels = y.batch * down, -(-y.channels // 32)
    if threads == 1:
        cuts = pieces = 1
    elif y.channels >= _MANY_OUTPUTS and lines < threads * _PIECES * (tiles // across):
        cuts = pieces = threads
    else:
        cuts = 1
        # A piece has whole blocks, and each thread the same number of pieces.
        blocks = -(-lines * across // tiles)
        pieces = min(_PIECES, -(-blocks // threads)) * threads
    table.need(5 * (tiles + 16) + 1, winograd.room(tiles, x.channels))
    return row | {"CUTS": min(cuts, panels), "PIECES": pieces}
