"""The kind of the model at a path, determined from names and the first bytes of files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pinnace.ops.trees.forest_folders import prefix_of
from pinnace.saved_model import layout
from pinnace.saved_model.stablehlo.exported import is_standalone
from pinnace.storage.regular_files import open_regular

if TYPE_CHECKING:
    from pathlib import Path

SAVED_MODEL, ONNX, KERAS, FROZEN = "SavedModel", "ONNX", "Keras", "frozen graph"
STABLEHLO, FOREST, TFJS = "StableHLO", "ydf forest", "TensorFlow.js"
LITE = "TensorFlow Lite"
# The number of first bytes that are compared.
_START = 4096
# The identifier in bytes 4 to 8 of every .tflite file.
_LITE_MARK = b"TFL3"
TFJS_FILE = "model.json"
SUFFIXES = {
    ".onnx": ONNX,
    ".keras": KERAS,
    ".h5": KERAS,
    ".hdf5": KERAS,
    ".pb": FROZEN,
    ".pbtxt": FROZEN,
    ".json": TFJS,
    ".tflite": LITE,
}


def kind_of(path: Path) -> str | None:
    """The kind of the model at a path; None if it is unknown."""
    return _kind_of_file(path) if path.is_file() else _kind_of_folder(path)


def is_rewritten(path: Path) -> bool:
    """Whether servers convert it to a SavedModel: models of JAX, ydf, TensorFlow.js, LiteRT."""
    try:
        if path.is_dir():
            return _kind_of_folder(path) in {FOREST, TFJS, LITE}
        return path.is_file() and _kind_of_file(path) in {STABLEHLO, LITE}
    except OSError:  # a name that is too long, before Python 3.14
        return False


def is_saved_model(path: Path) -> bool:
    """Whether a folder is a SavedModel, in the binary or the text form."""
    return any((path / name).exists() for name in (layout.MODEL_FILE, layout.MODEL_TEXT_FILE))


def lite_file(folder: Path) -> Path | None:
    """The only .tflite file of a folder; None if there are several or none."""
    files = sorted(folder.glob("*.tflite"))
    return files[0] if len(files) == 1 else None


def inside(path: Path, kind: str | None) -> Path:
    """The model file inside a folder of this kind; other paths unchanged."""
    if not path.is_dir():
        return path
    if kind == TFJS:
        return path / TFJS_FILE
    return (lite_file(path) or path) if kind == LITE else path


def _kind_of_file(path: Path) -> str | None:
    """The kind by suffix, or by the first bytes for files of `jax.export`, which have no suffix."""
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is not None or path.name == layout.MODEL_FILE:
        return kind
    try:
        with open_regular(os.fspath(path)) as file:
            start = file.read(_START)
    except OSError:
        return None
    if start[4:8] == _LITE_MARK:
        return LITE
    return STABLEHLO if is_standalone(start) else None


def _kind_of_folder(path: Path) -> str:
    """The kind of a folder by the names of its files; SavedModel if none is known."""
    if is_saved_model(path) or not path.is_dir():
        return SAVED_MODEL
    if (path / TFJS_FILE).is_file():
        return TFJS
    if lite_file(path) is not None:
        return LITE
    return FOREST if prefix_of(path) is not None else SAVED_MODEL
