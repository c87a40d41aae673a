"""save_model and load_model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import InvalidArgumentError, MissingFileError, OpError
from pinnace.framework.no_effect import ignored
from pinnace.keras import registry
from pinnace.keras.saving import model_files
from pinnace.keras.saving.unzipped import is_unzipped

if TYPE_CHECKING:
    from collections.abc import Mapping

# Exceptions from constructors with an invalid configuration.
_MISUSED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
_REFUSED = (NotImplementedError, AssertionError, MemoryError)


def save_model(model: Any, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
    """Save a whole model; see `Model.save`.

    Args:
        model: built.
        filepath: ends in `.keras`, `.h5` or `.hdf5`; else it is the folder of a SavedModel.
        overwrite: whether an existing file may be replaced.
        **kwargs: see `Model.save`.
    """
    model.save(filepath, overwrite=overwrite, **kwargs)


def save_weights(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    max_shard_size: float | None = None,
    **kwargs: Any,
) -> None:
    """Write the weights of a model; see `Model.save_weights`.

    Args:
        model: built.
        filepath: ends in `.weights.h5`, or in `.weights.json` with a `max_shard_size`.
        overwrite: whether an existing file may be replaced.
        max_shard_size: gigabytes of variables in one file.
        **kwargs: `objects_to_skip`.
    """
    model.save_weights(filepath, overwrite, max_shard_size, **kwargs)


def load_weights(model: Any, filepath: Any, skip_mismatch: bool = False, **kwargs: Any) -> Any:
    """Load values of a file into a model's weights; see `Model.load_weights`.

    Args:
        model: built.
        filepath: path of the file.
        skip_mismatch: whether weights that do not fit stay as they are, with a warning.
        **kwargs: `objects_to_skip` and `by_name`.
    """
    return model.load_weights(filepath, skip_mismatch, **kwargs)


class MissingModelError(MissingFileError, ValueError):
    """There is no file or folder from which to load a model."""


def load_model(
    filepath: Any,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """Load a model saved by Keras or this library: layers, weights, training state.

    No code in the file is run. Classes are looked up by name in this library, the registered ones
    and `custom_objects`; a lambda, which files store as bytecode, is refused, unless
    `custom_objects` has a function under the name of its layer.

    Args:
        filepath: path of a `.keras` file (of Keras 3, or 2.12 and later), or of an `.h5` file (of
            Keras 2 or 3). The folder of a SavedModel that Keras 2 wrote is the model of layers that
            it was, if all of them are known, its `signatures` beside them. Any other folder is what
            it computes, with `predict`, and after `compile` with `evaluate` and `fit`; see
            `RestoredModel`.
        custom_objects: further classes and functions by name.
        compile: whether the model is compiled as it was, its optimizer going on where it was.
        safe_mode: accepted for Keras' sake: nothing is run in either mode.

    Raises:
        MissingModelError: there is no such file; also a ValueError, as in Keras.
        DataLossError: the file is damaged, or none of these.
        InvalidArgumentError: a configuration that means nothing here: a class that is not known, an
            argument that is not supported, weights that do not fit.
        ImportError: h5py, which belongs to this package, was taken away.
    """
    path = os.fspath(filepath)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if os.path.isdir(path):  # noqa: PTH112 (a text)
        # Imported here: the modules of model files import this package.
        from pinnace.keras.saving import saved_folders

        if not is_unzipped(path):
            with registry.custom_object_scope(custom_objects or {}):
                return saved_folders.read(path, compile)
    elif not os.path.exists(path):  # noqa: PTH110 (a text)
        known = path.endswith((".keras", ".h5", ".hdf5"))
        told = "File not found" if known else "File format not supported"
        raise MissingModelError(
            f"load_model: {told}: there is no file or folder {path!r}. Please ensure the file is "
            "an accessible `.keras` or `.h5` file, or the folder of a SavedModel"
        )
    ignored("load_model", "nothing that a file holds is run", True, safe_mode=safe_mode)
    try:
        with registry.custom_object_scope(custom_objects or {}):
            return model_files.read(path, compile)
    except OpError:
        raise
    except _MISUSED + _REFUSED as error:
        text = str(error) or type(error).__name__
        raise InvalidArgumentError(f"load_model: {path!r}: {text}") from error
