"""Bits of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.converters.registry import converts
from pinnace.deploy.program.sign_bits import is_sign_test
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor

_TYPES = {dtypes.float32, dtypes.int32}


@converts("Bitcast", to="BITCAST")
def bitcast(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """The same bits as another type of 32 bits."""
    source, target = call.input_spec(0).dtype, call.node.outputs[0].dtype
    if source is target:
        return g.copied(x)
    if not {source, target} <= _TYPES:
        call.fail(f"bits of {source.name} as {target.name}: only float32 and int32 are possible")
    return g.op("BITCAST", x, dtype=target, shape=call.shape())


@converts("BitwiseAnd")
def bitwise_and(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """Of a sign bit, which is then compared with 0: the number, which has the same sign."""
    del g
    if not is_sign_test(call.node, call.takers):
        call.fail("LiteRT has no built-in operator for it, but for the sign of numbers")
    number = y if call.constant(0) is not None else x
    if number.shape.rank != call.shape().rank:
        call.fail("of a sign bit, the mask must be a number")
    return number
