"""LambdaCallback: a callback made of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.callbacks.callback import BATCH_HOOKS, Callback

if TYPE_CHECKING:
    from collections.abc import Callable


class LambdaCallback(Callback):
    """Calls the functions it is given.

    Args:
        on_epoch_begin: takes epoch and logs.
        on_epoch_end: takes epoch and logs.
        on_train_begin: takes logs.
        on_train_end: takes logs.
        on_train_batch_begin: takes batch and logs.
        on_train_batch_end: takes batch and logs.
        **kwargs: further hooks by name.
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        on_train_batch_begin: Callable[..., Any] | None = None,
        on_train_batch_end: Callable[..., Any] | None = None,
        **kwargs: Callable[..., Any],
    ) -> None:
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
            **kwargs,
        }
        # Keras stores any keyword; a misspelt hook is an error here.
        unknown = sorted(
            name for name in given if not hasattr(Callback, name) and name[:3] == "on_"
        )
        if unknown:
            raise TypeError(f"LambdaCallback: unknown hooks {', '.join(unknown)}")
        self.__dict__.update({name: hook for name, hook in given.items() if hook is not None})
        self.wants_batches = any(given.get(hook) is not None for hook in BATCH_HOOKS)
