"""`keras.dtype_policies`: policies for the dtypes of computation and of weights."""

from __future__ import annotations

from typing import Any

from pinnace.keras import registry as _registry
from pinnace.keras.dtype_policy import DTypePolicy as DTypePolicy
from pinnace.keras.dtype_policy import DTypePolicy as FloatDTypePolicy
from pinnace.keras.dtype_policy import get as get
from pinnace.keras.policy_map import DTypePolicyMap as DTypePolicyMap
from pinnace.keras.quantized_policies import Int4DTypePolicy as Int4DTypePolicy
from pinnace.keras.quantized_policies import QuantizedDTypePolicy as QuantizedDTypePolicy
from pinnace.keras.quantized_policies import (
    QuantizedFloat8DTypePolicy as QuantizedFloat8DTypePolicy,
)

__all__ = [
    "DTypePolicy",
    "DTypePolicyMap",
    "FloatDTypePolicy",
    "Int4DTypePolicy",
    "QuantizedDTypePolicy",
    "QuantizedFloat8DTypePolicy",
    "deserialize",
    "get",
    "serialize",
]


def serialize(dtype_policy: DTypePolicy) -> Any:
    """The configuration of a policy."""
    return _registry.serialize_keras_object(dtype_policy)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The policy with that configuration.

    Args:
        config: the result of `serialize`.
        custom_objects: classes by name, beside those of Keras and the registered ones.
    """
    return _registry.deserialize_keras_object(config, custom_objects)
