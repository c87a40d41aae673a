"""Files and folders with a whole model: the format by path or first bytes."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.framework import jobs
from pinnace.keras.saving import hdf5, keras_files, older_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.keras.models.model import Model

_OLDER = (".h5", ".hdf5")

# Further arguments of `Model.save`; `save_format` and `save_traces` are deprecated.
_ARGUMENTS = {"include_optimizer", "options", "save_format", "save_traces", "signatures"}


# Formats that other programs write as one file: a SavedModel is a folder.
_FILES = frozenset(
    {".pb", ".pbtxt", ".onnx", ".tflite", ".pt", ".pth", ".pkl", ".pickle", ".zip", ".json", ".npz"}
)


def save(
    model: Model,
    filepath: str | Path,
    overwrite: bool,
    zipped: bool | None,
    given: Mapping[str, Any],
) -> None:
    """Write a model with its configuration and its training state; see `Model.save`."""
    path = Path(filepath)
    _check_arguments(str(path), zipped, given)
    if not overwrite and jobs.is_chief() and path.exists():
        raise FileExistsError(f"Model.save: {str(filepath)!r} exists already")
    with_optimizer = given.get("include_optimizer", True)
    if path.suffix in {".keras", *_OLDER} or zipped is False:
        with jobs.chief_writes(f"saving {str(path)!r}") as writes:
            if writes:
                _write(model, str(path), with_optimizer, zipped=zipped is not False)
        return
    check_folder("Model.save", path)
    options = {key: given[key] for key in ("signatures", "options") if key in given}
    model._write(str(filepath), with_optimizer, options)


def check_folder(who: str, path: Path) -> None:
    """Raise for the name of a file, given for the folder of a SavedModel.

    Raises:
        ValueError: the name ends as that of a file.
    """
    if path.suffix.lower() in _FILES:
        ending = path.suffix
        remedy = "export(…, format='onnx')" if ending == ".onnx" else f"{path.stem!r}"
        raise ValueError(
            f"{who}: a SavedModel is a folder, and {ending} the ending of a file, got "
            f"{str(path)!r}\n  Try: {remedy}, or a file that ends in .keras"
        )


def _check_arguments(path: str, zipped: bool | None, given: Mapping[str, Any]) -> None:
    """Refuse unknown arguments of `Model.save`, and a file's name for a folder."""
    unknown = sorted(set(given) - _ARGUMENTS)
    if unknown:
        raise ValueError(
            "Model.save: The following argument(s) are not supported: " + ", ".join(unknown)
        )
    if zipped is False and path.endswith((".keras", *_OLDER)):
        raise ValueError(
            "Model.save: the name of a folder, for zipped=False, should not end in .keras or .h5, "
            f"got {path!r}"
        )


def read(path: str, compiles: bool) -> Any:
    """The model of a file."""
    if os.path.isdir(path) or _begins_as_zip(path):  # noqa: PTH112 (a text)
        return keras_files.read(path, compiles)
    return older_files.read(path, compiles)


def _begins_as_zip(path: str) -> bool:
    """Whether it is a .keras file by its first bytes, since file names are arbitrary."""
    with open(path, "rb") as file:  # noqa: PTH123 (a text)
        head = file.read(8)
    if head.startswith(b"\x89HDF"):
        return False
    return head.startswith(b"PK") or not path.endswith(_OLDER)


def _write(model: Model, path: str, with_optimizer: bool, *, zipped: bool = True) -> None:
    """Write a model in the format of its path's ending; as a folder if not `zipped`."""
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
                stacklevel=4,
            )
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)  # noqa: PTH100, PTH103, PTH120 (a text)
    if older:
        older_files.write(model, path, with_optimizer)
    else:
        keras_files.write(model, path, with_optimizer, zipped=zipped)
