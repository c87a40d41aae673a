"""Checks, which a .tflite file leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.converters.registry import converts

if TYPE_CHECKING:
    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor


@converts("CheckNumericsV2", "CheckNumerics")
def check_numerics(g: GraphBuilder, call: NodeView, x: Tensor) -> Tensor:
    """x itself: the file does not check for NaN and infinity."""
    del g, call
    return x
