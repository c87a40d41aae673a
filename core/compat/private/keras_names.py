"""Names of Keras 3's private modules that packages import and Keras publishes nowhere.

`pinnace.compat.as_tensorflow` gives these names under the modules they have there.
"""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras.layers.conv import BaseConv as BaseConv

if TYPE_CHECKING:
    from collections.abc import Iterator

_safe: ContextVar[bool | None] = ContextVar("safe", default=None)


def get_keras_mask(x: Any) -> Any:
    """The mask of one tensor, None if it has none."""
    return getattr(x, "_keras_mask", None)


def set_keras_mask(x: Any, mask: Any) -> None:
    """Let a tensor have a mask; None takes its mask away."""
    if mask is not None:
        x._keras_mask = mask
    elif hasattr(x, "_keras_mask"):
        del x._keras_mask


def in_safe_mode() -> bool | None:
    """Whether objects that open files may be made from a configuration; None was not said."""
    return _safe.get()


@contextlib.contextmanager
def SafeModeScope(safe_mode: bool | None = True) -> Iterator[None]:  # noqa: N802 (Keras' name)
    """Inside the block `in_safe_mode` says this. Code in files is run in neither mode."""
    token = _safe.set(safe_mode)
    try:
        yield
    finally:
        _safe.reset(token)


def distribution() -> None:
    """None: tensors are laid out over several devices by none of Keras' means here."""


def in_grain_data_pipeline() -> bool:
    """False: pinnace's tensors are the same inside a pipeline of Grain as outside."""
    return False


def list_to_tuple(maybe_list: Any) -> Any:
    """A list as a tuple; anything else as it is."""
    return tuple(maybe_list) if isinstance(maybe_list, list) else maybe_list


def any_symbolic_tensors(args: Any = None, kwargs: Any = None) -> bool:
    """Whether a tensor among the arguments is one of a model that is being described."""
    from pinnace.keras.symbolic import KerasTensor  # late: it is asked rarely

    return any(isinstance(x, KerasTensor) for x in structure.flatten((args or (), kwargs or {})))
