"""Callback: the base class of hooks around training, epochs and batches."""

from __future__ import annotations

from typing import Any

from pinnace.keras.constructed import Constructed

BATCH_HOOKS = (
    *("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"),
    *("on_test_batch_begin", "on_test_batch_end", "on_predict_batch_begin", "on_predict_batch_end"),
)


class Callback(Constructed):
    """The base class of callbacks, whose methods do nothing.

    `logs` contains numbers by name: loss and metrics so far.
    """

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self._model: Any = None

    @property
    def model(self) -> Any:
        """The model that is trained."""
        return self.__dict__.get("_model")

    def set_params(self, params: dict[str, Any]) -> None:
        """Called before training with `epochs`, `steps` and `verbose`."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Called before training with the model."""
        self._model = model

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a training batch; an older name."""

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a training batch; an older name."""

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before an epoch."""

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch, and the test that follows it."""

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a training batch."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a training batch."""
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a test batch."""

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a test batch."""

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a batch of `predict`."""

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a batch of `predict`."""

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before training."""

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after training."""

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before testing."""

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after testing."""

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before `predict`."""

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after `predict`."""
