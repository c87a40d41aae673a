"""Evaluator: `evaluate` and `predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from pinnace.framework import structure
from pinnace.framework.close_names import arguments_of, unknown_arguments
from pinnace.framework.composite import is_composite
from pinnace.framework.no_effect import no_effect
from pinnace.keras.callbacks.callback_list import RunCallbacks
from pinnace.keras.layer_part import LayerPart
from pinnace.keras.training import executions
from pinnace.keras.training.step_functions import in_order, numbers_of, tensors_of
from pinnace.ops.array import joining

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.keras.models.model import Model
    from pinnace.keras.training.batches import Batches


class Evaluator(LayerPart):
    """Runs a model over data without training."""

    _owner: Model

    def evaluate(
        self,
        x: Any,
        y: Any,
        batch_size: int | None,
        verbose: int | str,
        sample_weight: Any,
        steps: int | None,
        callbacks: Any,
        return_dict: bool,
    ) -> Any:
        """Loss and metrics over all batches; see `Model.evaluate`."""
        self._owner._compilation.require("evaluate")
        batches = self._owner._step_functions.batches_of(
            "evaluate", x, y, sample_weight, batch_size=batch_size, steps=steps
        )
        hooks = RunCallbacks(
            callbacks, model=self._owner, verbose=verbose, batches=batches, kind="test"
        )
        try:
            logs = self.test_over(batches, hooks)
        finally:
            hooks.close()
        return logs if return_dict else in_order(self._owner, logs)

    def test_over(self, batches: Batches, hooks: RunCallbacks) -> dict[str, Any]:
        """Evaluate one epoch; returns the metrics' results."""
        steps = self._owner._step_functions
        plain = steps.is_plain("test")
        count = self._owner.steps_per_execution
        self._owner.stop_evaluating = False
        hooks.on_test_begin()
        logs: dict[str, Any] = {}
        function = None
        index = -1
        batches.restart()  # Keras: each time the first batches are tested on
        for index, batch in enumerate(batches.epoch()):
            if function is None or not batches.alike:
                function = steps.function_for("test", batch, plain, first=function is None)
            if hooks.wants_batches and executions.begins(index, count):
                hooks.on_test_batch_begin(index)
            result = function(*tensors_of(batch))
            if not plain:
                logs = result
            if hooks.progress is not None:
                hooks.progress.advance(index, lambda found=logs: self.now(found, plain))  # type: ignore[misc]  # binds the value
            if not executions.ends(index, count):
                continue
            if hooks.wants_batches:
                hooks.on_test_batch_end(index, self.logs(logs, plain))
            if self._owner.stop_evaluating:
                break
        if hooks.wants_batches and index >= 0 and not executions.ends(index, count):
            hooks.on_test_batch_end(executions.last_of(index, count), self.logs(logs, plain))
        logs = self.logs(logs, plain)
        hooks.on_test_end(logs)
        return logs

    def logs(self, logs: dict[str, Any], plain: bool) -> dict[str, Any]:
        """A step's result, or the metrics' results, as numbers by name, sorted by name."""
        return numbers_of(self._owner.get_metrics_result() if plain else logs)

    def now(self, logs: dict[str, Any], plain: bool) -> dict[str, Any]:
        """Like `logs`, for use during an epoch: covers this process only."""
        with self._owner._step_functions.in_own_share():
            return self.logs(logs, plain)

    def predict(
        self, x: Any, batch_size: int | None, verbose: int | str, steps: int | None, callbacks: Any
    ) -> Any:
        """The outputs for all batches, concatenated, as arrays; see `Model.predict`."""
        batches = self._owner._step_functions.batches_of(
            "predict", x, batch_size=batch_size, steps=steps
        )
        hooks = RunCallbacks(
            callbacks, model=self._owner, verbose=verbose, batches=batches, kind="predict"
        )
        try:
            collected = self._predict_over(batches, hooks)
        finally:
            hooks.close()
        if not collected:
            raise ValueError("predict: there must be at least one batch, got none")
        return structure.map_structure(_joined, *collected)

    def _predict_over(self, batches: Batches, hooks: RunCallbacks) -> list[Any]:
        """The outputs of each batch."""
        steps, count = self._owner._step_functions, self._owner.steps_per_execution
        self._owner.stop_predicting = False
        hooks.on_predict_begin()
        collected: list[Any] = []
        told = 0
        index = -1
        for index, batch in enumerate(batches.epoch()):
            if hooks.wants_batches and executions.begins(index, count):
                hooks.on_predict_batch_begin(index)
            outputs = steps.function("predict", batch, quiet=False)(*tensors_of(batch))
            collected.append(outputs)
            if hooks.progress is not None:
                hooks.progress.advance(index, dict)
            if not executions.ends(index, count):
                continue
            if hooks.wants_batches:
                hooks.on_predict_batch_end(index, {"outputs": _together(collected[told:])})
                told = len(collected)
            if self._owner.stop_predicting:
                break
        if hooks.wants_batches and told < len(collected):
            last = executions.last_of(index, count)
            hooks.on_predict_batch_end(last, {"outputs": _together(collected[told:])})
        hooks.on_predict_end()
        return collected


def _together(outputs: list[Any]) -> Any:
    """The outputs of an execution's batches, as tensors."""
    if len(outputs) == 1:
        return outputs[0]

    return structure.map_structure(_concatenated, *outputs)


def _concatenated(*parts: Any) -> Any:
    """A tensor of the samples of all batches: ragged if their shapes differ, as in Keras."""
    from pinnace.keras.layers.composite_inputs import concatenated  # late: few need it

    if is_composite(parts[0]):
        return concatenated(parts, 0)
    ragged_rank = _ragged_rank(parts)
    if not ragged_rank:
        return joining.concat(list(parts), 0)
    from pinnace.ops.composites.ragged.tensor import RaggedTensor

    ragged = [RaggedTensor.from_tensor(part, ragged_rank=ragged_rank) for part in parts]
    return concatenated(ragged, 0)


def _ragged_rank(parts: Sequence[Any]) -> int:
    """How many axes up to the last one whose size differs from batch to batch; 0 if none does."""
    shapes = [tuple(part.shape)[1:] for part in parts]
    if len(set(map(len, shapes))) > 1:
        return 0
    differing = [len(set(sizes)) > 1 for sizes in zip(*shapes, strict=True)]
    return max((axis for axis, differs in enumerate(differing, 1) if differs), default=0)


def _joined(*parts: Any) -> Any:
    """The outputs of all batches as one array; sparse and ragged ones stay so, as in Keras."""
    if is_composite(parts[0]):
        return parts[0] if len(parts) == 1 else _together(list(parts))
    arrays = [np.asarray(part) for part in parts]
    if len(arrays) == 1:
        return arrays[0].copy()
    return _concatenated(*arrays) if _ragged_rank(arrays) else np.concatenate(arrays)


class OlderOptions(TypedDict, total=False):
    """Arguments of older programs about parallel reading, without effect."""

    workers: int
    use_multiprocessing: bool
    max_queue_size: int


def without_effect(method: Callable[..., Any], kwargs: OlderOptions) -> None:
    """Warn about arguments of older programs; raise TypeError for any others."""
    who = method.__name__
    unknown = sorted(set(kwargs) - OlderOptions.__optional_keys__)
    if unknown:
        raise TypeError(unknown_arguments(who, unknown, arguments_of(method)))
    for name in kwargs:
        no_effect(who, name, "a PyDataset has workers of its own")
