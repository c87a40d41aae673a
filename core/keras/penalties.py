"""Penalised: the half of `Layer` that adds to the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.tensor import Operands
from pinnace.keras.call_context import calls
from pinnace.keras.configuration import Configured
from pinnace.ops.array import casting
from pinnace.ops.math import division

if TYPE_CHECKING:
    from pinnace.keras.weights import Weights


class Penalised(Configured):
    """Losses and metrics of a layer and of the layers in it; see `Layer`."""

    _losses: list[Any]
    # The layers that added losses in the last call, if this was the outermost.
    _holding: list[Penalised]

    def add_loss(self, loss: Any) -> None:
        """Add to what training makes small, until the next call.

        Args:
            loss: a scalar, or a list of them.
        """
        for value in loss if isinstance(loss, (list, tuple)) else [loss]:
            self._losses.append(value)
        if calls.entry is not None:
            calls.entry._holding.append(self)

    def _add_activity_losses(self, outputs: Any) -> None:
        for output in structure.flatten(outputs):
            if isinstance(output, Operands):
                size = casting.cast(output.shape[0] or 1, output.dtype)  # type: ignore[attr-defined]
                self.add_loss(division.divide(self.activity_regularizer(output), size))

    @property
    def losses(self) -> list[Any]:
        """What `add_loss` added in the last call, and the penalties of the weights."""
        found: list[Any] = []
        seen: set[int] = set()

        def visit(layer: Weights) -> None:
            if id(layer) in seen:
                return
            seen.add(id(layer))
            found.extend(getattr(layer, "_losses", ()))
            for inner in layer._layers_inside():
                visit(inner)

        visit(self)
        return found + self._weight_losses()

    def _weight_losses(self) -> list[Any]:
        found: list[Any] = []
        seen: set[int] = set()

        def visit(layer: Weights, active: bool) -> None:
            if id(layer) in seen:
                return
            seen.add(id(layer))
            active = active and layer.trainable
            if active:
                found.extend(
                    penalty(variable.value())
                    for variable, penalty in layer._regularized
                    if variable.trainable
                )
            for inner in layer._layers_inside():
                visit(inner, active)

        visit(self, True)
        return found

    def add_metric(self, value: Any, name: str | None = None, aggregation: Any = None) -> None:
        """Follow the mean of a value that `call` computes; the model's `metrics` has it.

        Args:
            value: one or more numbers.
            name: in logs.
            aggregation: accepted for Keras' sake: it is the mean.
        """
        from pinnace.keras.metrics.means import Mean

        del aggregation
        if "_added_metrics" not in self.__dict__:
            self._added_metrics: dict[str, Any] = {}
        key = name or "metric"
        if key not in self._added_metrics:
            self._added_metrics[key] = Mean(name=key)
        self._added_metrics[key].update_state(value)

    @property
    def updates(self) -> list[Any]:
        """Nothing: what a call assigns is assigned by it."""
        return []

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """Nothing: what a call assigns is assigned by it."""
        del inputs
        return []
