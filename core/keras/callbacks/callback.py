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
        """Told before training: `epochs`, `steps`, `verbose`."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Told before training."""
        self._model = model

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a training batch; an older name."""

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a training batch; an older name."""

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Before an epoch."""

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """After an epoch, and the test that follows it."""

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a training batch."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a training batch."""
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a test batch."""

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a test batch."""

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a batch of `predict`."""

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a batch of `predict`."""

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before training."""

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """After training."""

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before testing."""

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """After testing."""

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before `predict`."""

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """After `predict`."""
