"""Maps from tensors to tensors as values: a scalar of dtype variant that holds a `TensorMap`.

A map never changes: inserting and erasing give a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE, variant
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import constants
from pinnace.ops.execute import execute_one
from pinnace.ops.math import arithmetic
from pinnace.ops.memory import ARRAY, claim
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE
from pinnace.ops.registry import define, scalar

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall, OpDef

__all__: list[str] = []


class TensorMap:
    """Arrays by arrays, in the order in which their keys came.

    Args:
        entries: what tells keys apart -> (key, value).
    """

    __slots__ = ("entries",)

    def __init__(self, entries: dict[Hashable, tuple[Array, Array]]) -> None:
        self.entries = entries

    def __add__(self, other: object) -> TensorMap:
        # NumPy adds the elements of object arrays with this: AddN of maps.
        if not isinstance(other, TensorMap):
            return NotImplemented
        found = dict(self.entries)
        for mark, (key, value) in other.entries.items():
            mine = found.get(mark)
            found[mark] = (key, value if mine is None else np.asarray(mine[1] + value))
        return TensorMap(found)

    def zeros_like(self) -> TensorMap:
        """The map with zeros for every value; what ZerosLike gives."""
        zeros = {m: (k, np.zeros_like(v)) for m, (k, v) in self.entries.items()}
        return TensorMap(zeros)

    def __repr__(self) -> str:
        return f"<TensorMap of {len(self.entries)}>"


def _handle(found: TensorMap) -> Array:
    array = np.empty((), object)
    array[()] = found
    return array


def _map_of(op: str, handle: Array) -> TensorMap:
    found = np.asarray(handle)[()]
    if not isinstance(found, TensorMap):
        raise InvalidArgumentError(
            f"{op}: input_handle must hold a map of tensors, holds {type(found).__name__}"
        )
    return found


def _mark(key: Array) -> Hashable:
    """What two equal keys have in common, and no others."""
    content = tuple(key.ravel().tolist()) if key.dtype == object else key.tobytes()
    return key.dtype.str, key.shape, content


def _map_op(
    name: str,
    signature: str,
    kernel: Any,
    gradient: Any = NOT_DIFFERENTIABLE,
    infer: Any = scalar,
) -> OpDef:
    types = {t: ANY_VALUE for t in ("key_dtype", "value_dtype") if t in signature}
    if name == "TensorMapErase":  # no argument tells it
        types["value_dtype"] = ANY_VALUE | {variant}
    return define(
        name=name, signature=signature, types=types, infer=infer, kernel=kernel, gradient=gradient
    )


EMPTY = _map_op("EmptyTensorMap", "-> handle: variant", lambda: _handle(TensorMap({})))


def _size_kernel(input_handle: Array) -> Array:
    return np.array(len(_map_of("TensorMapSize", input_handle).entries), np.int32)


SIZE = _map_op("TensorMapSize", "input_handle: variant -> size: int32", _size_kernel)


def _has_kernel(input_handle: Array, key: Array) -> Array:
    return np.array(_mark(key) in _map_of("TensorMapHasKey", input_handle).entries)


HAS_KEY = _map_op(
    "TensorMapHasKey", "input_handle: variant, key: key_dtype -> has_key: bool", _has_kernel
)


def _missing(op: str, verb: str, key: Array) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{op}: Trying to {verb} non-existent key. Could not find key {key.tolist()!r}\n"
        "  Try: TensorMapHasKey first"
    )


def _insert_kernel(input_handle: Array, key: Array, value: Array) -> Array:
    found = dict(_map_of("TensorMapInsert", input_handle).entries)
    claim(2 * ARRAY)
    found[_mark(key)] = (key, value)
    return _handle(TensorMap(found))


def _insert_gradient(call: OpCall, dmap: Tensor) -> tuple[Any, ...]:
    _, key, value = call.inputs
    # A map of gradients lacks what nobody looked up: there it is zero.
    zero = execute_one(INSERT, execute_one(EMPTY), key, constants.zeros_like(value))
    whole = arithmetic.add_n([dmap, zero])
    dvalue = execute_one(LOOKUP, whole, key, value_dtype=value.dtype)
    return execute_one(ERASE, whole, key, value_dtype=value.dtype), None, dvalue


INSERT = _map_op(
    "TensorMapInsert",
    "input_handle: variant, key: key_dtype, value: value_dtype -> output_handle: variant",
    _insert_kernel,
    _insert_gradient,
)


def _lookup_kernel(input_handle: Array, key: Array) -> Array:
    op = "TensorMapLookup"
    found = _map_of(op, input_handle).entries.get(_mark(key))
    if found is None:
        raise _missing(op, "lookup", key)
    return found[1]


def _lookup_gradient(call: OpCall, dvalue: Tensor) -> tuple[Any, ...]:
    return execute_one(INSERT, execute_one(EMPTY), call.inputs[1], dvalue), None


LOOKUP = _map_op(
    "TensorMapLookup",
    "input_handle: variant, key: key_dtype -> value: value_dtype",
    _lookup_kernel,
    _lookup_gradient,
    lambda _: Shape(None),
)


def _erase_kernel(input_handle: Array, key: Array) -> Array:
    op = "TensorMapErase"
    found = dict(_map_of(op, input_handle).entries)
    if found.pop(_mark(key), None) is None:
        raise _missing(op, "erase", key)
    return _handle(TensorMap(found))


def _erase_gradient(call: OpCall, dmap: Tensor) -> tuple[Any, ...]:
    del call
    return dmap, None


ERASE = _map_op(
    "TensorMapErase",
    "input_handle: variant, key: key_dtype -> output_handle: variant",
    _erase_kernel,
    _erase_gradient,
)


def _keys_kernel(input_handle: Array) -> Array:
    op = "TensorMapStackKeys"
    keys = [key for key, _ in _map_of(op, input_handle).entries.values()]
    if not keys:
        raise InvalidArgumentError(f"{op}: cannot be called on an empty map")
    if len({key.shape for key in keys}) > 1:
        raise InvalidArgumentError(
            f"{op}: keys must have one shape, got {sorted({key.shape for key in keys})}"
        )
    return np.stack(keys)


def _infer_keys(call: InferCall) -> Shape:
    del call
    return Shape(None)


STACK_KEYS = _map_op(
    "TensorMapStackKeys",
    "input_handle: variant -> keys: key_dtype",
    _keys_kernel,
    NO_GRADIENT_DEFINED,
    _infer_keys,
)
