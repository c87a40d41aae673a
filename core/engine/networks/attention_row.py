"""Attention as a row of a network's table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.networks import fields

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Layer, Strides

# Queries per block, as a multiple of a tile's rows on any processor.
_TILES = 42
# Scores computed per block, which fit in the L2 cache.
_SCORES = 1 << 15
# Keys are padded to a multiple of the widest tile's columns.
_COLUMNS = 32
# Multiplications from which queries are shared between threads; the cost of reading a number, in
# multiplications.
_PIECE, _READING = 1 << 18, 16


class Columns(NamedTuple):
    """The columns of the table for attention.

    Attributes:
        row: columns without addresses.
        numbers: the scale of scores, and the score of masked elements.
        scratch: int64 numbers per thread.
        room: float32 numbers per thread: packed keys, and scores.
        firsts: offsets of the first query, key, value and mask element.
    """

    row: dict[str, int]
    numbers: tuple[float, float]
    scratch: int
    room: int
    firsts: tuple[int, int, int, int]


def attention_row(layer: Layer, threads: int) -> Columns:
    """The columns of a layer.

    Args:
        layer: the attention.
        threads: that share the work.
    """
    one = layer.attending
    assert one is not None  # noqa: S101 - for mypy: a layer of this kind has it
    images, heads, queries, keys, depth, width = one.sizes
    block = max(_TILES, _SCORES // keys // _TILES * _TILES)
    block = min(block, -(-queries // _TILES) * _TILES)
    pairs = images * heads
    work = pairs * max(queries, _READING) * keys * (depth + width)
    cuts, pieces = 1, 1
    if threads > 1 and work >= threads * _PIECE:
        # Whole heads, whose keys are packed once; parts of their queries if heads are few.
        cuts = 1 if pairs % threads == 0 or pairs >= 4 * threads else threads
        cuts = min(cuts, -(-queries // _TILES))
        pieces = min(pairs * cuts, 4 * threads)
        pieces -= pieces % threads if pieces > threads else 0
    row = {
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
    row |= _strides("X", one.queries, step="X_STEP")
    row |= _strides("K", one.keys, step="K_STEP")
    row |= _strides("Z", one.values)
    row |= _strides("Y", one.result)
    row |= _strides("MASK", one.mask, step="MASK_STEP")
    padded = -(-keys // _COLUMNS) * _COLUMNS
    room = padded * depth + (block + 16) * keys
    firsts = one.queries.first, one.keys.first, one.values.first, 0
    return Columns(row, (one.factor, one.filler), 3 * (block + 16) + 1, room, firsts)


def _strides(name: str, strides: Strides, *, step: str | None = None) -> dict[str, int]:
    found = {
        f"{name}_IMAGE": strides.image,
        f"{name}_HEAD": strides.head,
        f"{name}_ROW": strides.row,
    }
    return found if step is None else found | {step: strides.step}
