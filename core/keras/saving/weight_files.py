"""save_weights and load_weights: which kind of file a path means, and who reads or writes it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinnace.checkpoint.checkpoint import Checkpoint
from pinnace.checkpoint.state_file import write_state
from pinnace.keras.saving import hdf5

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model


def save_weights(model: Model, filepath: Any, overwrite: bool) -> None:
    """Write the weights of a model; see `Model.save_weights`."""
    path = os.fspath(filepath)
    if not model.built:
        raise ValueError(
            f"save_weights: {model.name!r} has no weights before it is built\n"
            "  Try: call it on data, or build(shape)"
        )
    is_hdf5 = _is_hdf5(path)
    there = path if is_hdf5 else f"{path}.index"
    if not overwrite and os.path.exists(there):  # noqa: PTH110 (a text that may be a URL)
        raise FileExistsError(f"save_weights: {path!r} is there already")
    if is_hdf5:
        hdf5.write(model, path)
        return
    Checkpoint(root=model).write(path)
    folder = os.path.dirname(path)  # noqa: PTH120 (a text)
    write_state(folder, path, [path])


def load_weights(model: Model, filepath: Any, skip_mismatch: bool) -> Any:
    """Read the weights of a model; see `Model.load_weights`."""
    path = os.fspath(filepath)
    if _is_hdf5(path):
        hdf5.read(model, path, skip_mismatch=skip_mismatch)
        return None
    if skip_mismatch:
        raise ValueError(
            f"load_weights: skip_mismatch is for .weights.h5 files, got {path!r}\n"
            "  Try: load_weights(path).expect_partial()"
        )
    return Checkpoint(root=model).read(path)


def _is_hdf5(path: str) -> bool:
    if path.endswith((".h5", ".hdf5")):
        if not path.endswith(".weights.h5"):
            raise ValueError(
                f"the name of a file of weights must end in .weights.h5, or have no ending for a "
                f"TensorFlow checkpoint, got {path!r}"
            )
        return True
    if path.endswith(".keras"):
        raise ValueError(
            f"a .keras file holds a model, not weights alone, got {path!r}\n"
            "  Try: a name that ends in .weights.h5"
        )
    return False
