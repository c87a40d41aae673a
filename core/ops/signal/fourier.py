"""Fourier transforms, of complex and of real signals, over one axis or several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import complex64, complex128, float32, float64, int32
from pinnace.ops.array import casting, joining, permutations, shapes
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.math import arithmetic, reduction
from pinnace.ops.signal.transforms import OPS, length_vector

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

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
    return execute_one(OPS["FFT"], convert_to_tensor(input), name=name)


def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `fft`: Σ y[k] exp(2πi k n / N) / N over the last axis.

    Args:
        input: [..., N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        [..., N], dtype of `input`.
    """
    return execute_one(OPS["IFFT"], convert_to_tensor(input), name=name)


def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """`fft` over the last two axes.

    Args:
        input: [..., M, N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`.
    """
    return execute_one(OPS["FFT2D"], convert_to_tensor(input), name=name)


def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """`ifft` over the last two axes.

    Args:
        input: [..., M, N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`.
    """
    return execute_one(OPS["IFFT2D"], convert_to_tensor(input), name=name)


def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """`fft` over the last three axes.

    Args:
        input: [..., L, M, N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`.
    """
    return execute_one(OPS["FFT3D"], convert_to_tensor(input), name=name)


def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """`ifft` over the last three axes.

    Args:
        input: [..., L, M, N], complex64 or complex128.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `input`.
    """
    return execute_one(OPS["IFFT3D"], convert_to_tensor(input), name=name)


def rfft(input_tensor: TensorLike, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The first half of `fft` of real signals, of which the second is the mirror image.

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
        axes: which axes; all if None.
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
        axes: which axes; all if None.
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
        axes: which axes; all if None.
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


def _real(op: str, rank: int, x: TensorLike, lengths: Any, name: str | None) -> Tensor:
    tensor = convert_to_tensor(x, dtype_hint=float32)
    if lengths is None:
        lengths = length_vector(_inner_sizes(tensor, rank))
    kind = complex128 if tensor.dtype is float64 else complex64
    return execute_one(OPS[op], tensor, convert_to_tensor(lengths, int32), Tcomplex=kind, name=name)


def _half(op: str, rank: int, x: TensorLike, lengths: Any, name: str | None) -> Tensor:
    tensor = convert_to_tensor(x, dtype_hint=complex64)
    if lengths is None:
        sizes = _inner_sizes(tensor, rank)
        lengths = length_vector([*sizes[:-1], arithmetic.maximum(2 * (sizes[-1] - 1), 0)])
    kind = float64 if tensor.dtype is complex128 else float32
    return execute_one(OPS[op], tensor, convert_to_tensor(lengths, int32), Treal=kind, name=name)


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
        lengths = length_vector(found)
    kinds: dict[str, Any] = {}
    if op == "RFFTND":
        kinds = {"Tcomplex": complex128 if tensor.dtype is float64 else complex64}
    if op == "IRFFTND":
        kinds = {"Treal": float64 if tensor.dtype is complex128 else float32}
    counts = convert_to_tensor(lengths, int32)
    y = execute(OPS[op], tensor, counts, convert_to_tensor(chosen, int32), name=name, **kinds)
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
