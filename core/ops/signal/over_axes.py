"""Fourier transforms over arbitrary axes: `tf.fftnd` and the like; see `tf.signal` for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.dtypes import as_dtype, complex64, float32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.signal import fourier

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["fftnd", "ifftnd", "irfftnd", "rfftnd"]


def fftnd(input: TensorLike, fft_length: Any, axes: Any, name: str | None = None) -> Tensor:
    """`tf.signal.fftnd` of a complex tensor, with required lengths and axes.

    Args:
        input: [...], complex64 or complex128.
        fft_length: [axes], what each is cut off or filled up to.
        axes: the axes, each once.
        name: name of the node while tracing.

    Returns:
        `fft_length` along `axes`, dtype of `input`.
    """
    return fourier.fftnd(input, fft_length, axes, name=name)


def ifftnd(input: TensorLike, fft_length: Any, axes: Any, name: str | None = None) -> Tensor:
    """The inverse of `fftnd`.

    Args:
        input: [...], complex64 or complex128.
        fft_length: [axes], what each is cut off or filled up to.
        axes: the axes, each once.
        name: name of the node while tracing.

    Returns:
        `fft_length` along `axes`, dtype of `input`.
    """
    return fourier.ifftnd(input, fft_length, axes, name=name)


def rfftnd(
    input: TensorLike,
    fft_length: Any,
    axes: Any,
    Tcomplex: Any = complex64,  # noqa: N803 (TensorFlow's name)
    name: str | None = None,
) -> Tensor:
    """`tf.signal.rfftnd` of a real tensor, with required lengths and axes.

    Args:
        input: [...], float32 or float64.
        fft_length: [axes], what each is cut off or filled up to.
        axes: the axes, each once; the last one is halved.
        Tcomplex: dtype of the result: complex64 for float32, complex128 for float64.
        name: name of the node while tracing.

    Returns:
        `fft_length` along `axes`, the last one n // 2 + 1, of dtype `Tcomplex`.

    Raises:
        InvalidArgumentError: a `Tcomplex` that does not go with the dtype of `input`.
    """
    y = fourier.rfftnd(input, fft_length, axes, name=name)
    _check("rfftnd", "Tcomplex", y, Tcomplex)
    return y


def irfftnd(
    input: TensorLike,
    fft_length: Any,
    axes: Any,
    Treal: Any = float32,  # noqa: N803 (TensorFlow's name)
    name: str | None = None,
) -> Tensor:
    """The inverse of `rfftnd`.

    Args:
        input: [...], complex64 or complex128, as `rfftnd` gives it.
        fft_length: [axes], sizes of the result.
        axes: the axes, each once.
        Treal: dtype of the result: float32 for complex64, float64 for complex128.
        name: name of the node while tracing.

    Returns:
        `fft_length` along `axes`, of dtype `Treal`.

    Raises:
        InvalidArgumentError: a `Treal` that does not go with the dtype of `input`.
    """
    y = fourier.irfftnd(input, fft_length, axes, name=name)
    _check("irfftnd", "Treal", y, Treal)
    return y


def _check(who: str, argument: str, y: Tensor, wanted: Any) -> None:
    if y.dtype is not as_dtype(wanted):
        raise InvalidArgumentError(
            f"{who}: {argument} must be {y.dtype.name} for this input, got {as_dtype(wanted).name}"
        )
