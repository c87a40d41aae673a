"""Penalties: a layer's contributions to the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.tensor import Operands
from pinnace.keras.call_context import calls
from pinnace.keras.layer_part import LayerPart
from pinnace.ops.array import casting, shapes
from pinnace.ops.math import division

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.layer import Layer


class Penalties(LayerPart):
    """The penalties that a layer adds to the loss: by `add_loss`, by its outputs, by its weights.

    Attributes:
        added: by the last call.
        holding: the ones that hold data of the last call, if it was the outermost.
    """

    _owner: Layer

    def __init__(self, layer: Layer) -> None:
        super().__init__(layer)
        self.added: list[Any] = []
        self.holding: list[Penalties] = []

    def __getstate__(self) -> dict[str, Any]:
        """The state, without the losses that the last call added."""
        return {**vars(self), "added": [], "holding": []}

    def begin(self) -> None:
        """Called at the start of an outermost call: discard the losses of the previous one."""
        for held in self.holding:
            held.added.clear()
        self.holding.clear()

    def add(self, losses: Any) -> None:
        """Add a scalar or a list of scalars, valid until the next call."""
        self.added.extend(losses if isinstance(losses, (list, tuple)) else [losses])
        if calls.entry is not None:
            calls.entry._penalty_store.holding.append(self)

    def add_for_outputs(self, regularizer: Callable[[Any], Any], outputs: Any) -> None:
        """Add the penalty of each output, divided by its batch size."""
        for output in structure.flatten(outputs):
            if isinstance(output, Operands):
                penalty = regularizer(output)
                # In a trace for batches of any size only the tensor has the size.
                known = output.shape[0]
                size = shapes.shape(output)[0] if known is None else max(known, 1)
                size = casting.cast(size, penalty.dtype)
                self._owner.add_loss(division.divide(penalty, size))

    def losses(self) -> list[Any]:
        """The losses of the last call, of this and nested layers, followed by `of_weights`."""
        found: list[Any] = []
        seen: set[int] = set()

        def visit(layer: Layer) -> None:
            if id(layer) in seen:
                return
            seen.add(id(layer))
            found.extend(layer._penalty_store.added)
            for inner in layer.layers_inside:
                visit(inner)

        visit(self._owner)
        return found + self.of_weights()

    def of_weights(self) -> list[Any]:
        """The penalties of trainable weights, of this and nested layers."""
        found: list[Any] = []
        seen: set[int] = set()

        def visit(layer: Layer, active: bool) -> None:
            if id(layer) in seen:
                return
            seen.add(id(layer))
            active = active and layer.trainable
            if active:
                found.extend(
                    penalty(variable.value())
                    for variable, penalty in layer._weight_store.regularized
                    if variable.trainable
                )
            for inner in layer.layers_inside:
                visit(inner, active)

        visit(self._owner, True)
        return found
