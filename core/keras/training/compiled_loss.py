"""CompileLoss: the losses of all outputs as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Tensor
from pinnace.keras import losses as _losses
from pinnace.keras import replicas
from pinnace.keras.losses.loss import Loss, LossFunctionWrapper
from pinnace.keras.metrics.means import Mean
from pinnace.keras.training.outputs import aligned, outputs_by_name, spread
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.keras.metrics.metric import Metric


class CompileLoss:
    """The losses of all outputs as one.

    Args:
        loss: a name, function or Loss; a list or dict of them.
        loss_weights: a factor, or a list or dict of them.
        output_names: of outputs in a list; output_0, … if None.
    """

    def __init__(
        self, loss: Any, loss_weights: Any = None, output_names: Sequence[str] | None = None
    ) -> None:
        self._given = loss
        self._names = output_names
        self._weights = loss_weights
        self._pairs: list[tuple[str, Loss | None, float | None]] | None = None
        self.trackers: list[Metric] = []
        self._by_output: dict[str, Metric] = {}
        self._single = not isinstance(loss, (list, tuple, dict))
        if self._single:
            loss_of(loss)  # an unknown name is told at once

    def build(self, y: Any, y_pred: Any) -> None:
        """Decide which loss each output has."""
        del y
        outputs = outputs_by_name(y_pred, self._names)
        losses = spread("loss", self._given, outputs, same=self._single)
        weights = spread("loss_weights", self._weights, outputs, same=len(outputs) == 1)
        for weight in weights:
            if weight is not None and not isinstance(weight, (int, float)):
                raise ValueError(f"compile: loss_weights must be numbers, got {weight!r}")
        self._pairs = [
            (name, None if one is None else loss_of(one), weight)
            for (name, _), one, weight in zip(outputs, losses, weights, strict=True)
        ]
        found = [name for name, one, _ in self._pairs if one is not None]
        if isinstance(y_pred, dict):  # Keras: in the order of what tells them
            order = self._given if isinstance(self._given, dict) else y_pred
            found = [name for name in map(str, order) if name in found]
        if len(found) > 1:  # one alone is the whole loss
            self._by_output = {name: Mean(name=f"{name}_loss") for name in found}
            self.trackers = list(self._by_output.values())

    def __call__(self, y: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """The weighted sum of the losses of a batch."""
        if self._pairs is None:
            self.build(y, y_pred)
        assert self._pairs is not None  # noqa: S101 (build sets it)
        predictions = [value for _, value in outputs_by_name(y_pred, self._names)]
        names = [name for name, _, _ in self._pairs]
        truths = aligned("y", y, names)
        weights = aligned("sample_weight", sample_weight, names, same=True)
        total = None
        for (name, loss, factor), true, predicted, weight in zip(
            self._pairs, truths, predictions, weights, strict=True
        ):
            if loss is None:
                continue
            try:
                found = loss(true, predicted, weight)
            except InvalidArgumentError as error:
                raise InvalidArgumentError(_told(loss, true, predicted, error)) from None
            value = casting.cast(found, "float32")
            if name in self._by_output:
                self._by_output[name].update_state(replicas.whole(value))
            if factor is not None:
                value = value * factor
            total = value if total is None else total + value
        if total is None:
            raise ValueError("compile: every loss is None")
        return total


def _told(loss: Loss, y: Any, y_pred: Any, error: Exception) -> str:
    """An error inside a loss, with what the loss was given."""
    given = "   ".join(
        f"{name}: {x.dtype.name}{x.shape.text}"
        for name, x in (("y", y), ("output", y_pred))
        if isinstance(x, Tensor)
    )
    return f"loss {loss.name!r}: y and the output of the model do not fit\n  {given}\n  {error}"


def loss_of(identifier: Any) -> Loss:
    """The Loss that a name, function or object stands for."""
    found = _losses.get(identifier)
    if isinstance(found, Loss):
        return found
    if found is _losses.sparse_categorical_crossentropy:
        return _losses.SparseCategoricalCrossentropy()
    if callable(found):
        return LossFunctionWrapper(found)
    raise ValueError(f"compile: loss must be a name, function or Loss, got {identifier!r}")
