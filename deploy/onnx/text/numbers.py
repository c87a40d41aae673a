"""Ops on numbers as steps of a tokenizer: what stands between strings and token ids."""

from typing import Any

import numpy as np

from pinnace.deploy.onnx.text.steps import Said, Step, says
from pinnace.framework import dtypes
from pinnace.graph.graph import Node, Value
from pinnace.graph.known import known_value

_INTEGERS = (dtypes.int32, dtypes.int64)
_COUNTED = (*_INTEGERS, dtypes.float32, dtypes.float64)
_ARITHMETIC = {
    "Add": "add",
    "AddV2": "add",
    "Sub": "sub",
    "Mul": "mul",
    "FloorDiv": "floor_div",
    "FloorMod": "floor_mod",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "Less": "less",
    "LessEqual": "less_equal",
    "Greater": "greater",
    "GreaterEqual": "greater_equal",
}


@says(*_ARITHMETIC)
def _arithmetic(said: Said) -> list[Step]:
    if said.out.dtype is dtypes.string:
        return said.step("join", separator="")
    said.only(_INTEGERS, *said.inputs)
    return said.step(_ARITHMETIC[said.node.op.name], dtype=said.out.dtype.name)


@says("Equal", "NotEqual")
def _equal(said: Said) -> list[Step]:
    said.only((dtypes.string, dtypes.bool, *_INTEGERS), *said.inputs)
    scalar = any(value.shape.rank == 0 for value in said.inputs)
    if not scalar and not said.attr("incompatible_shape_error"):
        # TensorFlow: such a comparison of shapes that do not fit is False, here it is an error.
        shapes = [value.shape for value in said.inputs]
        if not all(shape.is_fully_defined() for shape in shapes) or len(set(shapes)) > 1:
            said.fail("== compares it, which takes any shapes; tf.equal takes those that fit")
    op = "equal" if said.node.op.name == "Equal" else "not_equal"
    return said.step(op, dtype="bool")


@says("LogicalAnd", "LogicalOr")
def _logical(said: Said) -> list[Step]:
    return said.step(said.node.op.name.removeprefix("Logical").lower(), dtype="bool")


@says("LogicalNot")
def _not(said: Said) -> list[Step]:
    return said.step("not")


@says("Cast")
def _cast(said: Said) -> list[Step]:
    said.only((dtypes.bool, dtypes.uint8, *_INTEGERS), said.inputs[0], said.out)
    return said.step("cast", dtype=said.out.dtype.name)


@says("SelectV2", "Select")
def _select(said: Said) -> list[Step]:
    if said.node.op.name == "Select" and said.rank(0) != said.rank(1):
        said.fail("the condition must have the axes of what it selects")
    return said.step("select")


@says("Shape")
def _shape(said: Said) -> list[Step]:
    return said.step("shape", dtype=said.out.dtype.name)


@says("Size")
def _size(said: Said) -> list[Step]:
    return said.step("size_of", dtype=said.out.dtype.name)


@says("ZerosLike", "OnesLike")
def _like(said: Said) -> list[Step]:
    said.only(_INTEGERS, said.out)
    one = np.array(said.node.op.name == "OnesLike", said.out.dtype.numpy)
    shape = Step("shape", (said.inputs[0],), ("sizes",), {"dtype": "int64"})
    return [shape, Step("fill", ("sizes", one), (said.out,))]


@says("Reshape")
def _reshape(said: Said) -> list[Step]:
    return said.step("reshape")


@says("ExpandDims")
def _expand(said: Said) -> list[Step]:
    axis = said.axis(1, said.rank() + 1)
    return said.step("expand", said.inputs[0], axis=axis)


@says("Squeeze")
def _squeeze(said: Said) -> list[Step]:
    rank = said.rank()
    axes = sorted({int(axis) % rank for axis in said.attr("squeeze_dims")})
    sizes = list(said.inputs[0].shape)
    if not axes:
        if None in sizes:
            said.fail("which axes have size 1 must be known")
        axes = [axis for axis, size in enumerate(sizes) if size == 1]
    return said.step("squeeze", axes=axes)


@says("ConcatV2")
def _concat(said: Said) -> list[Step]:
    axis = said.axis(len(said.inputs) - 1, said.rank())
    return said.step("concat", *said.inputs[:-1], axis=axis)


@says("Pack")
def _pack(said: Said) -> list[Step]:
    return said.step("pack", axis=int(said.attr("axis")) % (said.rank() + 1))


@says("StridedSlice")
def _strided(said: Said) -> list[Step]:
    begin, end, by = (
        [int(n) for n in said.constant(i, "where a slice begins and ends")] for i in (1, 2, 3)
    )
    masks = {
        name: int(said.attr(f"{name}_mask"))
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }

    def has(name: str, index: int) -> bool:
        return bool(masks[name] >> index & 1)

    axes: list[Any] = []
    count = sum(not has("new_axis", i) and not has("ellipsis", i) for i in range(len(begin)))
    everything: list[int | None] = [None, None, 1]
    for index in range(len(begin)):
        if has("ellipsis", index):
            axes += [everything] * (said.rank() - count)
        elif has("new_axis", index):
            axes.append("new")
        elif has("shrink_axis", index):
            axes.append(0 if has("begin", index) else begin[index])
        else:
            first = None if has("begin", index) else begin[index]
            last = None if has("end", index) else end[index]
            axes.append([first, last, by[index]])
    taken = sum(one != "new" for one in axes)
    axes += [everything] * (said.rank() - taken)
    return said.step("slice", said.inputs[0], axes=axes)


@says("Slice")
def _slice(said: Said) -> list[Step]:
    begin = [int(n) for n in said.constant(1, "begin")]
    size = [int(n) for n in said.constant(2, "size")]
    axes = [[a, None if n < 0 else a + n, 1] for a, n in zip(begin, size, strict=True)]
    return said.step("slice", said.inputs[0], axes=axes)


@says("GatherV2", "Gather")
def _gather(said: Said) -> list[Step]:
    axis = 0
    if said.node.op.name == "GatherV2":
        axis = said.axis(2, said.rank())
        if said.attr("batch_dims"):
            said.fail("batch_dims must be 0")
    return said.step("gather", *said.inputs[:2], axis=axis)


@says("Range")
def _range(said: Said) -> list[Step]:
    said.only(_INTEGERS, said.out)
    return said.step("range", dtype=said.out.dtype.name)


@says("Fill")
def _fill(said: Said) -> list[Step]:
    return said.step("fill")


@says("Pad", "PadV2")
def _pad(said: Said) -> list[Step]:
    if len(said.inputs) > 2:
        return said.step("pad")
    said.only(_INTEGERS, said.out)
    return said.step("pad", *said.inputs, np.array(0, said.out.dtype.numpy))


@says("Sum", "Prod", "Max", "Min", "Any", "All")
def _reduce(said: Said) -> list[Step]:
    kind = said.node.op.name.lower()
    said.only((dtypes.bool,) if kind in {"any", "all"} else _INTEGERS, said.out)
    rank = said.rank()
    axes = (
        sorted({int(axis) % rank for axis in said.constant(1, "axis").reshape(-1)}) if rank else []
    )
    keep = bool(said.attr("keep_dims"))
    return said.step("reduce", said.inputs[0], kind=kind, axes=axes, keep=keep)


@says("Cumsum")
def _cumsum(said: Said) -> list[Step]:
    said.only(_INTEGERS, said.out)
    if said.rank() != 1:
        said.fail("it must be a vector")
    exclusive, reverse = bool(said.attr("exclusive")), bool(said.attr("reverse"))
    return said.step("cumsum", said.inputs[0], exclusive=exclusive, reverse=reverse)


@says("LowerBound", "UpperBound")
def _search(said: Said) -> list[Step]:
    said.only(_INTEGERS, *said.inputs)
    side = "left" if said.node.op.name == "LowerBound" else "right"
    return said.step("search", side=side, dtype=said.out.dtype.name)


@says("DenseBincount", "RaggedBincount")
def _bincount(said: Said) -> list[Step]:
    said.only(_COUNTED, said.out)
    weights = known_value(said.inputs[-1])
    if weights is None or weights.size:
        said.fail("there must be no weights")
    dense = said.node.op.name == "DenseBincount"
    if dense and said.rank(0) != 1:
        said.fail("it must be a vector")
    return said.step(
        "bincount" if dense else "bincount_rows",
        *said.inputs[:-1],
        binary=bool(said.attr("binary_output")),
        dtype=said.out.dtype.name,
    )


@says("OneHot")
def _one_hot(said: Said) -> list[Step]:
    """Part of a count: no step of its own."""
    _size_of_ones(said.node)
    return []


@says("UnsortedSegmentSum")
def _count(said: Said) -> list[Step]:
    """Of ones: how often each number stands in each row."""
    data, owners, rows = said.inputs
    said.only(_COUNTED, said.out)
    if data.node.op.name != "OneHot":
        said.fail("only ones are counted")
    if owners.shape.rank != 1:
        said.fail("it must be a vector")
    size = _size_of_ones(data.node)
    return said.step(
        "count_by_row",
        data.node.inputs[0],
        owners,
        rows,
        size=size,
        binary=False,
        dtype=said.out.dtype.name,
    )


def _size_of_ones(node: Node) -> int:
    """The width of rows with a single one."""
    said = Said(node)
    depth, on, off = (said.constant(i, "what is hot") for i in (1, 2, 3))
    if said.rank() != 1 or said.attr("axis") not in {-1, 1} or on != 1 or off != 0:
        said.fail("only ones of a vector are counted")
    said.only(_INTEGERS, said.inputs[0])
    return int(depth)


def is_part(value: Value) -> bool:
    """Whether a value is only a part of the step that takes it."""
    return value.node.op.name == "OneHot"


@says("RaggedTensorToTensor")
def _to_dense(said: Said) -> list[Step]:
    kinds = [
        kind.decode() if isinstance(kind, bytes) else str(kind)
        for kind in said.attr("row_partition_types")
    ]
    return said.step("to_dense", rows=kinds)
