"""Whole models in .h5 files, written by Keras 2 and 3: weights by layer, in order.

model_config, training_config     attributes of the file: JSON
model_weights/NAME                a group for each layer; weight_names says in which order
optimizer_weights                 the state of the optimizer
"""

from __future__ import annotations

import functools
import io
import json
import warnings
from typing import IO, TYPE_CHECKING, Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.keras import losses, metrics, registry, restoring
from pinnace.keras.layers.lookups import IndexLookup
from pinnace.keras.losses.loss import Loss
from pinnace.keras.metrics.metric import Metric
from pinnace.keras.names import class_name_in_snake_case
from pinnace.keras.optimizers import older as older_optimizers
from pinnace.keras.saving import (
    elsewhere,
    hdf5,
    hdf5_checksum,
    hdf5_files,
    keras_1_configs,
    listed_weights,
    older_configs,
    own_variables,
)
from pinnace.keras.saving.keras_files import VERSION
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from pinnace.framework.variable import Variable
    from pinnace.keras.models.model import Model

_MORE = 1 << 16
_CONFIGS = ("model_config", "training_config")


def read(path: str, compiles: bool) -> Any:
    """The model of a file."""
    who = f"load_model: {path!r}"
    with hdf5_files.reading(path, who) as file:
        config, training = _configs(file, who)
        is_first = keras_1_configs.is_of_keras_1(config, hdf5_files.text(file, "keras_version"))
        if is_first:
            with hdf5_files.explained(who):
                config = keras_1_configs.converted(config)
        if not _is_of_keras_3(file, who):
            config = older_configs.with_older_rules(config)
        config = older_configs.converted(config)
        if not isinstance(config, dict) or "class_name" not in config:
            raise InvalidArgumentError(f"{who}: model_config describes no model")
        budget = hdf5_files.size_of(path) * hdf5_files.TIMES + _MORE
        with restoring.reading(restoring.Restoring(budget, compiles)):
            model = registry.deserialize_keras_object(config)
            if compiles and training is not None:
                restoring.compile_again(model, older_configs.compilation(training))
        with hdf5_files.explained(who):
            try:
                found = _weights_for(model, file)
            except ValueError as error:
                raise ValueError(f"{error}{_about_vocabularies(model)}") from None
            if compiles and training is not None:
                found += _optimizer_values(model, hdf5_files.entry(file, "optimizer_weights"))
    for variable, value in found:
        variable.assign(value)
    if not getattr(model, "trainable", True):
        # this freezes all its layers, which only the order above depended on
        model.trainable = False
    return model


def _about_vocabularies(model: Any) -> str:
    """A hint for size errors: .h5 files lack adapted vocabularies. May be empty."""
    layers = model._flatten_layers() if hasattr(model, "_flatten_layers") else []
    names = [x.name for x in layers if isinstance(x, IndexLookup) and not x.get_vocabulary(False)]
    if not names:
        return ""
    return (
        f"\n  The file holds no vocabulary of {', '.join(names)}, as no .h5 file does for one that "
        "adapt found\n  Try: save the model as a .keras file"
    )


def _is_of_keras_3(file: Any, who: str) -> bool:
    with hdf5_files.explained(who):
        version = hdf5_files.text(file, "keras_version")
    return version is not None and not version.startswith(("1.", "2."))


def _configs(file: Any, who: str) -> tuple[Any, Any]:
    """The configurations of the model and its training."""
    with hdf5_files.explained(who):
        model, training = (hdf5_files.text(file, name) for name in _CONFIGS)
        hdf5_checksum.warn_of_changed(file, _CONFIGS, who)
        weights_alone = "layer_names" in file.attrs or "layers" in file
    if model is None:
        hint = (
            "it holds weights alone: make the model, then load_weights"
            if weights_alone
            else "its attribute model_config is missing"
        )
        raise InvalidArgumentError(f"{who}: there is no model in the file: {hint}")
    return _json(model, who), None if training is None else _json(training, who)


def _json(text: str, who: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{who}: its configuration is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidArgumentError(f"{who}: its configuration is not a JSON object")
    return found


def _weights_for(model: Any, file: Any) -> list[tuple[Variable, Any]]:
    group = hdf5_files.entry(file, "model_weights")
    if group is None or not hasattr(model, "layers"):
        raise ValueError("the file has no group model_weights")
    return listed_weights.weights_for(model, group)


def _optimizer_values(model: Any, group: Any) -> list[tuple[Variable, Any]]:
    if group is None or model.optimizer is None:
        return []
    optimizer = hdf5.optimizer_to_restore(model)
    try:
        names = hdf5_files.texts(group, "weight_names")
        shapes = [getattr(hdf5_files.entry(group, name), "shape", ()) for name in names]
        version = hdf5_files.text(group.file, "keras_version") or ""
        pairs = None
        if version.startswith("1."):
            raise ValueError("Keras 1 wrote it in the order of names that weights had there")  # noqa: TRY301 (told as what is below)
        if version.startswith("2."):
            pairs = older_optimizers.by_kind(optimizer, names, shapes)
        if pairs is None:
            order = older_optimizers.by_variable(names)
            pairs = [(order[at], v) for at, v in older_optimizers.taken(optimizer, len(names))]
        return [
            listed_weights.named(group, names[at], variable, "the optimizer")
            for at, variable in pairs
        ]
    except ValueError as error:
        warnings.warn(
            f"load_model: the state of the optimizer is not restored: {error}", stacklevel=6
        )
        return []


# Writing.


def write(model: Model, path: str, with_optimizer: bool) -> None:
    """Write a model, atomically."""
    stored = registry.serialize_keras_object(model)
    config = {"class_name": stored["class_name"], "config": stored["config"]}
    if model._topology is None and stored.get("build_config"):
        # Ours: the input shapes for which a subclassed model was built.
        config["build_config"] = stored["build_config"]
    compiled = model.get_compile_config() if with_optimizer else None
    training = None
    if compiled is not None:
        optimizer = compiled.pop("optimizer", None) or {}
        compiled["loss"] = _by_class(compiled["loss"], losses.get)
        for key in ("metrics", "weighted_metrics"):
            compiled[key] = _by_class(compiled[key], metrics.get)
        compiled.setdefault("weighted_metrics", None)
        training = {
            **compiled,
            "optimizer_config": {key: optimizer.get(key) for key in ("class_name", "config")},
        }
    write_file(path, functools.partial(_write, model, config, training))
    elsewhere.tell(stored, path)


def _by_class(given: Any, get: Any) -> Any:
    """Losses and metrics by class: Keras 3 lacks most short names of these files."""
    if isinstance(given, list):
        return [_by_class(one, get) for one in given]
    if isinstance(given, dict):
        if "class_name" in given:
            return _without_modules(given)
        return {key: _by_class(one, get) for key, one in given.items()}
    if isinstance(given, str) and given not in {"accuracy", "acc", "crossentropy", "ce"}:
        found = get(given)
        if isinstance(found, Metric):
            found.name = given
        if isinstance(found, (Metric, Loss)):
            return _without_modules(registry.serialize_keras_object(found))
        found = _loss_classes().get(getattr(found, "__name__", ""))
        return (
            given if found is None else _without_modules(registry.serialize_keras_object(found()))
        )
    return given


def _loss_classes() -> dict[str, Any]:
    """Name of a function -> the loss class of that function."""
    classes = [c for c in vars(losses).values() if isinstance(c, type) and issubclass(c, Loss)]
    return {class_name_in_snake_case(cls.__name__): cls for cls in classes}


def _without_modules(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key in {"class_name", "config"}}


def _write(model: Any, config: Any, training: Any, file: IO[bytes]) -> None:
    memory = io.BytesIO()
    with hdf5_checksum.create(memory) as opened:
        about = {"keras_version": VERSION, "backend": "tensorflow"}
        for owner in (opened, opened.create_group("model_weights")):
            for key, value in about.items():
                owner.attrs[key] = value.encode()
        opened.attrs["model_config"] = json.dumps(config).encode()
        if training is not None:
            opened.attrs["training_config"] = json.dumps(training).encode()
        hdf5_checksum.seal(opened, _CONFIGS)
        group = opened["model_weights"]
        hdf5_files.write_texts(group, "layer_names", [layer.name for layer in model.layers])
        for layer in model.layers:
            _write_listed(group.create_group(layer.name), listed_weights.weights_of(layer))
        _write_listed(group.create_group(listed_weights.TOP), listed_weights.own_weights(model))
        optimizer = model.optimizer if training is not None else None
        if optimizer is not None and optimizer.built:
            _write_listed(opened.create_group("optimizer_weights"), optimizer.variables)
    file.write(memory.getbuffer())


def _write_listed(group: Any, variables: list[Variable]) -> None:
    names: list[str] = []
    for variable in variables:
        stem = name = variable.node_name
        while name in names:
            name = f"{stem}_{len(names)}"
        names.append(name)
    hdf5_files.write_texts(group, "weight_names", names)
    for name, variable in zip(names, variables, strict=True):
        hdf5_checksum.put(group, name, own_variables.storable(variable))
