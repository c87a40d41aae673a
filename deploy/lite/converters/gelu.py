"""Products that compute GELU or hard swish, recognised by their factors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.graph.graph import constant_of
from pinnace.graph.walk import root_of

if TYPE_CHECKING:
    from pinnace.graph.graph import Node, Value

_CLOSE = 1e-4


class Gelu(NamedTuple):
    """A product that computes GELU.

    Attributes:
        x: the argument.
        is_approximate: whether it is the form with tanh.
    """

    x: Value
    is_approximate: bool


def gelu_of(node: Node) -> Gelu | None:
    """The x of a product x · ½ · (1 + erf(x/√2)), or of GELU with tanh; None for other products."""
    factors, number = _factors(node.outputs[0])
    for index, factor in enumerate(factors):
        rest = factors[:index] + factors[index + 1 :]
        if len(rest) != 1 or not _near(number, 0.5):
            continue
        x = rest[0]
        if factor.node.op.name == "Erfc" and _multiple(factor.node.inputs[0], x, -math.sqrt(0.5)):
            return Gelu(x, False)
        inside = _one_plus(factor)
        if inside is None:
            continue
        if inside.node.op.name == "Erf" and _multiple(inside.node.inputs[0], x, math.sqrt(0.5)):
            return Gelu(x, False)
        if inside.node.op.name == "Tanh" and _is_cubic(inside.node.inputs[0], x):
            return Gelu(x, True)
    return None


def hard_swish_of(node: Node) -> Value | None:
    """The x of a hard swish x · relu6(x + 3) / 6, from its last product or quotient; else None."""
    factors, _ = _factors(node.outputs[0])
    for gate in factors:
        if gate.node.op.name != "Relu6":
            continue
        x = _three_less(gate.node.inputs[0])
        if x is None:
            continue
        # x itself may be a product, for example of a batch normalisation.
        whole, number = _factors(node.outputs[0], x)
        if len(whole) == 2 and {*whole} == {x, gate} and _near(number, 1 / 6):
            return x
    return None


def _three_less(value: Value) -> Value | None:
    """The x of a value x + 3."""
    value = root_of(value)
    if value.node.op.name not in {"Add", "AddV2"}:
        return None
    for x, other in (value.node.inputs, value.node.inputs[::-1]):
        number = _scalar(other)
        if number is not None and _near(number, 3.0):
            return root_of(x)
    return None


def _factors(value: Value, whole: Value | None = None) -> tuple[list[Value], float]:
    """The factors of a product, and the product of its constants.

    Args:
        value: the product.
        whole: a value that counts as one factor even if it is a product.
    """
    value = root_of(value)
    node = value.node
    if value is whole:
        return [value], 1.0
    known = _scalar(value)
    if known is not None:
        return [], known
    if node.op.name == "Mul":
        (left, a), (right, b) = (_factors(x, whole) for x in node.inputs)
        return left + right, a * b
    if node.op.name == "Neg":
        left, a = _factors(node.inputs[0], whole)
        return left, -a
    if node.op.name == "RealDiv":
        divisor = _scalar(node.inputs[1])
        if divisor:
            left, a = _factors(node.inputs[0], whole)
            return left, a / divisor
    return [value], 1.0


def _terms(value: Value) -> tuple[list[Value], float]:
    """The terms of a sum, and the sum of its constants."""
    value = root_of(value)
    known = _scalar(value)
    if known is not None:
        return [], known
    if value.node.op.name in {"Add", "AddV2"}:
        (left, a), (right, b) = (_terms(x) for x in value.node.inputs)
        return left + right, a + b
    return [value], 0.0


def _one_plus(value: Value) -> Value | None:
    terms, offset = _terms(value)
    return terms[0] if len(terms) == 1 and _near(offset, 1.0) else None


def _multiple(value: Value, x: Value, by: float) -> bool:
    factors, number = _factors(value)
    return factors == [root_of(x)] and _near(number, by)


def _is_cubic(value: Value, x: Value) -> bool:
    """Whether a value is √(2/π) (x + 0.044715 x³)."""
    x = root_of(x)
    factors, number = _factors(value)
    if len(factors) != 1 or not _near(number, math.sqrt(2 / math.pi)):
        return False
    terms, offset = _terms(factors[0])
    if offset or len(terms) != 2 or x not in terms:
        return False
    cubes, number = _factors(terms[1] if terms[0] is x else terms[0])
    if not _near(number, 0.044715):
        return False
    return _power(cubes, x) == 3


def _power(factors: list[Value], x: Value) -> int:
    """The exponent n if the factors' product is x^n, else 0."""
    total = 0
    for factor in factors:
        node = factor.node
        if factor is x:
            total += 1
        elif node.op.name == "Square" and root_of(node.inputs[0]) is x:
            total += 2
        elif node.op.name == "Pow" and root_of(node.inputs[0]) is x:
            total += round(_scalar(node.inputs[1]) or 0)
        else:
            return 0
    return total


def _scalar(value: Value) -> float | None:
    found = constant_of(value)
    if found is None or (found.dtype.kind != "f" and found.dtype.name != "bfloat16"):
        return None
    if found.size != 1:
        return None
    return float(np.asarray(found, np.float64).reshape(-1)[0])


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= _CLOSE * abs(b)
