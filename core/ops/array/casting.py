"""Changes of dtype: Cast converts values, Bitcast keeps the bits."""

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtype_sets import numpy_dtypes
from pinnace.framework.dtypes import ANY_VALUE, COMPLEX, FLOATS, NUMBERS, DType
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops import batch_rules, flops
from pinnace.ops.array.direct import finish
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.halves import converted
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpCall, attr
from pinnace.ops.registry import define, scalar

__all__ = ["bitcast", "cast"]

# Bits of mantissa, without the leading one.
_MANTISSA = {dtypes.float64: 52, dtypes.float32: 23, dtypes.float16: 10, dtypes.bfloat16: 7}
_BITS = {dtypes.float64: np.uint64, dtypes.float32: np.uint32, dtypes.float16: np.uint16}


def _cut(x: Array, dtype: DType) -> Array:
    """`x` with the mantissa bits cleared that `dtype` lacks, so that a cast is exact."""
    source = dtypes.from_numpy(x.dtype)
    if source not in _BITS or dtype not in _MANTISSA:
        return x
    lost = _MANTISSA[source] - _MANTISSA[dtype]
    if lost <= 0:
        return x
    bits = np.ascontiguousarray(x).view(_BITS[source])
    kept = (bits >> bits.dtype.type(lost)) << bits.dtype.type(lost)
    return np.where(np.isfinite(x), kept.view(x.dtype), x)


@takes_composites(values=1, keeps_zero=True)
def cast(x: TensorLike, dtype: Any, name: str | None = None) -> Tensor:
    """`x` as another dtype; `x` itself if it has the dtype already.

    Args:
        x: [...], a number type, a quantised one or bool.
        dtype: the dtype of the result. Real numbers become integers towards zero, complex numbers
            lose their imaginary part, and whatever is not zero is True.
        name: name of the node while tracing.

    Returns:
        [...], `dtype`.

    Raises:
        InvalidArgumentError: either dtype is no number, as string is not.
    """
    kind = dtypes.as_dtype(dtype)
    if type(x) is Tensor and state.tracer is None:
        array = x._array
        target = kind.numpy
        if array.dtype is target and kind not in _OPAQUE:
            return x
        if array.dtype in _PLAIN and kind in _PLAIN_KINDS:
            try:
                out = converted(array, target)
            except (RuntimeWarning, FloatingPointError):  # where warnings are errors
                with np.errstate(all="ignore"):
                    out = array.astype(target)
            return finish(CAST, (x,), {"SrcT": x.dtype, "DstT": kind}, out)
    tensor = convert_to_tensor(x)
    if tensor.dtype is kind:
        return tensor
    return execute_one(CAST, tensor, DstT=kind, name=name)


_CASTABLE = ANY_VALUE - {dtypes.string}
_PLAIN_KINDS = NUMBERS - COMPLEX | {dtypes.bool}
_PLAIN = numpy_dtypes(_PLAIN_KINDS)
# NumPy's dtype does not tell these: a quantised number is cast like the integer that holds it.
_OPAQUE = frozenset({dtypes.resource, dtypes.variant, dtypes.string}) | dtypes.QUANTIZED
# TensorFlow passes gradients through casts among these only.
_DIFFERENTIABLE = FLOATS | COMPLEX


def _cast_kernel(x: Array, *, DstT: DType, Truncate: bool) -> Array:  # noqa: N803 (TensorFlow's names)
    return cast_array(x, DstT, truncate=Truncate)


def _infer_cast(call: InferCall) -> Shape:
    target = call.attrs["DstT"]
    if target not in _CASTABLE:
        call.fail(f"DstT must be a number type or bool, got {target.name}")
    return call.spec(0).shape


def _cast_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor | None]:
    source = call.inputs[0].dtype
    if source in _DIFFERENTIABLE and dy.dtype in _DIFFERENTIABLE:
        return (cast(dy, source),)
    return (None,)


CAST = define(
    name="Cast",
    signature="x: SrcT -> y: DstT",
    types={"SrcT": _CASTABLE, "DstT": _CASTABLE},
    attrs={"Truncate": attr("bool", default=False)},
    infer=_infer_cast,
    kernel=_cast_kernel,
    gradient=_cast_gradient,
    static=True,
    batch=batch_rules.AS_IT_IS_EXACTLY,
    flops=flops.none,
)


@takes_composites(values=1)
def bitcast(input: TensorLike, type: Any, name: str | None = None) -> Tensor:
    """The bits of `input` read as another dtype.

    Args:
        input: [...] or, if its elements are smaller than those of `type`, [..., ratio].
        type: the dtype of the result.
        name: name of the node while tracing.

    Returns:
        [...], or [..., ratio] if the elements of `type` are smaller.

    Raises:
        InvalidArgumentError: the last axis does not make up whole elements.
    """
    return execute_one(BITCAST, input, type=dtypes.as_dtype(type), name=name)


def _bitcast_kernel(input: Array, *, type: DType) -> Array:
    target = type.numpy
    if target.itemsize == input.itemsize:
        return input.view(target)
    if target.itemsize < input.itemsize:
        return np.ascontiguousarray(input).reshape((*input.shape, 1)).view(target)
    whole = np.ascontiguousarray(input).view(target)
    return whole.reshape(input.shape[:-1])


def _infer_bitcast(call: InferCall) -> Shape:
    spec, target = call.spec(0), call.attrs["type"]
    shape, before, after = spec.shape, spec.dtype.size, target.size
    if shape.rank is None or before == after:
        return shape
    if before > after:
        return shape.concatenate([before // after])
    if not shape.rank or shape[-1] not in {None, after // before}:
        call.fail(
            f"the last axis of input must be {after // before}, the elements of one {target.name}"
        )
    return shape[:-1]


BITCAST = define(
    name="Bitcast",
    signature="input: T -> output: type",
    types={"T": NUMBERS | dtypes.QUANTIZED, "type": NUMBERS | dtypes.QUANTIZED},
    infer=_infer_bitcast,
    kernel=_bitcast_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _to_bool_kernel(input: Array) -> Array:
    # Python's truth: a scalar other than 0 or "", an array with elements.
    value = bool(input.item()) if input.ndim == 0 else input.size > 0
    return np.array(value)


TO_BOOL = define(
    name="ToBool",
    signature="input: T -> output: bool",
    types={"T": dtypes.ANY_VALUE},
    infer=scalar,
    kernel=_to_bool_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def cast_array(x: Array, dtype: DType, *, truncate: bool = False) -> Array:
    """`x` cast to `dtype`, like TensorFlow's CPU kernel."""
    if x.dtype.kind == "c" and not dtype.is_complex:
        # TensorFlow: also for bool only the real part counts.
        x = x.real
    if truncate:
        x = _cut(x, dtype)
    return converted(x, dtype.numpy)
