"""Cropped images: CropAndResize and its gradients, crops, padding, flips, rotations by 90°."""

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, REAL
from pinnace.framework.errors import InvalidArgumentError, OutOfRangeError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, SymbolicTensor, Tensor, TensorLike
from pinnace.ops.array import (
    casting,
    gathering,
    joining,
    padding,
    permutations,
    selecting,
    shapes,
    slicing,
)
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels import pictures, segments
from pinnace.ops.math import arithmetic, comparison, division, logic, ranges
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, OpCall, attr
from pinnace.ops.registry import define

__all__ = [
    "central_crop",
    "crop_and_resize",
    "crop_to_bounding_box",
    "flip_left_right",
    "flip_up_down",
    "pad_to_bounding_box",
    "resize_with_crop_or_pad",
    "rot90",
    "transpose",
]

_METHODS = ("bilinear", "nearest")

_PIXELS = REAL - {dtypes.uint32, dtypes.uint64}


def _boxes(op: str, image_count: int, boxes: Array, box_ind: Array) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4 or box_ind.shape != boxes.shape[:1]:
        raise InvalidArgumentError(
            f"{op}: boxes must have four numbers and box_ind one per box, got shapes "
            f"{list(boxes.shape)} and {list(box_ind.shape)}"
        )
    bad = (box_ind < 0) | (box_ind >= image_count)
    if bad.any():
        at = int(bad.argmax())
        raise OutOfRangeError(
            f"{op}: box_ind[{at}] = {int(box_ind[at])} is not in [0, {image_count})"
        )


def _lines(low: Array, high: Array, size: int, count: int) -> Array:
    """[boxes, count]: the coordinates of each crop's rows or columns in the image."""
    last = np.float32(size - 1)
    if count > 1:
        scale = (high - low) * last / np.float32(count - 1)
        return low[:, None] * last + np.arange(count, dtype=np.float32) * scale[:, None]
    return np.float32(0.5) * (low + high)[:, None] * last


class _Samples:
    """The source pixels of each crop, and their weights."""

    def __init__(self, shape: tuple[int, ...], boxes: Array, size: tuple[int, int]) -> None:
        _, height, width, _ = shape
        self.y = _lines(boxes[:, 0], boxes[:, 2], height, size[0])
        self.x = _lines(boxes[:, 1], boxes[:, 3], width, size[1])
        self.inside_y = (self.y >= 0) & (self.y <= height - 1)
        self.inside_x = (self.x >= 0) & (self.x <= width - 1)
        y, x = np.where(self.inside_y, self.y, 0), np.where(self.inside_x, self.x, 0)
        self.top, self.bottom = np.floor(y).astype(np.intp), np.ceil(y).astype(np.intp)
        self.left, self.right = np.floor(x).astype(np.intp), np.ceil(x).astype(np.intp)
        self.part_y = (y - self.top).astype(np.float32)[:, :, None, None]
        self.part_x = (x - self.left).astype(np.float32)[:, None, :, None]
        # C's roundf: halves away from zero.
        self.near_y = np.floor(y + np.float32(0.5)).astype(np.intp)
        self.near_x = np.floor(x + np.float32(0.5)).astype(np.intp)
        self.inside = (self.inside_y[:, :, None] & self.inside_x[:, None, :])[..., None]


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: TensorLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Crops of images, resized to one size.

    Args:
        image: [batch, height, width, channels], a real type.
        boxes: [n, 4], float32: y1, x1, y2, x2, where 0 and 1 are the ends of the picture.
        box_indices: [n], int32: the picture each box is of.
        crop_size: [2], int32: height and width of the parts.
        method: "bilinear" or "nearest".
        extrapolation_value: the value outside of the picture.
        name: name of the node while tracing.

    Returns:
        [n, *crop_size, channels], float32.

    Raises:
        OutOfRangeError: a box index is out of range.
        InvalidArgumentError: the shapes do not fit.
    """
    return execute_one(
        CROP_AND_RESIZE,
        image,
        boxes,
        box_indices,
        crop_size,
        method=method,
        extrapolation_value=float(extrapolation_value),
        name=name,
    )


def _crop_kernel(
    image: Array,
    boxes: Array,
    box_ind: Array,
    crop_size: Array,
    *,
    method: str,
    extrapolation_value: float,
) -> Array:
    op = "CropAndResize"
    if image.ndim != 4 or 0 in image.shape[1:3] or crop_size.shape != (2,) or crop_size.min() <= 0:
        raise InvalidArgumentError(
            f"{op}: image must have four axes and crop_size two positive entries, got shape "
            f"{list(image.shape)} and {crop_size.tolist()}"
        )
    _boxes(op, len(image), boxes, box_ind)
    if not np.isfinite(boxes).all():
        raise InvalidArgumentError(f"{op}: Boxes contains at least one element that is not finite")
    s = _Samples(image.shape, boxes, (int(crop_size[0]), int(crop_size[1])))
    at = box_ind[:, None, None]

    def points(rows: Array, columns: Array) -> Array:
        return image[at, rows[:, :, None], columns[:, None, :]].astype(np.float32)

    if method == "nearest":
        out = points(s.near_y, s.near_x)
    elif (found := _linear_crops(image, s, box_ind)) is not None:
        out = found
    else:
        upper, lower = points(s.top, s.left), points(s.bottom, s.left)
        upper = upper + (points(s.top, s.right) - upper) * s.part_x
        lower = lower + (points(s.bottom, s.right) - lower) * s.part_x
        out = upper + (lower - upper) * s.part_y
    if s.inside.all():
        return out
    return np.where(s.inside, out, np.float32(extrapolation_value))


def _linear_crops(image: Array, s: _Samples, box_ind: Array) -> Array | None:
    """The crops by compiled code, one at a time; None if NumPy must make them."""
    found = []
    for n, index in enumerate(box_ind.tolist()):
        rows = s.top[n], s.bottom[n], s.part_y[n].reshape(-1)
        columns = s.left[n], s.right[n], s.part_x[n].reshape(-1)
        one = pictures.resized_linearly(image[index : index + 1], rows, columns)
        if one is None:
            return None
        found.append(one)
    return np.concatenate(found) if found else None


def _infer_crop(call: InferCall) -> Shape:
    image, boxes, size = call.spec(0).shape, call.spec(1).shape, call.constant(3)
    if image.rank not in {None, 4}:
        call.fail("image must have four axes")
    if not boxes.is_compatible_with([None, 4]):
        call.fail("boxes must have four numbers each")
    if not call.spec(2).shape.is_compatible_with([None if boxes.rank is None else boxes[0]]):
        call.fail("box_ind must have one entry per box")
    if not call.spec(3).shape.is_compatible_with([2]):
        call.fail("crop_size must hold a height and a width")
    counts = [shape[0] for shape in (boxes, call.spec(2).shape) if shape.rank]
    count = next((n for n in counts if n is not None), None)
    new: list[int | None] = [None, None] if size is None else [int(n) for n in size]
    return Shape([count, *new, None if image.rank is None else image[3]])


def _crop_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    image, boxes, box_ind, _ = call.inputs
    method = call.attr("method")
    to_image = to_boxes = None
    if image.dtype in FLOATS:
        size = shapes.shape(image)
        to_image = execute(
            CROP_AND_RESIZE_GRAD_IMAGE, dy, boxes, box_ind, size, method=method, T=image.dtype
        )
    # TensorFlow: the gradient for the boxes is that of bilinear sampling, whatever the method.
    to_boxes = execute(CROP_AND_RESIZE_GRAD_BOXES, dy, image, boxes, box_ind)
    return to_image, to_boxes, None, None


CROP_AND_RESIZE = define(
    name="CropAndResize",
    signature="image: T, boxes: float32, box_ind: int32, crop_size: int32 -> crops: float32",
    types={"T": _PIXELS},
    attrs={
        "method": attr("string", default="bilinear", allowed=_METHODS),
        "extrapolation_value": attr("float", default=0.0),
    },
    infer=_infer_crop,
    kernel=_crop_kernel,
    gradient=_crop_gradient,
)


def _check_grads(call: InferCall, boxes: Shape, image: Shape) -> None:
    """Check that there is one gradient per box, with the image's depth."""
    grads = call.spec(0).shape
    if grads.rank not in {None, 4}:
        call.fail("grads must have four axes")
    if not boxes.is_compatible_with([None if grads.rank is None else grads[0], 4]):
        call.fail("boxes must have four numbers per crop")
    if image.rank not in {None, 4}:
        call.fail("image must have four axes")
    depths = {shape[3] for shape in (grads, image) if shape.rank} - {None}
    if len(depths) > 1:
        call.fail(f"grads and image must have one depth, got {grads[3]} and {image[3]}")


def _grad_image_kernel(
    grads: Array,
    boxes: Array,
    box_ind: Array,
    image_size: Array,
    *,
    method: str,
    T: Any,  # noqa: N803 (the attribute)
) -> Array:
    shape = tuple(image_size.tolist())
    if min(shape) < 0:
        raise InvalidArgumentError(
            f"CropAndResizeGradImage: image_size must not be negative, got {list(shape)}"
        )
    _boxes("CropAndResizeGradImage", shape[0], boxes, box_ind)
    s = _Samples(shape, boxes, (grads.shape[1], grads.shape[2]))
    dy = np.where(s.inside, grads, np.float32(0))
    out = np.zeros(shape, np.float64 if T.numpy == np.float64 else np.float32)
    at = np.broadcast_to(box_ind[:, None, None], dy.shape[:3])

    def add(rows: Array, columns: Array, share: Array) -> None:
        places = np.stack(np.broadcast_arrays(at, rows[:, :, None], columns[:, None, :]), -1)
        segments.scatter_into(out, places, share, "add")

    if method == "nearest":
        add(s.near_y, s.near_x, dy)
    else:
        upper, lower = dy * (1 - s.part_y), dy * s.part_y
        add(s.top, s.left, upper * (1 - s.part_x))
        add(s.top, s.right, upper * s.part_x)
        add(s.bottom, s.left, lower * (1 - s.part_x))
        add(s.bottom, s.right, lower * s.part_x)
    return out.astype(T.numpy)


def _infer_grad_image(call: InferCall) -> Shape:
    image = call.shape_constant(3).merge_with([None] * 4)
    _check_grads(call, call.spec(1).shape, image)
    return image


CROP_AND_RESIZE_GRAD_IMAGE = define(
    name="CropAndResizeGradImage",
    signature="grads: float32, boxes: float32, box_ind: int32, image_size: int32 -> output: T",
    types={"T": FLOATS},
    attrs={"method": attr("string", default="bilinear", allowed=_METHODS)},
    infer=_infer_grad_image,
    kernel=_grad_image_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _grad_boxes_kernel(grads: Array, image: Array, boxes: Array, box_ind: Array) -> Array:
    _boxes("CropAndResizeGradBoxes", len(image), boxes, box_ind)
    s = _Samples(image.shape, boxes, (grads.shape[1], grads.shape[2]))
    at = box_ind[:, None, None]

    def points(rows: Array, columns: Array) -> Array:
        return image[at, rows[:, :, None], columns[:, None, :]].astype(np.float32)

    corners = [points(y, x) for y in (s.top, s.bottom) for x in (s.left, s.right)]
    top_left, top_right, bottom_left, bottom_right = corners
    along_y = (1 - s.part_x) * (bottom_left - top_left) + s.part_x * (bottom_right - top_right)
    along_x = (1 - s.part_y) * (top_right - top_left) + s.part_y * (bottom_right - bottom_left)
    dy = np.where(s.inside, grads, np.float32(0))
    out = np.zeros(boxes.shape, np.float32)
    for axis, slope in ((0, along_y), (1, along_x)):
        total = (dy * slope).sum(axis=(3, 2 - axis))
        last, count = image.shape[axis + 1] - 1, grads.shape[axis + 1]
        # The derivative of a sampled line with respect to the end of the box.
        end = np.arange(count) * last / (count - 1) if count > 1 else np.array([0.5 * last])
        out[:, axis + 2] = (total * end).sum(axis=1)
        out[:, axis] = (total * (last - end)).sum(axis=1)
    return out


def _infer_grad_boxes(call: InferCall) -> Shape:
    boxes = call.spec(2).shape
    _check_grads(call, boxes, call.spec(1).shape)
    return boxes


CROP_AND_RESIZE_GRAD_BOXES = define(
    name="CropAndResizeGradBoxes",
    signature="grads: float32, image: T, boxes: float32, box_ind: int32 -> output: float32",
    types={"T": _PIXELS},
    attrs={"method": attr("string", default="bilinear", allowed=("bilinear",))},
    infer=_infer_grad_boxes,
    kernel=_grad_boxes_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def flip_left_right(image: TensorLike) -> Tensor:
    """A picture mirrored: left is right.

    Args:
        image: [height, width, channels] or [batch, height, width, channels], any dtype.

    Returns:
        Shape and dtype of `image`.
    """
    return permutations.reverse(picture(image, "flip_left_right"), [-2])


def flip_up_down(image: TensorLike) -> Tensor:
    """A picture upside down.

    Args:
        image: [height, width, channels] or [batch, height, width, channels], any dtype.

    Returns:
        Shape and dtype of `image`.
    """
    return permutations.reverse(picture(image, "flip_up_down"), [-3])


def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """[..., height, width, channels] with height and width swapped.

    Args:
        image: [height, width, channels] or [batch, height, width, channels], any dtype.
        name: name of the node while tracing.

    Returns:
        The same with height and width exchanged.
    """
    x = picture(image, "transpose")
    rank = x.shape.rank
    if rank is None:
        return permutations.transpose(x, _order(shapes.rank(x), _SWAPPED), name=name)
    return permutations.transpose(x, [*range(rank - 3), *_SWAPPED + rank], name=name)


# Height, width and channels, from the last axis.
_KEPT, _SWAPPED = np.array([-3, -2, -1], np.int32), np.array([-2, -3, -1], np.int32)


def _order(rank: Any, last: Any) -> Tensor:
    """All axes: those before the last three, and these."""
    return joining.concat([ranges.range(rank - 3), arithmetic.add(last, rank)], 0)


def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Tensor:
    """[..., height, width, channels] rotated counter-clockwise by k right angles.

    Args:
        image: [height, width, channels] or [batch, height, width, channels].
        k: how many right angles; any integer, or a scalar tensor.
        name: name of the node while tracing.
    """
    x = picture(image, "rot90")
    if isinstance(k, SymbolicTensor):
        return _rot90_traced(x, division.floormod(k, 4), name)
    turns = int(k) % 4
    if turns == 1:
        return permutations.reverse(transpose(x), [-3], name)
    if turns == 2:
        return permutations.reverse(x, [-3, -2], name)
    if turns == 3:
        return permutations.reverse(transpose(x), [-2], name)
    return x


def _rot90_traced(x: Tensor, turns: Tensor, name: str | None) -> Tensor:
    """Height and width are swapped for odd turns, then reversed for 1 and 2, and for 2 and 3."""
    last = selecting.where(comparison.equal(turns % 2, 1), _SWAPPED, _KEPT)
    x = permutations.transpose(x, _order(shapes.rank(x), last), name=name)
    for axis, (one, other) in ((-3, (1, 2)), (-2, (2, 3))):
        places = ranges.range(shapes.shape(x)[axis])
        is_flipped = logic.logical_or(comparison.equal(turns, one), comparison.equal(turns, other))
        places = selecting.where(is_flipped, places[::-1], places)
        x = gathering.gather(x, places, axis=axis)
    return x


def crop_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The part of [..., height, width, channels] that begins at the offsets and has that size.

    Args:
        image: [..., height, width, channels].
        offset_height: the first row.
        offset_width: the first column.
        target_height: rows of the result.
        target_width: columns of the result.

    Returns:
        [..., target_height, target_width, channels], dtype of `image`.

    Raises:
        ValueError: `image` has neither three nor four axes, or the part is empty or not inside it.
    """
    who = "crop_to_bounding_box"
    x = picture(image, who, one_if_unknown=True)
    sizes, rank = shapes.axis_sizes(x)[-3:-1], len(x.shape)
    offsets, targets = (offset_height, offset_width), (target_height, target_width)
    for size, offset, target in zip(sizes, offsets, targets, strict=True):
        _at_least(who, "the offset", offset, 0)
        _at_least(who, "the target size", target, 1)
        if all(isinstance(n, int) for n in (size, offset, target)) and offset + target > size:
            raise ValueError(
                f"{who}: the part must be inside the image, got offset {offset} and target size "
                f"{target} for size {size}"
            )
    # The op checks what is not known here.
    before, whole = [0] * (rank - 3), [-1] * (rank - 3)
    part = slicing.slice(x, [*before, *offsets, 0], [*whole, *targets, -1])
    return _of_size(part, x, targets)


def pad_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """[..., height, width, channels] placed at the offsets inside zeros of the target size.

    Args:
        image: [height, width, channels] or [batch, height, width, channels].
        offset_height: rows of zeros above.
        offset_width: columns of zeros on the left.
        target_height: rows of the result.
        target_width: columns of the result.

    Returns:
        [..., target_height, target_width, channels], dtype of `image`.

    Raises:
        ValueError: `image` has neither three nor four axes, or does not fit at the offsets.
    """
    who = "pad_to_bounding_box"
    x = picture(image, who, one_if_unknown=True)
    height, width = shapes.axis_sizes(x)[-3:-1]
    pairs: list[Any] = [[0, 0]] * (len(x.shape) - 3)
    pairs.append([offset_height, target_height - offset_height - height])
    pairs.append([offset_width, target_width - offset_width - width])
    for before, after in pairs:
        _at_least(who, "the offset", before, 0)
        _at_least(who, "target size - offset - size of the image", after, 0)
    padded = padding.pad(x, convert_to_tensor([*pairs, [0, 0]]))
    return _of_size(padded, x, (target_height, target_width))


def resize_with_crop_or_pad(image: TensorLike, target_height: Any, target_width: Any) -> Tensor:
    """[..., height, width, channels] centrally cropped or padded with zeros.

    Args:
        image: [height, width, channels] or [batch, height, width, channels].
        target_height: rows of the result.
        target_width: columns of the result.

    Returns:
        [..., target_height, target_width, channels], dtype of `image`.

    Raises:
        ValueError: `image` has neither three nor four axes, or a size is not positive.
    """
    who = "resize_with_crop_or_pad"
    x = picture(image, who, one_if_unknown=True)
    for target in (target_height, target_width):
        _at_least(who, "the target size", target, 1)
    height, width = shapes.axis_sizes(x)[-3:-1]
    part = crop_to_bounding_box(
        x,
        _half(height, target_height),
        _half(width, target_width),
        _smaller(height, target_height),
        _smaller(width, target_width),
    )
    return pad_to_bounding_box(
        part, _half(target_height, height), _half(target_width, width), target_height, target_width
    )


def _half(size: Any, other: Any) -> Any:
    """Half of the excess of `size` over `other`, or 0."""
    if isinstance(size, int) and isinstance(other, int):
        return max((size - other) // 2, 0)
    return arithmetic.maximum(division.floordiv(arithmetic.subtract(size, other), 2), 0)


def _smaller(size: Any, other: Any) -> Any:
    if isinstance(size, int) and isinstance(other, int):
        return min(size, other)
    return arithmetic.minimum(size, other)


def central_crop(image: TensorLike, central_fraction: Any) -> Tensor:
    """The middle of [..., height, width, channels]: a fraction of its height and width.

    Args:
        image: [height, width, channels] or [batch, height, width, channels].
        central_fraction: in (0, 1]; a number or a scalar tensor.

    Raises:
        ValueError: the fraction is not in (0, 1].
    """
    x = picture(image, "central_crop")
    if x.shape.rank is None:
        raise ValueError("central_crop: image must have three or four axes, got shape [...]")
    fraction: Any = central_fraction
    if not isinstance(fraction, SymbolicTensor):
        fraction = float(fraction)
        if not 0 < fraction <= 1:
            raise ValueError(f"central_crop: central_fraction must be in (0, 1], got {fraction}")
        if fraction == 1:
            return x
    starts, lengths = [], []
    for size in shapes.axis_sizes(x)[-3:-1]:
        start: Any
        if isinstance(size, int) and isinstance(fraction, float):
            start = int((size - size * fraction) / 2)
        else:
            wide = casting.cast(size, dtypes.float64)
            rest = wide - wide * casting.cast(fraction, dtypes.float64)
            start = casting.cast(rest / 2, dtypes.int32)
        starts.append(start)
        lengths.append(size - 2 * start)
    return crop_to_bounding_box(x, *starts, *lengths)


def picture(image: TensorLike, who: str, *, one_if_unknown: bool = False) -> Tensor:
    """`image` as a tensor of pictures that have pixels.

    Args:
        image: [height, width, channels] or [batch, height, width, channels].
        who: the function that asks, for the error.
        one_if_unknown: whether a tensor of unknown rank is taken for a single picture.

    Raises:
        ValueError: another number of axes, or no pixels.
    """
    x = convert_to_tensor(image)
    if x.shape.rank is None:
        return shapes.ensure_shape(x, [None] * 3) if one_if_unknown else x
    if x.shape.rank not in {3, 4}:
        raise ValueError(f"{who}: image must have three or four axes, got shape {x.shape.text}")
    if 0 in x.shape[-3:]:
        raise ValueError(f"{who}: all dims of 'image.shape' must be > 0, got {x.shape.text}")
    return x


def _at_least(who: str, what: str, number: Any, least: int) -> None:
    if isinstance(number, int) and number < least:
        raise ValueError(f"{who}: {what} must be at least {least}, got {number}")


def _of_size(x: Tensor, before: Tensor, targets: tuple[Any, Any]) -> Tensor:
    """`x`, which has these sizes and otherwise those of `before`, as far as they are known."""
    known = [n if isinstance(n, int) else None for n in targets]
    x.set_shape([*before.shape[:-3], *known, before.shape[-1]])
    return x
