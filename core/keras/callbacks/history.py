"""History: the logs of every epoch."""

# Hooks have fixed parameters, used or not.
# ruff: noqa: ARG002

from __future__ import annotations

from typing import Any

from pinnace.keras.callbacks.callback import Callback


class History(Callback):
    """Records the logs at the end of each epoch.

    Attributes:
        history: name -> one number per epoch.
        epoch: the numbers of the epochs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before training: reset the logs."""
        self.history = {}
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        if self.model is not None:
            self.model.history = self
