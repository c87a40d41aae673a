"""Array ops: shapes, selection, slicing, scattering."""

import math

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.framework import dtypes
from pinnace.graph.graph import Value


@rule("StopGradient", "PreventGradient", "Snapshot", "CheckNumerics", "EnsureShape")
def handed_on(r: Rewrite) -> Value:
    """The input itself, for ops that only check it."""
    return r.op("Identity", r.inputs[0])


@rule("PlaceholderWithDefault")
def with_default(r: Rewrite) -> Value:
    """The default value, as it is not an input of the model."""
    return r.op("Identity", r.inputs[0])


@rule("OneHot")
def one_hot(r: Rewrite) -> Value:
    """A comparison with 0, 1, …, since the WebAssembly kernel supports integers only."""
    indices, depth, on, off = r.inputs
    axis, rank = int(r.attr("axis")), indices.shape.rank
    r.needs(rank is not None or axis == -1, "of a tensor with an unknown number of axes")
    kind = indices.dtype
    if kind not in (dtypes.int32, dtypes.int64):
        indices, kind = r.op("Cast", indices, DstT=dtypes.int32), dtypes.int32
    if depth.dtype is not kind:
        depth = r.op("Cast", depth, DstT=kind)
    numbers = r.op("Range", r.constant(0, kind), depth, r.constant(1, kind))
    if axis not in (-1, rank):
        numbers = r.reshaped(numbers, [-1, *[1] * (int(rank or 0) - axis)])
    known = r.op("Equal", r.op("ExpandDims", indices, r.constant(axis, np.int32)), numbers)
    return r.selected(known, on, off)


@rule("Transpose")
def transpose(r: Rewrite) -> Value | None:
    """A transpose with non-negative axes."""
    order = r.known(1)
    if order is None or not np.any(np.asarray(order) < 0):
        return None
    return r.transposed(r.inputs[0], [int(axis) % len(order) for axis in order])


@rule("MatrixBandPart")
def band_part(r: Rewrite) -> Value:
    """A mask, since TensorFlow.js uses one number for both sides."""
    x = r.inputs[0]
    sizes = x.shape.as_list() if x.shape.rank is not None else [None]
    lower, upper = r.known(1), r.known(2)
    r.needs(lower is not None and upper is not None, "of a width that is not known")
    r.needs(None not in sizes[-2:], "of matrices of unknown size")
    rows, columns = (np.arange(size or 0) for size in sizes[-2:])
    gap = columns[None, :] - rows[:, None]
    below, above = int(lower), int(upper)
    kept = ((below < 0) | (-gap <= below)) & ((above < 0) | (gap <= above))
    return r.selected(r.constant(kept), x, r.constant(0, x.dtype))


@rule("Select")
def select(r: Rewrite) -> Value | None:
    """A vector condition, reshaped to select rows; TensorFlow.js would broadcast the last axis."""
    test, x, y = r.inputs
    if test.shape.rank == x.shape.rank and test.shape.rank is not None:
        return None if x.dtype is not dtypes.bool else r.selected(test, x, y)
    r.needs(
        test.shape.rank is not None and x.shape.rank is not None,
        "its operands have unknown rank",
    )
    if not test.shape.rank:
        return r.selected(test, x, y)
    return r.selected(r.reshaped(test, [-1, *[1] * (len(x.shape) - 1)]), x, y)


@rule("Where")
def where(r: Rewrite) -> Value | None:
    """A comparison with 0 first, since the WebAssembly kernel truncates numbers to 8 bits."""
    x = r.inputs[0]
    if x.dtype is dtypes.bool:
        return None
    return r.op("Where", r.op("NotEqual", x, r.constant(0, x.dtype)))


@rule("SelectV2")
def select_v2(r: Rewrite) -> Value | None:
    """Bools are selected as integers."""
    return None if r.inputs[1].dtype is not dtypes.bool else r.selected(*r.inputs)


@rule("ReverseV2")
def reverse(r: Rewrite) -> Value | None:
    """Bools are reversed as integers: the WebAssembly kernel moves four of them as one."""
    x, axes = r.inputs
    if x.dtype is not dtypes.bool:
        return None
    turned = r.op("ReverseV2", r.op("Cast", x, DstT=dtypes.int32), axes)
    return r.op("Cast", turned, DstT=dtypes.bool)


@rule("ResourceGatherNd")
def resource_gather_nd(r: Rewrite) -> Value:
    """GatherNd of the value that replaces the handle."""
    return r.op("GatherNd", *r.inputs)


@rule("ReadVariableOp")
def read_variable(r: Rewrite) -> Value:
    """The value that replaces the handle."""
    return r.op("Identity", r.inputs[0])


@rule("VariableShape")
def variable_shape(r: Rewrite) -> Value:
    """The shape of the value that replaces the handle."""
    return r.op("Shape", r.inputs[0], out_type=r.attr("out_type"))


@rule("TensorScatterAdd", "TensorScatterSub")
def tensor_scatter(r: Rewrite) -> Value:
    """The tensor plus the scattered updates."""
    tensor, indices, updates = r.inputs
    policy = r.node.attrs.get("bad_indices_policy") or b""
    r.needs(policy in ("", b"", "DEFAULT", b"DEFAULT"), "that ignores places that are not there")
    shape = r.op("Shape", tensor, out_type=indices.dtype)
    change = r.op("ScatterNd", indices, updates, shape)
    return r.op("AddV2" if r.node.op.name.endswith("Add") else "Sub", tensor, change)


@rule("SpaceToBatch", "BatchToSpace")
def blocks_of_batch(r: Rewrite) -> Value:
    """SpaceToBatchND or BatchToSpaceND with the same block size along both axes."""
    x, edges = r.inputs
    sizes = r.constant([r.attr("block_size")] * 2, np.int32)
    return r.op(f"{r.node.op.name}ND", x, sizes, edges)


@rule("SpaceToDepth")
def space_to_depth(r: Rewrite) -> Value:
    """Blocks of pixels moved to the channels."""
    x, block = r.inputs[0], int(r.attr("block_size"))
    first = r.attr("data_format") == "NCHW"
    r.needs(r.attr("data_format") in ("NHWC", "NCHW"), f"with {r.attr('data_format')}")
    if first:
        x = r.transposed(x, (0, 2, 3, 1))
    known = x.shape.as_list()
    r.needs(None not in known[1:], "of pictures of unknown size")
    sizes = [size or 0 for size in known]
    high, wide, depth = sizes[1] // block, sizes[2] // block, sizes[3]
    parts = r.reshaped(x, [-1, high, block, wide, block, depth])
    result = r.reshaped(
        r.transposed(parts, (0, 1, 3, 2, 4, 5)), [-1, high, wide, block * block * depth]
    )
    return r.transposed(result, (0, 3, 1, 2)) if first else result


@rule("SplitV")
def parts_of_sizes(r: Rewrite) -> tuple[Value, ...] | None:
    """Known sizes only: a -1 is replaced by the rest."""
    x, _, axis = r.inputs
    known, place = r.known(1), r.known(2)
    if known is None or not np.any(np.asarray(known) < 0):
        return None
    whole = None if place is None or not x.shape.rank else x.shape[int(place) % len(x.shape)]
    r.needs(whole is not None, "with a size of -1, of an axis of unknown size")
    rest = int(whole or 0) - int(np.sum(known[known >= 0]))
    return r.same(x, r.constant(np.where(known < 0, rest, known).astype(known.dtype)), axis)


@rule("Unpack")
def unpack(r: Rewrite) -> None:
    """Refuse an unknown rank."""
    r.needs(r.inputs[0].shape.rank, "its input has unknown rank")


@rule("Fill")
def fill(r: Rewrite) -> None:
    """Refuse strings."""
    r.needs(r.inputs[1].dtype is not dtypes.variant, "of lists")


@rule("ZerosLike", "OnesLike")
def like(r: Rewrite) -> None:
    """Refuse lists, for which the op would return a number."""
    r.needs(r.inputs[0].dtype is not dtypes.variant, "of lists")


@rule("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3")
def diagonal_part(r: Rewrite) -> Value:
    """The main diagonal: every (n + 1)-th element of the flattened matrix."""
    x = r.inputs[0]
    sizes = x.shape.as_list() if x.shape.rank is not None else [None]
    if len(r.inputs) > 1:
        diagonal = r.known(1)
        r.needs(diagonal is not None and not np.any(diagonal), "of other diagonals than the main")
    r.needs(None not in sizes[-2:] and sizes[-1] == sizes[-2], "of matrices that are not square")
    r.needs(sizes[:-2].count(None) < 2, "of tensors of unknown sizes")
    size = sizes[-1] or 0
    leading = [-1 if n is None else n for n in sizes[:-2]]
    rows = r.reshaped(x, [*leading, size * size])
    places = r.constant(np.arange(size, dtype=np.int32) * (size + 1))
    return r.op("GatherV2", rows, places, r.constant(len(leading), np.int32))


@rule("BroadcastGradientArgs", "InvertPermutation")
def places(r: Rewrite) -> Value:
    """The inverse of a permutation of known length."""
    r.needs(r.node.op.name == "InvertPermutation", "it is only needed by gradients")
    x = r.inputs[0]
    size = x.shape[0] if x.shape.rank else None
    r.needs(size is not None, "of unknown length")
    indices = r.op("ExpandDims", x, r.constant(1, np.int32))
    numbers = r.constant(np.arange(math.prod([size or 0]), dtype=x.dtype.numpy))
    return r.op("ScatterNd", indices, numbers, r.constant([size], x.dtype))
