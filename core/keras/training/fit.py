"""Fitting: `fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import tracebacks
from pinnace.keras.callbacks.callback import CallbackList
from pinnace.keras.training.data_adapter import (
    Batches,
    array_parts,
    batches_of,
    split,
    unpack_x_y_sample_weight,
)
from pinnace.keras.training.evaluate import Evaluating, _no_others
from pinnace.keras.training.step import tensors_of

if TYPE_CHECKING:
    from typing import Unpack

    from pinnace.keras.callbacks.history import History
    from pinnace.keras.training.evaluate import OlderOptions


class Fitting(Evaluating):
    """The part of `Model` that trains over epochs."""

    @tracebacks.entry
    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int | str = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool | str = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
        **kwargs: Unpack[OlderOptions],
    ) -> History:
        """Train.

        Args:
            x: inputs: an array, or a list or dict of arrays; or what gives batches (x, y) or
                (x, y, sample_weight): a generator, a dataset, an object with `__getitem__` and
                `__len__`.
            y: truths, if `x` are arrays.
            batch_size: of arrays; 32 if None.
            epochs: number of the epoch to end before.
            verbose: 0 says nothing, 1 shows a bar, 2 a line per epoch; "auto" is 1.
            callbacks: Callbacks.
            validation_split: share of the arrays, the last ones, to test on after each epoch.
            validation_data: (x, y) or (x, y, sample_weight), or what gives batches, to test on.
            shuffle: whether each epoch has an order of its own; arrays only.
            class_weight: class -> weight of its samples.
            sample_weight: factors of the samples.
            initial_epoch: number of the first epoch.
            steps_per_epoch: batches in an epoch; None takes all.
            validation_steps: batches to test on; None takes all.
            validation_batch_size: `batch_size` if None.
            validation_freq: test every so many epochs, or after the epochs in a list.
            **kwargs: none are known.

        Returns:
            A History: `history.history` is name -> one number per epoch.

        Raises:
            ValueError: the model is not compiled; arrays that do not go together.
        """
        _no_others("fit", kwargs)
        self._compilation("fit")
        if validation_split and validation_data is None:
            parts = array_parts("fit", x, y, sample_weight)
            training, validation_data = split(parts, validation_split)
            x, y, sample_weight = unpack_x_y_sample_weight(training)
        batches = batches_of(
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
        hooks = CallbackList(
            callbacks,
            model=self,
            verbose=verbose,
            batches=batches,
            kind="train",
            epochs=epochs,
            initial_epoch=initial_epoch,
        )
        self.stop_training = False
        try:
            self._train_epochs(
                hooks, batches, test_batches, range(initial_epoch, epochs), validation_freq
            )
        finally:
            hooks.close()
        return hooks.history

    def _train_epochs(
        self,
        hooks: CallbackList,
        batches: Batches,
        test_batches: Batches | None,
        epochs: range,
        validation_freq: Any,
    ) -> None:
        hooks.on_train_begin()
        logs: dict[str, Any] = {}
        # Set by a callback that found training interrupted.
        first = self.__dict__.pop("_initial_epoch", 0)
        for epoch in range(max(first, epochs.start), epochs.stop):
            logs = self._train_over(epoch, batches, hooks)
            if test_batches is not None and _is_due(epoch, validation_freq):
                quiet = CallbackList(
                    hooks.others(),
                    model=self,
                    verbose=0,
                    batches=test_batches,
                    kind="test",
                    add=False,
                )
                found = self._test_over(test_batches, quiet)
                logs.update({f"val_{name}": value for name, value in found.items()})
            hooks.on_epoch_end(epoch, logs)
            batches.end_epoch()
            if self.stop_training:
                break
        if self.optimizer is not None and self.optimizer.built and epochs:
            self.optimizer.finalize_variable_values(self.trainable_variables)
        hooks.on_train_end(logs)

    def _train_over(self, epoch: int, batches: Batches, hooks: CallbackList) -> dict[str, Any]:
        """One epoch of training; gives what the metrics say."""
        plain = self._is_plain("train")
        hooks.on_epoch_begin(epoch)
        logs: dict[str, Any] = {}
        function = None
        index = -1
        for index, batch in enumerate(batches.epoch()):
            if function is None or not batches.alike:
                function = self._function_for("train", batch, plain, first=function is None)
            if hooks.wants_batches:
                hooks.on_train_batch_begin(index)
            result = function(*tensors_of(batch))
            if not plain:
                logs = result
            if hooks.progress is not None:
                hooks.progress.advance(index, lambda found=logs: self._logs(found, plain))  # type: ignore[misc]  # binds the value
            if hooks.wants_batches:
                hooks.on_train_batch_end(index, self._logs(logs, plain))
            if self.stop_training:
                break
        if index < 0:
            raise ValueError(
                "fit: there must be at least one batch in an epoch, got none"
                + ("\n  Try: an iterable that can be iterated over again" if epoch else "")
            )
        return self._logs(logs, plain)

    @staticmethod
    def _validation_batches(data: Any, batch_size: int | None, steps: int | None) -> Batches | None:
        if data is None:
            return None
        if isinstance(data, (tuple, list)):
            x, y, sample_weight = unpack_x_y_sample_weight(tuple(data))
            return batches_of(
                "fit: validation_data", x, y, sample_weight, batch_size=batch_size, steps=steps
            )
        return batches_of("fit: validation_data", data, steps=steps)


def _is_due(epoch: int, frequency: Any) -> bool:
    """Whether to test after an epoch, which is counted from 0."""
    if isinstance(frequency, int):
        return (epoch + 1) % frequency == 0
    return epoch + 1 in frequency
