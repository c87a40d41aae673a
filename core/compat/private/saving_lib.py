"""`keras.src.saving.saving_lib`: models in files that are open, and the store of their weights."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.keras.saving import hdf5_files, whole_models
from pinnace.keras.saving.own_variables import Store

if TYPE_CHECKING:
    from collections.abc import Mapping


def save_model(model: Any, filepath: Any, weights_format: str = "h5", zipped: bool = True) -> None:
    """Write a model as a `.keras` file.

    Args:
        model: a model of layers.
        filepath: a path that ends in `.keras`, or a file that is open for bytes.
        weights_format: must be "h5".
        zipped: must be True.
    """
    if weights_format != "h5" or not zipped:
        raise ValueError(
            "save_model: only weights_format='h5' and zipped=True are there, got "
            f"{weights_format!r} and {zipped!r}"
        )
    if not hasattr(filepath, "write"):
        whole_models.save_model(model, filepath)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        whole_models.save_model(model, path)
        filepath.write(path.read_bytes())


def load_model(
    filepath: Any,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """The model of a `.keras` file.

    Args:
        filepath: a path, or a file that is open for bytes.
        custom_objects: further classes and functions by name.
        compile: whether it is compiled as it was.
        safe_mode: accepted for Keras' sake: nothing that a file holds is run.
    """
    if not hasattr(filepath, "read"):
        return whole_models.load_model(filepath, custom_objects, compile, safe_mode)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        path.write_bytes(filepath.read())
        return whole_models.load_model(path, custom_objects, compile, safe_mode)


class H5IOStore:
    """Arrays in an HDF5 file, in the groups of Keras' weight files.

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
