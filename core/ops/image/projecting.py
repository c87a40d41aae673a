"""Projective transformations of images: ImageProjectiveTransformV2 and V3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import constants, joining, reshaping, shapes
from pinnace.ops.execute import execute
from pinnace.ops.opdef import InferCall, OpCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor

__all__: list[str] = []

INTERPOLATIONS = ("NEAREST", "BILINEAR")
FILL_MODES = ("REFLECT", "WRAP", "CONSTANT", "NEAREST")
_TYPES = frozenset(
    {
        *(dtypes.uint8, dtypes.int32, dtypes.int64),
        *(dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64),
    }
)
# Coordinates beyond this lie outside of every image; the bound fits into int64.
_FAR = np.float32(2**40)

_ATTRS = {"interpolation": attr("string"), "fill_mode": attr("string", default="CONSTANT")}


def _reflected(place: Array, size: int) -> Array:
    """Reflection at the edges: d c b a | a b c d | d c b a."""
    if size <= 1:
        return np.zeros_like(place)
    period = np.float32(2 * size)
    below = period * np.trunc(-place / period) + place
    below = np.where(below < -size, below + period, -below - 1)
    above = place - period * np.trunc(place / period)
    above = np.where(above >= size, period - above - 1, above)
    found = np.where(place < 0, below, np.where(place > size - 1, above, place))
    return _nearest(found, size)


def _wrapped(place: Array, size: int) -> Array:
    """Wrapping at the edges: a b c d | a b c d | a b c d; the gap between d and a has no pixel."""
    if size <= 1:
        return np.zeros_like(place)
    whole, gaps = np.float32(size), np.float32(size - 1)
    below = place + whole * (np.trunc(-place / gaps) + 1)
    above = place - whole * np.trunc(place / gaps)
    found = np.where(place < 0, below, np.where(place > size - 1, above, place))
    return _nearest(found, size)


def _nearest(place: Array, size: int) -> Array:
    """Clamping at the edges: a a a a | a b c d | d d d d."""
    return np.clip(place, 0, size - 1)


def _as_they_are(place: Array, size: int) -> Array:  # noqa: ARG001 (the protocol)
    return place


_MAPPED = {"REFLECT": _reflected, "WRAP": _wrapped, "NEAREST": _nearest, "CONSTANT": _as_they_are}


def _places(transforms: Array, height: int, width: int) -> tuple[Array, Array, Array]:
    """The source of each output pixel, [batch, height, width]: row, column, validity."""
    x = np.arange(width, dtype=np.float32)
    y = np.arange(height, dtype=np.float32)[:, None]
    a = transforms[:, :, None, None]
    depth = a[:, 6] * x + a[:, 7] * y + np.float32(1)
    column = (a[:, 0] * x + a[:, 1] * y + a[:, 2]) / depth
    row = (a[:, 3] * x + a[:, 4] * y + a[:, 5]) / depth
    there = (depth != 0) & (np.abs(row) < _FAR) & (np.abs(column) < _FAR)
    return np.where(there, row, 0), np.where(there, column, 0), there


def _rounded(place: Array) -> Array:
    """The number rounded to the nearest integer, halves away from 0."""
    return np.trunc(place + np.copysign(np.float32(0.5), place))  # type: ignore[no-any-return]


class _Reader:
    """The pixels of images [batch, height, width, channels], with `fill` outside of them."""

    def __init__(self, images: Array, fill: Array) -> None:
        self.images = images
        self.fill = fill
        self.batch = np.arange(len(images))[:, None, None]

    def __call__(self, row: Array, column: Array, there: Array) -> Array:
        """The pixels at integer positions, [batch, h, w]."""
        height, width = self.images.shape[1:3]
        inside = there & (row >= 0) & (row < height) & (column >= 0) & (column < width)
        if not height or not width:
            return np.full((*row.shape, self.images.shape[-1]), self.fill)
        y = np.where(inside, row, 0).astype(np.intp)
        x = np.where(inside, column, 0).astype(np.intp)
        return np.where(inside[..., None], self.images[self.batch, y, x], self.fill)


def _bilinear(read: _Reader, row: Array, column: Array, there: Array) -> Array:
    """Bilinear sampling in float32, for any dtype of images."""
    top, left = np.floor(row), np.floor(column)
    bottom, right = top + 1, left + 1
    from_left, from_right = (column - left)[..., None], (right - column)[..., None]

    def along(line: Array) -> Array:
        near = read(line, left, there).astype(np.float32)
        far = read(line, right, there).astype(np.float32)
        return from_right * near + from_left * far

    above, below = along(top), along(bottom)
    return (bottom - row)[..., None] * above + (row - top)[..., None] * below  # type: ignore[no-any-return]


def _project(
    name: str,
    images: Array,
    transforms: Array,
    output_shape: Array,
    fill_value: Array,
    interpolation: str,
    fill_mode: str,
) -> Array:
    if len(transforms) not in {1, len(images)}:
        raise InvalidArgumentError(
            f"{name}: transforms must have one row or one per image, "
            f"got {len(transforms)} for {len(images)}"
        )
    height, width = (int(size) for size in output_shape.reshape(-1))
    if height <= 0 or width <= 0:
        raise InvalidArgumentError(
            f"{name}: output_shape must be positive, got {output_shape.tolist()}"
        )
    row, column, there = _places(transforms, height, width)
    mapped = _MAPPED[fill_mode]
    row, column = mapped(row, images.shape[1]), mapped(column, images.shape[2])
    shape = (len(images), height, width)
    row, column, there = (np.broadcast_to(part, shape) for part in (row, column, there))
    fill = np.asarray(fill_value).astype(images.dtype)
    read = _Reader(images, fill)
    if interpolation == "NEAREST":
        return read(_rounded(row), _rounded(column), there)
    blended = _bilinear(read, row, column, there).astype(images.dtype)
    return np.where(there[..., None], blended, fill)


def _infer(call: InferCall) -> Shape:
    images, transforms = call.spec(0).shape, call.spec(1).shape
    if images.rank not in {None, 4}:
        call.fail("images must have 4 axes: [batch, height, width, channels]")
    if not transforms.is_compatible_with([None, 8]):
        call.fail("transforms must have shape [batch, 8] or [1, 8]")
    if not call.spec(2).shape.is_compatible_with([2]):
        call.fail("output_shape must have shape [2]: height and width")
    if len(call.inputs) > 3 and call.spec(3).shape.rank not in {None, 0}:
        call.fail("fill_value must be a scalar")
    for what, allowed in (("interpolation", INTERPOLATIONS), ("fill_mode", FILL_MODES)):
        if call.attrs[what] not in allowed:
            call.fail(f"{what} must be one of {', '.join(allowed)}, got {call.attrs[what]!r}")
    sizes = call.constant(2)
    inner: list[int | None] = [None, None] if sizes is None else [int(n) for n in sizes]
    if sizes is not None and sizes.min(initial=1) <= 0:
        call.fail(f"output_shape must be positive, got {inner}")
    if images.rank is None:
        return Shape([None, *inner, None])
    return Shape([images[0], *inner, images[3]])


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The images' gradient, by the inverse projection with zeros at edges, as in TensorFlow."""
    from pinnace.ops.linalg import solving  # a family of ops that only this gradient needs

    images, transforms = call.inputs[:2]
    ones = constants.ones_like(transforms[:, :1])
    matrices = reshaping.reshape(joining.concat([transforms, ones], 1), [-1, 3, 3])
    flat = reshaping.reshape(solving.inv(matrices), [-1, 9])
    backward = (flat / flat[:, 8:])[:, :8]
    options = {name: call.attr(name) for name in ("interpolation", "fill_mode")}
    fill = [constants.constant(0.0, dtypes.float32)] if len(call.inputs) > 3 else []
    dx = execute(call.op, dy, backward, shapes.shape(images)[1:3], *fill, **options)
    return dx, *(None for _ in call.inputs[1:])


def _kernel_v2(
    images: Array, transforms: Array, output_shape: Array, *, interpolation: str, fill_mode: str
) -> Array:
    nothing = np.zeros((), np.float32)
    name = "ImageProjectiveTransformV2"
    return _project(name, images, transforms, output_shape, nothing, interpolation, fill_mode)


PROJECTIVE_TRANSFORM_V2 = define(
    name="ImageProjectiveTransformV2",
    signature=(
        "images: dtype, transforms: float32, output_shape: int32 -> transformed_images: dtype"
    ),
    types={"dtype": _TYPES},
    attrs=_ATTRS,
    infer=_infer,
    kernel=_kernel_v2,
    gradient=_gradient,
)


def _kernel_v3(
    images: Array,
    transforms: Array,
    output_shape: Array,
    fill_value: Array,
    *,
    interpolation: str,
    fill_mode: str,
) -> Array:
    name = "ImageProjectiveTransformV3"
    return _project(name, images, transforms, output_shape, fill_value, interpolation, fill_mode)


PROJECTIVE_TRANSFORM_V3 = define(
    name="ImageProjectiveTransformV3",
    signature=(
        "images: dtype, transforms: float32, output_shape: int32, fill_value: float32 "
        "-> transformed_images: dtype"
    ),
    types={"dtype": _TYPES},
    attrs=_ATTRS,
    infer=_infer,
    kernel=_kernel_v3,
    gradient=_gradient,
)
