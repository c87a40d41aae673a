"""Shapes, slices, concatenation, splitting, padding: operators that move elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.reading.registry import Call, constant, op, ops, reads
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


@reads("RESHAPE", moves=True)
def reshape(call: Call) -> Tensor:
    """A reshape; the shape is an input, or in old files an option."""
    if call.has(1):
        return op("Reshape", call.x(), call.x(1))
    sizes = [int(n) for n in call.options["new_shape"]]
    if sizes == [0]:  # old files denote a scalar this way
        sizes = []
    return op("Reshape", call.x(), constant(sizes, dtypes.int32))


@reads("EXPAND_DIMS", moves=True)
def expand_dims(call: Call) -> Tensor:
    """The tensor with one more axis of size 1."""
    return op("ExpandDims", call.x(), call.x(1))


@reads("SQUEEZE", moves=True)
def squeeze(call: Call) -> Tensor:
    """The tensor without axes of size 1."""
    return op("Squeeze", call.x(), squeeze_dims=[int(n) for n in call.options["squeeze_dims"]])


@reads("TRANSPOSE", moves=True)
def transpose(call: Call) -> Tensor:
    """The tensor with its axes in another order."""
    return op("Transpose", call.x(), call.x(1))


@reads("PACK")
def pack(call: Call) -> Tensor:
    """Tensors stacked along a new axis."""
    return op("Pack", call.xs(), axis=int(call.options["axis"]))


@reads("UNPACK", moves=True)
def unpack(call: Call) -> Sequence[Tensor]:
    """The slices along an axis, which is removed."""
    return ops("Unpack", call.x(), num=int(call.options["num"]), axis=int(call.options["axis"]))


@reads("CONCATENATION")
def concatenation(call: Call) -> Tensor:
    """Tensors concatenated along an axis."""
    axis = constant(int(call.options["axis"]), dtypes.int32)
    xs = call.xs()
    return call.activated(op("ConcatV2", xs, axis) if len(xs) > 1 else xs[0])


@reads("SPLIT", moves=True)
def split(call: Call) -> Sequence[Tensor]:
    """Parts of equal size along an axis."""
    return ops("Split", call.x(0), call.x(1), num_split=int(call.options["num_splits"]))


@reads("SPLIT_V", moves=True)
def split_v(call: Call) -> Sequence[Tensor]:
    """Parts of given sizes along an axis."""
    return ops("SplitV", call.x(0), call.x(1), call.x(2), num_split=int(call.options["num_splits"]))


@reads("SLICE", moves=True)
def slice_(call: Call) -> Tensor:
    """A slice from a start index, of a given size."""
    return op("Slice", call.x(0), call.x(1), call.x(2))


@reads("STRIDED_SLICE", moves=True)
def strided_slice(call: Call) -> Tensor:
    """A slice with strides."""
    options = call.options
    begin, end = call.x(1), call.x(2)
    if options["offset"]:
        end = op("AddV2", begin, end)
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    masks: dict[str, Any] = {name: int(options[name]) for name in names}
    return op("StridedSlice", call.x(0), begin, end, call.x(3), **masks)


@reads("PAD")
def pad(call: Call) -> Tensor:
    """The tensor padded with zeros."""
    return op("Pad", call.x(0), call.stored(1))


@reads("PADV2")
def pad_with(call: Call) -> Tensor:
    """The tensor padded with a given value."""
    return op("PadV2", call.x(0), call.stored(1), op("Reshape", call.x(2), _scalar()))


def _scalar() -> Tensor:
    return constant([], dtypes.int32)


@reads("MIRROR_PAD", moves=True)
def mirror_pad(call: Call) -> Tensor:
    """The tensor padded with its mirror image."""
    mode = "SYMMETRIC" if call.options["mode"] else "REFLECT"
    return op("MirrorPad", call.x(0), call.x(1), mode=mode)


@reads("TILE", moves=True)
def tile(call: Call) -> Tensor:
    """The tensor repeated along its axes."""
    return op("Tile", call.x(0), call.x(1))


@reads("BROADCAST_TO", moves=True)
def broadcast_to(call: Call) -> Tensor:
    """The tensor broadcast to a shape."""
    return op("BroadcastTo", call.x(0), call.x(1))


@reads("BROADCAST_ARGS", moves=True)
def broadcast_args(call: Call) -> Tensor:
    """The shape that two shapes broadcast to."""
    return op("BroadcastArgs", call.x(0), call.x(1))


@reads("FILL")
def fill(call: Call) -> Tensor:
    """A tensor of a shape, filled with a scalar."""
    return op("Fill", call.stored(0), call.x(1))


@reads("RANGE")
def range_(call: Call) -> Tensor:
    """The numbers from a start to a limit in steps."""
    return op("Range", call.x(0), call.x(1), call.x(2))


@reads("SHAPE")
def shape(call: Call) -> Tensor:
    """The shape."""
    return op("Shape", call.stored(0), out_type=call.dtype())


@reads("RANK")
def rank(call: Call) -> Tensor:
    """The rank."""
    return op("Rank", call.stored(0))


@reads("REVERSE_V2", moves=True)
def reverse(call: Call) -> Tensor:
    """The tensor reversed along axes."""
    return op("ReverseV2", call.x(0), call.x(1))


@reads("REVERSE_SEQUENCE", moves=True)
def reverse_sequence(call: Call) -> Tensor:
    """The first elements of each sequence reversed; the lengths are an input."""
    options = call.options
    return op(
        "ReverseSequence",
        call.x(0),
        call.x(1),
        seq_dim=int(options["seq_dim"]),
        batch_dim=int(options["batch_dim"]),
    )


@reads("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", moves=True)
def space_depth(call: Call) -> Tensor:
    """Spatial blocks moved to the channels, or back."""
    name = "SpaceToDepth" if call.kind == "SPACE_TO_DEPTH" else "DepthToSpace"
    return op(name, call.x(), block_size=int(call.options["block_size"]))


@reads("SPACE_TO_BATCH_ND")
def space_to_batch(call: Call) -> Tensor:
    """Spatial blocks moved to the batch, after padding with zeros."""
    return op("SpaceToBatchND", call.x(), call.stored(1), call.stored(2))


@reads("BATCH_TO_SPACE_ND", moves=True)
def batch_to_space(call: Call) -> Tensor:
    """The batch moved to spatial blocks, which are then cropped."""
    return op("BatchToSpaceND", call.x(0), call.x(1), call.x(2))


@reads("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(call: Call) -> Tensor:
    """The tensor with a slice replaced; the start is clamped so that the slice lies within."""
    return op("XlaDynamicUpdateSlice", call.x(0), call.x(1), call.stored(2))


@reads("MATRIX_DIAG")
def matrix_diag(call: Call) -> Tensor:
    """Diagonal matrices."""
    return op("MatrixDiag", call.x())


@reads("MATRIX_SET_DIAG")
def matrix_set_diag(call: Call) -> Tensor:
    """Matrices with another main diagonal."""
    return op("MatrixSetDiag", call.x(0), call.x(1))


@reads("DENSIFY", moves=True)
def densify(call: Call) -> Tensor:
    """The constant itself, since sparse constants are expanded when they are decoded."""
    return call.x()


@reads("DILATE")
def dilate(call: Call) -> Tensor:
    """The tensor with padding between its elements, axis by axis."""
    x, number = call.x(0), op("Reshape", call.x(2), _scalar())
    for axis, step in enumerate(call.fixed(1).reshape(-1).tolist()):
        if step <= 1:
            continue
        rank = call.rank(0)
        wide = op("ExpandDims", x, constant(axis + 1, dtypes.int32))
        pairs = [[0, 0] for _ in range(rank + 1)]
        pairs[axis + 1][1] = step - 1
        wide = op("PadV2", wide, constant(pairs, dtypes.int32), number)
        sizes = op("Shape", x)
        one = [1] * rank
        one[axis] = step
        whole = op("Reshape", wide, op("Mul", sizes, constant(one, dtypes.int32)))
        less = [0] * rank
        less[axis] = step - 1
        kept = op("Sub", op("Shape", whole), constant(less, dtypes.int32))
        x = op("Slice", whole, constant([0] * rank, dtypes.int32), kept)
    return x
