"""Attention as a row of a network's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.networks import fields

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.networks.table import Table

# Queries per block, as a multiple of a tile's rows on any processor.
_TILES = 42
# Scores computed per block, which fit in the L2 cache.
_SCORES = 1 << 15
# Keys are padded to a multiple of the widest tile's columns.
_COLUMNS = 32
# Multiplications from which queries are shared between threads; the cost of reading a number, in
# multiplications.
_PIECE, _READING = 1 << 18, 16


def attention_row(table: Table, number: int, layer: Layer, row: dict[str, int]) -> None:
    """Write the columns of a layer.

    Args:
        table: that it is a row of.
        number: of the row.
        layer: the attention.
        row: the columns.
    """
    one = layer.attending
    assert one is not None  # noqa: S101 - for mypy: a layer of this kind has it
    images, heads, queries, keys, depth, width = one.sizes
    block = max(_TILES, _SCORES // keys // _TILES * _TILES)
    block = min(block, -(-queries // _TILES) * _TILES)
    pairs, threads = images * heads, table.threads
    work = pairs * max(queries, _READING) * keys * (depth + width)
    cuts, pieces = 1, 1
    if threads > 1 and work >= threads * _PIECE:
        # Whole heads, whose keys are packed once; parts of their queries if heads are few.
        cuts = 1 if pairs % threads == 0 or pairs >= 4 * threads else threads
        cuts = min(cuts, -(-queries // _TILES))
        pieces = min(pairs * cuts, 4 * threads)
        pieces -= pieces % threads if pieces > threads else 0
    row |= {
        "IMAGES": images,
        "HEADS": heads,
        "ROWS_": queries,
        "KEYS": keys,
        "DEPTH": depth,
        "WIDTH": width,
        "BLOCK": block,
        "CUTS": cuts,
        "PIECES": pieces,
        "MASKING": fields.MASKING[one.masking],
    }
    operands = ("X", one.queries), ("K", one.keys), ("Z", one.values), ("Y", one.result)
    for name, strides in (*operands, ("MASK", one.mask)):
        for what, step in zip(("IMAGE", "HEAD", "ROW", "STEP"), strides[:4], strict=True):
            row[f"{name}_{what}"] = step
    padded = -(-keys // _COLUMNS) * _COLUMNS
    table.need(3 * (block + 16) + 1, padded * depth + (block + 16) * keys)
    # The scale of scores, and the score of masked elements.
    row["BIAS"] = table.keep(np.array((one.factor, one.filler), np.float32))
    firsts = one.queries.first, one.keys.first, one.values.first, 0
    for name, key, first in zip(("X", "K", "Z", "MASK"), layer.xs, firsts, strict=False):
        table.address(number, name, key, first)
    table.address(number, "Y", layer.out)
    if layer.mask is not None:
        row["MASK"] = table.keep(np.ascontiguousarray(table.array(layer.mask)))
