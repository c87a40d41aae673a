"""Progress of training: counts steps, logs them, writes summaries."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.estimator.hooks import SessionRunHook
from pinnace.summary.values import scalar

if TYPE_CHECKING:
    from pinnace.estimator.building import BuiltModel
    from pinnace.estimator.run_config import RunConfig
    from pinnace.summary.writer import SummaryWriter

_log = logging.getLogger("pinnace")


class Counting(SessionRunHook):
    """Counts steps for a model function whose optimizer does not.

    TensorFlow: without an increment, the global step stays 0, and training does not end. A Keras
    optimizer counts in its own variable, so such training would never end.
    """

    def __init__(self, model: BuiltModel) -> None:
        self._step = model.global_step

    def before_run(self, run_context: Any) -> None:
        """Remember the count."""
        del run_context
        self._before = int(self._step.numpy())

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Increment the step unless the model did."""
        del run_context, run_values
        if int(self._step.numpy()) == self._before:
            self._step.assign_add(np.int64(1))


class Progress:
    """Writes the loss as summaries and log lines."""

    def __init__(self, config: RunConfig, writer: SummaryWriter) -> None:
        self._summary_steps = config.save_summary_steps or 0
        self._log_steps = config.log_step_count_steps or 0
        self._writer = writer
        self._last: tuple[int, float] | None = None
        self._loss = math.nan
        self._count = 0

    def note(self, step: int, loss: float) -> None:
        """A step has run."""
        self._loss = loss
        if self._log_steps and self._count % self._log_steps == 0:
            _log.info("loss = %g, step = %d%s", loss, step, self._speed(step))
        if self._summary_steps and self._count % self._summary_steps == 0:
            with self._writer.as_default():
                scalar("loss", loss, step=step)
        self._count += 1

    def _speed(self, step: int) -> str:
        now = time.monotonic()
        last, self._last = self._last, (step, now)
        if last is None or now == last[1]:
            return ""
        rate = (step - last[0]) / (now - last[1])
        with self._writer.as_default():
            scalar("global_step/sec", rate, step=step)
        return f", {rate:.4g} steps/s"

    def end(self) -> None:
        """The last step has run."""
        _log.info("loss of the last step: %g", self._loss)
