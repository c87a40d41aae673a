"""Conversion of Python values to tensors, for inputs of ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace import late
from pinnace.framework import dtypes, tracebacks
from pinnace.framework.columns import column_array, is_column
from pinnace.framework.context import state
from pinnace.framework.conversions import converted
from pinnace.framework.dtypes import DType
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Operands, Tensor, wrap

_INT32 = np.iinfo(np.int32)
_INT64 = np.iinfo(np.int64)
_FIRST_FLOATS = frozenset({np.dtype(np.float64), np.dtype(np.float16)})
_LARGEST = int(np.finfo(np.float64).max)  # an integer beyond becomes no float
_OPAQUE = frozenset({dtypes.variant, dtypes.resource})
# Dtypes in which large Python integers wrap around.
_WRAPPING = frozenset(
    {dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.uint32}
)


def array_of(value: object, dtype: DType | None = None, hint: DType | None = None) -> Array:
    """`value` as a new array.

    Args:
        value: a Python scalar, string, nested sequence, NumPy array or anything NumPy takes.
        dtype: the element type it must have; values that do not fit are an error, but integers
            lose the bits that do not fit into 32 or fewer, as in TensorFlow.
        hint: the element type to take where the value leaves a choice.

    Raises:
        TypeError: the value cannot become that type.
        ValueError: a nested sequence is ragged.
    """
    try:
        if isinstance(value, Tensor):
            value = np.asarray(value._array)
        if dtype is None and hint is not None:
            try:
                return _as_dtype(value, hint, exact=True)
            except (TypeError, ValueError):
                return array_of(value)
        if dtype is None:
            return _natural(value)
        return _as_dtype(value, dtype)
    except Exception as error:
        tracebacks.cut(error)
        raise


def _natural(value: object) -> Array:
    kind = type(value)
    if kind is float:
        return np.array(value, np.float32)
    if kind is bool:
        return np.array(value)
    if kind is int:
        return _natural_integer(value)  # type: ignore[arg-type]
    if isinstance(value, (str, bytes)):
        return _strings(value)
    if isinstance(value, Shape):
        sizes = np.array(value.as_list(), np.int64)
        return sizes if sizes.max(initial=0) > _INT32.max else sizes.astype(np.int32)
    if isinstance(value, DType):
        return np.array(value.enum, np.int32)
    if is_column(value):
        return np.array(column_array(value))
    if value is None:
        raise ValueError("None cannot become a tensor")
    return _natural_nested(value)


def _natural_nested(value: object) -> Array:
    """A nested sequence, or a value that NumPy converts."""
    array = _nested(value)
    if array.dtype.kind in "SUO":
        return _nested_strings(value, array.dtype.kind != "O")
    if array.size == 0 and array.dtype == np.float64:
        return array.astype(np.float32)
    return _known(_of_first(array, value))


def _of_first(array: Array, value: object) -> Array:
    """The numbers of a nested sequence in the dtype that TensorFlow infers from the first one.

    Integers are int32 if all fit, else int64, NumPy's too. Real numbers are float32, unless the
    first is a float64 or float16 of NumPy.
    """
    kind = array.dtype.kind
    if kind == "f":
        first = _first_dtype(value)
        return array.astype(first if first in _FIRST_FLOATS else np.float32, copy=False)
    if kind in "iu" and (
        not array.size or (array.min() >= _INT32.min and array.max() <= _INT32.max)
    ):
        return array.astype(np.int32, copy=False)
    if kind in "iu" and array.max() <= _INT64.max:
        return array.astype(np.int64, copy=False)
    return array.astype(np.complex128, copy=False) if kind == "c" else array


def _first_dtype(value: object) -> np.dtype[Any] | None:
    """The NumPy dtype of the first leaf of a nested sequence; None for Python's numbers."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return column_array(value).dtype if is_column(value) else None


def _natural_integer(value: int) -> Array:
    if _INT32.min <= value <= _INT32.max:
        return np.array(value, np.int32)
    try:
        return np.array(value, np.int64)
    except OverflowError:
        raise ValueError(
            f"{value} is outside the range of int64: an out-of-range integer\n  Try: give a dtype"
        ) from None


def _known(array: Array) -> Array:
    dtypes.from_numpy(array.dtype)  # TypeError for one that no tensor can have
    return array


def _holds_numpy(value: object) -> bool:
    """Whether the first leaf of a nested sequence has a NumPy dtype."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return is_column(value)


def _nested(value: object) -> Array:
    try:
        return np.array(value)
    except ValueError as error:
        raise ValueError(
            "a nested sequence must be rectangular to become a tensor, "
            f"got {_excerpt(value)} ({error})"
        ) from None


def _strings(value: object) -> Array:
    """An object array of bytes; str is written as UTF-8."""
    array = np.asarray(value, object)
    flat = [_bytes(item) for item in array.reshape(-1)]
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(array.shape)


def _nested_strings(value: object, strings: bool) -> Array:
    # Converted again, as objects: NumPy's string dtype drops trailing zero bytes and accepts
    # numbers.
    array = np.array(value, object)
    for item in array.reshape(-1):
        if not isinstance(item, (str, bytes)):
            kind = type(item).__name__
            beside = ", beside strings" if strings else ""
            remedy = "\n  Try: its toarray()" if hasattr(item, "toarray") else ""
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"cannot convert {_excerpt(item)} ({kind}) to a tensor{beside}{remedy}"
            )
    return _strings(array)


def _bytes(item: object) -> bytes:
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode()
    raise TypeError(f"expected a string, got {_excerpt(item)} of type {type(item).__name__}")


def _as_dtype(value: object, dtype: DType, *, exact: bool = False) -> Array:
    """An array of the dtype; if exact, no integer may lose bits."""
    if isinstance(value, np.ndarray) and dtype in _OPAQUE:
        return _cast_array(value, dtype, value)
    if is_column(value):
        return _cast_column(column_array(value), dtype, value)
    if dtype is dtypes.string:
        return _strings(value)
    if isinstance(value, (bool, int, float, complex)):
        _check_scalar(value, dtype, exact)
        if dtype in _WRAPPING:
            return _natural(value).astype(dtype.numpy)
        return np.array(value, dtype.numpy)
    array = _natural(value)
    if array.size == 0:
        return array.astype(dtype.numpy)
    if array.dtype.kind == "f" and dtype.numpy.kind in "fc":
        return np.array(value, dtype.numpy)  # not through the dtype that was inferred
    return _cast_array(array, dtype, value, exact=exact)


def _check_scalar(value: complex, dtype: DType, exact: bool) -> None:
    if isinstance(value, bool):
        fits = dtype.is_bool or dtype.is_numeric
    elif isinstance(value, int):
        fits = dtype.is_numeric
        kept = dtype.is_integer and fits and (exact or dtype not in _WRAPPING)
        if kept and not dtype.min <= value <= dtype.max:
            raise ValueError(
                f"{value} is outside the range of {dtype.name} ({dtype.min} to {dtype.max})"
            )
        if fits and abs(value) > _LARGEST:
            raise ValueError(f"the integer of {value.bit_length()} bits is outside of any range")
    elif isinstance(value, float):
        fits = dtype.is_floating or dtype.is_complex
    else:
        fits = dtype.is_complex
    if not fits:
        message = f"cannot convert {value!r} ({type(value).__name__}) to a tensor of {dtype.name}"
        if isinstance(value, float) and dtype.is_integer:
            message += "\n  Try: make the integers floats: cast(x, 'float32')"
        raise TypeError(message)


def _cast_column(array: Array, dtype: DType, value: object) -> Array:
    """Cast numbers of any dtype to any other, as `astype` does.

    Source:
        TensorFlow casts NumPy's arrays and scalars without a look at their values: fractions and
        high bits are lost. What is made of Python's numbers must fit (`_cast_array`).
    """
    if array.dtype.kind in "SUO" or not (dtype.is_numeric or dtype.is_bool):
        return _cast_array(array, dtype, value)
    if array.dtype.kind == "c" and not dtype.is_complex:
        array = array.real
    with np.errstate(invalid="ignore", over="ignore"):
        return array.astype(dtype.numpy)


def _cast_array(array: Array, dtype: DType, value: object, *, exact: bool = False) -> Array:
    """Casts that lose at most high bits: integers to integers or floats, real to complex."""
    if array.dtype == dtype.numpy:
        return np.array(array)
    source = array.dtype.kind
    if array.dtype.kind in "SUO":
        raise TypeError(f"cannot convert strings to a tensor of {dtype.name}: {_excerpt(value)}")
    allowed = (
        (dtype.is_numeric or (dtype.is_quantized and source in "iu"))
        and (source != "b" or not _holds_numpy(value))
        and (source in "iub" or not dtype.is_integer)
        and (source != "c" or dtype.is_complex)
    )
    if not allowed:
        found = dtypes.from_numpy(array.dtype)
        # With an integer and a fraction, only the integer can be converted without loss.
        remedy = (
            f"make the {dtype.name} a {found.name}: cast(x, '{found.name}')"
            if found.is_floating and dtype.is_integer
            else f"cast(x, '{dtype.name}')"
        )
        raise TypeError(
            f"cannot convert {found.name} values to a tensor of {dtype.name}: {_excerpt(value)}\n"
            f"  Try: {remedy}"
        )
    if (
        dtype.is_integer
        and (exact or dtype not in _WRAPPING)
        and source != "b"
        and array.size
        and (array.min() < dtype.min or array.max() > dtype.max)
    ):
        raise ValueError(f"values are outside the range of {dtype.name}: {_excerpt(value)}")
    return array.astype(dtype.numpy)


def _excerpt(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


def convert_to_tensor(
    value: object, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Tensor:
    """`value` as a tensor; a tensor is returned unchanged.

    Args:
        value: a tensor, variable, NumPy array, Python scalar, string or nested sequence (which may
            hold tensors).
        dtype: the element type it must have.
        dtype_hint: the element type to take where the value leaves a choice.
        name: name of the node while tracing.

    Returns:
        A tensor; while a function is traced, a constant of its graph.

    Raises:
        ValueError: a tensor of another dtype, or a ragged sequence.
        TypeError: a value that cannot become that type.
    """
    if type(value) is Tensor and dtype is None:
        return value
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(value, Operands):
        tensor = value._as_tensor()
        if wanted is not None and tensor.dtype is not wanted:
            raise ValueError(
                f"a tensor of {tensor.dtype.name} was given where {wanted.name} is required: "
                f"{tensor!r}\n  Try: cast(x, '{wanted.name}')"
            )
        return tensor
    converter = getattr(value, "__tf_tensor__", None)
    if converter is not None:
        return converter(dtype, name)  # type: ignore[no-any-return]
    made = converted(value, wanted, name)
    if made is not None:
        return made
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        return late.packed(value, wanted, dtype_hint)
    array = array_of(value, wanted, None if dtype_hint is None else dtypes.as_dtype(dtype_hint))
    if state.tracer is not None:
        return state.tracer.constant(array, wanted, name)
    return wrap(array, wanted)


def holds_tensor(value: object) -> bool:
    """Whether a nested sequence contains a tensor or a variable."""
    if isinstance(value, (list, tuple)):
        return any(holds_tensor(item) for item in value)
    return isinstance(value, Operands) or hasattr(value, "__tf_tensor__")
