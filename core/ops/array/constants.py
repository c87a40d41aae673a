"""Constants and arguments: Const, Placeholder, Fill, zeros and ones."""

import math
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeTensor
from pinnace.framework.context import state
from pinnace.framework.convert import array_of, convert_to_tensor, holds_tensor
from pinnace.framework.dtypes import ANY, ANY_VALUE, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.no_effect import no_effect
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike, wrap
from pinnace.ops import batch_rules, flops
from pinnace.ops.array import reshaping, shapes
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import (
    GRADIENT_ABOVE,
    NOT_DIFFERENTIABLE,
    InferCall,
    OpDef,
    attr,
    handed_on,
    typed,
)
from pinnace.ops.registry import define, same_as_input

__all__ = ["constant", "fill", "ones", "ones_like", "zeros", "zeros_like"]

_WHOLE = "a tensor is not laid out over several devices here"


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str | None = "Const"
) -> Tensor:
    """A tensor of known value.

    Args:
        value: a Python scalar, string, nested sequence or NumPy array.
        dtype: the element type; that of the value if None (Python floats give float32, ints int32).
        shape: the shape; a single value is repeated to fill it, a list is reshaped to it.
        name: name of the node while tracing.

    Returns:
        The tensor; while a function is traced, a `Const` of its graph.

    Raises:
        TypeError: the value cannot become that dtype.
        TypeError: the values do not fill `shape`.
        ValueError: a ragged sequence.
    """
    if isinstance(value, Tensor) or (isinstance(value, (list, tuple)) and holds_tensor(value)):
        if dtype is not None and not isinstance(value, Tensor):
            _check_no_cut(value, dtypes.as_dtype(dtype))
        made = convert_to_tensor(value, dtype)
        return made if shape is None else _shaped(made, shape)
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    array = array_of(value, wanted)
    if shape is not None:
        sizes = _known_sizes(shape)
        if array.size == 1 and array.shape != sizes:
            array = np.broadcast_to(array.reshape(()), sizes)
        elif array.size != int(np.prod(sizes, dtype=np.int64)):
            many = "Too many elements provided. " if array.size > math.prod(sizes) else ""
            raise TypeError(f"constant: {many}{array.size} values cannot fill shape {list(sizes)}")
        else:
            array = array.reshape(sizes)
    if state.tracer is None:
        return wrap(array, wanted)
    return _const(array, wanted, name)


def _check_no_cut(value: Any, wanted: dtypes.DType) -> None:
    """Raise for floats among a list's tensors where integers are required.

    TensorFlow's `constant` takes no tensors in lists; `convert_to_tensor` does, and truncates.
    """
    if isinstance(value, (list, tuple)):
        for item in value:
            _check_no_cut(item, wanted)
        return
    kind = getattr(value, "dtype", None)
    if isinstance(kind, dtypes.DType) and kind.is_floating and wanted.is_integer:
        raise ValueError(
            f"constant: a list for {wanted.name} holds a tensor of {kind.name}: {value!r}\n"
            f"  Try: cast(convert_to_tensor(list), '{wanted.name}')"
        )


def _const(array: Array, dtype: dtypes.DType | None, name: str | None) -> Tensor:
    kind = dtype or dtypes.from_numpy(array.dtype)
    value = np.ascontiguousarray(array) if array.ndim else np.asarray(array)
    return execute_one(CONST, value=value, dtype=kind, name=name)


def _const_kernel(*, value: Any) -> Array:
    return np.asarray(value)


def _infer_const(call: InferCall) -> Shape:
    return Shape(np.asarray(call.attrs["value"]).shape)


CONST = define(
    name="Const",
    signature="-> output: dtype",
    types={"dtype": ANY},
    attrs={"value": attr("tensor")},
    infer=_infer_const,
    kernel=_const_kernel,
    gradient=NOT_DIFFERENTIABLE,
    flops=flops.none,
)


def fill(
    dims: TensorLike, value: TensorLike, name: str | None = None, layout: Any = None
) -> Tensor:
    """A tensor of shape `dims` filled with `value`.

    Args:
        dims: [rank], int32 or int64, the sizes; a scalar is the size of the one axis.
        value: a scalar of any dtype.
        name: name of the node while tracing.
        layout: has no effect, which a warning says.
    """
    if layout is not None:
        no_effect("fill", "layout", _WHOLE)
    return execute_one(FILL, reshaping.sizes_or_one(dims), value, name=name)


def _fill_kernel(dims: Array, value: Array) -> Array:
    if dims.size and dims.min() < 0:
        raise InvalidArgumentError(f"Fill: sizes must not be negative, got {dims.tolist()}")
    out = np.empty(tuple(dims.tolist()), value.dtype)
    out[...] = value
    return out


def _infer_fill(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in {None, 1}:
        call.fail("dims must be a vector of sizes")
    if call.spec(1).shape.rank not in {None, 0}:
        call.fail("value must be a scalar")
    return call.shape_constant(0)


FILL = define(
    name="Fill",
    signature="dims: index_type, value: T -> output: T",
    types={"T": ANY_VALUE, "index_type": typed(INDEX, default=int32)},
    infer=_infer_fill,
    kernel=_fill_kernel,
    gradient=GRADIENT_ABOVE,  # math/reduction.py
    flops=flops.none,
)


def _known_sizes(shape: Any) -> tuple[int, ...]:
    known: list[Any] = Shape(shape).as_list()
    return tuple(known)


def _shaped(tensor: Tensor, shape: Any) -> Tensor:
    return reshaping.reshape(tensor, _known_sizes(shape))


def _filled(shape: Any, value: object, dtype: dtypes.DType, name: str | None) -> Tensor:
    if isinstance(shape, (Tensor, CompositeTensor)) or (  # a ragged shape is composite
        isinstance(shape, (list, tuple)) and holds_tensor(shape)
    ):
        return fill(shape, constant(_element(value, dtype), dtype), name)  # type: ignore[arg-type]  # see above
    sizes = _known_sizes(shape)
    array = np.empty(sizes, dtype.numpy)
    array[...] = _element(value, dtype)
    return wrap(array, dtype) if state.tracer is None else _const(array, dtype, name)


def _element(value: object, dtype: dtypes.DType) -> object:
    return bool(value) if dtype.is_bool else value


def _like(op: OpDef, value: int, x: TensorLike, dtype: Any, name: str | None) -> Tensor:
    tensor = convert_to_tensor(x)
    kind = tensor.dtype if dtype is None else dtypes.as_dtype(dtype)
    if kind is tensor.dtype:
        return execute_one(op, tensor, name=name)
    if tensor.shape.is_fully_defined():
        return _filled(tensor.shape, value, kind, name)
    return fill(shapes.shape(tensor), constant(_element(value, kind), kind), name)


@takes_composites(values=1, keeps_zero=True)
def zeros_like(
    input: TensorLike, dtype: Any = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Zeros of the shape of `input`, and of its dtype unless `dtype` is given.

    Args:
        input: [...], any dtype.
        dtype: dtype of the result; that of `input` if None.
        name: name of the node while tracing.
        layout: has no effect, which a warning says.

    Returns:
        The shape of `input`.
    """
    if layout is not None:
        no_effect("zeros_like", "layout", _WHOLE)
    return _like(ZEROS_LIKE, 0, input, dtype, name)


def _zeros_like_kernel(x: Array) -> Array:
    if x.dtype == object:
        value: Any = x[()] if x.ndim == 0 else None
        if hasattr(value, "zeros_like"):  # a tensor list in a variant
            out = np.empty((), object)
            out[()] = value.zeros_like()
            return out
        return np.full(x.shape, b"", object)
    return np.zeros(x.shape, x.dtype)


ZEROS_LIKE = define(
    name="ZerosLike",
    signature="x: T -> y: T",
    types={"T": ANY_VALUE | {dtypes.variant}},
    infer=same_as_input,
    kernel=_zeros_like_kernel,
    gradient=NOT_DIFFERENTIABLE,
    fuse="T(0)",
    batch=batch_rules.AS_IT_IS,
)


@takes_composites(values=1)
def ones_like(
    input: TensorLike, dtype: Any = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Ones of the shape of `input`, and of its dtype unless `dtype` is given.

    Args:
        input: [...], a number type or bool.
        dtype: dtype of the result; that of `input` if None.
        name: name of the node while tracing.
        layout: has no effect, which a warning says.

    Returns:
        The shape of `input`.
    """
    if layout is not None:
        no_effect("ones_like", "layout", _WHOLE)
    return _like(ONES_LIKE, 1, input, dtype, name)


ONES_LIKE = define(
    name="OnesLike",
    signature="x: T -> y: T",
    types={"T": dtypes.NUMBERS | {dtypes.bool}},
    infer=same_as_input,
    kernel=lambda x: np.ones(x.shape, x.dtype),
    gradient=NOT_DIFFERENTIABLE,
    fuse="T(1)",
    batch=batch_rules.AS_IT_IS,
)


def _infer_placeholder(call: InferCall) -> Shape:
    shape = call.attrs["shape"]
    return shape if isinstance(shape, Shape) else Shape(shape)


PLACEHOLDER = define(
    name="Placeholder",
    signature="-> output: dtype",
    types={"dtype": ANY},
    attrs={"shape": attr("shape", default=Shape(None))},
    infer=_infer_placeholder,
    kernel=None,
    gradient=NOT_DIFFERENTIABLE,
)
PLACEHOLDER_WITH_DEFAULT = define(
    name="PlaceholderWithDefault",
    signature="input: dtype -> output: dtype",
    types={"dtype": ANY},
    attrs={"shape": attr("shape")},
    infer=_infer_placeholder,
    kernel=lambda input: input,
    gradient=handed_on,
    forwards=True,
)


def zeros(
    shape: Any, dtype: Any = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """A tensor of zeros (False, empty strings) of that shape.

    Args:
        shape: sizes of the axes: integers, a TensorShape that is fully known, or a tensor [rank].
        dtype: dtype of the result, any.
        name: name of the node while tracing.
        layout: has no effect, which a warning says.

    Raises:
        ValueError: a size is negative.
    """
    if layout is not None:
        no_effect("zeros", "layout", _WHOLE)
    kind = dtypes.as_dtype(dtype)
    return _filled(shape, b"" if kind is dtypes.string else 0, kind, name)


def ones(
    shape: Any, dtype: Any = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """A tensor of ones (True) of that shape.

    Args:
        shape: sizes of the axes: integers, a TensorShape that is fully known, or a tensor [rank].
        dtype: dtype of the result, a number type or bool.
        name: name of the node while tracing.
        layout: has no effect, which a warning says.

    Raises:
        ValueError: a size is negative.
    """
    if layout is not None:
        no_effect("ones", "layout", _WHOLE)
    return _filled(shape, 1, dtypes.as_dtype(dtype), name)
