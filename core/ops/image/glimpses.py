"""Glimpses of images: ExtractGlimpse and ExtractGlimpseV2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import float32, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["extract_glimpse"]


def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """A window of each image; pixels outside of the image are noise.

    Args:
        input: [batch, height, width, channels], float32.
        size: [2], int32: height and width of the windows.
        offsets: [batch, 2], float32: y and x of each window.
        centered: with `normalized`, offsets go from -1 to 1, (0, 0) is the picture's centre, and
            they say where the window's centre lies; without, they say where its first corner lies,
            from the picture's centre.
        normalized: offsets count in sizes of the picture, in pixels otherwise.
        noise: "uniform" between the least and the greatest value of the picture, "gaussian" with
            mean and deviation of each channel, or "zero".
        name: name of the node while tracing.

    Returns:
        [batch, size[0], size[1], channels], float32. Noise differs from call to call, as
        TensorFlow's does.

    Raises:
        InvalidArgumentError: shapes do not fit, or there is no such noise.

    Source:
        TensorFlow op `ExtractGlimpseV2` (image_ops.cc).
    """
    return execute_one(
        EXTRACT_GLIMPSE_V2,
        convert_to_tensor(input, float32),
        convert_to_tensor(size, int32),
        convert_to_tensor(offsets, float32),
        centered=centered,
        normalized=normalized,
        uniform_noise=False,
        noise=noise,
        name=name,
    )


def _chosen_noise(op: str, uniform_noise: bool, noise: str) -> str:
    if uniform_noise and noise not in {"", "uniform"}:
        raise InvalidArgumentError(
            f"{op}: uniform_noise must be False where noise is given, got noise {noise!r}"
        )
    if not noise:
        return "uniform" if uniform_noise else "gaussian"
    if noise not in {"uniform", "gaussian", "zero"}:
        raise InvalidArgumentError(
            f"{op}: noise must be 'uniform', 'gaussian' or 'zero', got {noise!r}"
        )
    return noise


def _corner(
    offset: Array, picture: Array, window: Array, *, first: bool, centered: bool, normalized: bool
) -> list[int]:
    """The offset of a window: y and x, in pixels, rounded towards zero.

    In the first version of the op offsets are always the window's centre; in the second they are
    only where they are both normalized and centered.
    """
    half = np.float32(2)
    place = offset * picture if normalized else offset
    if first:
        place = (place + picture) / half if centered else place
        place = place - window / half
    elif normalized:
        place = (place + picture) / half - window / half if centered else place
    elif centered:
        place = place + picture / half
    return [int(n) for n in np.trunc(place)]


def _noise(kind: str, image: Array, shape: tuple[int, ...]) -> Array:
    """The values of a window outside the image."""
    if kind == "zero" or not image.size:
        return np.zeros(shape, np.float32)
    rng = np.random.default_rng()
    if kind == "uniform":
        low, high = image.min(), image.max()
        return np.asarray(low + rng.random(shape, np.float32) * (high - low))
    mean, spread = image.mean((0, 1)), image.std((0, 1))
    drawn = mean + rng.standard_normal(shape, np.float32) * spread
    return np.asarray(np.clip(drawn, image.min((0, 1)), image.max((0, 1))))


def _kernel(op: str, *, first: bool) -> Callable[..., Array]:
    def kernel(
        input: Array,
        size: Array,
        offsets: Array,
        *,
        centered: bool,
        normalized: bool,
        uniform_noise: bool,
        noise: str,
    ) -> Array:
        kind = _chosen_noise(op, uniform_noise, noise)
        height, width = (int(n) for n in size)
        if height < 0 or width < 0:
            raise InvalidArgumentError(f"{op}: size must not be negative, got {size.tolist()}")
        batch, rows, columns, channels = input.shape
        out = np.empty((batch, height, width, channels), np.float32)
        sizes = np.array([rows, columns], np.float32)
        for image, window, offset in zip(input, out, offsets, strict=True):
            y, x = _corner(
                offset,
                sizes,
                size.astype(np.float32),
                first=first,
                centered=centered,
                normalized=normalized,
            )
            # The part of the image inside the window, and its place there.
            top, bottom = min(max(y, 0), rows), max(min(y + height, rows), 0)
            left, right = min(max(x, 0), columns), max(min(x + width, columns), 0)
            if y < 0 or x < 0 or y + height > rows or x + width > columns:
                window[...] = _noise(kind, image, window.shape)
            if top < bottom and left < right:
                part = image[top:bottom, left:right]
                window[top - y : bottom - y, left - x : right - x] = part
        return out

    return kernel


def _infer(call: InferCall) -> Shape:
    image, size, offsets = (call.spec(i).shape for i in range(3))
    if image.rank not in {None, 4}:
        call.fail(f"input must have 4 axes, got rank {image.rank}")
    if not size.is_compatible_with([2]):
        call.fail("size must hold two numbers, height and width")
    batch = None if image.rank is None else image[0]
    if not offsets.is_compatible_with([batch, 2]):
        call.fail("offsets must hold two numbers for each picture, y and x")
    if batch is None and offsets.rank is not None:
        batch = offsets[0]
    sizes = call.shape_constant(1).as_list()
    return Shape([batch, *sizes, None if image.rank is None else image[3]])


def _define(name: str, *, first: bool) -> OpDef:
    return define(
        name=name,
        signature="input: float32, size: int32, offsets: float32 -> glimpse: float32",
        attrs=_ATTRS,
        infer=_infer,
        kernel=_kernel(name, first=first),
        # As in TensorFlow, random noise is not declared as an effect: equal calls in a graph may be
        # merged.
        gradient=NOT_DIFFERENTIABLE if first else NO_GRADIENT_DEFINED,
    )


_ATTRS: dict[str, Any] = {
    "centered": attr("bool", default=True),
    "normalized": attr("bool", default=True),
    "uniform_noise": attr("bool", default=True),
    "noise": attr("string", default="uniform"),
}
EXTRACT_GLIMPSE = _define("ExtractGlimpse", first=True)
EXTRACT_GLIMPSE_V2 = _define("ExtractGlimpseV2", first=False)
