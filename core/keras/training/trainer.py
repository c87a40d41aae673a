"""Trainer: `fit`."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import TYPE_CHECKING, Any

from pinnace.keras.callbacks.callback_list import RunCallbacks
from pinnace.keras.layer_part import LayerPart
from pinnace.keras.training import executions, limits
from pinnace.keras.training.data_adapter import (
    array_parts,
    require_arrays,
    split,
    unpack_x_y_sample_weight,
)
from pinnace.keras.training.step_functions import tensors_of

if TYPE_CHECKING:
    from pinnace.keras.callbacks.history import History
    from pinnace.keras.models.model import Model
    from pinnace.keras.training.batches import Batches


class Trainer(LayerPart):
    """Trains a model over epochs.

    Attributes:
        first_epoch: the earliest epoch at which the next training begins: set by a callback that
            found training interrupted.
    """

    _owner: Model

    def __init__(self, owner: Model) -> None:
        super().__init__(owner)
        self.first_epoch = 0
        # Whether this call of `fit` has had a batch.
        self._trained = False

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int | None,
        epochs: int,
        verbose: int | str,
        callbacks: Any,
        validation_split: float,
        validation_data: Any,
        shuffle: bool | str,
        class_weight: Any,
        sample_weight: Any,
        initial_epoch: int,
        steps_per_epoch: int | None,
        validation_steps: int | None,
        validation_batch_size: int | None,
        validation_freq: Any,
    ) -> History:
        """Train; see `Model.fit`."""
        self._owner._compilation.require("fit")
        epochs = limits.limited_epochs(epochs)
        if validation_split and validation_data is None:
            require_arrays(x)
            parts = array_parts("fit", x, y, sample_weight)
            training, validation_data = split(parts, validation_split)
            x, y, sample_weight = unpack_x_y_sample_weight(training)
        steps = self._owner._step_functions
        batches = steps.batches_of(
            "fit",
            x,
            y,
            sample_weight,
            batch_size=batch_size,
            steps=steps_per_epoch,
            shuffle=shuffle,
            class_weight=class_weight,
        )
        test_batches = self._validation_batches(
            validation_data, validation_batch_size or batch_size, validation_steps
        )
        hooks = RunCallbacks(
            callbacks,
            model=self._owner,
            verbose=verbose,
            batches=batches,
            kind="train",
            epochs=epochs,
            initial_epoch=initial_epoch,
        )
        self._owner.stop_training = False
        try:
            self._train_epochs(
                hooks, batches, test_batches, range(initial_epoch, epochs), validation_freq
            )
        finally:
            hooks.close()
        return hooks.history

    def _train_epochs(
        self,
        hooks: RunCallbacks,
        batches: Batches,
        test_batches: Batches | None,
        epochs: range,
        validation_freq: Any,
    ) -> None:
        hooks.on_train_begin()
        logs: dict[str, Any] = {}
        self._trained = False
        # Set by a callback that found training interrupted.
        first, self.first_epoch = self.first_epoch, 0
        for epoch in range(max(first, epochs.start), epochs.stop):
            found = self._train_over(epoch, batches, hooks)
            if found is None:
                break
            logs = found
            if test_batches is not None and _is_due(epoch, validation_freq):
                quiet = RunCallbacks(
                    hooks.others(),
                    model=self._owner,
                    verbose=0,
                    batches=test_batches,
                    kind="test",
                    add=False,
                )
                tested = self._owner._model_evaluator.test_over(test_batches, quiet)
                logs.update({f"val_{name}": value for name, value in tested.items()})
                logs = dict(sorted(logs.items()))
            hooks.on_epoch_end(epoch, logs)
            batches.end_epoch()
            self._agree_to_stop()
            if self._owner.stop_training:
                break
        optimizer = self._owner.optimizer
        if optimizer is not None and optimizer.built and epochs:
            optimizer.finalize_variable_values(self._owner.trainable_variables)
        hooks.on_train_end(logs)

    def _agree_to_stop(self) -> None:
        """Stop all processes of the training if one of them stops."""
        asked = "whether training stops here"
        if self._owner._step_functions.any_of(self._owner.stop_training, asked):
            self._owner.stop_training = True

    def _train_over(
        self, epoch: int, batches: Batches, hooks: RunCallbacks
    ) -> dict[str, Any] | None:
        """Train one epoch; the metrics' results, or None if there was no data left."""
        steps, evaluator = self._owner._step_functions, self._owner._model_evaluator
        plain = steps.is_plain("train")
        count = self._owner.steps_per_execution
        hooks.on_epoch_begin(epoch)
        logs: dict[str, Any] = {}
        function = None
        index = -1
        for index, batch in enumerate(batches.epoch()):
            if function is None or not batches.alike:
                function = steps.function_for("train", batch, plain, first=function is None)
            if hooks.wants_batches and executions.begins(index, count):
                hooks.on_train_batch_begin(index)
            result = function(*tensors_of(batch))
            if not plain:
                logs = result
            if hooks.progress is not None:
                hooks.progress.advance(index, lambda found=logs: evaluator.now(found, plain))  # type: ignore[misc]  # binds the value
            if executions.ends(index, count):
                self._tell_end(index, logs, plain, hooks)
                if self._owner.stop_training:
                    break
        if index >= 0 and not executions.ends(index, count):
            self._tell_end(executions.last_of(index, count), logs, plain, hooks)
        if index < 0:
            self._told_of_end(epoch)
            return None
        self._trained = True
        return evaluator.logs(logs, plain)

    def _told_of_end(self, epoch: int) -> None:
        """Warn that an epoch had no batch, since the data ended or was empty."""
        if not self._trained:
            raise ValueError("fit: there must be at least one batch in an epoch, got none")
        warnings.warn(
            f"fit: training ends before epoch {epoch + 1}: your input ran out of data\n"
            "  Try: an iterable that can be iterated over again, or dataset.repeat()",
            stacklevel=2,
        )

    def _tell_end(self, index: int, logs: dict[str, Any], plain: bool, hooks: RunCallbacks) -> None:
        """End an execution: call the callbacks, which may request a stop."""
        if hooks.wants_batches:
            hooks.on_train_batch_end(index, self._owner._model_evaluator.logs(logs, plain))
            self._agree_to_stop()

    def _validation_batches(
        self, data: Any, batch_size: int | None, steps: int | None
    ) -> Batches | None:
        if data is None:
            return None
        batches_of = self._owner._step_functions.batches_of
        if isinstance(data, (tuple, list)):
            x, y, sample_weight = unpack_x_y_sample_weight(tuple(data))
            return batches_of(
                "fit: validation_data", x, y, sample_weight, batch_size=batch_size, steps=steps
            )
        return batches_of("fit: validation_data", data, steps=steps)


def _is_due(epoch: int, frequency: Any) -> bool:
    """Whether to validate after an epoch, counted from 0."""
    if isinstance(frequency, Integral):
        return (epoch + 1) % frequency == 0
    return epoch + 1 in frequency
