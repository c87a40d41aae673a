"""Names of Keras 3's private modules that packages import and Keras does not publish.

`pinnace.compat.as_tensorflow` gives these names in the modules where Keras has them.
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
    """Attach a mask to a tensor; None removes it."""
    if mask is not None:
        x._keras_mask = mask
    elif hasattr(x, "_keras_mask"):
        del x._keras_mask


def in_safe_mode() -> bool | None:
    """The safe mode set by `SafeModeScope`, which forbids code in configurations; None if unset."""
    return _safe.get()


@contextlib.contextmanager
def SafeModeScope(safe_mode: bool | None = True) -> Iterator[None]:  # noqa: N802 (Keras' name)
    """Sets `in_safe_mode` inside the block. Code in files is not run in either mode."""
    token = _safe.set(safe_mode)
    try:
        yield
    finally:
        _safe.reset(token)


def distribution() -> None:
    """None: Keras' distributions over devices are not supported."""


def in_grain_data_pipeline() -> bool:
    """False: inside a Grain pipeline tensors are the same as outside."""
    return False


def list_to_tuple(maybe_list: Any) -> Any:
    """A list as a tuple; other values unchanged."""
    return tuple(maybe_list) if isinstance(maybe_list, list) else maybe_list


def any_symbolic_tensors(args: Any = None, kwargs: Any = None) -> bool:
    """Whether an argument contains a symbolic tensor of a Keras model."""
    from pinnace.keras.symbolic import KerasTensor  # late: it is asked rarely

    return any(isinstance(x, KerasTensor) for x in structure.flatten((args or (), kwargs or {})))
