"""Static values of tensors, and tensors as messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import array_of
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor
from pinnace.graph.codec.tensors import decode_tensor, encode_tensor
from pinnace.graph.known import known_value

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.proto.tensor_pb2 import TensorProto


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor if it is known already, else None.

    Args:
        tensor: an eager tensor, a tensor of the graph that is being traced, or what can become one.
        partial: accepted; a value of which a part is known is None all the same.

    Returns:
        An array of the tensor's shape and dtype; for a symbolic tensor where constants and known
        shapes determine it. An object that is not a tensor is returned unchanged.
    """
    ignored("get_static_value", "a value is known completely or not at all", False, partial=partial)
    if isinstance(tensor, SymbolicTensor):
        return known_value(tensor.value)
    if isinstance(tensor, Tensor):
        return np.asarray(tensor._array)
    # TensorFlow gives what is no tensor back as it is.
    return array_of(tensor) if isinstance(tensor, Operands) else tensor


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> TensorProto:
    """A TensorProto of the values, as requests to servers hold them.

    Args:
        values: a NumPy array, an eager tensor, a number, a string or a nested list.
        dtype: the element type; what the values are by default, float32 for Python floats.
        shape: the shape to give them; the last value, or zero if there is none, fills what is left.
        verify_shape: whether the values must have that shape already.
        allow_broadcast: whether only values that broadcast to the shape are taken.

    Raises:
        TypeError: `values` is a TensorProto, or its shape is not the one to verify.
        ValueError: the values do not fill the shape.
    """
    if type(values).__name__ == "TensorProto":
        return values  # type: ignore[no-any-return]
    kind = None if dtype is None else dtypes.as_dtype(dtype)
    array = array_of(values, kind)
    if shape is not None:
        array = _shaped(array, _known(shape), verify_shape, allow_broadcast)
    return encode_tensor(array, kind)


def _known(shape: Any) -> tuple[int, ...]:
    sizes = Shape.of(shape)
    if not sizes.is_fully_defined():
        raise ValueError(f"make_tensor_proto: shape must be known, got {sizes.text}")
    return tuple(int(n) for n in sizes.as_list() if n is not None)


def _shaped(array: Array, wanted: tuple[int, ...], verify: bool, broadcast: bool) -> Array:
    if verify and array.shape != wanted:
        raise TypeError(
            f"make_tensor_proto: values must have shape {list(wanted)}, got {list(array.shape)}"
        )
    if array.shape == wanted:
        return array
    count = int(np.prod(wanted))
    if broadcast or array.size == 1:
        return np.array(np.broadcast_to(array, wanted))
    if array.size > count:
        raise ValueError(
            f"make_tensor_proto: shape {list(wanted)} holds {count} values, got {array.size}"
        )
    # The last value stands for the remainder; of no values, zero or the empty string.
    last = array.ravel()[-1:] if array.size else np.array([b"" if array.dtype == object else 0])
    rest = np.repeat(last.astype(array.dtype), count - array.size)
    array = np.concatenate([array.ravel(), rest])
    return array.reshape(wanted)


def make_ndarray(tensor: TensorProto) -> Array:
    """The array in a TensorProto, with bytes for strings; it may be written to.

    Raises:
        InvalidArgumentError: the message's values do not fit its shape.
        UnimplementedError: a resource or variant.
    """
    return np.array(decode_tensor(tensor))
