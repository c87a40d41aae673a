"""Keras 3's .keras file: a model's configuration and weights in one archive."""

from __future__ import annotations

import functools
import warnings
from typing import IO, TYPE_CHECKING, Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.keras import registry, restoring
from pinnace.keras.checkpoint_weights import check_built
from pinnace.keras.layer import Layer
from pinnace.keras.optimizers import older as older_optimizers
from pinnace.keras.saving import (
    assets,
    elsewhere,
    hdf5,
    hdf5_files,
    older_configs,
    own_variables,
)
from pinnace.keras.saving.archive import CONFIG, METADATA, WEIGHTS, Archive, write_archive
from pinnace.keras.saving.unzipped import Folder, is_unzipped, write_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.keras.models.model import Model

# The version of Keras whose files these are.
VERSION = "3.15.1"
# Room for weights that are not in the file, such as seeds of dropout.
_MORE = 1 << 16


def write(model: Layer, path: str, with_optimizer: bool, *, zipped: bool = True) -> None:
    """Write a model, or a restored one, atomically.

    Args:
        model: the model.
        path: path of the file; of the folder if it is not zipped.
        with_optimizer: whether it is compiled again when it is read.
        zipped: whether it is one archive.
    """
    config = registry.serialize_keras_object(model)
    optimizer = getattr(model, "optimizer", None) if with_optimizer else None
    if not with_optimizer:
        config.pop("compile_config", None)
    weights = functools.partial(_write_weights, model, optimizer)
    members: dict[str, Callable[[IO[bytes]], None]] = {WEIGHTS: weights, **assets.members(model)}
    (write_archive if zipped else write_folder)(path, VERSION, config, members)
    elsewhere.tell(config, path)


def _write_weights(model: Layer, optimizer: Any, file: IO[bytes]) -> None:
    hdf5.write_weights(model, file, optimizer)


def read(path: str, compiles: bool) -> Any:
    """Read the model of a file, or of the folder to which it was unpacked."""
    with Folder(path) if is_unzipped(path) else Archive(path) as archive:
        config = archive.json(CONFIG)
        about = archive.json(METADATA) if METADATA in archive else {}
        if not isinstance(config, dict) or "class_name" not in config:
            raise InvalidArgumentError(f"load_model: {path!r}: {CONFIG} describes no model")
        older = older_configs.is_older(about, config)
        if older:
            config = older_configs.converted(older_configs.with_older_rules(config))
        with archive.open(WEIGHTS) as weights:
            budget = hdf5_files.size_of(weights) * hdf5_files.TIMES + _MORE
            reading = restoring.Restoring(budget, compiles)
            with restoring.reading(reading):
                model = registry.deserialize_keras_object(config)
            with assets.readable(archive):
                assets.restore(model, archive)
            _restore(model, weights, path, older)
            assets.load_own(model, archive)
    return model


def read_weights(
    model: Model, path: str, *, skip_mismatch: bool = False, skipped: tuple[Any, ...] = ()
) -> None:
    """Load the weights of a file into a model: all of them, or none if one does not fit.

    Args:
        model: built.
        path: path of the file.
        skip_mismatch: whether layers whose weights do not fit are left as they are.
        skipped: layers that are left as they are.

    Raises:
        ValueError: the model is not built, or a layer's weights do not fit.
        OpError: the file is missing or damaged.
    """
    check_built(model)
    who = f"load_weights: {path!r}"
    with (
        Archive(path, "load_weights") as archive,
        archive.open(WEIGHTS) as weights,
        hdf5_files.reading(weights, who) as file,
        hdf5_files.explained(who),
    ):
        found = hdf5.weights_for(model, file, skip_mismatch=skip_mismatch, skipped=skipped)
        found += hdf5.optimizer_values(model, file, skip_mismatch=skip_mismatch, skipped=skipped)
    for variable, value in found:
        variable.assign(value)


def _restore(model: Any, weights: IO[bytes], path: str, older: bool) -> None:
    who = f"load_model: {path!r}"
    if not isinstance(model, Layer):
        raise InvalidArgumentError(f"{who}: it holds no model, but {type(model).__name__}")
    with hdf5_files.reading(weights, who) as file, hdf5_files.explained(who):
        if hdf5.has_weights(model):
            found = hdf5.weights_for(model, file)
        elif _holds_values(hdf5_files.entry(file, "layers")):
            raise InvalidArgumentError(
                f"{who}: {model.name!r} was not built again: the file does not say for which shapes"
                "\n  Try: get_build_config and build_from_config of the class, where it was saved"
            )
        else:
            found = []
        found += _optimizer_values(model, file, older)
    for layer in model._flatten_layers():
        vars(layer).pop("_read_as", None)
    for variable, value in found:
        variable.assign(value)


def _holds_values(group: Any) -> bool:
    """Whether a group of a file contains an array, possibly in a nested group."""
    waiting = [group]
    while waiting:
        one = waiting.pop()
        if hasattr(one, "shape"):
            return True
        waiting.extend(hdf5_files.entry(one, name) for name in getattr(one, "keys", list)())
    return False


def _optimizer_values(model: Any, file: Any, older: bool) -> list[tuple[Any, Any]]:
    """The optimizer's variables with their values; a warning if they do not fit, as in Keras."""
    group = hdf5_files.entry(file, "optimizer/vars")
    if not hasattr(group, "keys") or not len(group) or getattr(model, "optimizer", None) is None:
        return []
    optimizer = hdf5.optimizer_to_restore(model)
    if own_variables.says_itself(optimizer):
        return own_variables.values_of(optimizer, group)
    try:
        if older:
            names = hdf5.in_order(group)
            return [
                (variable, hdf5.value_for(hdf5_files.entry(group, names[at]), names[at], variable))
                for at, variable in older_optimizers.taken(optimizer, len(names))
            ]
        variables = optimizer.variables
        values = hdf5.values_for(group, variables)
    except ValueError as error:
        warnings.warn(
            f"load_model: the state of the optimizer is not restored: {error}", stacklevel=6
        )
        return []
    return list(zip(variables, values, strict=True))
