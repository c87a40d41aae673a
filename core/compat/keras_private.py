"""What packages take from Keras 3's private modules and Keras shows nowhere.

`pinnace.compat.as_tensorflow` gives these names under the modules they have there.
"""

from __future__ import annotations

import contextlib
import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras.saving import hdf5_files
from pinnace.keras.saving.own_variables import Store

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


class H5IOStore:
    """Arrays in an HDF5 file, in the groups that Keras' files of weights have.

    Args:
        path_or_io: a path, or an open file.
        archive: must be None.
        mode: "r" to read, "w" to write.
    """

    def __init__(self, path_or_io: Any, archive: Any = None, mode: str = "r") -> None:
        if archive is not None or mode not in {"r", "w"}:
            raise ValueError(
                "H5IOStore: mode must be 'r' or 'w', and archive None, got "
                f"mode={mode!r}, archive={archive!r}"
            )
        path = path_or_io if hasattr(path_or_io, "read") else os.fspath(path_or_io)
        self._open = contextlib.ExitStack()
        if mode == "r":
            self._file = self._open.enter_context(hdf5_files.reading(path, "H5IOStore"))
        else:
            self._file = self._open.enter_context(hdf5_files.library().File(path, "w"))

    def make(self, path: str) -> Store:
        """A new group for the arrays of one layer, to write to."""
        return Store(self._file.create_group(f"{path}/vars" if path else "vars"))

    def get(self, path: str) -> Store:
        """The arrays of one layer; empty if there are none."""
        return Store(hdf5_files.entry(self._file, f"{path}/vars" if path else "vars"))

    def close(self) -> None:
        """Close the file."""
        self._open.close()
