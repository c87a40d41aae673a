"""train_and_evaluate: training with an evaluation of each checkpoint."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.estimator.hooks import CheckpointSaverListener

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.estimator.estimator import Estimator
    from pinnace.estimator.hooks import SessionRunHook


@dataclass(frozen=True, slots=True)
class TrainSpec:
    """The input and the duration of training.

    Attributes:
        input_fn: see `Estimator.train`.
        max_steps: the global step to stop at; None: when the batches end.
        hooks: told of each step.
        saving_listeners: told of each checkpoint.
    """

    input_fn: Callable[..., Any]
    max_steps: int | None = None
    hooks: Sequence[SessionRunHook] = ()
    saving_listeners: Sequence[CheckpointSaverListener] = ()

    def __post_init__(self) -> None:
        if self.max_steps is not None and self.max_steps <= 0:
            raise ValueError(f"TrainSpec: max_steps must be above 0, got {self.max_steps}")


@dataclass(frozen=True, slots=True)
class EvalSpec:
    """The input and the schedule of evaluation.

    Attributes:
        input_fn: see `Estimator.evaluate`.
        steps: how many batches; None: all.
        name: ends the name of the folder of the summaries.
        hooks: told of each batch.
        exporters: one or several: told after each evaluation.
        start_delay_secs: accepted for TensorFlow's sake: training waits for evaluations here.
        throttle_secs: likewise.
    """

    input_fn: Callable[..., Any]
    steps: int | None = 100
    name: str | None = None
    hooks: Sequence[SessionRunHook] = ()
    exporters: Any = ()
    start_delay_secs: float = 120
    throttle_secs: float = 600

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps <= 0:
            raise ValueError(f"EvalSpec: steps must be above 0, got {self.steps}")

    def all_exporters(self) -> tuple[Any, ...]:
        """The exporters as a list, whatever form they were given in."""
        given = self.exporters
        return tuple(given) if isinstance(given, (list, tuple)) else (given,) if given else ()


class FinalExporter:
    """Exports after the last evaluation.

    Args:
        name: name of the folder below `<model_dir>/export`.
        serving_input_receiver_fn: see `Estimator.export_saved_model`.
        assets_extra: likewise.
        as_text: likewise.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        self.name = name
        self._receiver_fn = serving_input_receiver_fn
        self._assets = assets_extra
        self._as_text = as_text

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str | None,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:
        """Export if it is due, and return the path."""
        del eval_result
        if not is_the_final_export:
            return None
        return self._write(estimator, export_path, checkpoint_path)

    def _write(self, estimator: Estimator, path: str, checkpoint: str | None) -> bytes:
        return estimator.export_saved_model(
            path, self._receiver_fn, self._assets, self._as_text, checkpoint
        )


class LatestExporter(FinalExporter):
    """Exports after each evaluation."""

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str | None,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:
        """Export and return the path."""
        del eval_result, is_the_final_export
        return self._write(estimator, export_path, checkpoint_path)


class _Evaluating(CheckpointSaverListener):
    """Evaluates each checkpoint, except that of the untrained model."""

    def __init__(self, estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
        self._estimator = estimator
        self._max_steps = train_spec.max_steps
        self._spec = eval_spec
        self._first = True
        self.results: dict[str, Any] | None = None
        self.exports: list[bytes | None] = []
        self._evaluated = -1

    def after_save(self, session: Any, global_step_value: int) -> None:
        del session
        first, self._first = self._first, False
        if not first or global_step_value > 0:
            self._evaluate(global_step_value)

    def end(self, session: Any, global_step_value: int) -> None:
        del session
        if global_step_value != self._evaluated:
            self._evaluate(global_step_value)
        self._export(True)

    def _evaluate(self, step: int) -> None:
        spec = self._spec
        self.results = self._estimator.evaluate(
            spec.input_fn, spec.steps, list(spec.hooks), None, spec.name
        )
        self._evaluated = step
        if self._max_steps is None or step < self._max_steps:
            self._export(False)

    def _export(self, last: bool) -> None:
        for exporter in self._spec.all_exporters():
            path = os.path.join(self._estimator.model_dir, "export", exporter.name)  # noqa: PTH118 (a text)
            latest = self._estimator.latest_checkpoint()
            self.exports.append(
                exporter.export(self._estimator, path, latest, self.results or {}, last)
            )


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[bytes | None]]:
    """Train, and evaluate at each checkpoint.

    Args:
        estimator: the estimator to train; its config says how often checkpoints are written.
        train_spec: the training data, and the number of steps.
        eval_spec: the evaluation.

    Returns:
        The metrics of the last evaluation, None if nothing was trained; the results of the
        exporters.

    Raises:
        TypeError: the specs are none.
    """
    for value, kind in ((train_spec, TrainSpec), (eval_spec, EvalSpec)):
        if not isinstance(value, kind):
            raise TypeError(
                f"train_and_evaluate: expected a {kind.__name__}, got {type(value).__name__}"
            )
    evaluating = _Evaluating(estimator, train_spec, eval_spec)
    estimator.train(
        train_spec.input_fn,
        hooks=list(train_spec.hooks),
        max_steps=train_spec.max_steps,
        saving_listeners=[*train_spec.saving_listeners, evaluating],
    )
    return evaluating.results, evaluating.exports
