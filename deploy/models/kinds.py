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
LITE = "TensorFlow Lite"
# How a file begins is enough to know that it is a program of StableHLO.
_START = 4096
# Every .tflite file has these bytes from the fifth on.
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
    """The kind of the model at a path, by its names and how its file begins; None if unknown."""
    return _kind_of_file(path) if path.is_file() else _kind_of_folder(path)


def is_rewritten(path: Path) -> bool:
    """Whether a server takes it, though it is no SavedModel: of JAX, ydf, TensorFlow.js, LiteRT."""
    try:
        if path.is_dir():
            return _kind_of_folder(path) in {FOREST, TFJS, LITE}
        return path.is_file() and _kind_of_file(path) in {STABLEHLO, LITE}
    except OSError:  # of names that are too long, before Python 3.14
        return False


def is_saved_model(path: Path) -> bool:
    """Whether a folder is a SavedModel, in the binary or the text form."""
    return any((path / name).exists() for name in (layout.MODEL_FILE, layout.MODEL_TEXT_FILE))


def lite_file(folder: Path) -> Path | None:
    """The one .tflite file of a folder, None if there are several or none."""
    files = sorted(folder.glob("*.tflite"))
    return files[0] if len(files) == 1 else None


def inside(path: Path, kind: str | None) -> Path:
    """The file of a model whose folder was named; other paths as they are."""
    if not path.is_dir():
        return path
    if kind == TFJS:
        return path / TFJS_FILE
    return (lite_file(path) or path) if kind == LITE else path


def _kind_of_file(path: Path) -> str | None:
    """By the suffix; what `jax.export` writes has none of its own, and is known by its bytes."""
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
    """A folder of ydf, TensorFlow.js or LiteRT by the names of its files; else a SavedModel's."""
    if is_saved_model(path) or not path.is_dir():
        return SAVED_MODEL
    if (path / TFJS_FILE).is_file():
        return TFJS
    if lite_file(path) is not None:
        return LITE
    return FOREST if prefix_of(path) is not None else SAVED_MODEL
