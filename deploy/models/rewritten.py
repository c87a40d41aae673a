"""Models in files of other kinds, rewritten as SavedModels for as long as the process runs."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.deploy.models.kinds import FOREST, KERAS, LITE, STABLEHLO, TFJS, inside, kind_of
from pinnace.framework.errors import InvalidArgumentError, OpError
from pinnace.framework.visible_text import visible
from pinnace.storage.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable

# Removed when the process ends: a folder that is let go of earlier would be gone before its use.
_FOLDERS: dict[tuple[Path, int], tempfile.TemporaryDirectory[str]] = {}


def saved_model_of(path: Path, kind: str) -> Path:
    """The folder of a SavedModel with what a file, or a folder of files, holds.

    A file that changes is read again. The line about it goes to stderr, so that what a command
    prints stays readable by programs.

    Args:
        path: of the model.
        kind: its kind, as `find_model` calls it.

    Raises:
        InvalidArgumentError: it cannot be read.
        UnimplementedError: it holds what is not run here.
    """
    key = path, path.stat().st_mtime_ns
    if key not in _FOLDERS:
        kept = tempfile.TemporaryDirectory(prefix="pinnace-")
        atexit.register(kept.cleanup)
        said = _WRITERS[kind](path, Path(kept.name) / path.stem)
        _FOLDERS[key] = kept
        sys.stderr.write(visible(f"{path}: {said}\n"))
    return Path(_FOLDERS[key].name) / path.stem


def write_saved_model(path: Path, folder: Path) -> None:
    """Write a SavedModel of what lies at a path.

    Args:
        path: of a model, of any kind that this module knows.
        folder: of the SavedModel; it is made.

    Raises:
        OpError: it cannot be read, or holds what is not run here.
    """
    kind = kind_of(path)
    if kind not in _WRITERS:
        raise InvalidArgumentError(f"{path}: is no model that becomes a SavedModel")
    _WRITERS[str(kind)](inside(path, kind), folder)


def from_keras(path: Path, folder: Path) -> str:
    """Write what a .keras or .h5 file holds. Code in the file is not run, whatever it asks for.

    Raises:
        InvalidArgumentError: the file cannot be read, or needs code that is not in it.
    """
    from pinnace.keras.saving import load_model

    try:
        model = load_model(path, compile=False)
    except (OpError, ValueError, TypeError, NotImplementedError) as error:
        raise InvalidArgumentError(f"{path}: {error}\n  Try: pinnace scan {path}") from error
    model.export(folder, verbose=False)
    return "read as the SavedModel that its export() writes"


def from_stablehlo(path: Path, folder: Path) -> str:
    """Write a module of StableHLO, or what `jax.export` wrote.

    Raises:
        InvalidArgumentError: it is no module.
        UnimplementedError: there is no translation.
    """
    from pinnace.saved_model.stablehlo.standalone import save_standalone

    with open_regular(os.fspath(path)) as file:
        data = file.read()
    try:
        save_standalone(data, folder)
    except OpError as error:
        raise type(error)(f"{path}: {error.message}") from error
    return "its program of StableHLO read as a SavedModel with one signature"


def from_forest(path: Path, folder: Path) -> str:
    """Write the SavedModel of a folder of ydf.

    Raises:
        InvalidArgumentError: it has no forest.
        DataLossError: a file is damaged.
        UnimplementedError: it asks for what is not known here.
    """
    from pinnace.saved_model.forest_folders import save_forest

    try:
        save_forest(path, folder)
    except OpError as error:
        raise type(error)(f"{path}: {error.message.removeprefix(f'{path}: ')}") from error
    return "the forest of ydf read as a SavedModel with one signature"


def from_tfjs(path: Path, folder: Path) -> str:
    """Write a graph model or a layers model of TensorFlow.js.

    Raises:
        OpError: the files are damaged, or are no model of TensorFlow.js.
    """
    from pinnace.deploy.tfjs.reading import LAYERS, kind_of, read_content, write_saved_model

    _, content = read_content(path)
    if kind_of(content) == LAYERS:
        from pinnace.deploy.tfjs.layers.reading import load_layers

        load_layers(path).export(folder, verbose=False)
    else:
        write_saved_model(path, folder)
    return "a model of TensorFlow.js, read as a SavedModel"


def from_lite(path: Path, folder: Path) -> str:
    """Write a .tflite file.

    Raises:
        OpError: it is damaged, or has operators that are not read.
    """
    try:
        from pinnace.deploy.lite.reading.saving import write_saved_model
    except ModuleNotFoundError as error:  # which package it is, and how it is installed
        raise InvalidArgumentError(f"{path}: {error}") from error

    write_saved_model(path, folder)
    return "a .tflite file, read as a SavedModel"


_WRITERS: dict[str, Callable[[Path, Path], str]] = {
    KERAS: from_keras,
    STABLEHLO: from_stablehlo,
    FOREST: from_forest,
    TFJS: from_tfjs,
    LITE: from_lite,
}
