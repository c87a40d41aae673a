"""save_weights and load_weights: choice of the file format by path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinnace.checkpoint.checkpoint import Checkpoint
from pinnace.checkpoint.state_file import write_state
from pinnace.framework import jobs
from pinnace.framework.errors import MissingFileError
from pinnace.keras.checkpoint_weights import check_built, read_checkpoint
from pinnace.keras.saving import hdf5, hdf5_files, keras_files, listed_weights, sharded_weights

if TYPE_CHECKING:
    from pinnace.keras.models.model import Model

_HDF5 = (".h5", ".hdf5")


def save_weights(
    model: Model,
    filepath: Any,
    overwrite: bool,
    max_shard_size: float | None = None,
    **kwargs: Any,
) -> None:
    """Write the weights of a model; see `Model.save_weights`."""
    path = os.fspath(filepath)
    skipped = _skipped("save_weights", kwargs)
    if not model.built:
        raise ValueError(
            f"save_weights: {model.name!r} has no weights before it is built\n"
            "  Try: call it on data, or build(shape)"
        )
    if max_shard_size is not None and path.endswith(".weights.h5"):
        path = path.removesuffix(".weights.h5") + sharded_weights.ENDING  # as Keras does
    is_sharded = path.endswith(sharded_weights.ENDING)
    if is_sharded != (max_shard_size is not None):
        raise ValueError(
            "save_weights: a name that ends in `.weights.json` and max_shard_size go together, got "
            f"{path!r} and {max_shard_size!r}"
        )
    is_hdf5 = not is_sharded and _is_hdf5(path)
    there = path if is_hdf5 or is_sharded else f"{path}.index"
    if not overwrite and jobs.is_chief() and os.path.exists(there):  # noqa: PTH110 (a text that may be a URL)
        raise FileExistsError(f"save_weights: {path!r} exists already")
    with jobs.chief_writes(f"saving weights {path!r}") as writes:
        if not (is_hdf5 or is_sharded):
            Checkpoint(root=model).write(path)
        if writes and max_shard_size is not None:
            sharded_weights.write(model, path, max_shard_size, skipped)
        elif writes and is_hdf5:
            hdf5.write(model, path, skipped)
        elif writes:
            folder = os.path.dirname(path)  # noqa: PTH120 (a text)
            write_state(folder, path, [path])


def load_weights(model: Model, filepath: Any, skip_mismatch: bool, **kwargs: Any) -> Any:
    """Read the weights of a model; see `Model.load_weights`."""
    path = os.fspath(filepath)
    by_name = kwargs.pop("by_name", None)
    skipped = _skipped("load_weights", kwargs)
    if path.endswith(".keras"):
        _refuse_names(by_name, path)
        keras_files.read_weights(model, path, skip_mismatch=skip_mismatch, skipped=skipped)
        return None
    if path.endswith(_HDF5):
        _read_hdf5(model, path, skip_mismatch, by_name, skipped)
        return None
    _refuse_names(by_name, path)
    if path.endswith(sharded_weights.ENDING):
        check_built(model)
        who = f"load_weights: {path!r}"
        with hdf5_files.explained(who), sharded_weights.reading(path, who) as file:
            found = hdf5.weights_for(model, file, skip_mismatch=skip_mismatch, skipped=skipped)
            found += hdf5.optimizer_values(
                model, file, skip_mismatch=skip_mismatch, skipped=skipped
            )
        for variable, value in found:
            variable.assign(value)
        return None
    if skipped:
        raise ValueError(
            "load_weights: objects_to_skip is for files that end in .h5 or .keras, got "
            f"{path!r}\n  Try: skip_mismatch=True, which loads the matching weights"
        )
    if not os.path.exists(f"{path}.index") and os.path.splitext(path)[1]:  # noqa: PTH110, PTH122 (a text)
        raise MissingWeightsError(
            f"load_weights: File format not supported: {path!r}. It must end in .weights.h5, .keras"
            " or .weights.json, or be a TensorFlow checkpoint that is there"
        )
    remedy = (
        "load_weights(path, skip_mismatch=True) for what both have, or "
        "tf.train.Checkpoint(root=model).read(path).expect_partial()"
    )
    checkpoint = Checkpoint(root=model)
    return read_checkpoint(model, checkpoint, path, "load_weights", remedy, partly=skip_mismatch)


class MissingWeightsError(MissingFileError, ValueError):
    """There is neither a checkpoint nor a weights file of that name."""


def _skipped(who: str, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    skipped = tuple(kwargs.pop("objects_to_skip", None) or ())
    if kwargs:
        raise ValueError(f"{who}: takes no argument {', '.join(sorted(kwargs))}")
    return skipped


def _read_hdf5(
    model: Model,
    path: str,
    skip_mismatch: bool,
    by_name: bool | None,
    skipped: tuple[Any, ...],
) -> None:
    """Load a file's weights into a model; the file shows which of Keras' formats it has."""
    check_built(model)
    who = f"load_weights: {path!r}"
    with hdf5_files.reading(path, who) as file, hdf5_files.explained(who):
        group = _listed(file)
        if group is None:
            _refuse_names(by_name, path)
            found = hdf5.weights_for(model, file, skip_mismatch=skip_mismatch, skipped=skipped)
            found += hdf5.optimizer_values(
                model, file, skip_mismatch=skip_mismatch, skipped=skipped
            )
        else:
            try:
                found = listed_weights.weights_for(
                    model, group, by_name=bool(by_name), skip_mismatch=skip_mismatch
                )
            except ValueError as error:
                raise ValueError(f"{who}: {error}") from None
    for variable, value in found:
        variable.assign(value)


def _listed(file: Any) -> Any:
    """The group of a file that lists weights by layer; None for Keras 3's own format."""
    for group in (file, hdf5_files.entry(file, "model_weights")):
        if group is not None and ("layer_names" in group.attrs or "layer_names0" in group.attrs):
            return group
    return None


def _refuse_names(by_name: bool | None, path: str) -> None:
    if by_name is not None:
        raise ValueError(
            "load_weights: by_name is for .h5 files that list weights by layer, as Keras 2 writes "
            f"them, got {path!r}"
        )


def _is_hdf5(path: str) -> bool:
    if path.endswith(_HDF5):
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
