"""Hooks: objects that are called around each step, and may read values or stop the loop."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_log = logging.getLogger("pinnace")


class NanLossDuringTrainingError(RuntimeError):
    """The loss is NaN, so that further training is pointless."""


@dataclass(frozen=True, slots=True)
class SessionRunArgs:
    """A hook's request for values of a step.

    Attributes:
        fetches: tensors of the model function, or variables, in any structure.
        feed_dict: must be None: there are no sessions to feed.
        options: accepted for TensorFlow's sake.
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None

    def __post_init__(self) -> None:
        if self.feed_dict:
            raise ValueError("SessionRunArgs: feed_dict must be None: values come from input_fn")


@dataclass(frozen=True, slots=True)
class SessionRunValues:
    """The values of a step that a hook requested.

    Attributes:
        results: the fetches' values, as arrays, in their structure.
        options: None.
        run_metadata: None.
    """

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """The context of a step, in which a hook can request the end of the loop.

    Args:
        original_args: the fetches of the step without hooks.
    """

    def __init__(self, original_args: SessionRunArgs) -> None:
        self.original_args = original_args
        # There are no sessions; TensorFlow's hooks may look for one.
        self.session: Any = None
        self._stop = False

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked."""
        return self._stop

    def request_stop(self) -> None:
        """The step is the last one."""
        self._stop = True


class SessionRunHook:
    """The base class of hooks: all methods do nothing."""

    def begin(self) -> None:
        """Called after the model is built, before the first step."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when the variables have values; both arguments are None."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before a step; returns the tensors whose values `after_run` is given."""
        del run_context
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """A step has run."""

    def end(self, session: Any) -> None:
        """The last step has run."""


class StopAtStepHook(SessionRunHook):
    """Stops after a number of steps, or at a global step.

    Args:
        num_steps: how many from here.
        last_step: the global step to stop at.

    Raises:
        ValueError: both or neither.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise ValueError("StopAtStepHook: one of num_steps and last_step must be given")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Find the global step."""
        from pinnace.estimator.global_step import get_global_step

        self._step = get_global_step()
        if self._step is None:
            raise RuntimeError("StopAtStepHook: there is no global step here")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Start counting from the current step."""
        del session, coord
        if self._last_step is None:
            self._last_step = self._now() + (self._num_steps or 0)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stop at the last step."""
        del run_values
        if self._now() >= (self._last_step or 0):
            run_context.request_stop()

    def _now(self) -> int:
        step = self._step
        return 0 if step is None else int(step.numpy())


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors.

    Args:
        tensors: name -> tensor of the model function, or tensors.
        every_n_iter: steps between two lines.
        every_n_secs: seconds between two lines.
        at_end: whether the last step is logged too.
        formatter: {name: array} -> line.

    Raises:
        ValueError: both intervals, or neither and not `at_end`.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Sequence[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        given = (every_n_iter is not None) + (every_n_secs is not None)
        if given > 1 or (given == 0 and not at_end):
            raise ValueError(
                "LoggingTensorHook: one of every_n_iter, every_n_secs (or at_end) must be given"
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"LoggingTensorHook: every_n_iter must be above 0, got {every_n_iter}")
        if hasattr(tensors, "items"):
            self._tensors = dict(tensors.items())
        else:
            self._tensors = {getattr(t, "name", None) or f"{i}": t for i, t in enumerate(tensors)}
        self._every_steps = every_n_iter
        self._every_s = every_n_secs
        self._at_end = at_end
        self._formatter = formatter
        self._count = 0
        self._last_s: float | None = None
        self._latest: dict[str, Any] | None = None

    def begin(self) -> None:
        """Start counting from the current step."""
        self._count, self._last_s, self._latest = 0, None, None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Request the tensors that are logged."""
        del run_context
        return SessionRunArgs(self._tensors)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the values if they are due."""
        del run_context
        self._latest = run_values.results
        if self._due():
            self._write()
        self._count += 1

    def end(self, session: Any) -> None:
        """Log the last values if `at_end` is set."""
        del session
        if self._at_end and self._latest is not None:
            self._write()

    def _due(self) -> bool:
        if self._every_steps is not None:
            return self._count % self._every_steps == 0
        if self._every_s is None:
            return False
        now = time.monotonic()
        if self._last_s is not None and now - self._last_s < self._every_s:
            return False
        self._last_s = now
        return True

    def _write(self) -> None:
        values = self._latest or {}
        if self._formatter is not None:
            _log.info(self._formatter(values))
            return
        text = ", ".join(f"{name} = {np.array2string(np.asarray(x))}" for name, x in values.items())
        _log.info("%s", text)


class CheckpointSaverListener:
    """The base class of objects that are called around checkpoints: all methods do nothing."""

    def begin(self) -> None:
        """Called when training begins."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """A checkpoint will be written."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Called after a checkpoint was written; returning True stops training."""
        del session, global_step_value
        return None

    def end(self, session: Any, global_step_value: int) -> None:
        """Called when training ends."""
