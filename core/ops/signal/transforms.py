"""The ops of Fourier transforms: their kernels, shapes and gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, complex64, float32, float64, int32
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting, joining, padding, shapes, slicing
from pinnace.ops.execute import execute_one
from pinnace.ops.math import arithmetic, complexes, reduction
from pinnace.ops.opdef import InferCall, OpCall, OpDef, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array, Tensor

# Every op is one of four kinds (FFT, IFFT, RFFT, IRFFT) over the last axes, or over any (ND).


def length_vector(sizes: Sequence[Any]) -> Tensor:
    """Sizes, numbers or tensors, as a vector of int32."""
    return joining.stack([casting.cast(size, int32) for size in sizes])


def _axes_of(op: str, rank: int, axes: Array | None) -> list[int]:
    inner = {"2D": 2, "3D": 3}.get(op[-2:], 1)
    if axes is None:
        return list(range(-inner, 0))
    chosen = [int(axis) for axis in axes.reshape(-1)]
    if any(not -rank <= axis < rank for axis in chosen):
        raise InvalidArgumentError(f"{op}: axes must be in [{-rank}, {rank}), got {chosen}")
    return chosen


def _kernel(op: str) -> Callable[..., Array]:
    kind = op.replace("2D", "").replace("3D", "").replace("ND", "").lower()

    def run(x: Array, lengths: Array | None, axes: Array | None) -> Array:
        # NumPy imports its transforms when they are first named: not before they are needed.
        transform = getattr(np.fft, kind + "n")
        chosen = _axes_of(op, x.ndim, axes)
        dtype = _result(op, x.dtype)
        if lengths is None:
            return transform(x, axes=chosen).astype(dtype, copy=False)  # type: ignore[no-any-return]
        sizes = [int(n) for n in lengths.reshape(-1)]
        if len(sizes) != len(chosen) or min(sizes, default=0) < 0:
            raise InvalidArgumentError(f"{op}: fft_length must be {len(chosen)} sizes, got {sizes}")
        shape = list(x.shape)
        for axis, size in zip(chosen, sizes, strict=True):
            shape[axis] = size
        if kind == "rfft":
            shape[chosen[-1]] = sizes[-1] // 2 + 1 if sizes[-1] else 0
        if 0 in shape or 0 in x.shape:
            return np.zeros(shape, dtype)
        return transform(x, s=sizes, axes=chosen).astype(dtype, copy=False)  # type: ignore[no-any-return]

    if op.endswith("ND"):
        return lambda input, fft_length, axes: run(input, fft_length, axes)
    if "R" in op:
        return lambda input, fft_length: run(input, fft_length, None)
    return lambda input: run(input, None, None) if input.size else input


def _result(op: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    wide = dtype in (np.float64, np.complex128)
    if op.startswith("IRFFT"):
        return np.dtype(np.float64 if wide else np.float32)
    return np.dtype(np.complex128 if wide else np.complex64)


def _infer(call: InferCall) -> Shape:
    op, shape = call.op.name, call.spec(0).shape
    if shape.rank is None:
        return shape
    axes = call.constant(2) if op.endswith("ND") else None
    if op.endswith("ND") and axes is None:
        return Shape([None] * shape.rank)
    chosen = _axes_of(op, shape.rank, axes)
    if shape.rank < len(chosen):
        call.fail(f"input must have at least {len(chosen)} axes, got {shape.rank}")
    if len(call.inputs) == 1:
        return shape
    if call.spec(1).shape.rank not in {None, 1}:
        call.fail("fft_length must be a vector of sizes")
    lengths = call.shape_constant(1)
    if lengths.rank not in (None, len(chosen)):
        call.fail(f"fft_length must be {len(chosen)} sizes")
    sizes: list[Any] = shape.as_list()
    for i, axis in enumerate(chosen):
        size = lengths[i] if lengths.rank is not None else None
        if i == len(chosen) - 1 and op.startswith("RFFT") and size is not None:
            size = size // 2 + 1 if size else 0
        sizes[axis] = size
    return Shape(sizes)


# Gradients.


def _fitted(dx: Tensor, x: Tensor) -> Tensor:
    """`dx` cut off or filled up with zeros to the size of `x`: what the op did, undone."""
    if dx.shape.is_fully_defined() and dx.shape == x.shape:
        return dx
    wanted, found = shapes.shape(x), shapes.shape(dx)
    part = slicing.slice(dx, found * 0, arithmetic.minimum(wanted, found))
    more = arithmetic.maximum(wanted - found, 0)
    return padding.pad(part, joining.stack([more * 0, more], -1))


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    op, x = call.op.name, call.inputs[0]
    inputs = call.inputs
    rank = x.shape.rank
    if rank is None:
        raise UnimplementedError(f"{op}: the gradient needs a tensor of known rank")
    axes = None
    if op.endswith("ND"):
        from pinnace.ops.array import broadcasting

        axes = broadcasting.known_value(inputs[2])
        if axes is None:
            raise UnimplementedError(f"{op}: the gradient needs axes that are known while tracing")
    chosen = _axes_of(op, rank, axes)
    none = (None,) * (len(inputs) - 1)
    sizes = shapes.axis_sizes(dy)
    if "R" not in op:
        dx = _complex(op, chosen, dy, inverse=not op.startswith("I"))
        count = _product([sizes[axis] for axis in chosen], dy.dtype)
        dx = dx / count if op.startswith("I") else dx * count
        return _fitted(dx, x), *none
    lengths = inputs[1]
    last = lengths[-1]
    count = reduction.reduce_prod(lengths)
    if op.startswith("IRFFT"):
        # Every frequency stands for itself and its mirror image but the first and, of an even
        # length, the last.
        scaled = dy / casting.cast(count, dy.dtype)
        dx = execute_one(OPS[op[1:]], scaled, lengths, *inputs[2:], Tcomplex=x.dtype)
        weights = _weights(last, dx, chosen[-1])
        return _fitted(dx * weights, x), *none
    grown = padding.pad(dy, _behind(rank, chosen[-1], last - last // 2 - 1))
    dx = complexes.real(_complex(op, chosen, grown, inverse=True))
    return _fitted(dx * casting.cast(count, dx.dtype), x), *none


def _behind(rank: int, axis: int, size: Any) -> Tensor:
    zero = size * 0
    rows = [joining.stack([zero, size if i == axis % rank else zero]) for i in range(rank)]
    return joining.stack(rows)


def _complex(op: str, axes: Sequence[int], x: Tensor, *, inverse: bool) -> Tensor:
    """The transform of complex numbers over the axes of `op`."""
    letter = "I" if inverse else ""
    if not op.endswith("ND"):
        suffix = op[-2:] if op[-2:] in ("2D", "3D") else ""
        return execute_one(OPS[f"{letter}FFT{suffix}"], x)
    sizes = shapes.axis_sizes(x)
    lengths = length_vector([sizes[axis] for axis in axes])
    return execute_one(OPS[f"{letter}FFTND"], x, lengths, convert_to_tensor(list(axes), int32))


def _weights(last: Tensor, dx: Tensor, axis: int) -> Tensor:
    from pinnace.ops.array import reshaping
    from pinnace.ops.math import comparison, logic, ranges

    size = shapes.axis_sizes(dx)[axis]
    places = ranges.range(size)
    alone = logic.logical_or(comparison.equal(places, 0), comparison.equal(places * 2, last))
    row = 2 - casting.cast(alone, dx.dtype)
    shape: list[Any] = [1] * (dx.shape.rank or 1)
    shape[axis] = size
    return reshaping.reshape(row, shape)


def _product(sizes: Sequence[Any], dtype: Any) -> Tensor:
    if all(isinstance(size, int) for size in sizes):
        return convert_to_tensor(float(math.prod(sizes)), dtype)
    return casting.cast(reduction.reduce_prod(length_vector(sizes)), dtype)


_COMPLEX_TYPES = {"Tcomplex": typed(COMPLEX, default=complex64)}
_BOTH_TYPES = {"Treal": typed({float32, float64}, default=float32), **_COMPLEX_TYPES}


def _transform(name: str) -> OpDef:
    more = ", fft_length: int32, axes: int32" if name.endswith("ND") else ""
    if "R" in name and not more:
        more = ", fft_length: int32"
    ends = ("Tcomplex", "Tcomplex")
    if "R" in name:
        ends = ("Tcomplex", "Treal") if name.startswith("I") else ("Treal", "Tcomplex")
    return define(
        name=name,
        signature=f"input: {ends[0]}{more} -> output: {ends[1]}",
        types=_BOTH_TYPES if "R" in name else _COMPLEX_TYPES,
        infer=_infer,
        kernel=_kernel(name),
        gradient=_gradient,
    )


_NAMES = (
    *("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D", "FFTND", "IFFTND"),
    *("RFFT", "IRFFT", "RFFT2D", "IRFFT2D", "RFFT3D", "IRFFT3D", "RFFTND", "IRFFTND"),
)
OPS = {name: _transform(name) for name in _NAMES}
