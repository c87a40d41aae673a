"""Numerical ops as steps of a tokenizer, from strings to token ids."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.deploy.tokenizer.steps import NodeView, Step, converts
from pinnace.framework import dtypes
from pinnace.graph.graph import Node, Value
from pinnace.graph.known import known_value

_INTEGERS = (dtypes.int32, dtypes.int64)
_COUNTED = (*_INTEGERS, dtypes.float32, dtypes.float64)


def _arithmetic(step: str) -> Callable[[NodeView], list[Step]]:
    """The converter of an op on two integers to one step."""

    def convert(call: NodeView) -> list[Step]:
        if call.out.dtype is dtypes.string:
            return call.step("join", separator="")
        call.only(_INTEGERS, *call.inputs)
        return call.step(step, dtype=call.out.dtype.name)

    return convert


converts("Add", "AddV2")(_arithmetic("add"))
converts("Sub")(_arithmetic("sub"))
converts("Mul")(_arithmetic("mul"))
converts("FloorDiv")(_arithmetic("floor_div"))
converts("FloorMod")(_arithmetic("floor_mod"))
converts("Maximum")(_arithmetic("maximum"))
converts("Minimum")(_arithmetic("minimum"))
converts("Less")(_arithmetic("less"))
converts("LessEqual")(_arithmetic("less_equal"))
converts("Greater")(_arithmetic("greater"))
converts("GreaterEqual")(_arithmetic("greater_equal"))


@converts("Equal", "NotEqual")
def _equal(call: NodeView) -> list[Step]:
    call.only((dtypes.string, dtypes.bool, *_INTEGERS), *call.inputs)
    scalar = any(value.shape.rank == 0 for value in call.inputs)
    if not scalar and not call.attr("incompatible_shape_error"):
        # TensorFlow: for incompatible shapes the result is False, here it is an error.
        shapes = [value.shape for value in call.inputs]
        if not all(shape.is_fully_defined() for shape in shapes) or len(set(shapes)) > 1:
            call.fail("== compares it, which takes any shapes; tf.equal takes those that fit")
    op = "equal" if call.node.op.name == "Equal" else "not_equal"
    return call.step(op, dtype="bool")


@converts("LogicalAnd", "LogicalOr")
def _logical(call: NodeView) -> list[Step]:
    return call.step(call.node.op.name.removeprefix("Logical").lower(), dtype="bool")


@converts("LogicalNot")
def _not(call: NodeView) -> list[Step]:
    return call.step("not")


@converts("Cast")
def _cast(call: NodeView) -> list[Step]:
    call.only((dtypes.bool, dtypes.uint8, *_INTEGERS), call.inputs[0], call.out)
    return call.step("cast", dtype=call.out.dtype.name)


@converts("SelectV2", "Select")
def _select(call: NodeView) -> list[Step]:
    if call.node.op.name == "Select" and call.rank(0) != call.rank(1):
        call.fail("the condition must have the axes of what it selects")
    return call.step("select")


@converts("Shape")
def _shape(call: NodeView) -> list[Step]:
    return call.step("shape", dtype=call.out.dtype.name)


@converts("Size")
def _size(call: NodeView) -> list[Step]:
    return call.step("size_of", dtype=call.out.dtype.name)


@converts("ZerosLike", "OnesLike")
def _like(call: NodeView) -> list[Step]:
    call.only(_INTEGERS, call.out)
    one = np.array(call.node.op.name == "OnesLike", call.out.dtype.numpy)
    shape = Step("shape", (call.inputs[0],), ("sizes",), {"dtype": "int64"})
    return [shape, Step("fill", ("sizes", one), (call.out,))]


@converts("Reshape")
def _reshape(call: NodeView) -> list[Step]:
    return call.step("reshape")


@converts("ExpandDims")
def _expand(call: NodeView) -> list[Step]:
    axis = call.axis(1, call.rank() + 1)
    return call.step("expand", call.inputs[0], axis=axis)


@converts("Squeeze")
def _squeeze(call: NodeView) -> list[Step]:
    rank = call.rank()
    axes = sorted({int(axis) % rank for axis in call.attr("squeeze_dims")})
    sizes = list(call.inputs[0].shape)
    if not axes:
        if None in sizes:
            call.fail("which axes have size 1 must be known")
        axes = [axis for axis, size in enumerate(sizes) if size == 1]
    return call.step("squeeze", axes=axes)


@converts("ConcatV2")
def _concat(call: NodeView) -> list[Step]:
    axis = call.axis(len(call.inputs) - 1, call.rank())
    return call.step("concat", *call.inputs[:-1], axis=axis)


@converts("Pack")
def _pack(call: NodeView) -> list[Step]:
    return call.step("pack", axis=int(call.attr("axis")) % (call.rank() + 1))


@converts("StridedSlice")
def _strided(call: NodeView) -> list[Step]:
    begin, end, by = (
        [int(n) for n in call.constant(i, "where a slice begins and ends")] for i in (1, 2, 3)
    )
    masks = {
        name: int(call.attr(f"{name}_mask"))
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }

    def has(name: str, index: int) -> bool:
        return bool(masks[name] >> index & 1)

    axes: list[Any] = []
    count = sum(not has("new_axis", i) and not has("ellipsis", i) for i in range(len(begin)))
    everything: list[int | None] = [None, None, 1]
    for index in range(len(begin)):
        if has("ellipsis", index):
            axes += [everything] * (call.rank() - count)
        elif has("new_axis", index):
            axes.append("new")
        elif has("shrink_axis", index):
            axes.append(0 if has("begin", index) else begin[index])
        else:
            first = None if has("begin", index) else begin[index]
            last = None if has("end", index) else end[index]
            axes.append([first, last, by[index]])
    taken = sum(one != "new" for one in axes)
    axes += [everything] * (call.rank() - taken)
    return call.step("slice", call.inputs[0], axes=axes)


@converts("Slice")
def _slice(call: NodeView) -> list[Step]:
    begin = [int(n) for n in call.constant(1, "begin")]
    size = [int(n) for n in call.constant(2, "size")]
    axes = [[a, None if n < 0 else a + n, 1] for a, n in zip(begin, size, strict=True)]
    return call.step("slice", call.inputs[0], axes=axes)


@converts("GatherV2", "Gather")
def _gather(call: NodeView) -> list[Step]:
    axis = 0
    if call.node.op.name == "GatherV2":
        axis = call.axis(2, call.rank())
        if call.attr("batch_dims"):
            call.fail("batch_dims must be 0")
    return call.step("gather", *call.inputs[:2], axis=axis)


@converts("Range")
def _range(call: NodeView) -> list[Step]:
    call.only(_INTEGERS, call.out)
    return call.step("range", dtype=call.out.dtype.name)


@converts("Fill")
def _fill(call: NodeView) -> list[Step]:
    return call.step("fill")


@converts("Pad", "PadV2")
def _pad(call: NodeView) -> list[Step]:
    if len(call.inputs) > 2:
        return call.step("pad")
    call.only(_INTEGERS, call.out)
    return call.step("pad", *call.inputs, np.array(0, call.out.dtype.numpy))


@converts("Sum", "Prod", "Max", "Min", "Any", "All")
def _reduce(call: NodeView) -> list[Step]:
    kind = call.node.op.name.lower()
    call.only((dtypes.bool,) if kind in {"any", "all"} else _INTEGERS, call.out)
    rank = call.rank()
    axes = (
        sorted({int(axis) % rank for axis in call.constant(1, "axis").reshape(-1)}) if rank else []
    )
    keep = bool(call.attr("keep_dims"))
    return call.step("reduce", call.inputs[0], kind=kind, axes=axes, keep=keep)


@converts("Cumsum")
def _cumsum(call: NodeView) -> list[Step]:
    call.only(_INTEGERS, call.out)
    if call.rank() != 1:
        call.fail("it must be a vector")
    exclusive, reverse = bool(call.attr("exclusive")), bool(call.attr("reverse"))
    return call.step("cumsum", call.inputs[0], exclusive=exclusive, reverse=reverse)


@converts("LowerBound", "UpperBound")
def _search(call: NodeView) -> list[Step]:
    call.only(_INTEGERS, *call.inputs)
    side = "left" if call.node.op.name == "LowerBound" else "right"
    return call.step("search", side=side, dtype=call.out.dtype.name)


@converts("DenseBincount", "RaggedBincount")
def _bincount(call: NodeView) -> list[Step]:
    call.only(_COUNTED, call.out)
    weights = known_value(call.inputs[-1])
    if weights is None or weights.size:
        call.fail("there must be no weights")
    dense = call.node.op.name == "DenseBincount"
    if dense and call.rank(0) != 1:
        call.fail("it must be a vector")
    return call.step(
        "bincount" if dense else "bincount_rows",
        *call.inputs[:-1],
        binary=bool(call.attr("binary_output")),
        dtype=call.out.dtype.name,
    )


@converts("OneHot")
def _one_hot(call: NodeView) -> list[Step]:
    """No step: a part of a count."""
    _size_of_ones(call.node)
    return []


@converts("UnsortedSegmentSum")
def _count(call: NodeView) -> list[Step]:
    """A sum of one-hot rows: the number of occurrences of each number in each row."""
    data, owners, rows = call.inputs
    call.only(_COUNTED, call.out)
    if data.node.op.name != "OneHot":
        call.fail("only ones are counted")
    if owners.shape.rank != 1:
        call.fail("it must be a vector")
    size = _size_of_ones(data.node)
    return call.step(
        "count_by_row",
        data.node.inputs[0],
        owners,
        rows,
        size=size,
        binary=False,
        dtype=call.out.dtype.name,
    )


def _size_of_ones(node: Node) -> int:
    """The depth of one-hot rows."""
    call = NodeView(node)
    depth, on, off = (call.constant(i, "what is hot") for i in (1, 2, 3))
    if call.rank() != 1 or call.attr("axis") not in {-1, 1} or on != 1 or off != 0:
        call.fail("only ones of a vector are counted")
    call.only(_INTEGERS, call.inputs[0])
    return int(depth)


def is_part(value: Value) -> bool:
    """Whether a value is only a part of its user's step."""
    return value.node.op.name == "OneHot"


@converts("RaggedTensorToTensor")
def _to_dense(call: NodeView) -> list[Step]:
    kinds = [
        kind.decode() if isinstance(kind, bytes) else str(kind)
        for kind in call.attr("row_partition_types")
    ]
    return call.step("to_dense", rows=kinds)
