"""Bit patterns of numbers."""

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
    """BITCAST between types of 32 bits."""
    source, target = call.input_spec(0).dtype, call.node.outputs[0].dtype
    if source is target:
        return g.copied(x)
    if not {source, target} <= _TYPES:
        call.fail(f"bits of {source.name} as {target.name}: only float32 and int32 are possible")
    return g.op("BITCAST", x, dtype=target, shape=call.shape())


@converts("BitwiseAnd")
def bitwise_and(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """The number x of `x & sign bit`, which has the same sign, if only compared with 0."""
    del g
    if not is_sign_test(call.node, call.takers):
        call.fail("LiteRT has no built-in operator for it, except as a test of the sign bit")
    number = y if call.constant(0) is not None else x
    if number.shape.rank != call.shape().rank:
        call.fail("the mask of the sign bit must be a scalar")
    return number
