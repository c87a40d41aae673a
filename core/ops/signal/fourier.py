"""Fourier transforms of complex and real signals, over one or several axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, complex64, complex128, float32, float64, int32
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting, joining, padding, permutations, shapes, slicing
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels.image_shares import share_images
from pinnace.ops.math import arithmetic, complexes, reduction
from pinnace.ops.opdef import InferCall, OpCall, OpDef, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = [
    "fft",
    "fft2d",
    "fft3d",
    "fftnd",
    "fftshift",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftnd",
    "ifftshift",
    "irfft",
    "irfft2d",
    "irfft3d",
    "irfftnd",
    "rfft",
    "rfft2d",
    "rfft3d",
    "rfftnd",
]


def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """Σ x[n] exp(-2πi k n / N) over the last axis of a complex tensor.

    Args:
        input: [..., N], complex64 or complex128; for real numbers there is `rfft`.
        name: name of the node while tracing.

    Returns:
        [..., N], dtype of `input`.
    """
    return execute_one(_OPS["FFT"], convert_to_tensor(input), name=name)


def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `fft`: Σ y[k] exp(2πi k n / N) / N over the last axis.

    Args:
        input: [..., N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        [..., N], dtype of `input`.
    """
    return execute_one(_OPS["IFFT"], convert_to_tensor(input), name=name)


def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """`fft` over the last two axes.

    Args:
        input: [..., M, N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`.
    """
    return execute_one(_OPS["FFT2D"], convert_to_tensor(input), name=name)


def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """`ifft` over the last two axes.

    Args:
        input: [..., M, N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`.
    """
    return execute_one(_OPS["IFFT2D"], convert_to_tensor(input), name=name)


def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """`fft` over the last three axes.

    Args:
        input: [..., L, M, N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`.
    """
    return execute_one(_OPS["FFT3D"], convert_to_tensor(input), name=name)


def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """`ifft` over the last three axes.

    Args:
        input: [..., L, M, N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`.
    """
    return execute_one(_OPS["IFFT3D"], convert_to_tensor(input), name=name)


def rfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The first half of `fft` for real signals; the second half is its mirror image.

    Args:
        input_tensor: [..., n], float32 or float64.
        fft_length: [1], n is cut off or filled up with zeros to it.
        name: name of the node while tracing.

    Returns:
        [..., fft_length // 2 + 1], complex.
    """
    return _real("RFFT", 1, input_tensor, fft_length, name)


def rfft2d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """`rfft` over the last two axes, halved along the last; fft_length [2].

    Args:
        input_tensor: [..., M, N], float32 or float64.
        fft_length: [2], sizes that the axes are cut or filled with zeros to; their own if None.
        name: name of the node while tracing.

    Returns:
        [..., M, N // 2 + 1], complex64 or complex128.
    """
    return _real("RFFT2D", 2, input_tensor, fft_length, name)


def rfft3d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """`rfft` over the last three axes, halved along the last; fft_length [3].

    Args:
        input_tensor: [..., L, M, N], float32 or float64.
        fft_length: [3], sizes that the axes are cut or filled with zeros to; their own if None.
        name: name of the node while tracing.

    Returns:
        [..., L, M, N // 2 + 1], complex64 or complex128.
    """
    return _real("RFFT3D", 3, input_tensor, fft_length, name)


def irfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft`.

    Args:
        input_tensor: [..., n], complex.
        fft_length: [1], length of the signals; None is 2 (n - 1).
        name: name of the node while tracing.

    Returns:
        [..., fft_length], real.
    """
    return _half("IRFFT", 1, input_tensor, fft_length, name)


def irfft2d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft2d`; fft_length [2].

    Args:
        input_tensor: [..., M, N // 2 + 1], complex64 or complex128.
        fft_length: [2], sizes of the result; M and the even N if None.
        name: name of the node while tracing.

    Returns:
        [..., M, N], float32 or float64.
    """
    return _half("IRFFT2D", 2, input_tensor, fft_length, name)


def irfft3d(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft3d`; fft_length [3].

    Args:
        input_tensor: [..., L, M, N // 2 + 1], complex64 or complex128.
        fft_length: [3], sizes of the result; L, M and the even N if None.
        name: name of the node while tracing.

    Returns:
        [..., L, M, N], float32 or float64.
    """
    return _half("IRFFT3D", 3, input_tensor, fft_length, name)


def fftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`fft` over any axes of a complex tensor.

    Args:
        input_tensor: a complex tensor.
        fft_length: [axes], what each is cut off or filled up to.
        axes: None for all.
        norm: None or "backward": the inverse is divided by the count; "forward": this one;
            "ortho": both by its root.
        name: name of the node while tracing.
    """
    return _any_axes("FFTND", input_tensor, fft_length, axes, norm, name)


def ifftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `fftnd`, with its arguments.

    Args:
        input_tensor: [...], complex64 or complex128.
        fft_length: sizes that the axes are cut or filled with zeros to; their own if None.
        axes: the axes; all if None.
        norm: as for `fftnd`.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `input_tensor`.
    """
    return _any_axes("IFFTND", input_tensor, fft_length, axes, norm, name)


def rfftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`rfft` over any axes of a real tensor, halved along the last of them.

    Args:
        input_tensor: [...], float32 or float64.
        fft_length: sizes that the axes are cut or filled with zeros to; their own if None.
        axes: the axes; all if None.
        norm: as for `fftnd`.
        name: name of the node while tracing.

    Returns:
        [...] with n // 2 + 1 along the last of `axes`, complex64 or complex128.
    """
    return _any_axes("RFFTND", input_tensor, fft_length, axes, norm, name)


def irfftnd(
    input_tensor: TensorLike,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `rfftnd`, with its arguments.

    Args:
        input_tensor: [...], complex64 or complex128, as `rfftnd` gives it.
        fft_length: sizes of the result along `axes`.
        axes: the axes; all if None.
        norm: as for `fftnd`.
        name: name of the node while tracing.

    Returns:
        [...], float32 or float64.
    """
    return _any_axes("IRFFTND", input_tensor, fft_length, axes, norm, name)


def fftshift(x: TensorLike, axes: Any = None, name: str | None = None) -> Tensor:
    """Frequency 0 in the middle of `axes` (None for all).

    Args:
        x: [...], any dtype.
        axes: an axis or several; None is all.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `x`.
    """
    return _shifted(x, axes, 1, name)


def ifftshift(x: TensorLike, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Args:
        x: [...], any dtype.
        axes: an axis or several; None is all.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `x`.
    """
    return _shifted(x, axes, -1, name)


def _shifted(x: TensorLike, axes: Any, sign: int, name: str | None) -> Tensor:
    tensor = convert_to_tensor(x)
    sizes = shapes.axis_sizes(tensor)
    if axes is None:
        axes = list(range(len(sizes)))
    chosen = [axes] if isinstance(axes, int) else list(axes)
    moves = [sign * (sizes[axis] // 2) for axis in chosen]
    return permutations.roll(tensor, joining.stack(moves), chosen, name)


def _inner_sizes(x: Tensor, rank: int) -> list[Any]:
    if x.shape.rank is None:
        whole = shapes.shape(x)
        return [whole[axis] for axis in range(-rank, 0)]
    return shapes.axis_sizes(x)[-rank:]


def _lengths(sizes: Sequence[Any]) -> Tensor:
    return joining.stack([casting.cast(size, int32) for size in sizes])


def _real(op: str, rank: int, x: TensorLike, lengths: Any, name: str | None) -> Tensor:
    tensor = convert_to_tensor(x, dtype_hint=float32)
    if lengths is None:
        lengths = _lengths(_inner_sizes(tensor, rank))
    kind = complex128 if tensor.dtype is float64 else complex64
    return execute_one(
        _OPS[op], tensor, convert_to_tensor(lengths, int32), Tcomplex=kind, name=name
    )


def _half(op: str, rank: int, x: TensorLike, lengths: Any, name: str | None) -> Tensor:
    tensor = convert_to_tensor(x, dtype_hint=complex64)
    if lengths is None:
        sizes = _inner_sizes(tensor, rank)
        lengths = _lengths([*sizes[:-1], arithmetic.maximum(2 * (sizes[-1] - 1), 0)])
    kind = float64 if tensor.dtype is complex128 else float32
    return execute_one(_OPS[op], tensor, convert_to_tensor(lengths, int32), Treal=kind, name=name)


def _any_axes(
    op: str, x: TensorLike, lengths: Any, axes: Any, norm: str | None, name: str | None
) -> Tensor:
    tensor = convert_to_tensor(x)
    sizes = shapes.axis_sizes(tensor)
    chosen = list(range(len(sizes))) if axes is None else [int(axis) for axis in axes]
    if lengths is None:
        found = [sizes[axis] for axis in chosen]
        if op == "IRFFTND":
            found[-1] = arithmetic.maximum(2 * (found[-1] - 1), 0)
        lengths = _lengths(found)
    kinds: dict[str, Any] = {}
    if op == "RFFTND":
        kinds = {"Tcomplex": complex128 if tensor.dtype is float64 else complex64}
    if op == "IRFFTND":
        kinds = {"Treal": float64 if tensor.dtype is complex128 else float32}
    counts = convert_to_tensor(lengths, int32)
    y = execute(_OPS[op], tensor, counts, convert_to_tensor(chosen, int32), name=name, **kinds)
    return _normed(y, counts, norm, inverse=op.startswith("I"))


def _normed(y: Tensor, lengths: Tensor, norm: str | None, *, inverse: bool) -> Tensor:
    if norm in (None, "backward"):
        return y
    if norm not in ("ortho", "forward"):
        raise ValueError(f"norm must be None, 'backward', 'ortho' or 'forward', got {norm!r}")
    count = casting.cast(reduction.reduce_prod(casting.cast(lengths, float64)), y.dtype)
    from pinnace.ops.math import exponents

    factor = exponents.sqrt(count) if norm == "ortho" else count
    return y * factor if inverse else y / factor


# Kernels and shapes. Every op is one of four kinds over some axes.

# Passes over the numbers that a transform takes at least, for `share_images`.
_STEPS = 8


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
            return _transformed(transform, x, x.shape, dtype, None, chosen)
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
        return _transformed(transform, x, tuple(shape), dtype, sizes, chosen)

    if op.endswith("ND"):
        return lambda input, fft_length, axes: run(input, fft_length, axes)
    if "R" in op:
        return lambda input, fft_length: run(input, fft_length, None)
    return lambda input: run(input, None, None) if input.size else input


def _transformed(
    transform: Callable[..., Array],
    x: Array,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    sizes: list[int] | None,
    axes: list[int],
) -> Array:
    """The transforms, by several threads if they are many; NumPy makes them without the GIL."""
    rank = len(axes)
    if axes != list(range(-rank, 0)) or x.ndim == rank:
        return transform(x, s=sizes, axes=axes).astype(dtype, copy=False)
    y = np.empty(shape, dtype)
    given, made = x.reshape(-1, *x.shape[-rank:]), y.reshape(-1, *shape[-rank:])
    # NumPy fills `out` along several axes only if all of them keep their sizes.
    exact = np.result_type(x.dtype, 1j) if dtype.kind == "c" else dtype
    in_place = rank == 1 and exact == dtype

    def work(start: int, stop: int) -> None:
        part = made[start:stop]
        if in_place:
            transform(given[start:stop], s=sizes, axes=axes, out=part)
        else:
            part[...] = transform(given[start:stop], s=sizes, axes=axes)

    share_images(len(given), x.size * _STEPS, work)
    return y


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


def _fitted(dx: Tensor, x: Tensor, axes: Sequence[int]) -> Tensor:
    """`dx` truncated or padded to the size of `x`, undoing the op's own."""
    if dx.shape.is_fully_defined() and dx.shape == x.shape:
        return dx
    wanted, found = shapes.shape(x), shapes.shape(dx)
    part = slicing.slice(dx, found * 0, arithmetic.minimum(wanted, found))
    more = arithmetic.maximum(wanted - found, 0)
    del axes
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
        return _fitted(dx, x, chosen), *none
    lengths = inputs[1]
    last = lengths[-1]
    count = reduction.reduce_prod(lengths)
    if op.startswith("IRFFT"):
        # Every frequency stands for itself and its mirror image but the first and, of an even
        # length, the last.
        scaled = dy / casting.cast(count, dy.dtype)
        dx = _rfft(op, chosen, scaled, lengths, inputs)
        weights = _weights(last, dx, chosen[-1])
        return _fitted(dx * weights, x, chosen), *none
    whole = list(chosen)
    grown = padding.pad(dy, _behind(rank, whole[-1], last - last // 2 - 1))
    dx = complexes.real(_complex(op, chosen, grown, inverse=True))
    return _fitted(dx * casting.cast(count, dx.dtype), x, chosen), *none


def _behind(rank: int, axis: int, size: Any) -> Tensor:
    zero = size * 0
    rows = [joining.stack([zero, size if i == axis % rank else zero]) for i in range(rank)]
    return joining.stack(rows)


def _complex(op: str, axes: Sequence[int], x: Tensor, *, inverse: bool) -> Tensor:
    """The transform of complex numbers over the op's axes."""
    letter = "I" if inverse else ""
    if not op.endswith("ND"):
        suffix = op[-2:] if op[-2:] in ("2D", "3D") else ""
        return execute_one(_OPS[f"{letter}FFT{suffix}"], x)
    sizes = shapes.axis_sizes(x)
    lengths = _lengths([sizes[axis] for axis in axes])
    return execute_one(_OPS[f"{letter}FFTND"], x, lengths, convert_to_tensor(list(axes), int32))


def _rfft(
    op: str, axes: Sequence[int], x: Tensor, lengths: Tensor, inputs: tuple[Any, ...]
) -> Tensor:
    del axes
    kind = inputs[0].dtype
    return execute_one(_OPS[op[1:]], x, lengths, *inputs[2:], Tcomplex=kind)


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
    return casting.cast(reduction.reduce_prod(_lengths(sizes)), dtype)


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
_OPS = {name: _transform(name) for name in _NAMES}
