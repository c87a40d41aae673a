"""Layers models of TensorFlow.js, written by tensorflowjs or JavaScript, as Keras models."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnace.deploy.tfjs.files.weights import read_weights
from pinnace.deploy.tfjs.layers.weights import named_weights
from pinnace.deploy.tfjs.reading import LAYERS, kind_of, read_content
from pinnace.framework.errors import DataLossError, InvalidArgumentError, OpError
from pinnace.keras import registry
from pinnace.keras.models.model import Model
from pinnace.keras.saving import older_configs


def load_layers(path: str | os.PathLike[str]) -> Model:
    """Load a layers model of TensorFlow.js as a Keras model with its weights.

    Args:
        path: `model.json`, or its folder.

    Raises:
        NotFoundError: the file does not exist.
        DataLossError: the file is damaged, or weights are missing.
        InvalidArgumentError: it is not a layers model, or has layers that Keras lacks.
    """
    file, content = read_content(path)
    where = str(file)
    if kind_of(content) != LAYERS:
        raise InvalidArgumentError(f"{where} is a graph model, must be a layers model")
    topology = content["modelTopology"]
    config = topology.get("model_config", topology)
    if not isinstance(config, dict) or not isinstance(config.get("class_name"), str):
        raise InvalidArgumentError(f"{where}: modelTopology describes no model")
    weights = read_weights(file.parent, content.get("weightsManifest", []), where)
    try:
        told = older_configs.converted(older_configs.with_older_rules(_completed(config)))
        model = registry.deserialize_keras_object(told)
    except OpError:
        raise
    except (ValueError, TypeError, KeyError, NotImplementedError, RecursionError) as error:
        raise InvalidArgumentError(f"{where}: {error}") from error
    if not isinstance(model, Model) or not model.built:
        raise InvalidArgumentError(f"{where}: modelTopology describes no model of known inputs")
    _assign(named_weights(model), weights, where)
    return model


def _completed(config: Any) -> Any:
    """The configuration with entries that TensorFlow.js omits."""
    if isinstance(config, list):
        return [_completed(one) for one in config]
    if not isinstance(config, dict):
        return config
    made = {key: _completed(value) for key, value in config.items()}
    if made.get("class_name") == "GRU" and isinstance(made.get("config"), dict):
        made["config"].setdefault("reset_after", False)
    return made


def _assign(variables: Mapping[str, Any], weights: Mapping[str, Any], where: str) -> None:
    found = dict(weights)
    for name in weights:
        if name not in variables:
            # It may contain the name of a cell.
            parts = name.split("/")
            found["/".join((*parts[:-2], parts[-1]))] = found.pop(name)
    missing = [name for name in variables if name not in found]
    if missing:
        raise DataLossError(f"{where}: there are no weights for {', '.join(missing[:5])}")
    unknown = [name for name in found if name not in variables]
    if unknown:
        raise InvalidArgumentError(f"{where}: no layer has the weights {', '.join(unknown[:5])}")
    for name, variable in variables.items():
        array = np.asarray(found[name])
        if tuple(array.shape) != tuple(variable.shape):
            raise InvalidArgumentError(
                f"{where}: weight {name!r} has the shape {list(array.shape)}, its layer needs "
                f"{list(variable.shape)}"
            )
        variable.assign(array.astype(variable.dtype.as_numpy_dtype))
