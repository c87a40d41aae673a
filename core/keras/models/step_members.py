"""StepMembers: the members of a model for custom training loops."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pinnace.framework.no_effect import no_effect
from pinnace.keras.training import iterated

if TYPE_CHECKING:
    from collections.abc import Callable

_IN_TURN = "steps are called one after the other"


class StepMembers:
    """`make_train_function` and related methods, and names that Keras keeps for old programs."""

    train_function: Callable[[Any], Any] | None
    test_function: Callable[[Any], Any] | None
    predict_function: Callable[[Any], Any] | None

    def make_train_function(self, force: bool = False) -> Callable[[Any], Any]:
        """A function that trains on the next batches of an iterator, as `train_function` too.

        A subclass that defines it otherwise, and sets `train_function`, has `fit` call that, with
        an iterator of one batch.

        Args:
            force: whether it is made anew.

        Returns:
            Takes an iterator, gives what `train_step` gave for the last of `steps_per_execution`
            batches.
        """
        if self.train_function is None or force:
            self.train_function = iterated.over_iterator(self, "train")  # type: ignore[arg-type]  # it is a Model
        return self.train_function

    def make_test_function(self, force: bool = False) -> Callable[[Any], Any]:
        """As `make_train_function`, for `test_step`.

        Args:
            force: whether it is made anew.
        """
        if self.test_function is None or force:
            self.test_function = iterated.over_iterator(self, "test")  # type: ignore[arg-type]  # it is a Model
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Callable[[Any], Any]:
        """A function that returns the outputs for a list of batches; also `predict_function`.

        Args:
            force: whether it is made anew.
        """
        if self.predict_function is None or force:
            self.predict_function = iterated.over_iterator(self, "predict")  # type: ignore[arg-type]  # it is a Model
        return self.predict_function

    @property
    def unrolled_steps_per_execution(self) -> int:
        """1."""
        return 1

    @unrolled_steps_per_execution.setter
    def unrolled_steps_per_execution(self, value: int) -> None:
        if value != 1:
            no_effect("Model", "unrolled_steps_per_execution", _IN_TURN)

    @property
    def distribute_reduction_method(self) -> str:
        """`auto`: logs of replicas are averaged, predictions joined."""
        return "auto"

    @distribute_reduction_method.setter
    def distribute_reduction_method(self, value: str | None) -> None:
        if value not in (None, "auto"):
            why = "logs of replicas are averaged, predictions joined"
            no_effect("Model", "distribute_reduction_method", why)

    # Used by older `train_step`s.

    def compiled_loss(
        self, y: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None
    ) -> Any:
        """`compute_loss`, by its older name; warns.

        Args:
            y: truths.
            y_pred: outputs.
            sample_weight: factors of the samples.
            regularization_losses: without effect, as in Keras 3: `losses` are added anyway.
        """
        del regularization_losses
        warnings.warn(
            "`model.compiled_loss()` is deprecated: use "
            "`model.compute_loss(x, y, y_pred, sample_weight, training)`",
            stacklevel=2,
        )
        return self.compute_loss(x=None, y=y, y_pred=y_pred, sample_weight=sample_weight)  # type: ignore[attr-defined]  # Model's

    @property
    def compiled_metrics(self) -> OlderMetrics:
        """The compiled metrics, with `update_state(y, y_pred)`."""
        return OlderMetrics(self)


class OlderMetrics:
    """`model.compiled_metrics`, as older `train_step`s use it.

    Args:
        model: whose metrics.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take one batch into account in all metrics; warns.

        Args:
            y: truths.
            y_pred: outputs.
            sample_weight: factors of the samples.
        """
        from pinnace.keras.metrics.means import Mean

        warnings.warn(
            "`model.compiled_metrics` is deprecated: use e.g. `for metric in self.metrics: "
            "metric.update_state(y, y_pred)`",
            stacklevel=2,
        )
        for metric in self._model.metrics:
            if isinstance(metric, Mean):  # Keras: of the loss, it is the outputs' mean then
                metric.update_state(y_pred, sample_weight=sample_weight)
            else:
                metric.update_state(y, y_pred, sample_weight=sample_weight)
