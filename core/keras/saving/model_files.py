"""Files that hold a model whole: which kind a path or its first bytes mean."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from pinnace.keras.saving import hdf5, keras_files, older_files

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model

_OLDER = (".h5", ".hdf5")


def read(path: str, compiles: bool) -> Any:
    """The model of a file."""
    if _begins_as_zip(path):
        return keras_files.read(path, compiles)
    return older_files.read(path, compiles)


def _begins_as_zip(path: str) -> bool:
    """Whether it is a .keras file: by its first bytes, for any file may have any name."""
    with open(path, "rb") as file:  # noqa: PTH123 (a text)
        head = file.read(8)
    if head.startswith(b"\x89HDF"):
        return False
    return head.startswith(b"PK") or not path.endswith(_OLDER)


def write(model: Model, path: str, with_optimizer: bool) -> None:
    """Write a model as the file that the ending of its path says."""
    older = path.endswith(_OLDER)
    if not model.built:
        if older:
            raise ValueError(
                f"Model.save: {model.name!r} has no weights before it is built\n"
                "  Try: call it on data, fit it, or build(shape)"
            )
        if not hdf5.has_weights(model):
            warnings.warn(
                "Model.save: You are saving a model that has not yet been built: the file has the "
                f"configuration of {model.name!r} and no weights\n"
                "  Try: call it on data, fit it, or build(shape)",
                stacklevel=3,
            )
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)  # noqa: PTH100, PTH103, PTH120 (a text)
    if older:
        older_files.write(model, path, with_optimizer)
    else:
        keras_files.write(model, path, with_optimizer)
