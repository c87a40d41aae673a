"""The kinds of models that a path may lead to, told by names and by how a file begins."""

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
# How a file begins is enough to know that it is a program of StableHLO.
_START = 4096
TFJS_FILE = "model.json"
SUFFIXES = {
    ".onnx": ONNX,
    ".keras": KERAS,
    ".h5": KERAS,
    ".hdf5": KERAS,
    ".pb": FROZEN,
    ".pbtxt": FROZEN,
    ".json": TFJS,
}


def kind_of(path: Path) -> str | None:
    """The kind of the model at a path, by its names and how its file begins; None if unknown."""
    return _kind_of_file(path) if path.is_file() else _kind_of_folder(path)


def is_rewritten(path: Path) -> bool:
    """Whether a server takes a path that is no SavedModel: StableHLO, ydf's, TensorFlow.js's."""
    try:
        if path.is_dir():
            return _kind_of_folder(path) in {FOREST, TFJS}
        return path.is_file() and _kind_of_file(path) == STABLEHLO
    except OSError:  # of names that are too long, before Python 3.14
        return False


def is_saved_model(path: Path) -> bool:
    """Whether a folder is a SavedModel, in the binary or the text form."""
    return any((path / name).exists() for name in (layout.MODEL_FILE, layout.MODEL_TEXT_FILE))


def _kind_of_file(path: Path) -> str | None:
    """By the suffix; what `jax.export` writes has none of its own, and is known by its bytes."""
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is not None or path.name == layout.MODEL_FILE:
        return kind
    try:
        with open_regular(os.fspath(path)) as file:
            return STABLEHLO if is_standalone(file.read(_START)) else None
    except OSError:
        return None


def _kind_of_folder(path: Path) -> str:
    """A folder of ydf or TensorFlow.js by the names of its files; any other may be a SavedModel."""
    if is_saved_model(path) or not path.is_dir():
        return SAVED_MODEL
    if (path / TFJS_FILE).is_file():
        return TFJS
    return FOREST if prefix_of(path) is not None else SAVED_MODEL
