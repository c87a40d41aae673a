"""Reductions, cumulative sums and products, ArgMax, segment sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.converters.element_types import computed, fitted, moved, type_for
from pinnace.deploy.lite.converters.registry import converts
from pinnace.deploy.lite.ir.kinds import TYPES
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor

_REDUCTIONS = {
    "Sum": "SUM",
    "Prod": "REDUCE_PROD",
    "Max": "REDUCE_MAX",
    "Min": "REDUCE_MIN",
    "Mean": "MEAN",
}


def axes_of(g: GraphBuilder, call: NodeView, index: int, given: Tensor) -> Tensor:
    """An axes argument as an int32 vector; constant axes are made non-negative."""
    known = call.constant(index)
    if known is None:
        return g.cast(given, dtypes.int32)
    rank = call.input_spec(0).shape.rank
    axes = known.reshape(-1)
    return g.ints(axes if rank is None else sorted({int(axis) % max(rank, 1) for axis in axes}))


def _reduction(op: str, kind: str) -> None:
    @converts(op, to=kind)
    def convert(g: GraphBuilder, call: NodeView, x: Tensor, axes: Tensor) -> Tensor:
        known = call.constant(1)
        if known is not None and (not known.size or call.input_spec(0).shape.rank == 0):
            return x
        (data,) = fitted(g, kind, x)
        made = g.op(
            kind,
            data,
            axes_of(g, call, 1, axes),
            shape=call.shape(),
            keep_dims=bool(call.attr("keep_dims")),
        )
        return g.cast(made, x.dtype)


for _op, _kind in _REDUCTIONS.items():
    _reduction(_op, _kind)


@converts("All", "Any", to="REDUCE_ALL REDUCE_ANY")
def all_or_any(g: GraphBuilder, call: NodeView, x: Tensor, axes: Tensor) -> Tensor:
    """REDUCE_ALL or REDUCE_ANY."""
    known = call.constant(1)
    if known is not None and (not known.size or call.input_spec(0).shape.rank == 0):
        return x
    kind = "REDUCE_ALL" if call.node.op.name == "All" else "REDUCE_ANY"
    keep = bool(call.attr("keep_dims"))
    return g.op(kind, x, axes_of(g, call, 1, axes), shape=call.shape(), keep_dims=keep)


@converts("EuclideanNorm", to="MUL SUM SQRT")
def euclidean_norm(g: GraphBuilder, call: NodeView, x: Tensor, axes: Tensor) -> Tensor:
    """√Σx²."""
    keep = bool(call.attr("keep_dims"))
    if not x.dtype.is_floating:
        call.fail("LiteRT has square roots of floats only")
    square = g.op("MUL", x, x)
    total = g.op("SUM", square, axes_of(g, call, 1, axes), shape=call.shape(), keep_dims=keep)
    return g.op("SQRT", total)


@converts("L2Loss", to="MUL SUM")
def l2_loss(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """½ Σx²."""
    axes = g.ints(list(range(call.rank(0))))
    total = g.op("SUM", g.op("MUL", x, x), axes, shape=[], keep_dims=False)
    return g.op("MUL", total, g.like(x, 0.5))


@converts("ArgMax", "ArgMin", to="ARG_MAX ARG_MIN")
def arg_max(g: GraphBuilder, call: NodeView, x: Tensor, axis: Tensor) -> Tensor:
    """ARG_MAX or ARG_MIN: the first index of the extreme along an axis."""
    del axis
    place = call.needed_int(1, "dimension") % max(call.rank(0), 1)
    kind = "ARG_MAX" if call.node.op.name == "ArgMax" else "ARG_MIN"
    wanted = call.dtype()
    given = wanted if wanted in {dtypes.int32, dtypes.int64} else dtypes.int32
    data = g.cast(x, type_for(kind, x.dtype))
    shape = call.shape()
    made = g.op(kind, data, g.ints([place]), dtype=given, shape=shape, output_type=TYPES[given])
    return g.cast(made, wanted)


@converts("TopKV2", "TopK", to="TOPK_V2")
def top_k(
    g: GraphBuilder, call: NodeView, x: Tensor, k: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """TOPK_V2: the largest elements along the last axis, sorted."""
    number = g.ints(int(call.attr("k"))) if k is None else g.cast(k, dtypes.int32)
    data = g.cast(x, type_for("TOPK_V2", x.dtype))
    outputs = [(data.dtype, call.shape(0)), (dtypes.int32, call.shape(1))]
    values, places = g.ops("TOPK_V2", [data, number], outputs)
    return g.cast(values, x.dtype), g.cast(places, call.dtype(1))


@converts("Cumsum", to="CUMSUM")
def cumsum(g: GraphBuilder, call: NodeView, x: Tensor, axis: Tensor) -> Tensor:
    """CUMSUM along a constant axis."""
    del axis
    place = call.needed_int(1, "axis") % max(call.rank(0), 1)
    options: dict[str, Any] = {n: bool(call.attr(n)) for n in ("exclusive", "reverse")}
    data = g.cast(x, type_for("CUMSUM", x.dtype))
    made = g.op("CUMSUM", data, g.ints(place), shape=call.shape(), **options)
    return g.cast(made, x.dtype)


@converts("SegmentSum", to="SEGMENT_SUM UNSORTED_SEGMENT_SUM REDUCE_MAX")
def segment_sum(g: GraphBuilder, call: NodeView, x: Tensor, ids: Tensor) -> Tensor:
    """SEGMENT_SUM if the ids are constant and count up from 0, else UNSORTED_SEGMENT_SUM."""
    places = g.cast(ids, dtypes.int32)
    known = call.constant(1)
    steps = [] if known is None else np.diff(known, prepend=0).tolist()
    if steps and steps[0] == 0 and set(steps) <= {0, 1}:
        return moved(g, "SEGMENT_SUM", x, places, shape=call.shape())
    last = g.op("REDUCE_MAX", places, g.ints([0]), shape=[1], keep_dims=True)
    count = g.op("ADD", last, g.ints([1]), shape=[1])
    return moved(g, "UNSORTED_SEGMENT_SUM", x, places, count, shape=call.shape())


@converts(
    "UnsortedSegmentSum",
    "UnsortedSegmentMax",
    "UnsortedSegmentMin",
    "UnsortedSegmentProd",
    to="UNSORTED_SEGMENT_SUM",
)
def unsorted_segments(
    g: GraphBuilder, call: NodeView, x: Tensor, ids: Tensor, count: Tensor
) -> Tensor:
    """UNSORTED_SEGMENT_*; an empty segment gets the value that TensorFlow gives it."""
    kind = f"UNSORTED_SEGMENT_{call.node.op.name.removeprefix('UnsortedSegment').upper()}"
    rest = [g.cast(ids, dtypes.int32), g.reshape(g.cast(count, dtypes.int32), [1])]
    if not kind.endswith(("MAX", "MIN")):
        return moved(g, kind, x, *rest, shape=call.shape())
    # For an empty segment the kernel gives the limit of the type it computes in. Narrow integers
    # are clipped to their own limits; float64 is refused, as float32 has other limits.
    wide = type_for(kind, call.input_spec(0).dtype)
    made = g.op(kind, g.cast(x, wide), *rest, dtype=wide, shape=call.shape())
    if wide is x.dtype:
        return made
    is_most = kind.endswith("MAX")
    limit = g.like(made, x.dtype.min if is_most else x.dtype.max)
    return g.cast(g.op("MAXIMUM" if is_most else "MINIMUM", made, limit), x.dtype)


@converts("Bincount", to="ONE_HOT SUM")
def bincount(g: GraphBuilder, call: NodeView, x: Tensor, size: Tensor, weights: Tensor) -> Tensor:
    """The counts of 0 to size - 1: one-hot rows, summed."""
    known = call.input_spec(2).shape.num_elements()
    if known != 0:
        call.fail("it has weights, or their number is unknown")
    dtype = call.dtype()
    kind = type_for("ONE_HOT", dtype)
    flat = g.reshape(x, [None])
    hot = g.op(
        "ONE_HOT",
        flat,
        g.reshape(g.cast(size, dtypes.int32), []),
        g.constant(1, kind),
        g.constant(0, kind),
        dtype=kind,
        shape=[None, None],
        axis=-1,
    )
    (data,) = fitted(g, "SUM", hot)
    total = g.op("SUM", data, g.ints([0]), shape=call.shape(), keep_dims=False)
    return g.cast(total, weights.dtype)


@converts("Bucketize", to="BUCKETIZE")
def bucketize(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """BUCKETIZE; the boundaries are an option."""
    limits = np.asarray(call.attr("boundaries"), np.float32)
    return g.op("BUCKETIZE", x, dtype=dtypes.int32, shape=call.shape(), boundaries=limits)


@converts("Where", to="WHERE")
def where(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """WHERE: the indices of elements other than 0."""
    data = g.cast(x, type_for("WHERE", x.dtype))
    return g.op("WHERE", data, dtype=dtypes.int64, shape=call.shape())


@converts("Unique", to="UNIQUE")
def unique(g: GraphBuilder, call: NodeView, x: Tensor) -> tuple[Tensor, Tensor]:
    """UNIQUE: distinct elements in the order of their first occurrence."""
    data = g.cast(x, type_for("UNIQUE", x.dtype))
    kind = call.dtype(1)
    outputs = [(data.dtype, call.shape(0)), (kind, call.shape(1))]
    values, places = g.ops("UNIQUE", [data], outputs, idx_out_type=TYPES[kind])
    return g.cast(values, x.dtype), places


@converts("Cumprod", to="SLICE MUL CONCATENATION")
def cumprod(g: GraphBuilder, call: NodeView, x: Tensor, axis: Tensor) -> Tensor:
    """Products of prefixes of growing length, along an axis of known, small size."""
    del axis
    place = call.needed_int(1, "axis") % max(call.rank(0), 1)
    size = call.input_spec(0).shape[place]
    if size is None or not 0 < size <= _LONGEST:
        call.fail(f"the axis must have a known size up to {_LONGEST}")
    order = list(range(size))
    if call.attr("reverse"):
        order.reverse()
    sizes = [size if n is None and axis == place else n for axis, n in enumerate(x.shape)]
    parts: list[Tensor] = []
    for index in order:
        begin = [index if axis == place else 0 for axis in range(len(sizes))]
        count = [1 if axis == place else -1 for axis in range(len(sizes))]
        form = [1 if axis == place else n for axis, n in enumerate(sizes)]
        part = moved(g, "SLICE", x, g.ints(begin), g.ints(count), shape=form)
        parts.append(computed(g, "MUL", parts[-1], part) if parts else part)
    if call.attr("exclusive"):
        ones = computed(g, "ADD", computed(g, "MUL", parts[0], g.like(x, 0)), g.like(x, 1))
        parts = [ones, *parts[:-1]]
    if call.attr("reverse"):
        parts.reverse()
    data = [g.cast(part, type_for("CONCATENATION", x.dtype)) for part in parts]
    (made,) = g.ops("CONCATENATION", data, [(data[0].dtype, call.shape())], axis=place)
    return g.cast(made, x.dtype)


_LONGEST = 64
