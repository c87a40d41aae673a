"""Optimizers: rules by which gradients change variables."""

from typing import Any

from pinnace.keras import registry as _registry
from pinnace.keras.optimizers import legacy as legacy
from pinnace.keras.optimizers import schedules as schedules
from pinnace.keras.optimizers.adam import Adam as Adam
from pinnace.keras.optimizers.adam import Adamax as Adamax
from pinnace.keras.optimizers.adam import AdamW as AdamW
from pinnace.keras.optimizers.adam import Nadam as Nadam
from pinnace.keras.optimizers.adaptive import Adadelta as Adadelta
from pinnace.keras.optimizers.adaptive import Adagrad as Adagrad
from pinnace.keras.optimizers.adaptive import Lion as Lion
from pinnace.keras.optimizers.adaptive import RMSprop as RMSprop
from pinnace.keras.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
from pinnace.keras.optimizers.muon import Muon as Muon
from pinnace.keras.optimizers.optimizer import Optimizer as Optimizer
from pinnace.keras.optimizers.regularised import Adafactor as Adafactor
from pinnace.keras.optimizers.regularised import Ftrl as Ftrl
from pinnace.keras.optimizers.regularised import Lamb as Lamb
from pinnace.keras.optimizers.sgd import SGD as SGD

_TABLE = {
    name: cls
    for cls in (
        *(SGD, Adam, AdamW, Adamax, Nadam, RMSprop, Adagrad, Adadelta, Lion),
        *(Ftrl, Lamb, Adafactor, LossScaleOptimizer, Muon),
    )
    for name in (cls.__name__, cls.__name__.lower())
}


def get(identifier: Any) -> Any:
    """The optimizer for a name, configuration or object.

    Raises:
        ValueError: an unknown name.
    """
    if isinstance(identifier, str):
        identifier = identifier if identifier in _TABLE else identifier.lower()
    if isinstance(identifier, dict):
        return deserialize(identifier)
    return _registry.by_name("optimizer", identifier, _TABLE)


def serialize(optimizer: Optimizer) -> Any:
    """The configuration of an optimizer."""
    return _registry.serialize_keras_object(optimizer)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The optimizer with that configuration.

    Args:
        config: the result of `serialize`.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    name = config.get("class_name") if isinstance(config, dict) else None
    if not isinstance(name, str) or name not in _TABLE or name != name.lower():
        return _registry.deserialize_keras_object(config, custom_objects)
    # Older programs say `adam` for `Adam`.
    return _registry.deserialize_keras_object(
        {**config, "class_name": _TABLE[name].__name__}, custom_objects
    )
