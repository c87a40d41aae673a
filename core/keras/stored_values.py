"""JSON forms of values that JSON lacks: arrays, tensors, dtypes, shapes, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec


def stored_value(thing: Any) -> Any:
    """The stored form of a value, which `deserialize_keras_object` restores.

    Args:
        thing: bytes, a scalar or an array of NumPy, a tensor, a dtype, a shape or a spec.
    """
    if isinstance(thing, bytes):
        return {"class_name": "__bytes__", "config": {"value": thing.decode()}}
    if isinstance(thing, np.generic):
        return thing.item()
    if isinstance(thing, DType):
        return thing.name
    if isinstance(thing, Shape):
        return {"class_name": "__tuple__", "items": thing.as_list()}
    if isinstance(thing, TensorSpec):
        config = {"shape": thing.shape.dims, "dtype": thing.dtype.name, "name": thing.name}
        return {"class_name": "__typespec__", "config": config}
    array = np.asarray(thing)
    kind = "__numpy__" if isinstance(thing, np.ndarray) else "__tensor__"
    config = {"value": array.tolist(), "dtype": as_dtype(array.dtype).name}
    return {"class_name": kind, "config": config}
