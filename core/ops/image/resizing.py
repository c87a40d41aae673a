"""Resized images: ResizeBilinear, ResizeNearestNeighbor, ResizeBicubic, ResizeArea."""

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, REAL, float32, float64, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import broadcasting, casting, reshaping, shapes
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.image import interpolation
from pinnace.ops.kernels import pictures
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.math import arithmetic, rounding
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, Gradient, InferCall, Kernel, OpCall, OpDef, attr
from pinnace.ops.registry import define, lookup

__all__ = ["ResizeMethod", "resize"]

_PIXELS = REAL - {dtypes.uint32, dtypes.uint64}


class ResizeMethod:
    """The methods of `resize`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


_KERNELS = {
    "bilinear": "triangle",
    "bicubic": "keyscubic",
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
    "gaussian": "gaussian",
    "mitchellcubic": "mitchellcubic",
}
_CENTRES = {
    "align_corners": attr("bool", default=False),
    "half_pixel_centers": attr("bool", default=False),
}


@takes_composites(ragged="images:resize")
def resize(
    images: TensorLike,
    size: Any,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """`images` resized to another height and width.

    Args:
        images: [batch, height, width, channels] or [height, width, channels], a real type; or a
            ragged tensor of four axes, whose images have different sizes.
        size: [2], int32: the new height and width.
        method: one of `ResizeMethod`.
        preserve_aspect_ratio: as large as fits into `size` without distortion.
        antialias: widen the kernel when the picture becomes smaller, so that every point counts.
        name: name of the node while tracing.

    Returns:
        The shape with the new height and width; float32, or for "nearest" the dtype of `images`.

    Raises:
        ValueError: there is no such method, or `images` has neither three nor four axes.

    Source:
        TensorFlow `tf.image.resize`, with half-pixel centres.
    """
    x = convert_to_tensor(images)
    if x.shape.rank not in {3, 4}:
        raise ValueError(f"resize: images must have three or four axes, got shape {x.shape.text}")
    if method not in _KERNELS and method not in {"nearest", "area"}:
        raise ValueError(
            f"resize: method must be one of {sorted({*_KERNELS, 'nearest', 'area'})}, got "
            f"{method!r}"
        )
    single = x.shape.rank == 3
    if single:
        x = reshaping.expand_dims(x, 0)
    wanted = convert_to_tensor(size, int32)
    if wanted.shape.rank not in {None, 1} or not wanted.shape.is_compatible_with([2]):
        raise ValueError(
            f"resize: size must hold a height and a width, got shape {wanted.shape.text}"
        )
    if preserve_aspect_ratio:
        wanted = _fitting(x, wanted)
    known = broadcasting.known_value(wanted)
    if known is not None and x.shape[1:3] == known.tolist():
        # TensorFlow: an image that already has the size also keeps its dtype.
        return reshaping.squeeze(x, [0]) if single else x
    y = _resized(x, wanted, method, antialias, name)
    return reshaping.squeeze(y, [0]) if single else y


def _fitting(x: Tensor, size: Tensor) -> Tensor:
    """The largest size with the proportions of `x` that fits into `size`."""
    now = shapes.shape(x)[1:3]
    scales = casting.cast(size, float32) / casting.cast(now, float32)
    scale = arithmetic.minimum(scales[0], scales[1])
    scaled = rounding.round(scale * casting.cast(now, float32))
    return casting.cast(scaled, int32)


def _resized(x: Tensor, size: Tensor, method: str, antialias: bool, name: str | None) -> Tensor:
    if method == "nearest":
        return execute_one(RESIZE_NEAREST_NEIGHBOR, x, size, half_pixel_centers=True, name=name)
    if method == "area":
        return execute_one(RESIZE_AREA, x, size, name=name)
    if method in {"bilinear", "bicubic"} and not antialias:
        op = RESIZE_BILINEAR if method == "bilinear" else RESIZE_BICUBIC
        return execute_one(op, x, size, half_pixel_centers=True, name=name)
    now = casting.cast(shapes.shape(x)[1:3], float32)
    scale = casting.cast(size, float32) / now
    return execute_one(
        SCALE_AND_TRANSLATE,
        x,
        size,
        scale,
        np.zeros(2, np.float32),
        kernel_type=_KERNELS[method],
        antialias=antialias,
        name=name,
    )


_KERNEL_ATTRS = {
    "kernel_type": attr("string", default="lanczos3", allowed=tuple(interpolation.KERNELS)),
    "antialias": attr("bool", default=True),
}


def _sizes(op: str, images: Array, size: Array) -> tuple[int, int]:
    if images.ndim != 4 or size.shape != (2,):
        raise InvalidArgumentError(
            f"{op}: images must have four axes and size two entries, got shape "
            f"{list(images.shape)} "
            f"and {size.tolist()}"
        )
    height, width = (int(n) for n in size)
    if height <= 0 or width <= 0 or 0 in images.shape[1:3]:
        raise InvalidArgumentError(
            f"{op}: sizes must be positive, got {size.tolist()} for shape {list(images.shape)}"
        )
    return height, width


def _infer_resize(call: InferCall) -> Shape:
    shape, size = call.spec(0).shape, call.constant(1)
    if shape.rank not in {None, 4}:
        call.fail("images must have four axes")
    if not call.spec(1).shape.is_compatible_with([2]):
        call.fail("size must hold a height and a width")
    if size is not None and size.min() <= 0:
        call.fail(f"sizes must be positive, got {size.tolist()}")
    if shape.rank is None:
        shape = unknown_shape(4)
    new = call.shape_constant(1)
    return Shape([shape[0], *(new if new.rank == 2 else (None, None)), shape[3]])


def _centres(call: OpCall) -> dict[str, Any]:
    return {name: call.attr(name) for name in _CENTRES}


def _gradient_by(name: str) -> Gradient:
    def gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
        x = call.inputs[0]
        # TensorFlow: other dtypes get no gradient.
        if x.dtype not in lookup(name).type_sets["T"].allowed:
            return None, None
        return execute(lookup(name), dy, x, **_centres(call)), None

    return gradient


def _resize_op(name: str, kernel: Kernel, gradient: Gradient) -> OpDef:
    return define(
        name=name,
        signature="images: T, size: int32 -> resized_images: float32",
        types={"T": _PIXELS},
        attrs=_CENTRES,
        infer=_infer_resize,
        kernel=kernel,
        gradient=gradient,
    )


def _bilinear_kernel(
    images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    height, width = _sizes("ResizeBilinear", images, size)
    x = images.astype(np.float32, copy=False)
    options = (align_corners, half_pixel_centers)
    columns = interpolation.linear_places(x.shape[2], width, *options)
    rows = interpolation.linear_places(x.shape[1], height, *options)
    y = pictures.resized_linearly(x, rows, columns)
    if y is not None:
        return y
    # Differences as in TensorFlow, not matrix products: uniform regions stay uniform.
    low, high, part = columns
    left = x[:, :, low]
    x = left + (x[:, :, high] - left) * part[:, None]
    low, high, part = rows
    top = x[:, low]
    return np.asarray(top + (x[:, high] - top) * part[:, None, None])


RESIZE_BILINEAR = _resize_op("ResizeBilinear", _bilinear_kernel, _gradient_by("ResizeBilinearGrad"))


def _undone(grads: Array, rows: Array, columns: Array, dtype: Any) -> Array:
    """The gradient of each old pixel from those of the new ones, `grads`."""
    wide = grads.astype(computed_in(np.dtype(dtype)), copy=False)
    return interpolation.resized(wide, rows.T, columns.T).astype(dtype, copy=False)


def _backward(weights: Any) -> Any:
    def kernel(
        grads: Array, original_image: Array, *, align_corners: bool, half_pixel_centers: bool
    ) -> Array:
        rows, columns = (
            weights(
                original_image.shape[axis], grads.shape[axis], align_corners, half_pixel_centers
            )
            for axis in (1, 2)
        )
        return _undone(grads, rows, columns, original_image.dtype)

    return kernel


def _gradient_of_grad(name: str) -> Gradient:
    """The gradient of a linear op's transpose, which is the op."""

    def gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
        size = shapes.shape(call.inputs[0])[1:3]
        return execute(lookup(name), dy, size, **_centres(call)), None

    return gradient


def _resize_grad_op(name: str, kernel: Kernel, gradient: Gradient, types: Any) -> OpDef:
    return define(
        name=name,
        signature="grads: float32, original_image: T -> output: T",
        types={"T": types},
        attrs=_CENTRES,
        infer=_infer_grad,
        kernel=kernel,
        gradient=gradient,
    )


def _infer_grad(call: InferCall) -> Shape:
    for index, name in ((0, "grads"), (1, "original_image")):
        if call.spec(index).shape.rank not in {None, 4}:
            call.fail(f"{name} must have four axes")
    for index in range(2, len(call.inputs)):
        if not call.spec(index).shape.is_compatible_with([2]):
            call.fail(f"{call.op.inputs[index].name} must hold two numbers")
    return call.spec(1).shape


RESIZE_BILINEAR_GRAD = _resize_grad_op(
    "ResizeBilinearGrad",
    _backward(interpolation.linear_weights),
    _gradient_of_grad("ResizeBilinear"),
    FLOATS,
)


def _bicubic_kernel(
    images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    height, width = _sizes("ResizeBicubic", images, size)
    options = (align_corners, half_pixel_centers)
    rows = interpolation.cubic_weights(images.shape[1], height, *options)
    columns = interpolation.cubic_weights(images.shape[2], width, *options)
    return interpolation.resized(images.astype(np.float32), rows, columns)


RESIZE_BICUBIC = _resize_op("ResizeBicubic", _bicubic_kernel, _gradient_by("ResizeBicubicGrad"))


RESIZE_BICUBIC_GRAD = _resize_grad_op(
    "ResizeBicubicGrad",
    _backward(interpolation.cubic_weights),
    _gradient_of_grad("ResizeBicubic"),
    frozenset({float32, float64}),
)


def _nearest_kernel(
    images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    height, width = _sizes("ResizeNearestNeighbor", images, size)
    batch, old_height, old_width, channels = images.shape
    rows = interpolation.nearest_places(old_height, height, align_corners, half_pixel_centers)
    columns = interpolation.nearest_places(old_width, width, align_corners, half_pixel_centers)
    # Numbers one by one along the row, then whole rows: NumPy copies pixels through a slower loop.
    places = (columns[:, None] * channels + np.arange(channels)).reshape(-1)
    lines = images.reshape(batch, old_height, old_width * channels)
    if height < old_height:
        wide = np.take(np.take(lines, rows, axis=1), places, axis=2)
    else:
        wide = np.take(np.take(lines, places, axis=2), rows, axis=1)
    return np.asarray(wide.reshape(batch, height, width, channels))


def _nearest_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    size = shapes.shape(call.inputs[0])[1:3]
    return execute(RESIZE_NEAREST_NEIGHBOR_GRAD, dy, size, **_centres(call)), None


RESIZE_NEAREST_NEIGHBOR = define(
    name="ResizeNearestNeighbor",
    signature="images: T, size: int32 -> resized_images: T",
    types={"T": _PIXELS},
    attrs=_CENTRES,
    infer=_infer_resize,
    kernel=_nearest_kernel,
    gradient=_nearest_gradient,
)


def _nearest_grad_kernel(
    grads: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    height, width = _sizes("ResizeNearestNeighborGrad", grads, size)
    options = (align_corners, half_pixel_centers)
    rows = interpolation.nearest_weights(height, grads.shape[1], *options)
    columns = interpolation.nearest_weights(width, grads.shape[2], *options)
    return _undone(grads, rows, columns, grads.dtype)


RESIZE_NEAREST_NEIGHBOR_GRAD = define(
    name="ResizeNearestNeighborGrad",
    signature="grads: T, size: int32 -> output: T",
    types={"T": _PIXELS},
    attrs=_CENTRES,
    infer=_infer_resize,
    kernel=_nearest_grad_kernel,
    gradient=_gradient_of_grad("ResizeNearestNeighbor"),
)


def _area_kernel(images: Array, size: Array, *, align_corners: bool) -> Array:
    height, width = _sizes("ResizeArea", images, size)
    rows = interpolation.area_weights(images.shape[1], height, align_corners)
    columns = interpolation.area_weights(images.shape[2], width, align_corners)
    return interpolation.resized(images.astype(np.float32), rows, columns)


RESIZE_AREA = define(
    name="ResizeArea",
    signature="images: T, size: int32 -> resized_images: float32",
    types={"T": _PIXELS},
    attrs={"align_corners": attr("bool", default=False)},
    infer=_infer_resize,
    kernel=_area_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _kernel_matrices(
    shape: tuple[int, ...],
    size: tuple[int, int],
    scale: Array,
    translation: Array,
    kernel_type: str,
    antialias: bool,
) -> list[Array]:
    if not (scale > 0).all():
        raise InvalidArgumentError(
            f"ScaleAndTranslate: scale must be positive, got {scale.tolist()}"
        )
    return [
        interpolation.kernel_weights(
            shape[axis + 1], size[axis], scale[axis], translation[axis], kernel_type, antialias
        )
        for axis in range(2)
    ]


def _scale_and_translate_kernel(
    images: Array,
    size: Array,
    scale: Array,
    translation: Array,
    *,
    kernel_type: str,
    antialias: bool,
) -> Array:
    height, width = _sizes("ScaleAndTranslate", images, size)
    rows, columns = _kernel_matrices(
        images.shape, (height, width), scale, translation, kernel_type, antialias
    )
    return interpolation.resized(images.astype(np.float32), rows, columns)


def _infer_scaled(call: InferCall) -> Shape:
    for index, name in ((2, "scale"), (3, "translation")):
        if not call.spec(index).shape.is_compatible_with([2]):
            call.fail(f"{name} must hold two numbers")
    return _infer_resize(call)


def _scale_and_translate_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    images, _, scale, translation = call.inputs
    dx = execute(
        SCALE_AND_TRANSLATE_GRAD,
        dy,
        casting.cast(images, float32),
        scale,
        translation,
        kernel_type=call.attr("kernel_type"),
        antialias=call.attr("antialias"),
    )
    return (casting.cast(dx, images.dtype) if images.dtype in FLOATS else None), None, None, None


SCALE_AND_TRANSLATE = define(
    name="ScaleAndTranslate",
    signature=(
        "images: T, size: int32, scale: float32, translation: float32 -> resized_images: float32"
    ),
    types={"T": _PIXELS},
    attrs=_KERNEL_ATTRS,
    infer=_infer_scaled,
    kernel=_scale_and_translate_kernel,
    gradient=_scale_and_translate_gradient,
)


def _scale_and_translate_grad_kernel(
    grads: Array,
    original_image: Array,
    scale: Array,
    translation: Array,
    *,
    kernel_type: str,
    antialias: bool,
) -> Array:
    size = (grads.shape[1], grads.shape[2])
    rows, columns = _kernel_matrices(
        original_image.shape, size, scale, translation, kernel_type, antialias
    )
    return _undone(grads, rows, columns, original_image.dtype)


SCALE_AND_TRANSLATE_GRAD = define(
    name="ScaleAndTranslateGrad",
    signature="grads: T, original_image: T, scale: float32, translation: float32 -> output: T",
    types={"T": frozenset({float32})},
    attrs=_KERNEL_ATTRS,
    infer=_infer_grad,
    kernel=_scale_and_translate_grad_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
