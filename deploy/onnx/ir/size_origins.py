"""Origins of axis sizes: which unknown sizes are provably equal."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input
from pinnace.framework.tensor import Array

# Operators whose result has the axes of their first input.
_KEPT = frozenset(
    [
        "Abs",
        "BatchNormalization",
        "Cast",
        "Ceil",
        "Clip",
        "CumSum",
        "Elu",
        "Erf",
        "Exp",
        "Floor",
        "Gelu",
        "HardSigmoid",
        "HardSwish",
        "Identity",
        "LayerNormalization",
        "LeakyRelu",
        "Log",
        "LogSoftmax",
        "Neg",
        "Not",
        "Reciprocal",
        "Relu",
        "Round",
        "Selu",
        "Sigmoid",
        "Sign",
        "Softmax",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Tanh",
        "IsNaN",
        "IsInf",
    ]
)
_BROADCAST = frozenset(
    [
        "Add",
        "And",
        "Div",
        "Equal",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Or",
        "Pow",
        "Sub",
        "Where",
        "Xor",
    ]
)
_REDUCED = frozenset(
    [
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "ReduceL1",
        "ReduceL2",
        "ReduceSumSquare",
    ]
)
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
# A size: (value, axis), a number, or None if unknown.
Size: TypeAlias = tuple[Value, int] | int | None
_SCALARS = frozenset({"Cast", "Identity", "Squeeze", "Unsqueeze"})


def origin(value: Value, axis: int) -> tuple[Value, int] | int:
    """The first value and axis with this size, or the size if it is known."""
    path: list[tuple[Value, int]] = []
    found: tuple[Value, int] | int | None = None
    while found is None:
        size = value.size(axis)
        if axis < 0:
            axis += value.rank
        found = size if size is not None else value.origins.get(axis)
        if found is None:
            path.append((value, axis))
            before = _before(value, axis)
            if before is None:
                found = value, axis
            else:
                value, axis = before
    # Cached, since several paths may lead to one value, and their number may grow exponentially.
    for passed, place in path:
        passed.origins[place] = found
    return found


def _before(value: Value, axis: int) -> tuple[Value, int] | None:
    """The input and its axis with the size of this one; None if unknown."""
    node = value.node
    first = node.inputs[0] if node is not None and node.inputs else None
    if node is None or first is None or first.shape.rank is None or node.moved:
        return None
    kind = node.kind
    if kind in _KEPT or (kind in _REDUCED and node.attrs.get("keepdims", 1)):
        return first, axis
    if kind == "Transpose":
        return first, int(node.attrs["perm"][axis])
    if kind in _RECURRENT:
        return (first, 0) if axis == 0 and value is node.outputs[0] else None
    rule = _RULES.get(kind)
    return None if rule is None else rule(node, value, axis)


def _beside(node: Node, value: Value, axis: int) -> tuple[Value, int] | None:
    """Concat and Split change one axis only."""
    first = node.inputs[0]
    changed = axis == int(node.attrs.get("axis", 0)) % value.rank
    return None if changed or first is None else (first, axis)


def _cut(node: Node, value: Value, axis: int) -> tuple[Value, int] | None:
    """Slice keeps the axes that it does not name, and one that it reverses."""
    first, axes = node.inputs[0], constant_input(node, 3)
    if first is None:
        return None
    if is_reversal(node) is not None:
        return first, axis
    cut = axes is None or axis in {int(n) % value.rank for n in axes}
    return None if cut else (first, axis)


def _taken(node: Node, value: Value, axis: int) -> tuple[Value, int] | None:
    """Gather along the first axis has the axes of its indices, then those of the data."""
    del value
    first, index = node.inputs[0], node.inputs[1]
    if first is None or index is None or index.shape.rank is None or node.attrs.get("axis", 0):
        return None
    place = axis - index.rank
    return (index, axis) if place < 0 else (first, place + 1)


def _of_product(node: Node, value: Value, axis: int) -> tuple[Value, int] | None:
    first, second = node.inputs[0], node.inputs[1]
    if first is None or second is None or axis >= value.rank - 1 or first.rank != value.rank:
        return None
    place = axis - (value.rank - second.rank)
    rows = axis == value.rank - 2
    if rows or place < 0 or second.size(place) == 1 or second.rank <= 2:
        return first, axis
    return (first, axis) if origin(second, place) == origin(first, axis) else None


def _told(node: Node, value: Value, axis: int) -> tuple[Value, int] | None:
    """The origin of an axis, from a node's input of sizes."""
    del value
    first, sizes = node.inputs[0], node.inputs[1]
    if first is None or sizes is None:
        return None
    copied = node.kind == "Reshape" and "allowzero" not in node.attrs
    if sizes.array is not None:
        return (
            (first, axis) if copied and axis < sizes.array.size and sizes.array[axis] == 0 else None
        )
    found = elements(sizes)
    entry = found[axis] if found is not None and axis < len(found) else None
    return entry if isinstance(entry, tuple) else None


def elements(sizes: Value) -> Sequence[Size] | None:
    """The entries of a vector of sizes: (value, axis), numbers, or None."""
    if sizes.array is not None:
        return [int(n) if n > 0 else None for n in sizes.array]
    node = sizes.node
    first = node.inputs[0] if node is not None and node.inputs else None
    if node is None or first is None:
        return None
    if node.kind == "Cast":
        return elements(first)
    if node.kind == "Shape" and first.shape.rank is not None:
        axes = range(first.rank)[node.attrs.get("start") or 0 : node.attrs.get("end")]
        return [origin(first, axis) for axis in axes]
    if node.kind == "Slice" and constant_input(node, 1) is not None:
        return _sliced(node, first)
    if node.kind == "Gather" and sizes.shape.rank == 1:
        return _picked(node, first)
    if node.kind != "Concat":
        one = sizes.shape.num_elements() == 1
        return [counted(sizes)] if one else None
    found: list[Size] = []
    for part in node.inputs:
        entries = None if part is None else elements(part)
        if entries is None:
            return None
        found.extend(entries)
    return found


def _picked(node: Node, first: Value) -> Sequence[Size] | None:
    inner, which = elements(first), constant_input(node, 1)
    if inner is None or which is None:
        return None
    places = [int(n) for n in which.reshape(-1)]
    if any(not -len(inner) <= place < len(inner) for place in places):
        return None
    return [inner[place] for place in places]


def _sliced(node: Node, first: Value) -> Sequence[Size] | None:
    inner = elements(first)
    ends = [constant_input(node, i) for i in (1, 2)]
    steps = constant_input(node, 4) if len(node.inputs) > 4 else np.ones(1)
    if inner is None or any(end is None or end.size != 1 for end in ends) or steps is None:
        return None
    start, stop = (int(end[0]) for end in ends if end is not None)
    return inner[start : min(stop, len(inner))] if np.all(steps == 1) else None


def told(node: Node) -> Array | None:
    """The entries that Gather or Slice takes from a vector of sizes, if they are constant."""
    first = node.inputs[0]
    if first is None or not first.is_size or first.shape.rank != 1:
        return None
    places = constant_input(node, 1)
    shape: tuple[int, ...] = (-1,)
    if node.kind == "Slice":
        found = _sliced(node, first)
    elif node.kind == "Gather" and places is not None:
        found, shape = _picked(node, first), places.shape
    else:
        return None
    sizes = [size for size in found or () if isinstance(size, int)]
    if found is None or len(sizes) < len(found):
        return None
    return np.array(sizes, first.dtype.numpy).reshape(shape)


def _wide(node: Node, value: Value, axis: int) -> tuple[Value, int] | None:
    """The only input that can determine the size of a broadcast axis."""
    found = []
    for given in node.inputs:
        if given is None or given.shape.rank is None:
            return None
        place = axis - (value.rank - given.rank)
        if place >= 0 and given.size(place) != 1:
            found.append((given, place))
    return found[0] if len(found) == 1 else None


def _past_ones(node: Node, value: Value, axis: int) -> tuple[Value, int] | None:
    """The origin through operators that add and drop axes of size 1."""
    first, axes = node.inputs[0], constant_input(node, 1)
    if first is None or axes is None:
        return None
    if node.kind == "Unsqueeze":
        new = {int(n) % value.rank for n in axes}
        return first, axis - sum(n < axis for n in new)
    if node.kind == "Squeeze":
        gone = {int(n) % first.rank for n in axes}
        kept = [n for n in range(first.rank) if n not in gone]
        return first, kept[axis]
    return None


def _ranged(node: Node, value: Value, axis: int) -> tuple[Value, int] | None:
    """The length of 0, 1, ... n - 1 is n."""
    del value, axis
    limit = node.inputs[1]
    bounds = [constant_input(node, i) for i in (0, 2)]
    if limit is None or [None if n is None else n.item() for n in bounds] != [0, 1]:
        return None
    found = counted(limit)
    return found if isinstance(found, tuple) else None


_RULES: dict[str, Callable[[Node, Value, int], tuple[Value, int] | None]] = {
    **dict.fromkeys(_BROADCAST, _wide),
    "Concat": _beside,
    "Expand": _told,
    "Gather": _taken,
    "MatMul": _of_product,
    "Range": _ranged,
    "Reshape": _told,
    "Slice": _cut,
    "Split": _beside,
    "Squeeze": _past_ones,
    "Unsqueeze": _past_ones,
}


def counted(value: Value) -> Size:
    """The value and axis of which a number is the size, or the number; None for others."""
    while value.array is None:
        node = value.node
        first = node.inputs[0] if node is not None and node.inputs else None
        if node is None or first is None:
            return None
        if not _passes_on(node, value):
            return _measured(node, value, first)
        value = first
    return int(value.array.reshape(-1)[0]) if value.array.size == 1 else None


def _passes_on(node: Node, value: Value) -> bool:
    """Whether a node returns its input unchanged as a number."""
    if node.kind in _SCALARS:
        return True
    if node.kind == "Max" and len(node.inputs) == 2:
        least = constant_input(node, 1)
        return least is not None and least.size == 1 and bool(least <= 0)
    return node.kind == "Reshape" and value.shape.num_elements() == 1


def _measured(node: Node, value: Value, first: Value) -> Size:
    if node.kind == "Gather":
        place, found = constant_input(node, 1), elements(first)
        if place is None or place.size != 1 or found is None or int(place) >= len(found):
            return None
        return found[int(place)]
    if node.kind == "ReduceProd":
        return _multiplied(elements(first))
    if node.kind == "Shape" and value.shape.num_elements() == 1:
        return origin(first, int(node.attrs.get("start") or 0))
    return None


def _multiplied(parts: Sequence[Size] | None) -> Size:
    """A product of sizes, if all factors but one are 1."""
    if parts is None or None in parts:
        return None
    whole = [part for part in parts if isinstance(part, int)]
    rest = [part for part in parts if not isinstance(part, int)]
    number = int(np.prod(whole)) if whole else 1
    if not rest:
        return number
    return rest[0] if len(rest) == 1 and number == 1 else None


def same_number(one: Value, other: Value) -> bool:
    """Whether two counts are provably equal."""
    size = counted(one)
    if size is not None:
        return size == counted(other)
    return _bare(one) is _bare(other)


def _bare(value: Value) -> Value:
    """A number without nodes that return it unchanged."""
    while value.array is None and value.node is not None and _passes_on(value.node, value):
        first = value.node.inputs[0]
        if first is None:
            break
        value = first
    return value


def same_size(count: Value, value: Value, axis: int) -> bool:
    """Whether a number is provably the size of an axis."""
    found = counted(count)
    return found is not None and found == origin(value, axis)


def is_multiple(count: Value, value: Value, axis: int, times: int) -> bool:
    """Whether a number is provably a multiple of the size of an axis."""
    known = counted(count)
    size = value.size(axis)
    if isinstance(known, int) and size is not None:
        return known == size * times
    while (
        count.node is not None and count.node.kind in _SCALARS and count.node.inputs[0] is not None
    ):
        count = count.node.inputs[0]
    if times == 1:
        return same_size(count, value, axis)
    node = count.node
    if node is None or node.kind != "Mul":
        return False
    for place in (0, 1):
        number, other = constant_input(node, place), node.inputs[1 - place]
        if number is not None and number.size == 1 and int(number.reshape(-1)[0]) == times:
            return other is not None and same_size(other, value, axis)
    return False


def is_reversal(node: Node) -> int | None:
    """The axis that a Slice reverses; None for other slices."""
    arrays = [constant_input(node, i) for i in (1, 2, 3, 4)]
    first = node.inputs[0]
    if node.kind != "Slice" or first is None or first.shape.rank is None:
        return None
    if any(array is None or array.size != 1 for array in arrays):
        return None
    start, stop, axis, step = (int(array[0]) for array in arrays if array is not None)
    axis %= first.rank
    size = first.size(axis)
    from_end = start == -1 or start >= (size if size is not None else 1 << 31) - 1
    to_start = stop < -(size if size is not None else 1 << 31)
    return axis if step == -1 and from_end and to_start else None
