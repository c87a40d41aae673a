"""Patches of images and volumes as rows: ExtractImagePatches, ExtractVolumePatches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import NUMBERS, REAL
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import constants, shapes
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.windows import effective_size
from pinnace.ops.math import complexes
from pinnace.ops.nn import spatial_convolutions
from pinnace.ops.opdef import InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["extract_patches"]  # `extract_volume_patches` is `tf.`

_PADDING = attr("string", allowed=("SAME", "VALID"))


def _infer(call: InferCall) -> Shape:
    rank = 5 if call.op.name == "ExtractVolumePatches" else 4
    shape = call.spec(0).shape
    if not shape.is_compatible_with([None] * rank):
        call.fail(f"{call.op.inputs[0].name} must have {rank} axes")
    rates = call.attrs.get("rates", (1,) * rank)
    for name, values in (("ksizes", call.attrs["ksizes"]), ("strides", call.attrs["strides"])):
        _check(call, name, values, rank)
    _check(call, "rates", rates, rank)
    ksizes, strides = call.attrs["ksizes"][1:-1], call.attrs["strides"][1:-1]
    counts = [
        None if size is None else _count(size, k, s, r, call.attrs["padding"])[0]
        for size, k, s, r in zip(
            shape[1:-1] if shape.rank else [None] * (rank - 2),
            ksizes,
            strides,
            rates[1:-1],
            strict=True,
        )
    ]
    channels = shape[-1] if shape.rank else None
    depth = None if channels is None else channels * math.prod(ksizes)
    return Shape([shape[0] if shape.rank else None, *counts, depth])


def _check(call: InferCall, name: str, values: Sequence[int], rank: int) -> None:
    if len(values) != rank or values[0] != 1 or values[-1] != 1 or min(values) < 1:
        call.fail(f"{name} must be {rank} numbers above 0, 1 for batch and channels, got {values}")


def _count(size: int, window: int, stride: int, rate: int, padding: str) -> tuple[int, int]:
    """The number of windows along an axis, and the padding before."""
    reach = effective_size(window, rate)
    if padding == "VALID":
        return max(-(-(size - reach + 1) // stride), 0), 0
    count = -(-size // stride)
    return count, max((count - 1) * stride + reach - size, 0) // 2


def _windows(
    x: Array, ksizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str
) -> Array:
    spatial = x.ndim - 2
    y = x
    for axis in range(spatial):
        k, s, r = ksizes[axis + 1], strides[axis + 1], rates[axis + 1]
        size = x.shape[axis + 1]
        count, before = _count(size, k, s, r, padding)
        places = np.arange(count)[:, None] * s + np.arange(k) * r - before
        # An appended plane of zeros stands for all positions outside.
        at = axis * 2 + 1
        zeros = np.zeros([1 if i == at else n for i, n in enumerate(y.shape)], y.dtype)
        places = np.where((places < 0) | (places >= size), size, places)
        y = np.take(np.concatenate([y, zeros], at), places, axis=at)
    # [batch, n, k, n, k, ..., channels] with the windows' axes behind.
    order = [0, *range(1, 2 * spatial, 2), *range(2, 2 * spatial + 1, 2), 2 * spatial + 1]
    y = y.transpose(order)
    depth = math.prod(ksizes) * x.shape[-1]
    return np.ascontiguousarray(y).reshape(*y.shape[: spatial + 1], depth)


def _one_hot_filter(call: OpCall, x: Tensor, dtype: dtypes.DType) -> Tensor:
    """The filter whose convolution extracts windows: one output channel per pixel."""
    channels = x.shape[-1] if x.shape.rank else None
    if channels is None:
        raise UnimplementedError(f"{call.op.name}: the gradient needs a known number of channels")
    window = call.attr("ksizes")[1:-1]
    depth = math.prod(window) * channels
    eye: Any = np.eye(depth).reshape(*window, channels, depth)
    return convert_to_tensor(eye, dtype)


def _put_back(call: OpCall, dy: Tensor) -> Tensor:
    """The transpose of a convolution by windows of ones and zeros, for real `dy`."""
    x = call.inputs[0]
    if dy.shape.rank and 0 in tuple(dy.shape):  # no window fits
        return constants.zeros(shapes.shape(x), dy.dtype)
    volumes = call.op.name == "ExtractVolumePatches"
    attrs = {} if volumes else {"dilations": call.attr("rates")}
    return execute_one(
        spatial_convolutions.CONV3D_BACKPROP_INPUT
        if volumes
        else spatial_convolutions.CONV2D_BACKPROP_INPUT,
        shapes.shape(x),
        _one_hot_filter(call, x, dy.dtype),
        dy,
        strides=call.attr("strides"),
        padding=call.attr("padding"),
        **attrs,
    )


def extract_patches(
    images: TensorLike,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The windows of pictures, each as one row.

    Args:
        images: [batch, height, width, channels].
        sizes: [1, rows, columns, 1] of a window.
        strides: [1, down, right, 1] from one window to the next.
        rates: [1, down, right, 1] from one pixel of a window to the next.
        padding: "VALID", or "SAME" with zeros around.
        name: name of the node while tracing.

    Returns:
        [batch, windows down, windows across, rows * columns * channels].
    """
    return execute_one(
        EXTRACT_IMAGE_PATCHES,
        images,
        ksizes=tuple(sizes),
        strides=tuple(strides),
        rates=tuple(rates),
        padding=padding,
        name=name,
    )


def _images_kernel(
    images: Array,
    *,
    ksizes: tuple[int, ...],
    strides: tuple[int, ...],
    rates: tuple[int, ...],
    padding: str,
) -> Array:
    return _windows(images, ksizes, strides, rates, padding)


def _images_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    if not dy.dtype.is_complex:
        return (_put_back(call, dy),)
    parts = (_put_back(call, complexes.real(dy)), _put_back(call, complexes.imag(dy)))
    return (complexes.complex(*parts),)


EXTRACT_IMAGE_PATCHES = define(
    name="ExtractImagePatches",
    signature="images: T -> patches: T",
    types={"T": NUMBERS | {dtypes.bool}},
    attrs={
        "ksizes": attr("list(int)"),
        "strides": attr("list(int)"),
        "rates": attr("list(int)"),
        "padding": _PADDING,
    },
    infer=_infer,
    kernel=_images_kernel,
    gradient=_images_gradient,
)


def extract_volume_patches(
    input: TensorLike,
    ksizes: Sequence[int],
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The windows of volumes [batch, planes, height, width, channels], each as one row.

    Args:
        input: the volumes.
        ksizes: [1, planes, rows, columns, 1] of a window.
        strides: [1, planes, rows, columns, 1] from one window to the next.
        padding: "VALID", or "SAME" with zeros around.
        name: name of the node while tracing.
    """
    return execute_one(
        EXTRACT_VOLUME_PATCHES,
        input,
        ksizes=tuple(ksizes),
        strides=tuple(strides),
        padding=padding,
        name=name,
    )


def _volumes_kernel(
    input: Array, *, ksizes: tuple[int, ...], strides: tuple[int, ...], padding: str
) -> Array:
    return _windows(input, ksizes, strides, (1,) * 5, padding)


def _volumes_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (_put_back(call, dy),)


EXTRACT_VOLUME_PATCHES = define(
    name="ExtractVolumePatches",
    signature="input: T -> patches: T",
    types={"T": REAL},
    attrs={"ksizes": attr("list(int)"), "strides": attr("list(int)"), "padding": _PADDING},
    infer=_infer,
    kernel=_volumes_kernel,
    gradient=_volumes_gradient,
)
