"""Dynamic slices clamped to the tensor's bounds, as caches of `keras_hub` and JAX use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.converters.element_types import moved, type_for
from pinnace.deploy.lite.converters.registry import converts
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor


@converts("XlaDynamicUpdateSlice", to="DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(
    g: GraphBuilder, call: NodeView, x: Tensor, update: Tensor, starts: Tensor
) -> Tensor:
    """DYNAMIC_UPDATE_SLICE, which clamps the start indices as XLA does."""
    kind = type_for("DYNAMIC_UPDATE_SLICE", x.dtype)
    given = [g.cast(x, kind), g.cast(update, kind), g.cast(starts, dtypes.int32)]
    return g.cast(g.op("DYNAMIC_UPDATE_SLICE", *given, shape=call.shape()), x.dtype)


@converts("XlaDynamicSlice", to="SLICE MAXIMUM MINIMUM SUB")
def dynamic_slice(
    g: GraphBuilder, call: NodeView, x: Tensor, starts: Tensor, sizes: Tensor
) -> Tensor:
    """SLICE, with the start indices clamped so that the window lies within the tensor."""
    lengths = g.cast(sizes, dtypes.int32)
    most = g.op("SUB", g.sizes(x), lengths)
    first = g.op("MINIMUM", g.cast(starts, dtypes.int32), most)
    first = g.op("MAXIMUM", first, g.like(first, 0))
    return moved(g, "SLICE", x, first, lengths, shape=call.shape())
