"""LayerNormalization and RMSNormalization, recognised in any form of their formulas.

These operators normalise the last axes. With channels first, the formula is kept: it needs no
transpose there.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input
from pinnace.deploy.onnx.passes.polynomials import (
    WRITTEN,
    Monomial,
    Polynomial,
    Reader,
    built_on,
    close,
    monomial,
)
from pinnace.deploy.onnx.passes.replacing import Places, replace_values
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_RMS = 23  # the opset that has RMSNormalization
_STEPS = 6
_FLOATS = frozenset({dtypes.float32, dtypes.float64})


class _Spread(NamedTuple):
    """sqrt(mean((x - mean)²) + epsilon).

    Attributes:
        x: the normalised value.
        mean: the subtracted mean; None for none.
        epsilon: the constant.
        axes: the number of last axes.
    """

    x: Value
    mean: Value | None
    epsilon: float
    axes: int


class _Normal(NamedTuple):
    target: Value
    spread: _Spread
    scale: Value | None
    shift: Value | None


def name_normalisations(g: GraphBuilder) -> None:
    """Replace formulas by operators, including those in nested graphs."""
    for node in g.nodes:
        for body in bodies_of(node):
            name_normalisations(body)
    users = g.users()
    found: dict[Value, _Normal] = {}
    for node in g.nodes:
        normal = _normal(g, node, users) if node.kind == "Sqrt" else None
        if normal is not None:
            found[normal.target] = normal

    def change(node: Node, places: Places) -> Value | None:
        normal = found.get(node.outputs[0])
        return None if normal is None else _written(g, normal, places)

    replace_values(g, change)


def _spread(node: Node) -> _Spread | None:
    total = node.inputs[0]
    before = total.node if total is not None else None
    if before is None or before.kind != "Add":
        return None
    for place in (0, 1):
        number, mean = constant_input(before, place), before.inputs[1 - place]
        if number is None or number.size != 1 or mean is None:
            continue
        found = _moment(mean)
        if found is not None:
            x, centre, axes = found
            return _Spread(x, centre, float(number.reshape(-1)[0]), axes)
    return None


def _moment(value: Value) -> tuple[Value, Value | None, int] | None:
    """The argument of a mean of squares: x, the subtracted value, and the number of last axes."""
    axes = _last_axes(value)
    squared = value.node.inputs[0] if value.node is not None and axes else None
    node = squared.node if squared is not None else None
    if node is None or not axes:
        return None
    if (node.kind == "Mul" and node.inputs[0] is node.inputs[1]) or (
        node.kind == "Pow" and constant_input(node, 1) is not None and _is_two(node)
    ):
        root = node.inputs[0]
    else:
        return None
    if root is None:
        return None
    before = root.node
    if before is not None and before.kind == "Sub":
        x, mean = before.inputs
        if x is not None and mean is not None and _last_axes(mean) == axes:
            source = mean.node.inputs[0] if mean.node is not None else None
            if source is x:
                return x, mean, axes
    return root, None, axes


def _is_two(node: Node) -> bool:
    exponent = constant_input(node, 1)
    return exponent is not None and bool(np.all(exponent == 2))


def _last_axes(value: Value) -> int:
    """The number of last axes that a mean is taken over; 0 for other means and values."""
    node = value.node
    if node is None or node.kind != "ReduceMean" or not node.attrs.get("keepdims", 1):
        return 0
    x, axes = node.inputs[0], constant_input(node, 1)
    if x is None or axes is None or x.shape.rank is None:
        return 0
    reduced = sorted(int(axis) % x.rank for axis in axes)
    return len(reduced) if reduced == list(range(x.rank - len(reduced), x.rank)) else 0


def _normal(g: GraphBuilder, node: Node, users: dict[Value, list[Node]]) -> _Normal | None:
    """The last value derived from a standard deviation that is a normalisation; None if none is."""
    spread = _spread(node)
    if spread is None or spread.x.dtype not in _FLOATS:
        return None
    sizes = [spread.x.size(axis) for axis in range(-spread.axes, 0)]
    if None in sizes or (spread.mean is None and g.opset < _RMS):
        return None
    root = node.outputs[0]
    inverses = {root: root}
    atoms = [spread.x, root, *([spread.mean] if spread.mean is not None else [])]
    below = {
        output: root
        for user in users.get(root, ())
        if user.kind == "Reciprocal"
        for output in user.outputs
    }
    reader = _Reader(atoms, inverses, below)
    found = None
    for value in built_on(root, users, WRITTEN, _STEPS):
        if value.shape.rank != spread.x.shape.rank:
            continue
        parts = _parts(reader.of(value), spread, root)
        if parts is not None:
            found = _Normal(value, spread, *parts)
    return found


class _Reader(Reader):
    """Reads constants other than scalars as atoms, and 1 / root as the atom root."""

    def __init__(
        self, atoms: list[Value], inverses: dict[Value, Value], below: dict[Value, Value]
    ) -> None:
        super().__init__(atoms, inverses)
        for value, root in below.items():
            self._known[value] = {(root,): 1.0}


def _parts(
    found: Polynomial, spread: _Spread, root: Value
) -> tuple[Value | None, Value | None] | None:
    """The scale and shift of x / root * scale - mean / root * scale + shift."""
    constants = {value for part in found for value in part if value.array is not None}
    if any(not _fits(value, spread) for value in constants):
        return None
    scales: list[Value | None] = [None, *constants]
    for scale in scales:
        factor = () if scale is None else (scale,)
        wanted: Polynomial = {monomial(spread.x, root, *factor): 1.0}
        if spread.mean is not None:
            wanted[monomial(spread.mean, root, *factor)] = -1.0
        if close(found, wanted):
            return scale, None
        rest = set(found) - set(wanted)
        if len(rest) != 1 or spread.mean is None:
            continue
        ((*values,),) = rest
        shift: Monomial = tuple(values)
        if len(shift) != 1 or shift[0].array is None:
            continue
        if close(found, {**wanted, shift: 1.0}):
            return scale, shift[0]
    return None


def _fits(value: Value, spread: _Spread) -> bool:
    """Whether a constant varies along the normalised axes only."""
    sizes = list(value.shape)
    extra = sizes[: max(0, len(sizes) - spread.axes)]
    return all(size == 1 for size in extra)


def _written(g: GraphBuilder, normal: _Normal, places: Places) -> Value:
    spread = normal.spread
    x = places.get(spread.x, spread.x)
    sizes = [int(spread.x.shape[axis] or 0) for axis in range(-spread.axes, 0)]
    scale = _whole(g, normal.scale, sizes, x, 1.0)
    epsilon, axis = spread.epsilon, -spread.axes
    if spread.mean is None:
        return g.op("RMSNormalization", x, scale, axis=axis, epsilon=epsilon)
    shift = None if normal.shift is None else _whole(g, normal.shift, sizes, x, 0.0)
    return g.op("LayerNormalization", x, scale, shift, axis=axis, epsilon=epsilon)


def _whole(g: GraphBuilder, value: Value | None, sizes: list[int], x: Value, fill: float) -> Value:
    """A constant broadcast to the sizes of the normalised axes."""
    if value is None or value.array is None:
        return g.constant(np.full(sizes, fill, x.dtype.numpy), dtype=x.dtype)
    array: Array = value.array.reshape(
        [1] * (len(sizes) - value.rank) + list(value.shape)[-len(sizes) :]
    )
    return g.constant(np.ascontiguousarray(np.broadcast_to(array, sizes)), value.name, value.dtype)
