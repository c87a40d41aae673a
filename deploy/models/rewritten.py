"""Models of other formats, converted to SavedModels that exist until the process ends."""

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

# Kept until the process ends, as a temporary folder is removed with its object.
_FOLDERS: dict[tuple[Path, int], tempfile.TemporaryDirectory[str]] = {}


def saved_model_of(path: Path, kind: str) -> Path:
    """Convert the model in a file or folder to a SavedModel, and return its folder.

    A changed file is converted again. The message goes to stderr, so that programs can parse a
    command's output.

    Args:
        path: the model.
        kind: its kind, as returned by `find_model`.

    Raises:
        InvalidArgumentError: the model cannot be read.
        UnimplementedError: the model has parts that are not supported.
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
    """Convert the model at a path to a SavedModel.

    Args:
        path: a model of any kind that this module converts.
        folder: the SavedModel to write.

    Raises:
        OpError: the model cannot be read, or has parts that are not supported.
    """
    kind = kind_of(path)
    if kind not in _WRITERS:
        raise InvalidArgumentError(f"{path}: is not a model that can be converted to a SavedModel")
    _WRITERS[str(kind)](inside(path, kind), folder)


def from_keras(path: Path, folder: Path) -> str:
    """Convert a .keras or .h5 file. Code in the file is never executed.

    Raises:
        InvalidArgumentError: the file cannot be read, or needs code that is not part of it.
    """
    from pinnace.keras.saving import load_model

    try:
        model = load_model(path, compile=False)
    except (OpError, ValueError, TypeError, NotImplementedError) as error:
        raise InvalidArgumentError(f"{path}: {error}\n  Try: pinnace scan {path}") from error
    model.export(folder, verbose=False)
    return "read as the SavedModel that its export() writes"


def from_stablehlo(path: Path, folder: Path) -> str:
    """Convert a StableHLO module, or a file of `jax.export`.

    Raises:
        InvalidArgumentError: the file is not a module.
        UnimplementedError: an op has no translation.
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
    """Convert a ydf folder.

    Raises:
        InvalidArgumentError: the folder has no forest.
        DataLossError: a file is damaged.
        UnimplementedError: the forest uses features that are not supported.
    """
    from pinnace.saved_model.forest_folders import save_forest

    try:
        save_forest(path, folder)
    except OpError as error:
        raise type(error)(f"{path}: {error.message.removeprefix(f'{path}: ')}") from error
    return "the forest of ydf read as a SavedModel with one signature"


def from_tfjs(path: Path, folder: Path) -> str:
    """Convert a graph model or layers model of TensorFlow.js.

    Raises:
        OpError: the files are damaged, or are not a model of TensorFlow.js.
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
    """Convert a .tflite file.

    Raises:
        OpError: the file is damaged, or has unsupported operators.
    """
    try:
        from pinnace.deploy.lite.reading.saving import write_saved_model
    except ModuleNotFoundError as error:  # a package is missing; the message names it
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
