"""A product of a network as a row of its table: convolutions, and products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.networks import fields
from pinnace.engine.networks.fields import pixel_columns, stride_columns, volume_columns
from pinnace.engine.networks.folding import window_of
from pinnace.engine.networks.winograd_row import winograd_row

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.networks.table import Table
    from pinnace.engine.networks.weighing import Packed

# Multiplications per piece.
_PIECE_PRODUCTS = 1 << 16
# The relative cost of a depthwise multiplication, and of a byte of weights.
_CHANNELWISE, _WEIGHT_BYTE = 8, 4
# Bytes of x per block, which fit in the L2 cache; most windows per block; rows of the largest tile,
# of which blocks are multiples.
_BLOCK_BYTES, _MOST_WINDOWS, _TILE_ROWS = 1 << 18, 2048, 14
# Rows of the tiles for the remainder of a product.
_FEWER_ROWS = (1, 2, 4, 8)
# Bytes of weights that stay in the cache across windows.
_STAYING_BYTES = 1 << 17
# Fewest windows per thread for sharing windows instead of columns; fewest tiles per piece; fewest
# rows of windows per piece of a depthwise convolution.
_FEWEST_WINDOWS, _FEWEST_TILES, _FEWEST_LINES = 3 * _TILE_ROWS // 2, 3, 3


def product_row(table: Table, number: int, layer: Layer, form: Packed, row: dict[str, int]) -> None:
    """Fill in the columns of a product: windows of x times weights.

    Args:
        table: the row's table.
        number: index of the row.
        layer: the product.
        form: its packed weights.
        row: the columns; all are 0 except the kind.
    """
    source = table.memory.source(layer)
    window = window_of(layer.window, form.folded)
    x, x_image, x_row = table.image(source)
    y, y_image, y_row = table.image(layer.out)
    if layer.flat is not None:
        x, y = layer.flat
    if form.folded > 1:
        y = y._replace(width=y.width // form.folded, channels=y.channels * form.folded)
    channels, width = x.channels, y.channels
    (down, along), (gap_down, gap_along) = window.steps, window.gaps
    taps_down, taps_along = window.taps
    above, _, left, _ = window.border
    keys = [source, layer.out, *([] if layer.added is None else [layer.added])]
    storages = [table.memory.of(key) for key in keys]
    is_plain = window.is_one and not layer.phases and layer.depth is None
    if is_plain and not any(any(one.border) for one in storages):
        row |= {"IMAGES": 1, "ROWS_": 1, "COLUMNS": y.pixels}
    else:
        row |= pixel_columns(y)
    phase = layer.phases[0] if layer.phases else None
    first, every = ((0, 0), (1, 1)) if phase is None else (phase.first, phase.every)
    row |= stride_columns("X", x_image, down * x_row, along * channels)
    row |= stride_columns("Y", y_image, every[0] * y_row, every[1] * width)
    row |= {"WIDTH": width, "MODE": layer.mode}
    row |= {"WEIGHTS": form.weights.ctypes.data, "BIAS": form.bias.ctypes.data}
    table.border(layer, row)
    if phase is not None:
        row |= {"ROWS_": phase.counts[0], "COLUMNS": phase.counts[1]}
    table.address(number, "X", source, -(above * x_row + left * channels))
    table.address(number, "Y", layer.out, first[0] * y_row + first[1] * width)
    if layer.added is not None:
        _, z_image, z_row = table.image(layer.added)
        row |= stride_columns("Z", z_image, every[0] * z_row, every[1] * width)
        table.address(number, "Z", layer.added, first[0] * z_row + first[1] * width)
    row["ACROSS"] = 1
    row["SECTION_DOWN"] = gap_down * x_row
    row["SECTIONS"] = taps_down
    if layer.kind == "CHANNELWISE":
        row |= {"LENGTH": taps_along, "A_STEP": gap_along * channels}
    elif gap_along == 1:
        row["LENGTH"] = taps_along * channels
    else:
        row |= {
            "SECTIONS": taps_down * taps_along,
            "LENGTH": channels,
            "ACROSS": taps_along,
            "SECTION_ALONG": gap_along * channels,
        }
    row |= {"TERMS": row["SECTIONS"] * row["LENGTH"], "TIER": row["SECTIONS"]}
    taps_deep = 1 if layer.depth is None else layer.depth.taps
    inner = row["TERMS"] * taps_deep
    row["WEIGHTS_STAY"] = int(form.weights.nbytes <= _STAYING_BYTES)
    per_window = max(1, 4 * channels * down * along * taps_deep)
    block = min(_MOST_WINDOWS, max(4 * _TILE_ROWS, _BLOCK_BYTES // per_window))
    row["BLOCK"] = block // _TILE_ROWS * _TILE_ROWS
    _cut(table, layer, row, inner, form.weights.nbytes)
    if layer.depth is not None:
        row |= volume_columns(layer.depth, row)
    offsets = 3 * (row["BLOCK"] + 16) + row["SECTIONS"] + 1
    # A convolution of volumes also needs memory for a row of the table.
    table.need(offsets + (0 if layer.depth is None else len(fields.NAMES)))
    if form.transformed is not None:
        row |= winograd_row(table, form, x, y)


def _cut(table: Table, layer: Layer, row: dict[str, int], inner: int, weight_bytes: int) -> None:
    """Divide a product into pieces: by windows, or by columns if there are few windows.

    Args:
        table: the row's table.
        layer: the product.
        row: the columns of the row.
        inner: terms of a sum.
        weight_bytes: bytes of all weights.
    """
    lines = row["IMAGES"] * row["ROWS_"]
    windows = lines * row["COLUMNS"]
    work = windows * inner * row["WIDTH"]
    if layer.kind == "CHANNELWISE":
        wanted = table.pieces(work * _CHANNELWISE, _PIECE_PRODUCTS)
        parts = min(lines, max(lines // _FEWEST_LINES, table.threads))
    else:
        # Few windows: reading the weights dominates.
        wanted = table.pieces(max(work, weight_bytes * _WEIGHT_BYTE), _PIECE_PRODUCTS)
        tiles = -(-windows // _TILE_ROWS)
        parts = min(tiles, max(tiles // _FEWEST_TILES, table.threads))
    # If pieces are windows, a thread finds its own output of the previous row in its cache: that is
    # faster than reading only half of the weights.
    cuts = 1
    if windows < table.threads * _FEWEST_WINDOWS:
        panels = -(-row["WIDTH"] // 32)
        cuts = _shared(table, min(panels, wanted))
        if cuts % table.threads == 0 and panels % cuts == 0:
            parts = 1
    parts = _shared(table, min(parts, max(1, wanted // cuts)))
    row |= {"CUTS": cuts, "PIECES": cuts * parts}
    even = -(-windows // parts)
    tiled = -(-even // _TILE_ROWS) * _TILE_ROWS
    if parts <= table.threads and _rows_of_tiles(even) < tiled:
        row["OF_PIECE"] = even


def _shared(table: Table, pieces: int) -> int:
    """At most this many pieces, the same number for each thread."""
    return pieces - (pieces % table.threads if pieces > table.threads else 0)


def _rows_of_tiles(windows: int) -> int:
    """The rows of the tiles that cover some windows; the remainder has a smaller tile."""
    whole, left = divmod(windows, _TILE_ROWS)
    return whole * _TILE_ROWS + next(rows for rows in (0, *_FEWER_ROWS, _TILE_ROWS) if rows >= left)
