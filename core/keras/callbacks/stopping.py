"""Callbacks that end training: EarlyStopping, TerminateOnNaN."""

# Hooks have fixed parameters, used or not.
# ruff: noqa: ARG002

from __future__ import annotations

import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

from pinnace.keras import ops
from pinnace.keras.callbacks.callback import Callback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Monitor(Callback):
    """The base class of callbacks that monitor one metric.

    Args:
        monitor: its name in the logs.
        mode: whether lower (`min`) or higher (`max`) is better; `auto` asks the metric.
        min_delta: the least change that counts.
    """

    def __init__(self, monitor: str, mode: str, min_delta: float) -> None:
        super().__init__()
        if mode not in {"auto", "min", "max"}:
            warnings.warn(
                f"{type(self).__name__} mode {mode!r} is unknown: it must be auto, min or max, and "
                "auto is taken",
                stacklevel=3,
            )
            mode = "auto"
        self.monitor = monitor
        self.mode = mode
        self.min_delta = abs(min_delta)

    def _upwards(self) -> bool:
        """Whether larger is better.

        Raises:
            ValueError: neither the mode nor the metric says so.
        """
        if self.mode != "auto":
            return self.mode == "max"
        name = self.monitor.removeprefix("val_")
        if name == "loss" or name.endswith("_loss"):
            return False
        metrics = list(_single_metrics(getattr(self.model, "metrics", ())))
        # With several outputs, a log has the names of the output and the metric.
        for ours in (lambda other: other == name, lambda other: name.endswith(f"_{other}")):
            for metric in metrics:
                if ours(metric.name) and metric._direction is not None:
                    return bool(metric._direction == "up")
        if name.endswith(("acc", "accuracy", "auc")):
            return True
        raise ValueError(
            f"{type(self).__name__}: monitor={self.monitor!r} does not say whether more or less of "
            'it is better, and mode is "auto"\n  Try: mode="max" if more is better, or mode="min"'
        )

    @property
    def monitor_op(self) -> Callable[[Any, Any], Any] | None:
        """The comparison with the best value: `keras.ops.greater` or `keras.ops.less`.

        None if it depends on a metric of the model, which is not set yet.
        """
        try:
            return ops.greater if self._upwards() else ops.less
        except ValueError:
            if self.model is None:
                return None
            raise

    def _worst(self) -> float:
        return -math.inf if self._upwards() else math.inf

    def _is_better(self, value: float, best: float) -> bool:
        margin = self.min_delta
        return value - margin > best if self._upwards() else value + margin < best

    def _value(self, logs: dict[str, Any] | None) -> float | None:
        value = (logs or {}).get(self.monitor)
        if value is None:
            warnings.warn(
                f"{type(self).__name__}: monitor {self.monitor!r} is not among "
                f"{', '.join(logs or {})}",
                stacklevel=2,
            )
        return value


def _single_metrics(metrics: Iterable[Any]) -> Iterator[Any]:
    """The metrics, with those inside composite metrics."""
    for metric in metrics:
        yield metric
        yield from _single_metrics(getattr(metric, "metrics", ()))


class EarlyStopping(Monitor):
    """Stops training when a metric has stopped improving.

    Args:
        monitor: its name in the logs.
        min_delta: the least improvement that counts.
        patience: epochs to wait.
        verbose: whether to say so.
        mode: `min`, `max` or `auto`.
        baseline: the value to improve on.
        restore_best_weights: whether the best epoch's weights are put back.
        start_from_epoch: the number of epochs before it watches the value.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.start_from_epoch = start_from_epoch
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best: float | None = None
        self.best_weights: list[Any] | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before training: reset the state."""
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best = None
        self.best_weights = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch: stop training if the value has stopped improving."""
        value = self._value(logs)
        if value is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights = self.model.get_weights()
            self.best_epoch = epoch
        self.wait += 1
        if self._is_better(value, self._worst() if self.best is None else self.best):
            self.best = value
            self.best_epoch = epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._is_better(value, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after training: print that it was stopped, and restore the best weights."""
        if self.stopped_epoch and self.verbose:
            sys.stdout.write(f"Epoch {self.stopped_epoch + 1}: early stopping\n")
        if self.restore_best_weights and self.best_weights is not None:
            self.model.set_weights(self.best_weights)


class TerminateOnNaN(Callback):
    """Stops training when the loss is NaN or infinite.

    Args:
        raise_error: whether it ends with an error, so that nothing that comes after training runs,
            rather than after the batch.
    """

    def __init__(self, raise_error: bool = False) -> None:
        super().__init__()
        self.raise_error = raise_error

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a training batch: stops the training if the loss is not finite.

        Raises:
            RuntimeError: the loss is no number, and `raise_error` is True.
        """
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            if self.raise_error:
                raise RuntimeError(
                    f"TerminateOnNaN: NaN or Inf loss encountered at batch {batch}: {loss}"
                )
            sys.stdout.write(f"Batch {batch}: the loss is {loss}, training ends\n")
            self.model.stop_training = True
