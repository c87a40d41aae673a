"""Convolutions of float32 images by compiled code, if the installation has it.

NumPy's path gathers windows into a matrix for BLAS; the compiled kernels (`engine.codegen.sliding`)
read them in place and keep sums in registers. They are requested once convolutions have taken some
time, and until they are compiled every function here returns that it did nothing.

Axes as in `convolution`; two spatial axes or three, where an image is a volume of slices.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.ops.kernels import blas, compiled, pieces, recycling, team, weights
from pinnace.ops.kernels.addresses import address_of
from pinnace.ops.kernels.lending import lend
from pinnace.ops.kernels.tile_jobs import (
    COLUMNS,
    IMAGES,
    MODE,
    ROWS,
    ROWS_OF_SUMS,
    SLICES,
    Cut,
    Job,
    call,
    make_calls,
)
from pinnace.ops.kernels.weights import PANEL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.ops.kernels.patches import Geometry
    from pinnace.ops.kernels.precision import Array

# Bytes of images worked on at a time: with a panel of weights they fit the second-level cache.
_BLOCK_BYTES = 1 << 18
# The same for a filter's gradient: every tile of taps passes over the whole block again, so that it
# should stay in the L1 cache.
_SLOPE_BLOCK_BYTES = 1 << 15
# Room for the rows that fill a tile up.
MOST_ROWS = 16
# Rows of a result below which a thread is given columns rather than rows.
_FEW_ROWS = 128
# Multiplications below which BLAS is done before a compiled kernel has been entered.
WORTH_PACKING = 1 << 21
# Rows whose starts are a multiple of this distance apart map to the same few cache sets and evict
# one another: they are copied with another stride.
_CLASH = 1024
# Rows of a tile on the processor with the largest.
_TILE_ROWS = 14
# Numbers of a block of rows, and of their results if these have an epilogue: both stay in the L2
# cache.
_BLOCK_NUMBERS, _BLOCK_RESULTS = 1 << 16, 1 << 17
# Columns of weights up to which whole panels are read in place, unless they are packed permanently:
# rows further apart map to the same few cache sets, and to too many pages.
_MOST_UNPACKED = 128
# Windows from which it is worth a look at the weights whether zeros around images may be left out.
_WORTH_SKIPPING = 256
# Pieces per thread if there is enough work; multiplications of the smallest piece, and windows:
# with fewer, loading each panel of weights to the L1 cache does not pay off.
_PIECES, _PIECE_PRODUCTS, _PIECE_WINDOWS = 8, 1 << 22, 112
# Numbers of a filter's gradient up to which threads sum over separate images, and up to which
# several pieces of images have separate sums.
_PARTIAL, _SMALL_PARTIAL = 1 << 16, 1 << 13


def fits(*arrays: Array) -> bool:
    """Whether compiled code can read the arrays in place."""
    return all(
        array.dtype == np.float32
        and array.flags.c_contiguous
        and array.flags.aligned
        and array.size > 0
        for array in arrays
    )


def readable(x: Array) -> bool:
    """Whether the images are floats with contiguous channels."""
    return bool(
        x.dtype == np.float32
        and x.flags.aligned
        and x.size > 0
        and x.strides[-1] == 4
        and all(stride % 4 == 0 for stride in x.strides)
    )


def _suits(g: Geometry) -> bool:
    """Whether the kernels support this number of axes."""
    return len(g.sizes) in (2, 3)


def convolve(x: Array, filter: Array, g: Geometry, out: Array) -> bool:
    """out[...] = convolution of one group; False if NumPy has to do it.

    Args:
        x: [batch, *spatial, C].
        filter: [*window, C, O].
        g: two axes, or three.
        out: [batch, *counts, O], its channels side by side.
    """
    task = prepared(x, filter, g, out)
    if task is None:
        return False
    run(task.kernel, task.job, task.arrays, task.per_window)
    return True


class Task(NamedTuple):
    """A job with its arrays.

    Attributes:
        kernel: the machine code.
        job: the whole.
        arrays: x, b, what is made, and what sums begin with.
        per_window: multiplications.
    """

    kernel: Callable[..., Any]
    job: Job
    arrays: tuple[Array, Array, Array, Array]
    per_window: int


def prepared(x: Array, filter: Array, g: Geometry, out: Array) -> Task | None:
    """`convolve` as a task to run later; None if NumPy has to do it. Arguments as there."""
    kernel = compiled.made("convolve")
    if kernel is None or not _suits(g) or not (readable(x) and fits(filter) and readable(out)):
        return None
    inner, outputs = math.prod(filter.shape[:-1]), filter.shape[-1]
    kept = weights.panels(filter) if outputs > PANEL else None
    if kept is None and outputs <= _MOST_UNPACKED and (outputs <= PANEL or outputs % PANEL == 0):
        panels, b_step, panel_step = filter, outputs, PANEL
    else:
        panels = weights.packed(filter.reshape(inner, outputs)) if kept is None else kept
        b_step, panel_step = PANEL, inner * PANEL
    is_padded = any(max(pair) > 0 for pair in g.pads)
    skips = is_padded and out.size >= outputs * _WORTH_SKIPPING and _is_finite(filter)
    extra = (b_step, panel_step, int(skips))
    job = job_of(x.shape, x.strides, g, out.shape, out.strides, extra, _BLOCK_BYTES)
    return Task(kernel, job, (x, panels, out, zeros(outputs)), inner * outputs)


def _is_finite(filter: Array) -> bool:
    """Whether all weights are finite, so that zeros may be skipped; False if unknown."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.add.reduce(filter, axis=None)))


def run_together(tasks: Sequence[Task], images: int) -> None:
    """Run jobs on a number of images; each thread runs all of them for some images."""
    if not tasks:
        return
    products = 0
    # For each: its table, the indices of first and last, and the steps per image.
    tables = []
    for task in tasks:
        job = task.job
        products += _windows(job) * task.per_window
        # Images whose rows follow one another may have become one.
        places, each = (IMAGES, 1) if job.last_image == images else (ROWS, job.last_row // images)
        tables.append((task, task.job.table(*task.arrays), places, each))
    threads = threads_for(products, *(task.kernel for task in tasks))
    windows = min(_windows(task.job) for task in tasks)
    step = _step(images, piece_count(products, threads, windows), 1)
    cuts = [Cut(places, each * images, each * step) for _, _, places, each in tables]
    parts = [(task.kernel, task.job, table) for task, table, _, _ in tables]
    make_calls(parts, cuts, threads, products)


def depthwise(x: Array, filter: Array, g: Geometry, out: Array) -> bool:
    """out[...] = depthwise convolution; False if NumPy has to do it.

    Args:
        x: [batch, height, width, C].
        filter: [rows, columns, C, 1].
        g: two axes.
        out: [batch, *counts, C].
    """
    if filter.shape[-1] != 1 or len(g.sizes) != 2:
        return False
    kernel = compiled.made("depthwise")
    if kernel is None or not (readable(x) and fits(filter) and readable(out)):
        return False
    job = job_of(x.shape, x.strides, g, out.shape, out.strides, (), _BLOCK_BYTES)
    run(kernel, job, (x, filter, out, zeros(x.shape[-1])), filter.size)
    return True


def correlate(x: Array, dy: Array, g: Geometry) -> Array | None:
    """[*window, C, O], the filter's gradient; None if NumPy has to do it.

    Args:
        x: [batch, *spatial, C].
        dy: [batch, *counts, O].
        g: two axes, or three.
    """
    kernel = compiled.made("correlate")
    if kernel is None or not _suits(g) or not (readable(x) and readable(dy)):
        return None
    dy = np.ascontiguousarray(dy)
    channels, outputs = x.shape[-1], dy.shape[-1]
    inner = math.prod(g.window) * channels
    job = _slope_job(x, dy, g, inner)
    threads = threads_for(inner * dy.size, kernel)
    if inner * outputs <= _PARTIAL and _cut_of(job)[1] >= threads > 1:
        return _correlate_images(kernel, job, x, dy, inner, threads).reshape(
            *g.window, channels, -1
        )
    df = recycling.empty((*g.window, channels, outputs), np.float32)
    table = job.table(x, dy, df, zeros(PANEL))
    by_rows = inner >= _FEW_ROWS or outputs <= PANEL
    length = inner if by_rows else outputs
    step = _step(length, threads, _TILE_ROWS if by_rows else PANEL)
    places = (ROWS_OF_SUMS, ROWS_OF_SUMS + 1) if by_rows else COLUMNS
    make_calls([(kernel, job, table)], [Cut(places, length, step)], threads, inner * dy.size)
    return df


def _slope_job(x: Array, dy: Array, g: Geometry, sums: int) -> Job:
    """The job of a filter's gradient, with this number of partial sums."""
    extra = (dy.shape[-1], g.counts[-2], 0, sums)
    job = job_of(x.shape, x.strides, g, dy.shape, dy.strides, extra, _SLOPE_BLOCK_BYTES)
    return job._replace(
        limit=sums + MOST_ROWS, sections=job.most_images * job.most_slices * job.most_rows
    )


def _correlate_images(
    kernel: Callable[..., Any], job: Job, x: Array, dy: Array, inner: int, threads: int
) -> Array:
    """[partial sums, O], where pieces sum over separate images."""
    # Each partial sum is written and read once more: large ones have no more pieces than threads.
    count = _PIECES if inner * dy.shape[-1] <= _SMALL_PARTIAL else 1
    _, length = _cut_of(job)
    step = -(-length // (threads * count))
    parts = recycling.empty((-(-length // step), inner, dy.shape[-1]), np.float32)
    run_images(kernel, job, (x, dy, parts, zeros(PANEL)), step, inner * dy.size)
    sums = recycling.empty(parts.shape[1:], np.float32)
    if len(parts) == 2:
        return np.asarray(np.add(parts[0], parts[1], out=sums))
    return np.asarray(parts.sum(axis=0, out=sums))


def correlate_channels(x: Array, dy: Array, g: Geometry) -> Array | None:
    """[rows, columns, C], the depthwise filter's gradient; None if NumPy has to do it.

    Args:
        x: [batch, height, width, C].
        dy: [batch, *counts, C].
        g: two axes.
    """
    kernel = compiled.made("correlate_channels")
    if kernel is None or len(g.sizes) != 2 or not (readable(x) and readable(dy)):
        return None
    dy = np.ascontiguousarray(dy)
    channels, taps = x.shape[-1], math.prod(g.window)
    job, threads = _slope_job(x, dy, g, taps), threads_for(taps * dy.size, kernel)
    return _correlate_images(kernel, job, x, dy, taps, threads).reshape(*g.window, channels)


def _cut_of(job: Job) -> tuple[tuple[int, int], int]:
    """The split of a sum over images: indices of first and last in the table, and their number."""
    if job.last_image == 1 and job.last_slice == 1:
        return ROWS, job.last_row
    return IMAGES, job.last_image


def run_images(
    kernel: Callable[..., Any], job: Job, arrays: tuple[Array, ...], step: int, products: int
) -> int:
    """Run a job whose pieces are images, with separate outputs.

    Images that were joined vertically are split by rows, if there are several pieces.

    Returns:
        As `run`.
    """
    parts = arrays[2]
    places, length = _cut_of(job) if len(parts) > 1 else (IMAGES, job.last_image)
    cut = Cut(places, length, step, 4 * parts[0].size)
    return make_calls([(kernel, job, job.table(*arrays))], [cut], team.size(), products)


def product(a: Array, b: Array, out: Array | None, noted: Array) -> Array:
    """a times b, where b is an array known to `weights`.

    Args:
        a: [rows, K].
        b: [K, N].
        out: [rows, N], written and returned if given.
        noted: the noted array: b, or the array that b is a view of.
    """
    worth = len(a) > 1 and len(a) * b.size >= WORTH_PACKING
    if worth and weights.are_steady(noted):
        found = multiply(a, b, out, noted)
        if found is not None:
            return found
        return blas.matmul(a, b, out)
    return blas.matmul(a, b, out)


def multiply(a: Array, b: Array, out: Array | None, noted: Array) -> Array | None:
    """a times b by the compiled kernel, with b packed permanently; None if BLAS has to do it.

    BLAS arranges b anew at each product, which for few rows is most of the work; for many, sums
    that stay in registers are a little quicker than its own.

    Args:
        a: [rows, K].
        b: [K, N].
        out: as for `product`.
        noted: as for `product`.
    """
    rows = len(a)
    if (out is not None and not fits(out)) or a.shape[1] != len(b):
        return None
    rows_times = packed_product(a, b.shape[1], noted)
    if rows_times is None:
        return None
    columns = b.shape[1]
    result = np.empty((rows, columns), np.float32) if out is None else out
    threads = pieces_of(rows * b.size)
    by_rows = rows >= _FEW_ROWS * threads
    length = rows if by_rows else columns
    step = _step(length, threads, _TILE_ROWS if by_rows else PANEL)

    def work(piece: int) -> None:
        part = (piece * step, min(length, (piece + 1) * step))
        if by_rows:
            rows_times(result[part[0] : part[1]], *part, 0, columns)
        else:
            rows_times(result, 0, rows, *part)

    team.share(-(-length // step), work, threads=threads)
    return result


def packed_product(
    a: Array,
    columns: int,
    noted: Array,
    init: Array | None = None,
    kernel: Callable[..., Any] | None = None,
) -> Callable[[Array, int, int, int, int], None] | None:
    """A function that computes a part of A times b in one thread; None if BLAS must do it.

    Its arguments are the output of the part's rows ([last - first, N], all columns), the first and
    last row, and the first and last column; the latter are multiples of a panel or N.

    Args:
        a: [rows, K].
        columns: N.
        noted: an array known to `weights`, whose numbers are b's.
        init: initial value of every row's sums, [N]; zeros if None.
        kernel: the compiled product, if the caller has it.
    """
    kernel = kernel or compiled.made("multiply")
    if kernel is None or columns < PANEL or not fits(a):
        return None
    if init is not None and not fits(init):
        return None
    panels = weights.panels(noted, columns)
    inner = a.shape[1]
    if panels is None or panels.shape[1] != inner:
        return None
    begin = np.zeros(columns, np.float32) if init is None else init
    spread = inner + MOST_ROWS if inner % _CLASH == 0 else 0
    # As many rows at a time as fit in the cache beside a panel.
    block = max(1, _BLOCK_NUMBERS // (inner * _TILE_ROWS)) * _TILE_ROWS
    addresses = (address_of(a), address_of(panels), address_of(begin))

    def run(target: Array, first: int, last: int, left: int, right: int) -> None:
        count = last - first
        taken = min(block, count)
        scratch = lend("numbers", taken * spread, np.float32).ctypes.data if spread else 0
        start, packed, sums = addresses
        q = np.array(
            (
                start + 4 * inner * first,
                packed,
                address_of(target),
                sums,
                0,
                inner,
                inner,
                columns,
                count,
                left,
                right,
                taken,
                scratch,
                spread,
            ),
            np.int64,
        )
        kernel(q, lend("table", 2 * count + 1, np.int64))

    # The function keeps the arrays of these addresses alive.
    run.holds = (a, panels, begin)  # type: ignore[attr-defined]
    return run


def block_rows(rows: int, columns: int, threads: int) -> int:
    """Rows at a time for products with a row epilogue: whole tiles, evenly distributed."""
    count = max(threads, -(-rows * columns // _BLOCK_RESULTS))
    return _step(rows, -(-count // threads) * threads, 8)


@functools.lru_cache(maxsize=1024)
def zeros(count: int) -> Array:
    """The initial value of sums."""
    return np.zeros(count, np.float32)


@functools.lru_cache(maxsize=1024)
def job_of(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    g: Geometry,
    out_shape: tuple[int, ...],
    out_strides: tuple[int, ...],
    extra: tuple[int, ...],
    block_bytes: int,
) -> Job:
    """A whole convolution as one job."""
    batch, depth, height, width, channels = _as_volumes(shape, 1)
    image, out_slice, row, position, _ = (stride // 4 for stride in _as_volumes(out_strides, 0))
    x_image, x_slice, x_row, x_position, _ = (stride // 4 for stride in _as_volumes(strides, 0))
    g = _of_volumes(g)
    slices, rows, positions = g.counts
    if (
        g.window == (1, 1, 1)
        and g.strides == (1, 1, 1)
        and g.pads == ((0, 0), (0, 0), (0, 0))
        and depth == 1
        and image == rows * row
        and x_image == height * x_row
    ):
        # Adjacent images are treated as one tall image.
        batch, height, rows = 1, batch * height, batch * rows
    (front, _), (top, _), (left, _) = g.pads
    padded = int(max(map(max, g.pads)) > 0 or x_position != channels)
    deep, down, along = g.strides
    per_row = positions * along * channels * 4 * down
    most_rows = _most(rows, positions, per_row, block_bytes)
    most_slices = most_images = 1
    if most_rows == rows:
        most_slices = _most(slices, rows * positions, per_row * rows * deep, block_bytes)
    if most_rows == rows and most_slices == slices:
        in_image = slices * rows * positions
        most_images = max(1, min(batch, block_bytes // (per_row * rows * deep * slices)))
        if most_images * in_image < _FEW_ROWS:
            most_images = min(batch, -(-_FEW_ROWS // in_image))
    made = (most_slices, most_rows, positions)
    held = [
        (count - 1) * step + (taps - 1) * gap + 1
        for count, step, taps, gap in zip(made, g.strides, g.window, g.dilations, strict=True)
    ]
    return Job(
        height=height,
        width=width,
        channels=channels,
        first_image=0,
        last_image=batch,
        first_row=0,
        last_row=rows,
        first_column=0,
        last_column=out_shape[-1],
        down=down,
        along=along,
        gap_down=g.dilations[1],
        gap_along=g.dilations[2],
        top=top,
        left=left,
        taps_down=g.window[1],
        taps_along=g.window[2],
        positions=positions,
        out_image=image,
        out_row=row,
        out_position=position,
        most_images=most_images,
        most_rows=most_rows,
        padded=padded,
        limit=most_images * math.prod(made) + MOST_ROWS,
        x_image=x_image,
        x_row=x_row,
        x_position=x_position,
        depth=depth,
        first_slice=0,
        last_slice=slices,
        deep=deep,
        gap_deep=g.dilations[0],
        front=front,
        taps_deep=g.window[0],
        x_slice=x_slice,
        out_slice=out_slice,
        most_slices=most_slices,
        extra=extra,
        sections=math.prod(g.window),
        scratch=most_images * math.prod(held) * channels if padded else 1,
    )


def _as_volumes(numbers: tuple[int, ...], of_slices: int) -> tuple[int, ...]:
    """Sizes or strides of images as those of volumes with one slice."""
    return numbers if len(numbers) == 5 else (numbers[0], of_slices, *numbers[1:])


def _of_volumes(g: Geometry) -> Geometry:
    """A convolution of images as one of volumes with one slice."""
    if len(g.sizes) == 3:
        return g
    ones, no_pads = (1,), ((0, 0),)
    return g._replace(
        sizes=ones + g.sizes,
        window=ones + g.window,
        strides=ones + g.strides,
        dilations=ones + g.dilations,
        pads=no_pads + g.pads,
        counts=ones + g.counts,
    )


def _most(count: int, windows: int, size: int, block_bytes: int) -> int:
    """The largest number of rows, or slices, per block without a short block at the end.

    Args:
        count: the total number.
        windows: windows of one.
        size: bytes of one.
        block_bytes: size of a block, unless that makes too few windows.
    """
    most = max(1, min(count, block_bytes // size))
    if most * windows < _FEW_ROWS:
        most = min(count, -(-_FEW_ROWS // windows))
    return -(-count // -(-count // most))


def pieces_of(products: int) -> int:
    """The number of pieces for which waking threads pays off."""
    return team.size() if products >= team.WORTH_PRODUCTS else 1


def threads_for(products: int, *kernels: Callable[..., Any]) -> int:
    """The number of threads that pay off if pieces call these kernels."""
    if products >= pieces.WORTH_PRODUCTS and all(map(pieces.can_offer, kernels)):
        return team.size()
    return pieces_of(products)


def piece_count(products: int, threads: int, windows: int | None = None) -> int:
    """The number of pieces for this many multiplications.

    Some more than threads: one that begins late finds others done.

    Args:
        products: multiplications.
        threads: number of threads that share them.
        windows: windows of all pieces, if they have windows.
    """
    if threads == 1:
        return 1
    most = min(_PIECES, products // (threads * _PIECE_PRODUCTS))
    if windows is not None:
        most = min(most, windows // (threads * _PIECE_WINDOWS))
    return threads * max(1, most)


def _windows(job: Job) -> int:
    """The number of windows."""
    return job.last_image * job.last_slice * job.last_row * job.positions


def _step(length: int, pieces: int, unit: int) -> int:
    """The length of each piece, a multiple of the unit."""
    return -(-length // (pieces * unit)) * unit


def run(
    kernel: Callable[..., Any],
    job: Job,
    arrays: tuple[Array, ...],
    per_window: int,
    unit_rows: int = 1,
) -> int:
    """Do a job, cut among threads by images, slices, rows or columns.

    Args:
        kernel: the machine code.
        job: the whole.
        arrays: x, b, what is made, and what sums begin with.
        per_window: multiplications.
        unit_rows: rows of results that stay together.

    Returns:
        The largest number that a piece left in its table's mode; 0 if they leave it alone.
    """
    images, slices, rows, columns = job.last_image, job.last_slice, job.last_row, job.last_column
    windows = _windows(job)
    table = job.table(*arrays)
    threads = threads_for(windows * per_window, kernel)
    if threads == 1:
        call(kernel, job, table)
        return int(table[MODE])
    count = piece_count(windows * per_window, threads, windows)
    if windows < _FEW_ROWS * threads and columns > PANEL:
        places, length, unit, count = COLUMNS, columns, PANEL, threads
    elif images % threads == 0 or images >= 4 * threads:
        places, length, unit = IMAGES, images, 1
    elif slices > 1:
        places, length, unit = SLICES, slices, 1
    else:
        places, length, unit = ROWS, rows, unit_rows
    cut = Cut(places, length, _step(length, count, unit))
    return make_calls([(kernel, job, table)], [cut], threads, windows * per_window)
