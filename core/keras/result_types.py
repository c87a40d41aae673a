"""Result types: the common dtype of operands, by Keras' promotion lattice."""

from __future__ import annotations

import functools
from typing import Any

from pinnace.framework import dtypes
from pinnace.keras.dtype_policy import floatx

# Keras narrows these when dtypes are promoted, even a single one.
_HALVED = {"uint64": "uint32", "complex128": "complex64"}

# Each type -> the next wider ones; "int" and "float" are Python's numbers, without a width.
_WIDER: dict[str, tuple[str, ...]] = {
    "bool": ("int",),
    "int": ("uint8", "int8", "complex64"),
    "uint8": ("int16", "uint16"),
    "uint16": ("int32", "uint32"),
    "uint32": ("int64", "uint64"),
    "uint64": ("float",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float",),
    "float": ("bfloat16", "float16"),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex64": ("complex128",),
    "complex128": (),
}


def result_type(*dtypes: Any) -> str:
    """The name of the dtype that these dtypes are promoted to.

    Args:
        *dtypes: dtypes or their names, and Python's `int`, `float` and `bool`, which yield to
            what has a width. None is the default float type.

    Returns:
        A name, such as "float32"; the default float type if nothing is given.

    Raises:
        ValueError: a type that no other is promoted to, such as an 8-bit float.
    """
    if not dtypes:
        return floatx()
    return _met(tuple(dict.fromkeys(map(_name, dtypes))), floatx())


def _name(dtype: Any) -> str:
    if dtype is None:
        return floatx()
    if dtype is int or dtype is float:
        return str(dtype.__name__)
    if isinstance(dtype, str) and dtype == "int":
        return "int64"  # Keras on TensorFlow: the string is a dtype, not the Python type
    return dtypes.as_dtype(dtype).name


@functools.lru_cache(512)
def _met(names: tuple[str, ...], default: str) -> str:
    if len(names) == 1 and names[0] not in {"int", "float"}:
        if names[0].startswith("float8"):
            raise _unmet(names)
        return _HALVED.get(names[0], names[0])
    for name in names:
        if name not in _WIDER:
            raise _unmet(names)
    common = frozenset.intersection(*(_above(name) for name in names))
    # The least upper bound: the element that is below all others.
    found = next(name for name in common if common <= _above(name))
    width = default.removeprefix("b").removeprefix("float")
    return {"int": f"int{width}", "float": f"float{width}", **_HALVED}.get(found, found)


@functools.cache
def _above(name: str) -> frozenset[str]:
    return frozenset({name}).union(*(_above(wider) for wider in _WIDER[name]))


def _unmet(names: tuple[str, ...]) -> ValueError:
    return ValueError(
        f"result_type: {', '.join(names)} have no common dtype\n  Try: cast them to one before"
    )
