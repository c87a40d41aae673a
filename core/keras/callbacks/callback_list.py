"""CallbackList: several callbacks as one; RunCallbacks: those of a run of `fit` and the like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.framework import jobs
from pinnace.keras.callbacks.callback import BATCH_HOOKS, Callback
from pinnace.keras.callbacks.history import History
from pinnace.keras.callbacks.progress import ProgbarLogger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.keras.training.batches import Batches


class CallbackList(Callback):
    """Several callbacks as one, for a user's own training loop; called in order.

    Args:
        callbacks: one Callback, several, or a CallbackList.
        add_history: whether a History is added, if there is none.
        add_progbar: whether a ProgbarLogger is added, if there is none.
        model: the model to train.
        **params: passed to each of them: `epochs`, `steps`, `verbose`.

    Raises:
        TypeError: something that is no Callback.
    """

    def __init__(
        self,
        callbacks: Any = None,
        add_history: bool = False,
        add_progbar: bool = False,
        model: Any = None,
        **params: Any,
    ) -> None:
        super().__init__()
        given = _listed(callbacks)
        for callback in given:
            if not hasattr(callback, "set_model"):
                raise TypeError(f"callbacks must hold Callbacks, got {callback!r}")
        self.callbacks = given
        self.progress: ProgbarLogger | None = None
        self._history: History | None = None
        # Whether batches advance the bar here; `fit` advances its own.
        self._moves_bar = add_progbar
        if add_history:
            self._add_history()
        if add_progbar:
            self._add_progress()
        if model is not None:
            self.set_model(model)
        self.set_params(params)

    def _add_history(self) -> None:
        histories = [c for c in self.callbacks if isinstance(c, History)]
        self._history = histories[0] if histories else History()
        if not histories:
            self.callbacks = [*self.callbacks, self._history]

    def _add_progress(self) -> ProgbarLogger:
        known = [c for c in self.callbacks if isinstance(c, ProgbarLogger)]
        self.progress = known[0] if known else ProgbarLogger()
        if not known:
            self.callbacks = [*self.callbacks, self.progress]
        return self.progress

    def append(self, callback: Any) -> None:
        """Append a callback.

        Args:
            callback: a Callback.
        """
        self.callbacks = [*self.callbacks, callback]

    def set_model(self, model: Any) -> None:
        """Set the trained model of each callback."""
        super().set_model(model)
        for callback in self.callbacks:
            callback.set_model(model)

    def set_params(self, params: dict[str, Any]) -> None:
        """Set `epochs`, `steps` and `verbose` of each callback."""
        super().set_params(params)
        if self._moves_bar and self.progress is not None:
            level, steps = int(params.get("verbose", 1)), _Steps(params.get("steps"))
            self.progress.begin(level, steps, "train", params.get("epochs", 1))
        if params:
            for callback in self.callbacks:
                callback.set_params(params)

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a training batch."""
        self.on_train_batch_begin(batch, logs)

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a training batch."""
        self.on_train_batch_end(batch, logs)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before an epoch."""
        for callback in self.callbacks:
            callback.on_epoch_begin(epoch, logs or {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch."""
        for callback in self.callbacks:
            callback.on_epoch_end(epoch, logs or {})

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a training batch."""
        for callback in self.callbacks:
            callback.on_train_batch_begin(batch, logs or {})

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a training batch."""
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs or {})
        if self._moves_bar and self.progress is not None:
            self.progress.advance(batch, lambda: logs or {})

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a test batch."""
        for callback in self.callbacks:
            callback.on_test_batch_begin(batch, logs or {})

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a test batch."""
        for callback in self.callbacks:
            callback.on_test_batch_end(batch, logs or {})

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a batch of `predict`."""
        for callback in self.callbacks:
            callback.on_predict_batch_begin(batch, logs or {})

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a batch of `predict`."""
        for callback in self.callbacks:
            callback.on_predict_batch_end(batch, logs or {})

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before training."""
        for callback in self.callbacks:
            callback.on_train_begin(logs or {})

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after training."""
        for callback in self.callbacks:
            callback.on_train_end(logs or {})

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before testing."""
        for callback in self.callbacks:
            callback.on_test_begin(logs or {})

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after testing."""
        for callback in self.callbacks:
            callback.on_test_end(logs or {})

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before `predict`."""
        for callback in self.callbacks:
            callback.on_predict_begin(logs or {})

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after `predict`."""
        for callback in self.callbacks:
            callback.on_predict_end(logs or {})


class RunCallbacks(CallbackList):
    """The callbacks of one run of `fit`, `evaluate` or `predict`.

    Args:
        callbacks: one Callback, several, or a CallbackList.
        model: the model to train.
        verbose: 0, 1, 2 or "auto".
        batches: the training data.
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
        super().__init__(callbacks)
        level = 1 if verbose == "auto" else int(verbose)
        if not jobs.is_chief():
            level = 0
            given = self.callbacks
            self.callbacks = [one for one in given if not getattr(one, "of_the_chief", False)]
        self.initial_epoch = initial_epoch
        if add:
            if kind == "train":
                self._add_history()
            if level:
                self._add_progress().begin(level, batches, kind, epochs)
        # All processes of a job compute the logs of a batch, or none does.
        wants = any(_overrides_batches(callback) for callback in self.callbacks)
        functions = getattr(model, "_step_functions", None)
        if functions is not None:
            wants = functions.any_of(wants, "whether callbacks are told of batches")
        self.wants_batches = wants
        steps = None if batches is None else batches.count
        if add:
            self.set_params({"verbose": level, "epochs": epochs, "steps": steps})
        if model is not None:
            self.set_model(model)

    def close(self) -> None:
        """Called when the run has ended or was interrupted."""
        if self.progress is not None:
            self.progress.close()

    @property
    def history(self) -> History:
        """The History among them."""
        if self._history is None:
            raise ValueError("RunCallbacks.history: only training has a History")
        return self._history

    def others(self) -> list[Callback]:
        """All except the progress bar, which are also called for validation after an epoch."""
        return [callback for callback in self.callbacks if callback is not self.progress]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The number of steps for a progress bar: batches per epoch, None if unknown."""

    count: int | None


def _listed(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    if isinstance(callbacks, CallbackList):
        return list(callbacks.callbacks)
    found: Sequence[Any] = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
    return list(found)


def _overrides_batches(callback: Any) -> bool:
    """Whether it overrides a batch hook."""
    wants = getattr(callback, "wants_batches", None)
    if wants is not None:
        return bool(wants)
    hooks = {hook: getattr(callback, hook, None) for hook in BATCH_HOOKS}  # some are set on it
    return any(
        getattr(own, "__func__", own) is not getattr(Callback, hook) for hook, own in hooks.items()
    )
