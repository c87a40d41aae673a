"""Evaluating: `evaluate` and `predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from pinnace.framework import structure, tracebacks
from pinnace.keras.callbacks.callback import Callback, CallbackList
from pinnace.keras.no_effect import no_effect
from pinnace.keras.training.data_adapter import Batches, batches_of
from pinnace.keras.training.step import Steps, in_order, numbers_of, tensors_of

if TYPE_CHECKING:
    from typing import Unpack


class Evaluating(Steps):
    """The part of `Model` that runs over data without training."""

    @tracebacks.entry
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Unpack[OlderOptions],
    ) -> Any:
        """Loss and metrics over all batches.

        Args:
            x: inputs: arrays, a generator, a dataset; see `fit`.
            y: truths, if `x` are arrays.
            batch_size: of arrays; 32 if None.
            verbose: 0 says nothing, 1 shows a bar, 2 a line; "auto" is 1.
            sample_weight: factors of the samples.
            steps: batches to take; None takes all.
            callbacks: Callbacks.
            return_dict: whether to answer a dict.
            **kwargs: none are known.

        Returns:
            The loss, a list of it and the metrics if there are any, or a dict.
        """
        _no_others("evaluate", kwargs)
        self._compilation("evaluate")
        batches = batches_of("evaluate", x, y, sample_weight, batch_size=batch_size, steps=steps)
        hooks = CallbackList(callbacks, model=self, verbose=verbose, batches=batches, kind="test")
        try:
            logs = self._test_over(batches, hooks)
        finally:
            hooks.close()
        return logs if return_dict else in_order(self, logs)

    def _test_over(self, batches: Batches, hooks: CallbackList) -> dict[str, Any]:
        """One epoch of testing; gives what the metrics say."""
        plain = self._is_plain("test")
        hooks.on_test_begin()
        logs: dict[str, Any] = {}
        function = None
        for index, batch in enumerate(batches.epoch()):
            if function is None or not batches.alike:
                function = self._function_for("test", batch, plain, first=function is None)
            if hooks.wants_batches:
                hooks.on_test_batch_begin(index)
            result = function(*tensors_of(batch))
            if not plain:
                logs = result
            if hooks.progress is not None:
                hooks.progress.advance(index, lambda found=logs: self._logs(found, plain))  # type: ignore[misc]  # binds the value
            if hooks.wants_batches:
                hooks.on_test_batch_end(index, self._logs(logs, plain))
            if getattr(self, "stop_evaluating", False):
                break
        logs = self._logs(logs, plain)
        hooks.on_test_end(logs)
        return logs

    def _logs(self, logs: dict[str, Any], plain: bool) -> dict[str, Any]:
        """What a step gave, or what the metrics say, as numbers by name in alphabetical order."""
        return numbers_of(self.get_metrics_result() if plain else logs)

    @tracebacks.entry
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """The outputs for all batches, joined, as arrays.

        Args:
            x: inputs: arrays, a generator, a dataset; see `fit`.
            batch_size: of arrays; 32 if None.
            verbose: 0 says nothing, 1 shows a bar, 2 a line; "auto" is 1.
            steps: batches to take; None takes all.
            callbacks: Callbacks.
        """
        batches = batches_of("predict", x, batch_size=batch_size, steps=steps)
        hooks = CallbackList(
            callbacks, model=self, verbose=verbose, batches=batches, kind="predict"
        )
        try:
            collected = self._predict_over(batches, hooks)
        finally:
            hooks.close()
        if not collected:
            raise ValueError("predict: there must be at least one batch, got none")
        return structure.map_structure(_joined, *collected)

    def _predict_over(self, batches: Batches, hooks: CallbackList) -> list[Any]:
        """The outputs of each batch."""
        hooks.on_predict_begin()
        collected: list[Any] = []
        for index, batch in enumerate(batches.epoch()):
            if hooks.wants_batches:
                hooks.on_predict_batch_begin(index)
            outputs = self._step_function("predict", batch, quiet=False)(*tensors_of(batch))
            collected.append(outputs)
            if hooks.progress is not None:
                hooks.progress.advance(index, dict)
            if hooks.wants_batches:
                hooks.on_predict_batch_end(index, {"outputs": outputs})
        hooks.on_predict_end()
        return collected


def _joined(*parts: Any) -> Any:
    arrays = [np.asarray(part) for part in parts]
    return arrays[0].copy() if len(arrays) == 1 else np.concatenate(arrays)


class OlderOptions(TypedDict, total=False):
    """Arguments of older programs, which say how many workers read ahead; they have no effect."""

    workers: int
    use_multiprocessing: bool
    max_queue_size: int


def _no_others(who: str, kwargs: OlderOptions) -> None:
    unknown = sorted(set(kwargs) - OlderOptions.__optional_keys__)
    if unknown:
        raise TypeError(f"{who}: unknown arguments {', '.join(unknown)}")
    for name in kwargs:
        no_effect(who, name, "a PyDataset has workers of its own")


__all__ = ["Callback", "Evaluating"]
