"""CallbackList: the callbacks of one run, called in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import jobs
from pinnace.keras.callbacks.callback import BATCH_HOOKS, Callback
from pinnace.keras.callbacks.history import History
from pinnace.keras.callbacks.progress import ProgbarLogger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.keras.training.data_adapter import Batches


class CallbackList:
    """The callbacks of one run, called in order.

    Args:
        callbacks: one Callback, several, or a CallbackList.
        model: what is trained.
        verbose: 0, 1, 2 or "auto".
        batches: what it is trained on.
        kind: `train`, `test` or `predict`.
        epochs: number of the epoch to end before.
        initial_epoch: number of the first epoch.
        add: whether a History and, if wanted, progress are added.
    """

    def __init__(
        self,
        callbacks: Any = None,
        model: Any = None,
        verbose: int | str = 0,
        batches: Batches | None = None,
        kind: str = "train",
        epochs: int = 1,
        initial_epoch: int = 0,
        add: bool = True,
    ) -> None:
        given = _listed(callbacks)
        for callback in given:
            if not hasattr(callback, "set_model"):
                raise TypeError(f"callbacks must hold Callbacks, got {callback!r}")
        level = 1 if verbose == "auto" else int(verbose)
        if not jobs.is_chief():
            level = 0
            given = [one for one in given if not getattr(one, "of_the_chief", False)]
        self.callbacks = given
        self.initial_epoch = initial_epoch
        self.progress: ProgbarLogger | None = None
        self._history: History | None = None
        if add:
            self._add_own(level, batches, kind, epochs)
        # All processes of a job ask for the numbers of a batch, or none does.
        wants = any(_overrides_batches(callback) for callback in self.callbacks)
        steps = getattr(model, "_step_functions", None)
        if steps is not None:
            wants = steps.any_of(wants, "whether callbacks are told of batches")
        self.wants_batches = wants
        params = {
            "verbose": level,
            "epochs": epochs,
            "steps": None if batches is None else batches.count,
        }
        for callback in self.callbacks:
            if add:
                callback.set_params(params)
            if model is not None:
                callback.set_model(model)

    def _add_own(self, level: int, batches: Any, kind: str, epochs: int) -> None:
        if kind == "train":
            histories = [c for c in self.callbacks if isinstance(c, History)]
            self._history = histories[0] if histories else History()
            if not histories:
                self.callbacks = [*self.callbacks, self._history]
        if level:
            known = [c for c in self.callbacks if isinstance(c, ProgbarLogger)]
            progress = known[0] if known else ProgbarLogger()
            progress.begin(level, batches, kind, epochs)
            if not known:
                self.callbacks = [*self.callbacks, progress]
            self.progress = progress

    def close(self) -> None:
        """The run is over, or was broken off."""
        if self.progress is not None:
            self.progress.close()

    @property
    def history(self) -> History:
        """The History among them."""
        if self._history is None:
            raise ValueError("CallbackList.history: there is one in training only")
        return self._history

    def others(self) -> list[Callback]:
        """All but the progress bar: they also hear of the test after an epoch."""
        return [callback for callback in self.callbacks if callback is not self.progress]

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a training batch."""
        self.on_train_batch_begin(batch, logs)

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a training batch."""
        self.on_train_batch_end(batch, logs)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Before an epoch."""
        for callback in self.callbacks:
            callback.on_epoch_begin(epoch, logs or {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """After an epoch."""
        for callback in self.callbacks:
            callback.on_epoch_end(epoch, logs or {})

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a training batch."""
        for callback in self.callbacks:
            callback.on_train_batch_begin(batch, logs or {})

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a training batch."""
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs or {})

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a test batch."""
        for callback in self.callbacks:
            callback.on_test_batch_begin(batch, logs or {})

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a test batch."""
        for callback in self.callbacks:
            callback.on_test_batch_end(batch, logs or {})

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a batch of `predict`."""
        for callback in self.callbacks:
            callback.on_predict_batch_begin(batch, logs or {})

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a batch of `predict`."""
        for callback in self.callbacks:
            callback.on_predict_batch_end(batch, logs or {})

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before training."""
        for callback in self.callbacks:
            callback.on_train_begin(logs or {})

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """After training."""
        for callback in self.callbacks:
            callback.on_train_end(logs or {})

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before testing."""
        for callback in self.callbacks:
            callback.on_test_begin(logs or {})

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """After testing."""
        for callback in self.callbacks:
            callback.on_test_end(logs or {})

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before `predict`."""
        for callback in self.callbacks:
            callback.on_predict_begin(logs or {})

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """After `predict`."""
        for callback in self.callbacks:
            callback.on_predict_end(logs or {})


def _listed(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    if isinstance(callbacks, CallbackList):
        return list(callbacks.callbacks)
    found: Sequence[Any] = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
    return list(found)


def _overrides_batches(callback: Any) -> bool:
    """Whether it overrides a hook around batches."""
    wants = getattr(callback, "wants_batches", None)
    if wants is not None:
        return bool(wants)
    return any(
        getattr(type(callback), hook, None) is not getattr(Callback, hook) for hook in BATCH_HOOKS
    )
