"""Uses of the sign bit, by which `keras.ops.argmax` distinguishes -0 from 0.

It is the highest bit of the number's bits as an integer: `(bitcast(x) & least) < 0`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.graph.graph import Node, Value

    Takers = Mapping[Value, Sequence[Node | None]]


def is_sign_of_zeros(node: Node, takers: Takers) -> bool:
    """Whether only the sign of a Bitcast is used, and only where the number is 0.

    For zeros, 1 / x has the same sign; for NaN only the bits would tell it.

    Args:
        node: a Bitcast.
        takers: the nodes that use each value; None stands for the program's results.
    """
    x, bits = node.inputs[0], node.outputs[0]
    if not x.dtype.is_floating or not bits.dtype.is_integer or bits.dtype.is_unsigned:
        return False
    masks = takers.get(bits, ())
    return (
        x.shape.rank == bits.shape.rank is not None
        and all(mask is not None and is_sign_test(mask, takers) for mask in masks)
        and all(_only_of_zeros(test, x, takers) for mask in masks for test in _takers(mask, takers))
    )


def is_sign_test(node: Node, takers: Takers) -> bool:
    """Whether a node masks the sign bit of integers, and the result is only compared with 0."""
    if node.op.name != "BitwiseAnd":
        return False
    masks = [constant_of(value) for value in node.inputs]
    least = np.iinfo(node.outputs[0].dtype.numpy).min
    return (
        any(mask is not None and bool((mask == least).all()) for mask in masks)
        and bool(takers.get(node.outputs[0]))
        and all(
            taker is not None and taker.op.name == "Less" and _is_zero(taker.inputs[1])
            for taker in takers[node.outputs[0]]
        )
    )


def _takers(node: Node | None, takers: Takers) -> list[Node]:
    outputs = node.outputs if node is not None else ()
    return [taker for value in outputs for taker in takers.get(value, ()) if taker is not None]


def _only_of_zeros(test: Node, x: Value, takers: Takers) -> bool:
    """Whether a comparison is only used where x is 0."""
    found = takers.get(test.outputs[0], ())
    return bool(found) and all(
        taker is not None
        and taker.op.name == "LogicalAnd"
        and any(_compares_with_zero(value, x) for value in taker.inputs)
        for taker in found
    )


def _compares_with_zero(value: Value, x: Value) -> bool:
    node = value.node
    return (
        node.op.name == "Equal"
        and x in node.inputs
        and any(_is_zero(operand) for operand in node.inputs)
    )


def _is_zero(value: Value) -> bool:
    known = constant_of(value)
    return known is not None and not known.ndim and known == 0
