"""Activations of KerasTensors: nodes of functional models, as the functions of `keras.ops` give."""

from __future__ import annotations

from typing import Any

from pinnace.keras import ops
from pinnace.keras.layers.activation import Activation, ReLU

_OTHER_NAMES = {"exponential": "exp"}


def apply_activation(name: str, x: Any, **settings: Any) -> Any:
    """The KerasTensor that an activation of one is.

    Args:
        name: of the function in `keras.activations`.
        x: a KerasTensor.
        **settings: its other arguments, which the function of its name in `keras.ops` takes too.
    """
    if name == "relu":
        return ReLU(**settings)(x) if any(settings.values()) else ops.relu(x)
    found = getattr(ops, _OTHER_NAMES.get(name, name), None)
    return found(x, **settings) if found is not None else Activation(name)(x)
