"""Formulas of activations replaced by one operator: Gelu, HardSwish, HardSigmoid, Mish, Swish."""

import math
from collections.abc import Callable

from pinnace.deploy.onnx.converters.math.error_and_gamma import complement
from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input
from pinnace.deploy.onnx.passes.polynomials import (
    WRITTEN,
    Polynomial,
    Reader,
    built_on,
    close,
    monomial,
)
from pinnace.deploy.onnx.passes.replacing import Places, replace_values
from pinnace.framework.errors import InternalError

_ROOT = math.sqrt(0.5)
_SLOPE, _CUBIC = math.sqrt(2 / math.pi), 0.044715
_GELU, _SWISH = 20, 24  # the opsets that have them
_STEPS = 4

# A value that a formula computes, and the function that builds its replacement.
_Found = tuple[Value, Callable[[GraphBuilder], Value]]


def name_activations(g: GraphBuilder) -> None:
    """Replace formulas by operators, including those in nested graphs."""
    for node in g.nodes:
        for body in bodies_of(node):
            name_activations(body)
    users = g.users()
    made: dict[Value, Callable[[GraphBuilder], Value]] = {}
    for node in g.nodes:
        rule = _RULES.get(node.kind)
        found = rule(g, node, users) if rule is not None else None
        if found is not None:
            made[found[0]] = found[1]
    _put(g, made)
    # An Erfc may be part of a formula and have other users too.
    _put(g, {n.outputs[0]: _written_out(n) for n in g.nodes if n.kind == "Erfc"})


def _written_out(node: Node) -> Callable[[GraphBuilder], Value]:
    x = node.inputs[0]
    if x is None:
        raise InternalError("Erfc must have an input")
    return lambda g: complement(g, x)


def _put(g: GraphBuilder, made: dict[Value, Callable[[GraphBuilder], Value]]) -> None:
    """Replace values by the new ones."""

    def change(node: Node, _: Places) -> Value | None:
        make = made.get(node.outputs[0])
        return None if make is None else make(g)

    replace_values(g, change)


def _scaled(value: Value) -> tuple[Value, float]:
    """`x` and `c` of a value `c * x`."""
    factor = 1.0
    while value.node is not None and value.node.kind in {"Mul", "Div", "Neg"}:
        node = value.node
        if node.kind == "Neg":
            factor, following = -factor, node.inputs[0]
        else:
            numbers = [constant_input(node, i) for i in (0, 1)]
            place = 0 if numbers[0] is not None and node.kind == "Mul" else 1
            number = numbers[place]
            if number is None or number.size != 1 or not number.reshape(-1)[0]:
                break
            scalar = float(number.reshape(-1)[0])
            factor = factor * scalar if node.kind == "Mul" else factor / scalar
            following = node.inputs[1 - place]
        if following is None:
            break
        value = following
    return value, factor


def _target(
    users: dict[Value, list[Node]], x: Value, inner: Value, wanted: Polynomial
) -> Value | None:
    """The value computed from `inner` that equals that polynomial in `x` and `inner`."""
    reader = Reader((x, inner))
    found = [
        value
        for value in built_on(inner, users, WRITTEN, _STEPS)
        if close(reader.of(value), wanted)
    ]
    return found[-1] if found else None


def _error(g: GraphBuilder, node: Node, users: dict[Value, list[Node]]) -> _Found | None:
    """Gelu with erf: x / 2 * (1 + erf(x / sqrt(2)))."""
    inner, argument = node.outputs[0], node.inputs[0]
    if argument is None or g.opset < _GELU:
        return None
    x, factor = _scaled(argument)
    if abs(abs(factor) - _ROOT) > 1e-6:
        return None
    sign = math.copysign(0.5, factor)
    target = _target(users, x, inner, {(x,): 0.5, monomial(x, inner): sign})
    return None if target is None else (target, lambda g: g.op("Gelu", x))


def _tangent(g: GraphBuilder, node: Node, users: dict[Value, list[Node]]) -> _Found | None:
    """Gelu with tanh, and Mish: x * tanh(softplus(x))."""
    inner, argument = node.outputs[0], node.inputs[0]
    if argument is None:
        return None
    before = argument.node
    if before is not None and before.kind == "Softplus" and before.inputs[0] is not None:
        base = before.inputs[0]
        target = _target(users, base, inner, {monomial(base, inner): 1.0})
        return None if target is None else (target, lambda g: g.op("Mish", base))
    if g.opset < _GELU:
        return None
    for x in _below(argument):
        curve: Polynomial = {(x,): _SLOPE, (x, x, x): _SLOPE * _CUBIC}
        if close(Reader((x,)).of(argument), curve):
            target = _target(users, x, inner, {(x,): 0.5, monomial(x, inner): 0.5})
            if target is not None:
                return target, lambda g, x=x: g.op("Gelu", x, approximate="tanh")
    return None


def _below(value: Value) -> list[Value]:
    """The values that a polynomial may be in."""
    found: dict[Value, None] = {}
    front = [value]
    for _ in range(_STEPS + 2):
        front = [
            operand
            for above in front
            if above.node is not None and above.node.kind in WRITTEN
            for operand in above.node.inputs
            if operand is not None and operand.array is None
        ]
        found.update(dict.fromkeys(front))
    return list(found)


def _ramp(g: GraphBuilder, node: Node, users: dict[Value, list[Node]]) -> _Found | None:
    """HardSwish and HardSigmoid: x * relu6(x + 3) / 6, and the same without x."""
    del g
    inner, argument = node.outputs[0], node.inputs[0]
    ends = [constant_input(node, i) for i in (1, 2)]
    if argument is None or ends[0] is None or ends[1] is None or ends[0] != 0 or ends[1] != 6:
        return None
    before = argument.node
    operands = [] if before is None or before.kind != "Add" else before.inputs
    for x in operands:
        if x is None or x.array is not None:
            continue
        if not close(Reader((x,)).of(argument), {(x,): 1.0, (): 3.0}):
            continue
        target = _target(users, x, inner, {monomial(x, inner): 1 / 6})
        if target is not None:
            return target, lambda g, x=x: g.op("HardSwish", x)
        target = _target(users, x, inner, {(inner,): 1 / 6})
        if target is not None:
            return target, lambda g, x=x: g.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)
    return None


def _logistic(g: GraphBuilder, node: Node, users: dict[Value, list[Node]]) -> _Found | None:
    """Swish: x * sigmoid(x)."""
    inner, x = node.outputs[0], node.inputs[0]
    if x is None or g.opset < _SWISH:
        return None
    target = _target(users, x, inner, {monomial(x, inner): 1.0})
    return None if target is None else (target, lambda g: g.op("Swish", x))


def _complement(g: GraphBuilder, node: Node, users: dict[Value, list[Node]]) -> _Found | None:
    """Gelu with erfc: x / 2 * erfc(-x / sqrt(2))."""
    inner, argument = node.outputs[0], node.inputs[0]
    if argument is None:
        return None
    x, factor = _scaled(argument)
    if abs(factor + _ROOT) <= 1e-6:
        target = _target(users, x, inner, {monomial(x, inner): 0.5})
        if target is not None:
            if g.opset >= _GELU:
                return target, lambda g: g.op("Gelu", x)
            return target, lambda g: _by_error(g, x)
    return None


def _exponential(g: GraphBuilder, node: Node, users: dict[Value, list[Node]]) -> _Found | None:
    """Softmax: exp(x - max) divided by its sum along one axis."""
    del g
    inner, x = node.outputs[0], node.inputs[0]
    if x is None:
        return None
    for user in users.get(inner, ()):
        axes = constant_input(user, 1)
        if user.kind != "ReduceSum" or axes is None or axes.size != 1:
            continue
        if not user.attrs.get("keepdims", 1):
            continue
        axis = int(axes.reshape(-1)[0])
        for taker in users.get(user.outputs[0], ()):
            if taker.kind == "Div" and taker.inputs == [inner, user.outputs[0]]:
                return taker.outputs[0], _softmax(_less_largest(x, axis), axis)
    return None


def _softmax(x: Value, axis: int) -> Callable[[GraphBuilder], Value]:
    return lambda g: g.op("Softmax", x, axis=axis)


def _less_largest(x: Value, axis: int) -> Value:
    """The value before its maximum is subtracted, as Softmax subtracts it itself."""
    node = x.node
    if node is None or node.kind != "Sub":
        return x
    base, top = node.inputs
    before = top.node if top is not None else None
    if base is None or before is None or before.kind != "ReduceMax" or before.inputs[0] is not base:
        return x
    axes = constant_input(before, 1)
    same = axes is not None and axes.size == 1 and int(axes.reshape(-1)[0]) == axis
    return base if same and before.attrs.get("keepdims", 1) else x


def _by_error(g: GraphBuilder, x: Value) -> Value:
    """Gelu in operators that all opsets have, in the form that runtimes recognise."""
    one = g.binary("Add", g.op("Erf", g.binary("Div", x, math.sqrt(2))), 1)
    return g.binary("Mul", g.op("Mul", x, one), 0.5)


_RULES: dict[str, Callable[[GraphBuilder, Node, dict[Value, list[Node]]], _Found | None]] = {
    "Clip": _ramp,
    "Erf": _error,
    "Exp": _exponential,
    "Erfc": _complement,
    "Sigmoid": _logistic,
    "Tanh": _tangent,
}
