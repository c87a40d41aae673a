"""CompileLoss: the losses of all outputs combined."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Tensor
from pinnace.keras import losses as _losses
from pinnace.keras import replicas
from pinnace.keras.losses.loss import Loss, LossFunctionWrapper
from pinnace.keras.metrics.means import Mean
from pinnace.keras.training.loss_plan import PlannedLoss, at, like_outputs, planned
from pinnace.keras.training.outputs import classes_as
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.keras.metrics.metric import Metric

# Losses with a row of y per classified item.
_OF_ROWS = (_losses.categorical_crossentropy, _losses.categorical_focal_crossentropy)


class CompileLoss:
    """The losses of all outputs as one.

    Args:
        loss: a name, function or Loss; a structure of them.
        loss_weights: a factor, or a structure of them.
        output_names: names of outputs in a list, if they are known.
        shows_names: whether the means are called by them; else by the losses.
    """

    def __init__(
        self,
        loss: Any,
        loss_weights: Any = None,
        output_names: Sequence[str] | None = None,
        *,
        shows_names: bool = True,
    ) -> None:
        self._given = loss
        self._names = output_names
        self._shows_names = shows_names
        self._weights = loss_weights
        self._planned: list[PlannedLoss] | None = None
        # Means of the losses, if there are several.
        self.trackers: list[Metric] = []
        if not structure.is_nested(loss):
            loss_of(loss)  # raises for an unknown name

    @property
    def metrics(self) -> list[Metric]:
        """The means of the losses, if there are several."""
        return self.trackers

    @property
    def built(self) -> bool:
        """Whether the loss of each output is determined."""
        return self._planned is not None

    @property
    def takes_class_numbers(self) -> bool | None:
        """Whether y contains class indices instead of rows; None if unknown."""
        if structure.is_nested(self._given):
            return None
        kind = loss_of(self._given)
        function = getattr(kind, "fn", None)
        if function is _losses.sparse_categorical_crossentropy:
            return True
        return False if function in _OF_ROWS else None

    def build(self, y: Any, y_pred: Any) -> None:
        """Determine the loss of each output."""
        found = planned(
            self._given,
            self._weights,
            y_pred,
            self._names,
            loss_of,
            shows_names=self._shows_names,
        )
        self._planned = found
        if len(found) > 1 and _is_plain(y, y_pred):
            warnings.warn(
                f"compile: the model has one output and {len(found)} losses: as in Keras, only "
                f"the first counts ({found[0].loss.name}), and the others are shown as 0\n"
                "  Try: one function that adds them",
                stacklevel=2,
            )
        # A single one is the whole loss.
        self.trackers = [Mean(name=f"{one.name}_loss") for one in found] if len(found) > 1 else []

    def __call__(self, y: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """The weighted sum of the losses of a batch."""
        if self._planned is None:
            self.build(y, y_pred)
        assert self._planned is not None  # noqa: S101 (build sets it)
        if not self._planned:
            raise ValueError("compile: every loss is None")
        places = [one.path for one in self._planned]
        truths = like_outputs("y", y, y_pred, self._names, places)
        weights = sample_weight
        if structure.is_nested(sample_weight):
            weights = like_outputs("sample_weight", sample_weight, y_pred, self._names, places)
        # Keras: for one output tensor the first loss is the total, and the means are unchanged.
        plain = _is_plain(y, y_pred)
        total = None
        for index, one in enumerate(self._planned[:1] if plain else self._planned):
            true, predicted = at(one.path, truths), at(one.path, y_pred)
            if true is None:
                raise ValueError(f"y must have an entry for {one.name}, has {_keys(y)}")
            weight = at(one.path, weights) if structure.is_nested(weights) else weights
            try:
                found = one.loss(true, predicted, weight)
            except InvalidArgumentError as error:
                raise InvalidArgumentError(_told(one.loss, true, predicted, error)) from None
            value = casting.cast(found, "float32")
            if self.trackers and not plain:
                self.trackers[index].update_state(replicas.whole(value))
            if one.weight is not None:
                value = value * one.weight
            total = value if total is None else total + value
        return total


def _is_plain(y: Any, y_pred: Any) -> bool:
    return not structure.is_nested(y) and not structure.is_nested(y_pred)


def _keys(y: Any) -> str:
    return repr(sorted(y)) if isinstance(y, dict) else f"{len(structure.flatten(y))} entries"


def _told(loss: Loss, y: Any, y_pred: Any, error: Exception) -> str:
    """The error raised by a loss, with a description of the inputs added."""
    given = "   ".join(
        f"{name}: {x.dtype.name}{x.shape.text}"
        for name, x in (("y", y), ("output", y_pred))
        if isinstance(x, Tensor)
    )
    return f"loss {loss.name!r}: y and the output of the model do not fit\n  {given}\n  {error}"


def crossentropy(y: Any, y_pred: Any) -> Any:
    """The crossentropy for these shapes: binary, sparse, or categorical."""
    found = {
        "binary": _losses.binary_crossentropy,
        "sparse": _losses.sparse_categorical_crossentropy,
        "categorical": _losses.categorical_crossentropy,
    }
    return found[classes_as(y, y_pred)](y, y_pred)


def loss_of(identifier: Any) -> Loss:
    """The Loss for a name, function or object."""
    if isinstance(identifier, str) and identifier.lower() in {"crossentropy", "ce"}:
        return LossFunctionWrapper(crossentropy)
    found = _losses.get(identifier)
    if isinstance(found, Loss):
        return found
    if found is _losses.sparse_categorical_crossentropy:
        return _losses.SparseCategoricalCrossentropy()
    if callable(found):
        # Keras: the name that was given, `mse`.
        name = identifier if isinstance(identifier, str) else None
        return LossFunctionWrapper(found, name=name)
    raise ValueError(f"compile: loss must be a name, function or Loss, got {identifier!r}")
