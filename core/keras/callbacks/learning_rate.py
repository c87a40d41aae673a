"""Callbacks that change the learning rate: LearningRateScheduler, ReduceLROnPlateau."""

# Hooks have fixed parameters, used or not.
# ruff: noqa: ARG002

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from pinnace.framework.no_effect import no_effect
from pinnace.keras.callbacks.callback import Callback
from pinnace.keras.callbacks.stopping import Monitor

if TYPE_CHECKING:
    from collections.abc import Callable


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch.

    Args:
        schedule: gives it, from the epoch and, if it takes two arguments, the present one.
        verbose: whether to say so.
    """

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule = schedule
        self.verbose = verbose

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before an epoch: set the learning rate."""
        optimizer = self.model.optimizer
        present = float(optimizer.learning_rate)
        takes = len(inspect.signature(self.schedule).parameters)
        rate = self.schedule(epoch, present) if takes > 1 else self.schedule(epoch)
        if not isinstance(rate, (int, float)) and not hasattr(rate, "__float__"):
            raise ValueError(f"LearningRateScheduler: schedule must give a number, gave {rate!r}")
        optimizer.learning_rate = float(rate)
        if self.verbose:
            sys.stdout.write(f"Epoch {epoch + 1}: learning rate {float(rate):g}\n")

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch: add the learning rate to the logs."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class ReduceLROnPlateau(Monitor):
    """Reduces the learning rate when a metric has stopped improving.

    Args:
        monitor: its name in the logs.
        factor: factor of the learning rate, below 1.
        patience: epochs to wait.
        verbose: whether to say so.
        mode: `min`, `max` or `auto`.
        min_delta: the least improvement that counts.
        cooldown: epochs to leave it alone after a change.
        min_lr: lower bound of the learning rate.
        **kwargs: arguments of older programs: they have no effect, which a warning says.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
        **kwargs: Any,
    ) -> None:
        for name in kwargs:
            no_effect("ReduceLROnPlateau", name, "the callback has no such argument")
        super().__init__(monitor, mode, min_delta)
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1, got {factor}")
        self.factor = factor
        self.patience = patience
        self.verbose = verbose
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.wait = self.cooldown_counter = 0
        self.best: float | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before training: reset the state."""
        self.wait = self.cooldown_counter = 0
        self.best = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch: reduce the learning rate if the value has stopped improving."""
        optimizer = self.model.optimizer
        present = float(optimizer.learning_rate)
        if logs is not None:
            logs["learning_rate"] = present
        value = self._value(logs)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._is_better(value, self._worst() if self.best is None else self.best):
            self.best = value
            self.wait = 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience and present > self.min_lr:
                rate = max(present * self.factor, self.min_lr)
                optimizer.learning_rate = rate
                self.cooldown_counter = self.cooldown
                self.wait = 0
                if self.verbose:
                    sys.stdout.write(f"Epoch {epoch + 1}: learning rate {rate:g}\n")
