"""Values of small integer tensors that follow from the graph, such as sizes for Reshape."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# How many nodes back a value is traced, and its maximal number of elements.
_DEPTH = 16
_LARGEST = 4096
T = TypeVar("T")


class _Told(threading.local):
    """What was found out since the question from outside; None while there is none."""

    answers: dict[object, Any] | None = None


_told = _Told()


def _once(ask: Callable[[Value, int], T]) -> Callable[[Value, int], T]:
    """Find out what is asked of a value once for each question from outside.

    Each way to an answer asks for the same inputs, so without it time doubles with each node back.
    """

    @functools.wraps(ask)
    def asked(value: Value, depth: int) -> T:
        answers = _told.answers
        if answers is None:
            _told.answers = {}
            try:
                return ask(value, depth)
            finally:
                _told.answers = None
        key = ask, id(value), depth
        if key not in answers:
            answers[key] = ask(value, depth)
        found: T = answers[key]
        return found

    return asked


def known_value(value: Value, depth: int = _DEPTH) -> Array | None:
    """The value as an array if constants and known shapes determine it, else None."""
    node = value.node
    if node.op.name == "Const":
        return np.asarray(node.attrs["value"])
    if depth == 0:
        return None
    # A PlaceholderWithDefault that is not an argument of the graph has its default value.
    if node.op.alias or node.op.forwards:
        return known_value(node.inputs[value.index], depth - 1)
    if node.op.shape_query:
        return _told_by_shape(value)
    return _found_value(value, depth)


@_once
def _found_value(value: Value, depth: int) -> Array | None:
    for way in (_gathered_sizes, _compared_sizes, _agreed, _folded):
        found = way(value, depth)
        if found is not None:
            return found
    return None


def _told_by_shape(value: Value) -> Array | None:
    """The result of Shape, Rank or Size if the tensor's shape is known."""
    node = value.node
    shape = node.inputs[value.index].shape
    if node.op.name == "Rank":
        return None if shape.rank is None else np.array(shape.rank, np.int32)
    if not shape.is_fully_defined():
        return None
    sizes = shape.num_elements() if node.op.name == "Size" else shape.as_list()
    return _sizes(sizes, node.attrs["out_type"])


def _gathered_sizes(value: Value, depth: int) -> Array | None:
    """The result of slicing or concatenating sizes, which may be partly unknown."""
    if value.node.op.name == "StridedSlice" and value.shape.rank == 0:
        size = _picked(value.node, depth)
        return None if size is None else _sizes(size, value.dtype)
    sizes = _arranged(value, depth) if value.shape.rank == 1 else None
    if sizes is not None and sizes.is_fully_defined():
        return _sizes(sizes.as_list(), value.dtype)
    return None


def _sizes(sizes: object, dtype: DType) -> Array | None:
    """Sizes as an array; None if the dtype cannot represent one, which raises at run time."""
    try:
        return np.array(sizes, dtype.numpy)
    except OverflowError:
        return None


def _folded(value: Value, depth: int) -> Array | None:
    """The result of a small pure op on known inputs."""
    node = value.node
    if not node.op.static or node.op.kernel is None or len(node.outputs) != 1:
        return None
    arrays = [known_value(v, depth - 1) for v in node.inputs]
    if any(a is None or a.size > _LARGEST for a in arrays):
        return None
    options: dict[str, Any] = {name: node.attrs[name] for name in node.op.kernel_attrs}
    try:
        with np.errstate(all="ignore"):
            return np.asarray(node.op.kernel(*node.op.pack_inputs(arrays, node.attrs), **options))
    except Exception:
        return None


def known_shape(value: Value, depth: int = _DEPTH) -> Shape | None:
    """A vector of sizes as a shape, as far as the graph determines it; None if nothing is known."""
    node = value.node
    if depth == 0:
        return None
    if node.op.name == "Const":
        return _shape_of(np.asarray(node.attrs["value"]))
    if node.op.alias or node.op.forwards or node.op.name == "Cast":
        return known_shape(node.inputs[value.index], depth - 1)
    if node.op.shape_query and value.shape.rank == 1:
        return node.inputs[value.index].shape
    return _found_shape(value, depth)


@_once
def _found_shape(value: Value, depth: int) -> Shape | None:
    node, found = value.node, _arranged(value, depth)
    if found is not None or node.op.name == "StridedSlice" or value.shape.rank != 1:
        return found
    if node.op.static and node.op.elementwise and len(node.inputs) == 2:
        return _computed(node, depth)
    folded = _folded(value, depth)
    return None if folded is None else _shape_of(folded)


def _arranged(value: Value, depth: int) -> Shape | None:
    """The shape for concatenated or sliced sizes."""
    node = value.node
    if node.op.name == "StridedSlice":
        return _sliced(node, depth)
    if node.op.name == "Pack" and value.shape.rank == 1:
        return Shape([_size(known_value(v, depth - 1)) for v in node.inputs])
    if node.op.name == "ConcatV2" and value.shape.rank == 1:
        parts = [_part(v, depth) for v in node.inputs[:-1]]
        if any(part.rank is None for part in parts):
            return None
        return Shape([size for part in parts for size in part])
    return None


def _part(value: Value, depth: int) -> Shape:
    found = known_shape(value, depth - 1)
    if found is not None:
        return found
    size = value.shape[0] if value.shape.rank == 1 else None
    return Shape(None) if size is None else Shape([None] * int(size))


def _sliced(node: Any, depth: int) -> Shape | None:
    """The shape for shape(x)[a:b:c]."""
    source = known_shape(node.inputs[0], depth - 1)
    bounds = [known_value(v, depth - 1) for v in node.inputs[1:4]]
    masks = node.attrs
    if source is None or source.rank is None or any(b is None or b.size != 1 for b in bounds):
        return None
    if masks["ellipsis_mask"] or masks["new_axis_mask"] or masks["shrink_axis_mask"]:
        return None
    begin, end, step = (int(b[0]) for b in bounds if b is not None)
    part = slice(
        None if masks["begin_mask"] & 1 else begin, None if masks["end_mask"] & 1 else end, step
    )
    return Shape(source.as_list()[part] if source.is_fully_defined() else list(source)[part])


def _picked(node: Any, depth: int) -> int | None:
    """The value of shape(x)[a], even if other sizes are unknown."""
    source, index = known_shape(node.inputs[0], depth - 1), _place(node, depth)
    if source is None or source.rank is None or index is None:
        return None
    return source[index] if -source.rank <= index < source.rank else None


def _place(node: Any, depth: int) -> int | None:
    """The a of x[a]."""
    masks, begin = node.attrs, known_value(node.inputs[1], depth - 1)
    others = ("begin_mask", "ellipsis_mask", "new_axis_mask")
    if masks["shrink_axis_mask"] != 1 or any(masks[name] for name in others):
        return None
    return None if begin is None or begin.size != 1 else int(begin[0])


def _compared_sizes(value: Value, depth: int) -> Array | None:
    """Whether two sizes are equal because both are the same axis of one tensor, of any length."""
    node = value.node
    is_equal = node.op.name == "Equal"
    if not (is_equal or node.op.name == "NotEqual") or value.shape.rank != 0:
        return None
    one, other = (_origin(side, depth - 1) for side in node.inputs)
    if one is None or other is None or one[0] is not other[0] or one[1] != other[1]:
        return None
    return np.array(is_equal)


def _origin(value: Value, depth: int) -> tuple[Value, int] | None:
    """The tensor and axis whose size a scalar is."""
    node = value.node
    if depth <= 0:
        return None
    if node.op.alias or node.op.forwards:
        return _origin(node.inputs[value.index], depth - 1)
    if node.op.name != "StridedSlice" or value.shape.rank != 0:
        return None
    index = _place(node, depth)
    return None if index is None else _element(node.inputs[0], index, depth - 1)


def _element(sizes: Value, index: int, depth: int) -> tuple[Value, int] | None:
    """The tensor and axis whose size is one element of a vector of sizes."""
    node = sizes.node
    if depth <= 0 or index < 0:
        return None
    if node.op.alias or node.op.forwards:
        return _element(node.inputs[sizes.index], index, depth - 1)
    if node.op.shape_query and sizes.shape.rank == 1:
        return _axis(node.inputs[sizes.index], index, depth - 1)
    if node.op.name == "Pack" and sizes.shape.rank == 1 and index < len(node.inputs):
        return _origin(node.inputs[index], depth - 1)
    return None


def _axis(x: Value, axis: int, depth: int) -> tuple[Value, int]:
    """The original tensor and axis for an axis of a tensor, followed through reshapes."""
    node = x.node
    if depth > 0 and (node.op.alias or node.op.forwards):
        return _axis(node.inputs[x.index], axis, depth - 1)
    if depth > 0 and node.op.elementwise and x.shape.rank is not None:
        # Inputs that do not reach the axis (scalars, or vectors along the last one) do not change
        # its size.
        reaching = [v for v in node.inputs if v.shape.rank is None or v.shape.rank > 0]
        reaching = [
            v for v in reaching if v.shape.rank is None or v.shape.rank + axis >= x.shape.rank
        ]
        if len(reaching) == 1 and reaching[0].shape.rank == x.shape.rank:
            return _axis(reaching[0], axis, depth - 1)
    found = _element(node.inputs[1], axis, depth - 1) if node.op.name == "Reshape" else None
    return (x, axis) if found is None else found


def _agreed(value: Value, depth: int) -> Array | None:
    """A boolean that both branches of a condition return: Python's `and` and `or` are conditions.

    `a and b` is b where a holds and else a, which is False there: with a known b it is known.
    """
    node = value.node
    if node.op.runs != "branch" or "then_branch" not in node.attrs or value.dtype.numpy != np.bool_:
        return None
    found = []
    for name, holds in (("then_branch", True), ("else_branch", False)):
        graph = node.attrs[name].graph
        result = _passed(graph.outputs[value.index])
        if result in graph.inputs:
            given = node.inputs[1 + graph.inputs.index(result)]
            same = given is node.inputs[0]
            found.append(np.array(holds) if same else known_value(given, depth - 1))
        else:
            found.append(known_value(result, depth - 1))
    one, other = found
    if one is None or other is None or one.ndim or other.ndim or bool(one) != bool(other):
        return None
    return one


def _passed(value: Value) -> Value:
    while value.node.op.alias or value.node.op.forwards:
        value = value.node.inputs[value.index]
    return value


def _computed(node: Any, depth: int) -> Shape | None:
    """Arithmetic on partly known sizes: the elements that follow from known ones."""
    sides = [_known_numbers(v, depth) for v in node.inputs]
    length = max((len(side) for side in sides if side is not None), default=0)
    if any(side is None or len(side) not in {1, length} for side in sides):
        return None
    rows = zip(
        *[side * (length if len(side) == 1 else 1) for side in sides if side is not None],
        strict=True,
    )
    kind = node.inputs[0].dtype.numpy

    def result(row: tuple[int | None, ...]) -> int | None:
        if None in row:
            return None
        try:
            with np.errstate(all="ignore"):
                found = int(node.op.kernel(*[np.asarray(n, kind) for n in row]))
        except InvalidArgumentError:  # a division by zero, which fails when it runs
            return None
        return None if found < 0 else found

    return Shape([result(row) for row in rows])


def _known_numbers(value: Value, depth: int) -> list[int | None] | None:
    """The elements of a vector or scalar; None for those that the graph does not determine."""
    exact = known_value(value, depth - 1)
    if exact is not None and exact.dtype.kind in "iu" and exact.size <= _LARGEST:
        return [int(n) for n in exact.ravel()]
    shape = known_shape(value, depth - 1) if value.shape.rank == 1 else None
    return None if shape is None or shape.rank is None else list(shape)


def _shape_of(array: Array) -> Shape | None:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        return None
    return Shape([None if n < 0 else int(n) for n in array])


def _size(array: Array | None) -> int | None:
    return None if array is None or array.ndim or array < 0 else int(array)
