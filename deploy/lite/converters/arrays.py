"""Shapes, concatenation, slicing, gathering, scattering, padding, selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.converters.element_types import fitted, moved, type_for
from pinnace.deploy.lite.converters.registry import converts
from pinnace.deploy.lite.ir.kinds import TYPES
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor
    from pinnace.framework.shapes import Shape

_SMALL_INTEGERS = {dtypes.int16, dtypes.uint16, dtypes.uint64}


@converts("Cast", to="CAST")
def cast(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """CAST; a cast to bool is a comparison with 0."""
    wanted = call.dtype()
    if wanted is dtypes.bool and x.dtype.is_floating:
        return g.op("NOT_EQUAL", x, g.like(x, 0), dtype=dtypes.bool)
    if {x.dtype, wanted} & {dtypes.uint64}:
        call.fail("LiteRT's kernel of CAST takes no uint64")
    if x.dtype.is_complex or wanted.is_complex:
        call.fail("LiteRT has complex numbers in its Fourier transforms only")
    return g.cast(x, wanted)


@converts("Identity", "StopGradient", "PreventGradient", "Snapshot", "PlaceholderWithDefault")
def identity(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """x itself."""
    del g, call
    return x


@converts("IdentityN")
def identity_n(g: GraphBuilder, call: NodeView, xs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The inputs themselves."""
    del g, call
    return xs


@converts("Reshape", to="RESHAPE")
def reshape(g: GraphBuilder, call: NodeView, x: Tensor, sizes: Tensor) -> Tensor:
    """RESHAPE; at most one of the constant sizes may be unknown."""
    shape = call.shape()
    given = call.constant(1)
    if given is not None and not (given == 0).any():
        return g.reshape(x, [None if n == -1 else int(n) for n in given])
    if shape.rank is not None and list(shape).count(None) <= 1 and 0 not in shape:
        return g.reshape(x, list(shape))
    return g.reshape(x, g.cast(sizes, dtypes.int32), shape)


@converts("ExpandDims", to="RESHAPE")
def expand_dims(g: GraphBuilder, call: NodeView, x: Tensor, axis: Tensor) -> Tensor:
    """RESHAPE if at most one size is unknown, else EXPAND_DIMS."""
    del axis
    place = call.needed_int(1, "dim")
    shape = call.shape()
    if shape.rank is not None and list(shape).count(None) <= 1 and 0 not in shape:
        return g.reshape(x, list(shape))
    return g.op("EXPAND_DIMS", x, g.ints(place), shape=shape)


@converts("Squeeze", to="RESHAPE SQUEEZE")
def squeeze(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """RESHAPE if at most one size is unknown, else SQUEEZE."""
    shape = call.shape()
    if shape.rank is not None and list(shape).count(None) <= 1 and 0 not in shape:
        return g.reshape(x, list(shape))
    rank = call.rank(0)
    axes = [int(axis) % max(rank, 1) for axis in call.attr("squeeze_dims")]
    return g.op("SQUEEZE", x, shape=shape, squeeze_dims=axes)


@converts("Shape", to="SHAPE")
def shape_of(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """SHAPE."""
    kind = call.dtype()
    return g.op("SHAPE", x, dtype=kind, shape=call.shape(), out_type=TYPES[kind])


@converts("ShapeN", to="SHAPE")
def shape_n(g: GraphBuilder, call: NodeView, xs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """One SHAPE for each input."""
    kind = call.dtype()
    return tuple(
        g.op("SHAPE", x, dtype=kind, shape=call.shape(i), out_type=TYPES[kind])
        for i, x in enumerate(xs)
    )


@converts("Size", to="SHAPE REDUCE_PROD")
def size(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """The product of the sizes."""
    sizes = g.op("SHAPE", x, dtype=dtypes.int32, shape=[x.rank], out_type=TYPES[dtypes.int32])
    return g.cast(g.op("REDUCE_PROD", sizes, g.ints([0]), shape=[], keep_dims=False), call.dtype())


@converts("Rank", to="RANK")
def rank(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """RANK."""
    del call
    return g.op("RANK", x, dtype=dtypes.int32, shape=[])


@converts("Transpose", "ConjugateTranspose", to="TRANSPOSE")
def transpose(g: GraphBuilder, call: NodeView, x: Tensor, order: Tensor) -> Tensor:
    """TRANSPOSE."""
    known = call.constant(1)
    if known is None:
        return moved(g, "TRANSPOSE", x, g.cast(order, dtypes.int32), shape=call.shape())
    axes = [int(axis) % max(len(known), 1) for axis in known]
    return g.cast(g.transpose(g.cast(x, type_for("TRANSPOSE", x.dtype)), axes), x.dtype)


def _axis(axis: int, rank: int) -> int:
    return axis % rank if rank else 0


def concatenated(g: GraphBuilder, parts: Sequence[Tensor], axis: int, shape: Shape) -> Tensor:
    """CONCATENATION of tensors of one type along an axis."""
    kind = type_for("CONCATENATION", parts[0].dtype)
    given = [g.cast(part, kind) for part in parts]
    (made,) = g.ops("CONCATENATION", given, [(kind, shape)], axis=axis)
    return g.cast(made, parts[0].dtype)


@converts("ConcatV2", "Concat", to="CONCATENATION")
def concat(g: GraphBuilder, call: NodeView, *given: Tensor | tuple[Tensor, ...]) -> Tensor:
    """CONCATENATION along a constant axis."""
    is_first = call.node.op.name == "Concat"
    parts = given[1] if is_first else given[0]
    axis = call.needed_int(0 if is_first else 1, "axis")
    if not isinstance(parts, tuple):
        call.fail("its inputs must be a list")
    if len(parts) == 1:
        return parts[0]
    return concatenated(g, parts, _axis(axis, parts[0].rank or 0), call.shape())


@converts("Pack", to="PACK")
def pack(g: GraphBuilder, call: NodeView, parts: tuple[Tensor, ...]) -> Tensor:
    """PACK along a new axis."""
    kind = type_for("PACK", parts[0].dtype)
    axis = int(call.attr("axis"))
    axis = axis % ((parts[0].rank or 0) + 1) if parts[0].rank is not None else axis
    given = [g.cast(part, kind) for part in parts]
    outputs = [(kind, call.shape())]
    (made,) = g.ops("PACK", given, outputs, values_count=len(given), axis=axis)
    return g.cast(made, parts[0].dtype)


@converts("Unpack", to="UNPACK")
def unpack(g: GraphBuilder, call: NodeView, x: Tensor) -> tuple[Tensor, ...]:
    """UNPACK along an axis, which is removed."""
    kind = type_for("UNPACK", x.dtype)
    count = int(call.attr("num"))
    axis = _axis(int(call.attr("axis")), call.rank(0))
    outputs = [(kind, call.shape(i)) for i in range(count)]
    parts = g.ops("UNPACK", [g.cast(x, kind)], outputs, num=count, axis=axis)
    return tuple(g.cast(part, x.dtype) for part in parts)


@converts("Split", to="SPLIT")
def split(g: GraphBuilder, call: NodeView, axis: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    """SPLIT into parts of equal size."""
    del axis
    place = _axis(call.needed_int(0, "split_dim"), call.rank(1))
    count = len(call.node.outputs)
    kind = type_for("SPLIT", x.dtype) if x.dtype is not dtypes.int64 else dtypes.int64
    if kind is dtypes.int64:
        return _sliced(g, call, x, place)
    outputs = [(kind, call.shape(i)) for i in range(count)]
    parts = g.ops("SPLIT", [g.ints(place), g.cast(x, kind)], outputs, num_splits=count)
    return tuple(g.cast(part, x.dtype) for part in parts)


def _sliced(g: GraphBuilder, call: NodeView, x: Tensor, axis: int) -> tuple[Tensor, ...]:
    """Parts of equal known size, as slices."""
    total, count = x.shape[axis], len(call.node.outputs)
    if total is None:
        call.fail("the size of the axis must be known")
    each = total // count
    ranks = range(x.rank or 0)
    lengths = g.ints([each if i == axis else -1 for i in ranks])
    begins = [g.ints([part * each if i == axis else 0 for i in ranks]) for part in range(count)]
    return tuple(
        moved(g, "SLICE", x, begin, lengths, shape=call.shape(i)) for i, begin in enumerate(begins)
    )


@converts("SplitV", to="SPLIT_V")
def split_v(
    g: GraphBuilder, call: NodeView, x: Tensor, sizes: Tensor, axis: Tensor
) -> tuple[Tensor, ...]:
    """SPLIT_V into parts of the given sizes."""
    del axis
    place = _axis(call.needed_int(2, "split_dim"), call.rank(0))
    count = len(call.node.outputs)
    kind = type_for("SPLIT_V", x.dtype)
    outputs = [(kind, call.shape(i)) for i in range(count)]
    given = [g.cast(x, kind), g.cast(sizes, dtypes.int32), g.ints(place)]
    parts = g.ops("SPLIT_V", given, outputs, num_splits=count)
    return tuple(g.cast(part, x.dtype) for part in parts)


@converts("Slice", to="SLICE")
def slice_(g: GraphBuilder, call: NodeView, x: Tensor, begin: Tensor, sizes: Tensor) -> Tensor:
    """SLICE."""
    rest = [g.cast(begin, dtypes.int32), g.cast(sizes, dtypes.int32)]
    return moved(g, "SLICE", x, *rest, shape=call.shape())


@converts("StridedSlice", to="STRIDED_SLICE")
def strided_slice(
    g: GraphBuilder, call: NodeView, x: Tensor, begin: Tensor, end: Tensor, strides: Tensor
) -> Tensor:
    """STRIDED_SLICE; an ellipsis and new axes are expanded if the bounds are constants."""
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    masks = {name: int(call.attr(name)) for name in names}
    rest = [g.cast(bound, dtypes.int32) for bound in (begin, end, strides)]
    if not masks["ellipsis_mask"] and not masks["new_axis_mask"]:
        return moved(g, "STRIDED_SLICE", x, *rest, shape=call.shape(), **masks)
    bounds = [call.constant(i) for i in (1, 2, 3)]
    shape = call.shape()
    if any(bound is None for bound in bounds) or x.rank is None or shape.rank is None:
        call.fail("with an ellipsis or new axes, its bounds and its input's rank must be known")
    plain, added = _written_out([np.asarray(bound).tolist() for bound in bounds], masks, x.rank)
    part = [size for i, size in enumerate(shape) if i not in added]
    options = {name: plain.pop(name) for name in ("begin_mask", "end_mask", "shrink_axis_mask")}
    given = [g.ints(plain[name]) for name in ("begin", "end", "strides")]
    made = moved(g, "STRIDED_SLICE", x, *given, shape=part, **options)
    if list(shape).count(None) <= 1 and 0 not in shape:
        return g.reshape(made, list(shape))
    for place in added:
        part = [*part[:place], 1, *part[place:]]
        made = g.op("EXPAND_DIMS", made, g.ints(place), shape=part)
    return made


def _written_out(
    bounds: list[list[int]], masks: dict[str, int], rank: int
) -> tuple[dict[str, Any], list[int]]:
    """Bounds for every axis of the input, and the positions of new axes in the result."""
    found: dict[str, Any] = {name: [] for name in ("begin", "end", "strides")}
    found |= dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask"), 0)
    added: list[int] = []
    count = len(bounds[0])
    if not masks["ellipsis_mask"]:
        masks, bounds, count = _with_ellipsis(masks, bounds, count)
    given = sum(
        1 for i in range(count) if not _bit(masks, "ellipsis", i) | _bit(masks, "new_axis", i)
    )
    place = 0
    for i in range(count):
        if _bit(masks, "ellipsis", i):
            for _ in range(rank - given):
                _append(found, (0, 0, 1), whole=True)
                place += 1
        elif _bit(masks, "new_axis", i):
            added.append(place)
            place += 1
        else:
            axis = len(found["begin"])
            _append(found, (bounds[0][i], bounds[1][i], bounds[2][i]), whole=False)
            for name in ("begin", "end", "shrink_axis"):
                found[f"{name}_mask"] |= _bit(masks, name, i) << axis
            place += not _bit(masks, "shrink_axis", i)
    return found, added


def _bit(masks: dict[str, int], name: str, i: int) -> int:
    return masks[f"{name}_mask"] >> i & 1


def _with_ellipsis(
    masks: dict[str, int], bounds: list[list[int]], count: int
) -> tuple[dict[str, int], list[list[int]], int]:
    """The same bounds with an ellipsis at the end, which every slice has implicitly."""
    masks = {**masks, "ellipsis_mask": 1 << count}
    return masks, [[*bound, 1] for bound in bounds], count + 1


def _append(found: dict[str, Any], bounds: tuple[int, int, int], *, whole: bool) -> None:
    axis = len(found["begin"])
    for name, number in zip(("begin", "end", "strides"), bounds, strict=True):
        found[name].append(number)
    if whole:
        found["begin_mask"] |= 1 << axis
        found["end_mask"] |= 1 << axis


@converts("GatherV2", "Gather", to="GATHER")
def gather(
    g: GraphBuilder, call: NodeView, x: Tensor, places: Tensor, axis: Tensor | None = None
) -> Tensor:
    """GATHER along a constant axis."""
    is_second = call.node.op.name == "GatherV2"
    number = call.needed_int(2, "axis") if is_second and axis is not None else 0
    batch = int(call.attr("batch_dims")) if is_second else 0
    rank, count = call.rank(0), call.rank(1)
    options = {"axis": _axis(number, rank), "batch_dims": batch % count if batch else 0}
    kind = places.dtype if places.dtype in {dtypes.int32, dtypes.int64} else dtypes.int32
    return moved(g, "GATHER", x, g.cast(places, kind), shape=call.shape(), **options)


@converts("ResourceGather", to="GATHER")
def resource_gather(g: GraphBuilder, call: NodeView, x: Tensor, places: Tensor) -> Tensor:
    """GATHER of rows of a variable, which is a constant in the file."""
    batch = int(call.attr("batch_dims"))
    kind = places.dtype if places.dtype in {dtypes.int32, dtypes.int64} else dtypes.int32
    return moved(
        g, "GATHER", x, g.cast(places, kind), shape=call.shape(), axis=batch, batch_dims=batch
    )


def _refuse_ignored(call: NodeView) -> None:
    if str(call.attr("bad_indices_policy")) == "IGNORE":
        call.fail("it ignores indices out of range; LiteRT reports an error for them")


@converts("GatherNd", to="GATHER_ND")
def gather_nd(g: GraphBuilder, call: NodeView, x: Tensor, places: Tensor) -> Tensor:
    """GATHER_ND."""
    _refuse_ignored(call)
    kind = places.dtype if places.dtype in {dtypes.int32, dtypes.int64} else dtypes.int32
    return moved(g, "GATHER_ND", x, g.cast(places, kind), shape=call.shape())


@converts("ScatterNd", to="SCATTER_ND")
def scatter_nd(
    g: GraphBuilder, call: NodeView, places: Tensor, updates: Tensor, sizes: Tensor
) -> Tensor:
    """SCATTER_ND: updates of equal indices are added, all other elements are 0."""
    _refuse_ignored(call)
    (data,) = fitted(g, "SCATTER_ND", updates)
    given = [g.cast(places, dtypes.int32), data, g.cast(sizes, dtypes.int32)]
    made = g.op("SCATTER_ND", *given, dtype=data.dtype, shape=call.shape())
    return g.cast(made, updates.dtype)


@converts("TensorScatterUpdate", "TensorScatterAdd", to="SCATTER_ND SELECT_V2")
def tensor_scatter(
    g: GraphBuilder, call: NodeView, x: Tensor, places: Tensor, updates: Tensor
) -> Tensor:
    """SCATTER_ND of the updates, added to x, or in place of x where an index points to."""
    _refuse_ignored(call)
    kind = type_for("SCATTER_ND", x.dtype)
    sizes, where = g.sizes(x), g.cast(places, dtypes.int32)
    rows = g.cast(updates, kind)
    spread = g.op("SCATTER_ND", where, rows, sizes, dtype=kind, shape=x.shape)
    if call.node.op.name == "TensorScatterAdd":
        return g.cast(g.op("ADD", g.cast(x, kind), spread), x.dtype)
    ones = g.op("FILL", g.sizes(updates), g.ints(1), dtype=dtypes.int32, shape=updates.shape)
    counts = g.op("SCATTER_ND", where, ones, sizes, dtype=dtypes.int32, shape=x.shape)
    is_hit = g.op("GREATER", counts, g.ints(0), dtype=dtypes.bool)
    made = g.op("SELECT_V2", is_hit, spread, g.cast(x, kind), dtype=kind, shape=x.shape)
    return g.cast(made, x.dtype)


@converts("Tile", to="TILE")
def tile(g: GraphBuilder, call: NodeView, x: Tensor, multiples: Tensor) -> Tensor:
    """TILE."""
    return moved(g, "TILE", x, g.cast(multiples, dtypes.int32), shape=call.shape())


@converts("BroadcastTo", to="BROADCAST_TO")
def broadcast_to(g: GraphBuilder, call: NodeView, x: Tensor, sizes: Tensor) -> Tensor:
    """BROADCAST_TO; x itself if it has the shape already."""
    if x.shape == call.shape() and x.shape.is_fully_defined():
        return x
    return moved(g, "BROADCAST_TO", x, g.cast(sizes, dtypes.int32), shape=call.shape())


@converts("BroadcastArgs", to="BROADCAST_ARGS")
def broadcast_args(g: GraphBuilder, call: NodeView, a: Tensor, b: Tensor) -> Tensor:
    """BROADCAST_ARGS: the shape that both shapes broadcast to."""
    return g.op("BROADCAST_ARGS", a, b, shape=call.shape())


@converts("Fill", to="FILL")
def fill(g: GraphBuilder, call: NodeView, sizes: Tensor, x: Tensor) -> Tensor:
    """FILL with a scalar."""
    kind = type_for("FILL", x.dtype)
    given = g.cast(sizes, dtypes.int32)
    made = g.op("FILL", given, g.cast(x, kind), dtype=kind, shape=call.shape())
    return g.cast(made, x.dtype)


@converts("ZerosLike", "OnesLike", to="ZEROS_LIKE FILL")
def zeros_like(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """ZEROS_LIKE, or FILL with 1."""
    number = 0 if call.node.op.name == "ZerosLike" else 1
    kind = type_for("FILL", x.dtype)
    made = g.op("FILL", g.sizes(x), g.constant(number, kind), dtype=kind, shape=call.shape())
    return g.cast(made, x.dtype)


@converts("Range", to="RANGE")
def range_(g: GraphBuilder, call: NodeView, start: Tensor, limit: Tensor, step: Tensor) -> Tensor:
    """RANGE."""
    given = fitted(g, "RANGE", start, limit, step)
    return g.cast(g.op("RANGE", *given, shape=call.shape()), start.dtype)


@converts("LinSpace", to="RANGE MUL ADD")
def lin_space(g: GraphBuilder, call: NodeView, start: Tensor, stop: Tensor, num: Tensor) -> Tensor:
    """start + i (stop - start) / (num - 1)."""
    del num
    count = call.needed_int(2, "num")
    if count == 1:
        return g.reshape(start, [1])
    share = np.arange(count, dtype=np.float32) / np.float32(count - 1)
    steps = g.constant(share, dtypes.float32)
    ahead = g.op("MUL", g.op("SUB", stop, start), steps)
    return g.op("ADD", ahead, start)


@converts("OneHot", to="ONE_HOT")
def one_hot(
    g: GraphBuilder, call: NodeView, places: Tensor, depth: Tensor, on: Tensor, off: Tensor
) -> Tensor:
    """ONE_HOT: `on` at the indices, `off` elsewhere."""
    kind = type_for("ONE_HOT", on.dtype)
    index = places.dtype if places.dtype in {dtypes.int32, dtypes.int64} else dtypes.int32
    given = [
        g.cast(places, index),
        g.cast(depth, dtypes.int32),
        g.cast(on, kind),
        g.cast(off, kind),
    ]
    made = g.op("ONE_HOT", *given, dtype=kind, shape=call.shape(), axis=int(call.attr("axis")))
    return g.cast(made, on.dtype)


@converts("SelectV2", "Select", to="SELECT_V2")
def select(g: GraphBuilder, call: NodeView, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """SELECT_V2; the vector condition of the older op is reshaped so that it selects rows."""
    kind = type_for("SELECT_V2", x.dtype)
    rank = call.rank(1)
    if call.node.op.name == "Select" and call.rank(0) == 1 and rank > 1:
        count = g.size(condition, 0)
        condition = g.reshape_to(condition, [count, *[1] * (rank - 1)])
    given = [condition, g.cast(x, kind), g.cast(y, kind)]
    made = g.op("SELECT_V2", *given, dtype=kind, shape=call.shape())
    return g.cast(made, x.dtype)


@converts("Pad", to="PAD")
def pad(g: GraphBuilder, call: NodeView, x: Tensor, widths: Tensor) -> Tensor:
    """PAD with zeros."""
    return moved(g, "PAD", x, g.cast(widths, dtypes.int32), shape=call.shape())


@converts("PadV2", to="PADV2")
def pad_v2(g: GraphBuilder, call: NodeView, x: Tensor, widths: Tensor, number: Tensor) -> Tensor:
    """PADV2 with a given value."""
    kind = type_for("PADV2", x.dtype)
    given = [g.cast(widths, dtypes.int32), g.cast(number, kind)]
    return moved(g, "PADV2", x, *given, shape=call.shape())


@converts("MirrorPad", to="MIRROR_PAD")
def mirror_pad(g: GraphBuilder, call: NodeView, x: Tensor, widths: Tensor) -> Tensor:
    """MIRROR_PAD."""
    mode = 0 if str(call.attr("mode")) == "REFLECT" else 1
    return moved(g, "MIRROR_PAD", x, g.cast(widths, dtypes.int32), shape=call.shape(), mode=mode)


@converts("ReverseV2", to="REVERSE_V2")
def reverse(g: GraphBuilder, call: NodeView, x: Tensor, axes: Tensor) -> Tensor:
    """One REVERSE_V2 per axis, since the kernel takes adjacent axes only."""
    del axes
    found = call.needed(1, "axis").reshape(-1)
    for axis in sorted({int(axis) % max(call.rank(0), 1) for axis in found}):
        x = moved(g, "REVERSE_V2", x, g.ints([axis]), shape=x.shape)
    return x


@converts("ReverseSequence", to="REVERSE_SEQUENCE")
def reverse_sequence(g: GraphBuilder, call: NodeView, x: Tensor, lengths: Tensor) -> Tensor:
    """REVERSE_SEQUENCE: the first elements of each row, reversed."""
    options = {name: int(call.attr(name)) for name in ("seq_dim", "batch_dim")}
    return moved(g, "REVERSE_SEQUENCE", x, lengths, shape=call.shape(), **options)


@converts("Roll", to="SLICE CONCATENATION")
def roll(g: GraphBuilder, call: NodeView, x: Tensor, shifts: Tensor, axes: Tensor) -> Tensor:
    """The last elements before the first ones, axis by axis."""
    del shifts, axes
    places = call.needed(2, "axis").reshape(-1)
    for shift, axis in zip(call.needed(1, "shift").reshape(-1), places, strict=True):
        place = int(axis) % max(call.rank(0), 1)
        total = x.shape[place]
        if total is None:
            call.fail("the size of the axis must be known")
        if not total or not int(shift) % total:
            continue
        cut = total - int(shift) % total
        ranks = range(x.rank or 0)
        begins = [[first if i == place else 0 for i in ranks] for first in (cut, 0)]
        lengths = [[size if i == place else -1 for i in ranks] for size in (total - cut, cut)]
        parts = [
            moved(
                g,
                "SLICE",
                x,
                g.ints(begin),
                g.ints(length),
                shape=[length[i] if i == place else n for i, n in enumerate(x.shape)],
            )
            for begin, length in zip(begins, lengths, strict=True)
        ]
        x = concatenated(g, parts, place, x.shape)
    return x


@converts("MatrixDiag", to="MATRIX_DIAG")
def matrix_diag(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """MATRIX_DIAG: a diagonal matrix from the last axis."""
    return moved(g, "MATRIX_DIAG", x, shape=call.shape())


@converts("MatrixSetDiag", to="MATRIX_SET_DIAG")
def matrix_set_diag(g: GraphBuilder, call: NodeView, x: Tensor, diagonal: Tensor) -> Tensor:
    """MATRIX_SET_DIAG: the matrix with another main diagonal."""
    kind = type_for("MATRIX_SET_DIAG", x.dtype)
    return moved(g, "MATRIX_SET_DIAG", x, g.cast(diagonal, kind), shape=call.shape())


@converts("MatrixBandPart", to="SELECT_V2")
def matrix_band_part(g: GraphBuilder, call: NodeView, x: Tensor, low: Tensor, up: Tensor) -> Tensor:
    """SELECT_V2 with a constant mask of the band; the matrix sizes must be known."""
    del low, up
    rows, columns = x.shape[-2], x.shape[-1]
    if rows is None or columns is None:
        call.fail("the sizes of the matrices must be known")
    below, above = call.needed_int(1, "num_lower"), call.needed_int(2, "num_upper")
    i, j = np.mgrid[:rows, :columns]
    inside = ((below < 0) | (i - j <= below)) & ((above < 0) | (j - i <= above))
    kind = type_for("SELECT_V2", x.dtype)
    given = [g.constant(inside, dtypes.bool), g.cast(x, kind), g.constant(0, kind)]
    return g.cast(g.op("SELECT_V2", *given, dtype=kind, shape=call.shape()), x.dtype)


@converts("SpaceToDepth", "DepthToSpace", to="SPACE_TO_DEPTH DEPTH_TO_SPACE")
def space_to_depth(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """SPACE_TO_DEPTH or DEPTH_TO_SPACE in NHWC."""
    if str(call.attr("data_format")) != "NHWC":
        call.fail("LiteRT's operator takes NHWC only")
    kind = "SPACE_TO_DEPTH" if call.node.op.name == "SpaceToDepth" else "DEPTH_TO_SPACE"
    return moved(g, kind, x, shape=call.shape(), block_size=int(call.attr("block_size")))


@converts("SpaceToBatchND", "BatchToSpaceND", to="SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND")
def space_to_batch(
    g: GraphBuilder, call: NodeView, x: Tensor, block: Tensor, edges: Tensor
) -> Tensor:
    """SPACE_TO_BATCH_ND or BATCH_TO_SPACE_ND of rank 3 or 4, with the channels last."""
    kind = "SPACE_TO_BATCH_ND" if call.node.op.name == "SpaceToBatchND" else "BATCH_TO_SPACE_ND"
    rank, count = call.rank(0), call.input_spec(1).shape.num_elements()
    if rank not in {3, 4} or count != rank - 2:
        call.fail("LiteRT's operator takes rank 3 or 4, with blocks along the inner axes")
    given = [g.cast(block, dtypes.int32), g.cast(edges, dtypes.int32)]
    return moved(g, kind, x, *given, shape=call.shape())


@converts("EnsureShape")
def ensure_shape(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """x itself: the shape is known from the check."""
    del g, call
    return x


@converts("InvertPermutation", to="SCATTER_ND")
def invert_permutation(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """SCATTER_ND of 0, 1, 2, … to the given indices."""
    count = call.input_spec(0).shape[0]
    if count is None:
        call.fail("its size must be known")
    places = g.reshape(g.cast(x, dtypes.int32), [count, 1])
    numbers = g.constant(np.arange(count), x.dtype)
    return g.op("SCATTER_ND", places, numbers, g.ints([count]), dtype=x.dtype, shape=[count])
