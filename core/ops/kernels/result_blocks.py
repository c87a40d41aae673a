"""Convolutions whose results have few channels, in blocks with enough columns for the kernels.

A register tile multiplies whole vectors of columns, and a result of one or three channels fills a
small part of one. So a block of neighbouring results becomes the columns: windows are a little
larger, each is moved by a block, and its filter has each tap at a different place for each result
of the block, zeros between. Blocks along the last axis alone lie in memory as their results do, and
are made in place; others are put in order afterwards. For the gradient of an input (a transposed
convolution) a block takes the phases of the strides together. Where the zeros cost more than empty
lanes do, nothing is done here.

A filter's gradient with few columns is computed with x and dy in each other's place: its rows are
then taps of dy, its columns the channels of x. Or it has the blocks' columns, and the sums of those
with the same tap are added up in the end.

Axes as in `convolution`; two spatial axes or three.
"""

from __future__ import annotations

import functools
import math
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pinnace.ops.kernels import compiled, lending, team, tiles
from pinnace.ops.kernels.patches import Geometry, geometry
from pinnace.ops.kernels.weights import PANEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.ops.kernels.precision import Array

# The most results in a block along an axis.
_LONGEST = 8
# Cycles per row of a tile and step of its sums: (up to this many columns, cycles). Tiles of one
# vector read nearly as much as tiles of two.
_CYCLES = ((8, 0.65), (16, 0.7), (32, 1.0))
# The same for an input's gradient where BLAS forms the products of all taps, which are added up.
_ADDING, _SLOWLY = 3.0, 0.1
# The most columns of a filter's gradient in blocks: rows of two vectors gain nothing.
_SLOPE_COLUMNS = 16
# Cycles for moving one number from its block to its place.
_MOVING = 3.0
# Blocks are used if they reduce the cycles to this share, or to the second one if they are formed
# in place, and from this number of multiplications on.
_GAIN, _GAIN_IN_PLACE, _FEWEST = 0.7, 0.85, 1 << 18
# Rows of a tile on the processor with the largest.
_TILE_ROWS = 14
# Numbers of the blocks that a thread works on at a time.
_BLOCK_NUMBERS = 1 << 15


class _Axis(NamedTuple):
    """An axis in blocks of results: windows of the input, and the taps in them.

    Attributes:
        block: results of a block.
        blocks: the number of blocks.
        results: results of the whole axis.
        step: from the window of a block to the next.
        window: taps of it.
        pads: pads of the input.
        taps: [window, block], the filter's tap for a result of the block; -1 where there is none.
    """

    block: int
    blocks: int
    results: int
    step: int
    window: int
    pads: tuple[int, int]
    taps: list[list[int]]


class _Plan(NamedTuple):
    """Blocks along all axes.

    Attributes:
        g: the convolution that makes them.
        places: [*window, *blocks], the filter's tap, flat; the first one past all taps where there
            is none.
        blocks: results of a block, by axis.
    """

    g: Geometry
    places: Array
    blocks: tuple[int, ...]


def convolve(x: Array, filter: Array, g: Geometry, out: Array) -> bool:
    """out[...] = convolution of one group; False if it must be computed otherwise.

    Args:
        x: [batch, *spatial, C].
        filter: [*window, C, O].
        g: two axes, or three.
        out: [batch, *counts, O].
    """
    plan = _plan_of(g, filter.shape[-2], filter.shape[-1], back=False)
    return plan is not None and _by_blocks(plan, x, filter, out)


def convolve_back(filter: Array, dy: Array, g: Geometry, dx: Array) -> bool:
    """dx[...] = the input gradient of one group; False if it must be computed otherwise.

    Args:
        filter: [*window, C, O].
        dy: [batch, *counts, O].
        g: two axes, or three.
        dx: [batch, *sizes, C].
    """
    plan = _plan_of(g, filter.shape[-1], filter.shape[-2], back=True)
    return plan is not None and _by_blocks(plan, dy, filter.swapaxes(-1, -2), dx)


def _by_blocks(plan: _Plan, read: Array, filter: Array, out: Array) -> bool:
    """out[...] = the result of the plan, for a filter [*window, inputs, outputs]."""
    inputs, outputs = filter.shape[-2:]
    if out.size * inputs * math.prod(filter.shape[:-2]) < _FEWEST:
        return False
    if compiled.made("convolve") is None or not (tiles.readable(read) and out.dtype == read.dtype):
        return False
    if filter.dtype != np.float32:
        return False
    widened = _widened(plan, filter)
    target = _in_place(plan, out)
    if target is not None:
        return tiles.convolve(read, widened, plan.g, target)
    counts, lengths = plan.g.counts, plan.blocks
    per_image = math.prod(counts) * widened.shape[-1]
    products = len(read) * per_image * math.prod(widened.shape[:-1])
    # From [images, *counts, *blocks, outputs] to each axis's count beside its block.
    axes = range(len(counts))
    order = (0, *(place for axis in axes for place in (1 + axis, 1 + axis + len(counts))), -1)
    covered = tuple(count * block for count, block in zip(counts, lengths, strict=True))
    threads = tiles.pieces_of(products)
    step = max(
        1, min(-(-len(read) // tiles.piece_count(products, threads)), _BLOCK_NUMBERS // per_image)
    )

    def work(piece: int) -> None:
        images = slice(piece * step, (piece + 1) * step)
        target = out[images]
        size = len(target) * per_image
        lent = lending.lend("blocks", size, np.float32)
        blocks = lent[:size].reshape(len(target), *counts, widened.shape[-1])
        tiles.convolve(read[images], widened, plan.g, blocks)
        in_order = blocks.reshape(len(target), *counts, *lengths, outputs).transpose(order)
        whole = (len(target), *covered, outputs)
        if target.shape == whole and target.flags.c_contiguous:
            np.copyto(target.reshape(in_order.shape), in_order)
        else:
            target[...] = in_order.reshape(whole)[tuple(map(slice, target.shape))]

    team.share(-(-len(read) // step), work, threads=threads)
    return True


def _in_place(plan: _Plan, out: Array) -> Array | None:
    """[batch, *counts of the plan, block * outputs], a view of `out`; None if there is none."""
    block, outputs = plan.blocks[-1], out.shape[-1]
    side_by_side = out.strides[-2] == out.strides[-1] * outputs
    shape = (len(out), *plan.g.counts, block * outputs)
    if math.prod(shape) != out.size or max(plan.blocks[:-1]) > 1 or not side_by_side:
        return None
    strides = (*out.strides[:-2], out.strides[-2] * block, out.strides[-1])
    return as_strided(out, shape, strides)


def _widened(plan: _Plan, filter: Array) -> Array:
    """[*window of the plan, inputs, results of a block * outputs] of [*window, …]."""
    inputs, outputs = filter.shape[-2:]
    window = plan.g.window
    taps = np.zeros((math.prod(filter.shape[:-2]) + 1, inputs, outputs), np.float32)
    taps[:-1] = filter.reshape(-1, inputs, outputs)
    laid_out = np.moveaxis(taps[plan.places], -2, len(window))
    return np.ascontiguousarray(laid_out).reshape(*window, inputs, -1)


@functools.lru_cache(maxsize=256)
def _plan_of(g: Geometry, inputs: int, outputs: int, *, back: bool) -> _Plan | None:
    """The blocks that take the fewest cycles; None if results one by one do not take many more.

    Args:
        g: the convolution.
        inputs: channels of what is read.
        outputs: channels of the results.
        back: whether the results are the input's gradient.
    """
    few = 0 < outputs <= PANEL // 2
    if len(g.sizes) not in (2, 3) or not few or 0 in (inputs, *g.counts, *g.sizes, *g.window):
        return None
    # Each phase of a gradient uses a part of the taps.
    taps = math.prod(g.window) / (math.prod(g.strides) if back else 1)
    alone = inputs * _cycles(outputs)
    if back:
        alone = min(alone, outputs * (_ADDING + _SLOWLY * inputs))
    alone *= taps
    least = math.inf
    best: tuple[_Axis, ...] | None = None
    lengths = range(1, min(_LONGEST, PANEL // outputs) + 1)
    axes = [
        [one for block in lengths if (one := _axis(g, axis, block, back)) is not None]
        for axis in range(len(g.sizes))
    ]
    for chosen in product(*axes):
        columns = math.prod(axis.block for axis in chosen) * outputs
        if columns > PANEL:
            continue
        *others, last = chosen
        in_place = all(axis.block == 1 for axis in others) and last.results % last.block == 0
        share = math.prod(axis.window * axis.blocks / axis.results for axis in chosen)
        cycles = share * inputs * _cycles(columns) + (0.0 if in_place else _MOVING * outputs)
        if cycles < min(least, (_GAIN_IN_PLACE if in_place else _GAIN) * alone):
            least, best = cycles, chosen
    return None if best is None else _plan_along(best, g, back=back)


def _plan_along(axes: Sequence[_Axis], g: Geometry, *, back: bool) -> _Plan:
    """The plan of blocks along these axes of a convolution."""
    blocked = geometry(
        g.counts if back else g.sizes,
        [axis.window for axis in axes],
        [axis.step for axis in axes],
        [axis.pads for axis in axes],
        (1,) * len(axes),
    )
    return _Plan(blocked, _places(axes, g.window), tuple(axis.block for axis in axes))


def _places(axes: Sequence[_Axis], window: Sequence[int]) -> Array:
    """`_Plan.places` for blocks along these axes and a filter's window."""
    found, there = np.zeros((), np.int64), np.ones((), np.bool_)
    rank = len(axes)
    for place, (axis, taps) in enumerate(zip(axes, window, strict=True)):
        shape = [1] * (2 * rank)
        shape[place], shape[rank + place] = axis.window, axis.block
        one = np.array(axis.taps).reshape(shape)
        found, there = found * taps + one, there & (one >= 0)
    return np.where(there, found, math.prod(window))


def _cycles(columns: int) -> float:
    """The cycles of a tile's row per step of its sums."""
    return next(cycles for most, cycles in _CYCLES if columns <= most)


def _axis(g: Geometry, axis: int, block: int, back: bool) -> _Axis | None:
    """An axis in blocks; None if these do not contain all phases of a stride."""
    stride, dilation, before = g.strides[axis], g.dilations[axis], g.pads[axis][0]
    if back and block % stride:
        return None
    # Positions that a block at 0 reads: (result, tap) -> position.
    reads: dict[tuple[int, int], int] = {}
    for result, tap in product(range(block), range(g.window[axis])):
        if not back:
            reads[result, tap] = result * stride + tap * dilation - before
        elif (result + before - tap * dilation) % stride == 0:
            reads[result, tap] = (result + before - tap * dilation) // stride
    if not reads:
        return None
    results, size = (g.sizes, g.counts) if back else (g.counts, g.sizes)
    step = block // stride if back else block * stride
    first = min(reads.values())
    window = max(reads.values()) - first + 1
    taps = [[-1] * block for _ in range(window)]
    for (result, tap), place in reads.items():
        taps[place - first][result] = tap
    count = -(-results[axis] // block)
    pads = (-first, (count - 1) * step + window + first - size[axis])
    return _Axis(block, count, results[axis], step, window, pads, taps)


def correlate(x: Array, dy: Array, g: Geometry) -> Array | None:
    """[*window, C, O], the filter's gradient; None if this method is not faster.

    Args:
        x: [batch, *spatial, C].
        dy: [batch, *counts, O].
        g: two axes, or three.
    """
    channels, outputs = x.shape[-1], dy.shape[-1]
    plan = _slope_plan(g, channels, outputs)
    if plan is not None:
        found = _by_block_sums(plan, x, dy, g)
        if found is not None:
            return found
    if max(g.strides) > 1 or outputs > PANEL // 2 or dy.size == 0:
        return None
    if _slope_cycles(g, outputs, channels) > _GAIN * _slope_cycles(g, channels, outputs):
        return None
    # Position q of x meets tap t of the window at q - t * dilation + before.
    pads = []
    for size, taps, dilation, (before, _), count in zip(
        g.sizes, g.window, g.dilations, g.pads, g.counts, strict=True
    ):
        reach = (taps - 1) * dilation
        pads.append((reach - before, size - count + before))
    swapped = geometry(g.counts, g.window, g.strides, pads, g.dilations)
    found = tiles.correlate(dy, x, swapped)
    if found is None:
        return None
    return np.ascontiguousarray(np.flip(found, tuple(range(len(g.window)))).swapaxes(-1, -2))


@functools.lru_cache(maxsize=256)
def _slope_plan(g: Geometry, channels: int, outputs: int) -> _Plan | None:
    """The blocks along the last axis with which a filter's gradient takes the fewest cycles.

    None if there are none, or they do not take much fewer than one result at a time does, or than
    the gradient with x and dy in each other's place.
    """
    few = 0 < outputs <= PANEL // 2
    if len(g.sizes) not in (2, 3) or not few or 0 in (channels, *g.counts, *g.sizes, *g.window):
        return None
    least = _GAIN_IN_PLACE * _slope_cycles(g, channels, outputs)
    if max(g.strides) == 1:
        least = min(least, _slope_cycles(g, outputs, channels))
    last = len(g.sizes) - 1
    others = [_axis(g, axis, 1, back=False) for axis in range(last)]
    best = None
    for block in range(2, min(_LONGEST, _SLOPE_COLUMNS // outputs) + 1):
        chosen = [axis for axis in (*others, _axis(g, last, block, back=False)) if axis is not None]
        if len(chosen) <= last or chosen[-1].results % block:
            continue
        plan = _plan_along(chosen, g, back=False)
        cycles = _slope_cycles(plan.g, channels, block * outputs) / block
        if cycles < least:
            least, best = cycles, plan
    return best


def _by_block_sums(plan: _Plan, x: Array, dy: Array, g: Geometry) -> Array | None:
    """[*window, C, O]: the sums of a plan's blocks, added up by tap; None if NumPy has to do it."""
    blocks = _in_place(plan, np.ascontiguousarray(dy))
    found = None if blocks is None else tiles.correlate(x, blocks, plan.g)
    if found is None:
        return None
    channels, outputs, block = x.shape[-1], dy.shape[-1], plan.blocks[-1]
    sums = found.reshape(-1, channels, block, outputs)
    taps = plan.places.reshape(-1, block)
    # Each result of the block has each tap once; positions without a tap add to a dummy index past
    # all taps.
    total = np.zeros((math.prod(g.window) + 1, channels, outputs), np.float32)
    for result in range(block):
        total[taps[:, result]] += sums[:, :, result]
    return total[:-1].reshape(*g.window, channels, outputs)


def _slope_cycles(g: Geometry, rows: int, columns: int) -> float:
    """The cycles per position, with taps of so many channels as rows."""
    panels = -(-columns // PANEL)
    width = -(-columns // panels)
    return -(-math.prod(g.window) * rows // _TILE_ROWS) * panels * _cycles(width)
