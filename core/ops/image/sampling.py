"""Random crops that cover a bounding box: SampleDistortedBoundingBox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import INDEX, float32, int8, int16, int32, int64, uint8
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute_all
from pinnace.ops.kernels import philox
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.random import stateful
from pinnace.ops.random.seeds import get_seed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.running import RunContext

__all__ = ["sample_distorted_bounding_box", "stateless_sample_distorted_bounding_box"]

_SIZES = frozenset({uint8, int8, int16, int32, int64})
_LARGEST = 2**31 - 1
# Random words drawn at a time: an attempt uses at most four, except for rejected ones.
_AT_ONCE = 32

_ATTRS = {
    "aspect_ratio_range": attr("list(float)", default=(0.75, 1.33)),
    "area_range": attr("list(float)", default=(0.05, 1.0)),
    "max_attempts": attr("int", default=100),
    "use_image_if_no_bounding_boxes": attr("bool", default=False),
}
_OUTPUTS = "begin: T, size: T, bboxes: float32"


def _options(ratios: Any, areas: Any, attempts: Any, whole: Any) -> dict[str, Any]:
    given = {
        "aspect_ratio_range": None if ratios is None else tuple(map(float, ratios)),
        "area_range": None if areas is None else tuple(map(float, areas)),
        "max_attempts": None if attempts is None else int(attempts),
        "use_image_if_no_bounding_boxes": None if whole is None else bool(whole),
    }
    return {key: value for key, value in given.items() if value is not None}


class _Rectangle(NamedTuple):
    """A rectangle of whole pixels, without its ends."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def area(self) -> np.float32:
        return np.float32((self.right - self.left) * (self.bottom - self.top))

    def common(self, other: _Rectangle) -> _Rectangle:
        """The area both cover."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        empty = left > right or top > bottom
        return _Rectangle(0, 0, 0, 0) if empty else _Rectangle(left, top, right, bottom)


class _Words:
    """The random words of a stream, one at a time."""

    def __init__(self, start: philox.KeyCounter) -> None:
        self._words = self._all(start)

    @staticmethod
    def _all(start: philox.KeyCounter) -> Iterator[int]:
        while True:
            yield from philox.words(start, 4 * _AT_ONCE).tolist()
            start = start.skip(_AT_ONCE)

    def unit(self) -> np.float32:
        """A number in [0, 1): 23 bits as the mantissa of a number in [1, 2), minus 1."""
        bits = np.uint32(0x3F800000 | next(self._words) & 0x7FFFFF)
        return bits.view(np.float32) - np.float32(1)

    def below(self, count: int) -> int:
        """An integer below `count`; words that would favour low results are rejected."""
        word = next(self._words)
        if not count & (count - 1):
            return word & (count - 1)
        while word < 0xFFFFFFFF % count + 1:
            word = next(self._words)
        return word % count


def _round(x: np.float32) -> int:
    return int(np.rint(x))


def _drawn(
    width: int, height: int, areas: tuple[np.float32, np.float32], ratio: np.float32, words: _Words
) -> _Rectangle | None:
    """A crop of the ratio, with an area in the range, in float32 like TensorFlow; None if none."""
    least, most = (share * np.float32(width) * np.float32(height) for share in areas)
    if areas[0] > areas[1] or ratio <= 0 or width <= 0 or height <= 0:
        return None
    tall, tallest = (_round(np.sqrt(area / ratio)) for area in (least, most))
    if _round(np.float32(tallest) * ratio) > width:
        tallest = int((width + 0.5 - float(np.float32(1e-7))) / float(ratio))
        if _round(np.float32(tallest) * ratio) > width:
            tallest -= 1
    tallest = min(tallest, height)
    if tall < tallest:
        tall += words.below(tallest - tall + 1)
    else:
        tall = tallest
    wide = _round(np.float32(tall) * ratio)
    # Rounding may have made the area too small: try one more row.
    if np.float32(wide * tall) < least:
        tall += 1
        wide = _round(np.float32(tall) * ratio)
    if np.float32(wide * tall) > most:
        tall -= 1
        wide = _round(np.float32(tall) * ratio)
    inside = 0 < wide <= width and 0 < tall <= height
    if not inside or not least <= np.float32(wide * tall) <= most:
        return None
    top = words.below(height - tall) if tall < height else 0
    left = words.below(width - wide) if wide < width else 0
    return _Rectangle(left, top, left + wide, top + tall)


def _covers(part: _Rectangle, share: np.float32, boxes: list[_Rectangle]) -> bool:
    """Whether the crop covers a sufficient share of one box."""
    if part.area < 1:
        return False
    return any(bool(part.common(box).area / box.area >= share) for box in boxes if box.area >= 1)


def _boxes(who: str, given: Array, width: int, height: int, whole: bool) -> list[_Rectangle]:
    if given.ndim != 3 or given.shape[-1] != 4:
        raise InvalidArgumentError(
            f"{who}: bounding_boxes must have shape [batch, n, 4], got {list(given.shape)}"
        )
    if not ((given >= 0) & (given <= 1)).all():
        raise InvalidArgumentError(f"{who}: bounding_boxes must be from 0 to 1")
    sides = np.array([height, width, height, width], np.float32)
    corners = (given.reshape(-1, 4) * sides).astype(np.int32).tolist()
    if corners:
        return [_Rectangle(left, top, right, bottom) for top, left, bottom, right in corners]
    if not whole:
        raise InvalidArgumentError(
            f"{who}: bounding_boxes must not be empty\n  Try: use_image_if_no_bounding_boxes=True"
        )
    return [_Rectangle(0, 0, width, height)]


def _check(who: str, ratios: Any, areas: Any, attempts: int, covered: Any) -> None:
    if len(ratios) != 2 or min(ratios) <= 0:
        raise InvalidArgumentError(
            f"{who}: aspect_ratio_range must be two positive numbers, got {list(ratios)}"
        )
    if len(areas) != 2 or min(areas) <= 0 or max(areas) > 1:
        raise InvalidArgumentError(
            f"{who}: area_range must be two numbers above 0, up to 1, got {list(areas)}"
        )
    if attempts < 1:
        raise InvalidArgumentError(f"{who}: max_attempts must be positive, got {attempts}")
    if np.ndim(covered) or not covered >= 0:
        raise InvalidArgumentError(
            f"{who}: min_object_covered must be a scalar, not negative, got {covered}"
        )


def _sample(
    who: str,
    image_size: Array,
    bounding_boxes: Array,
    covered: Any,
    start: Callable[[], philox.KeyCounter],
    aspect_ratio_range: tuple[float, ...],
    area_range: tuple[float, ...],
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> tuple[Array, Array, Array]:
    _check(who, aspect_ratio_range, area_range, max_attempts, covered)
    if image_size.shape != (3,):
        raise InvalidArgumentError(
            f"{who}: image_size must have shape [3], got {list(image_size.shape)}"
        )
    height, width = (int(n) for n in image_size[:2])
    if not (0 <= height < _LARGEST and 0 <= width < _LARGEST):
        raise InvalidArgumentError(
            f"{who}: image_size must be from 0 to below {_LARGEST}, got {image_size.tolist()}"
        )
    boxes = _boxes(who, bounding_boxes, width, height, use_image_if_no_bounding_boxes)
    low, high = (np.float32(ratio) for ratio in aspect_ratio_range)
    areas = (np.float32(area_range[0]), np.float32(area_range[1]))
    words = _Words(start())
    part = _Rectangle(0, 0, width, height)
    for _ in range(max_attempts):
        ratio = words.unit() * (high - low) + low
        found = _drawn(width, height, areas, ratio, words)
        if found is not None and _covers(found, np.float32(covered), boxes):
            part = found
            break
    begin = np.array([part.top, part.left, 0], np.int64)
    size = np.array([part.bottom - part.top, part.right - part.left, -1], np.int64)
    corners = np.array([part.top, part.left, part.bottom, part.right], np.float32)
    box = corners / np.array([height, width, height, width], np.float32)
    kind = image_size.dtype
    return begin.astype(kind), size.astype(kind), box.reshape(1, 1, 4)


def _infer(call: InferCall) -> tuple[Shape, Shape, Shape]:
    if not call.spec(0).shape.is_compatible_with([3]):
        call.fail("image_size must have shape [3]")
    if not call.spec(1).shape.is_compatible_with([None, None, 4]):
        call.fail("bounding_boxes must have shape [batch, n, 4]")
    return Shape([3]), Shape([3]), Shape([1, 1, 4])


def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int = 0,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A random part of a picture that covers enough of one of the boxes in it.

    Args:
        image_size: [3], uint8, int8, int16, int32 or int64: height, width, channels.
        bounding_boxes: [batch, n, 4], float32 from 0 to 1: y1, x1, y2, x2.
        seed: the op's seed; 0 draws others in every run.
        min_object_covered: a scalar: which share of some box must be within.
        aspect_ratio_range: range of width / height; (0.75, 1.33) if None.
        area_range: shares of the picture; (0.05, 1) if None.
        max_attempts: after so many failures the part is the picture; 100 if None.
        use_image_if_no_bounding_boxes: whether no box means the picture; otherwise an error.
        name: name of the node while tracing.

    Returns:
        begin [3] and size [3] of the part for `tf.slice`, dtype of `image_size`; and [1, 1, 4],
        float32, the part as a box.

    Raises:
        InvalidArgumentError: a box beyond [0, 1], none at all, or a range that is none.
    """
    first, second = get_seed(seed) if seed else (0, 0)
    return execute_all(
        SAMPLE_V2,
        image_size,
        convert_to_tensor(bounding_boxes, float32),
        convert_to_tensor(min_object_covered, float32),
        seed=first,
        seed2=second,
        name=name,
        **_options(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes),
    )


def _stateful_v2_kernel(
    image_size: Array,
    bounding_boxes: Array,
    min_object_covered: Array,
    *,
    seed: int,
    seed2: int,
    aspect_ratio_range: tuple[float, ...],
    area_range: tuple[float, ...],
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
    ctx: RunContext,
) -> tuple[Array, Array, Array]:
    who = "SampleDistortedBoundingBoxV2"
    return _sample(
        who,
        image_size,
        bounding_boxes,
        min_object_covered,
        lambda: stateful.stream_of(ctx, who, image_size.dtype, seed, seed2).reserve(
            max_attempts, 1
        ),
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


SAMPLE_V2: OpDef = define(
    name="SampleDistortedBoundingBoxV2",
    signature=(
        f"image_size: T, bounding_boxes: float32, min_object_covered: float32 -> {_OUTPUTS}"
    ),
    types={"T": _SIZES},
    attrs={**stateful.SEEDS, **_ATTRS},
    infer=_infer,
    kernel=_stateful_v2_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="random",
)


def stateless_sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: TensorLike,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`sample_distorted_bounding_box` as a function of `seed` [2], int32 or int64.

    Args:
        image_size: [3], uint8, int8, int16, int32 or int64: height, width, channels.
        bounding_boxes: [batch, n, 4], float32 from 0 to 1: y1, x1, y2, x2.
        seed: [2], int32 or int64; the same seed gives the same part.
        min_object_covered: a scalar: which share of some box must be within.
        aspect_ratio_range: range of width / height; (0.75, 1.33) if None.
        area_range: shares of the picture; (0.05, 1) if None.
        max_attempts: after so many failures the part is the picture; 100 if None.
        use_image_if_no_bounding_boxes: whether no box means the picture; otherwise an error.
        name: name of the node while tracing.

    Returns:
        As of `sample_distorted_bounding_box`.
    """
    return execute_all(
        STATELESS_SAMPLE,
        image_size,
        convert_to_tensor(bounding_boxes, float32),
        convert_to_tensor(min_object_covered, float32),
        seed,
        name=name,
        **_options(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes),
    )


def _stateless_kernel(
    image_size: Array,
    bounding_boxes: Array,
    min_object_covered: Array,
    seed: Array,
    *,
    aspect_ratio_range: tuple[float, ...],
    area_range: tuple[float, ...],
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> tuple[Array, Array, Array]:
    who = "StatelessSampleDistortedBoundingBox"
    if seed.shape != (2,):
        raise InvalidArgumentError(f"{who}: seed must have shape [2], got {list(seed.shape)}")
    return _sample(
        who,
        image_size,
        bounding_boxes,
        min_object_covered,
        lambda: philox.key_counter_from_seed(seed),
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


STATELESS_SAMPLE: OpDef = define(
    name="StatelessSampleDistortedBoundingBox",
    signature=(
        "image_size: T, bounding_boxes: float32, min_object_covered: float32, seed: Tseed -> "
        + _OUTPUTS
    ),
    types={"T": _SIZES, "Tseed": INDEX},
    attrs=_ATTRS,
    infer=_infer,
    kernel=_stateless_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _stateful_kernel(
    image_size: Array,
    bounding_boxes: Array,
    *,
    seed: int,
    seed2: int,
    min_object_covered: float,
    aspect_ratio_range: tuple[float, ...],
    area_range: tuple[float, ...],
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
    ctx: RunContext,
) -> tuple[Array, Array, Array]:
    who = "SampleDistortedBoundingBox"
    return _sample(
        who,
        image_size,
        bounding_boxes,
        np.float32(min_object_covered),
        lambda: stateful.stream_of(ctx, who, image_size.dtype, seed, seed2).reserve(
            max_attempts, 1
        ),
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


SAMPLE: OpDef = define(
    name="SampleDistortedBoundingBox",
    signature=f"image_size: T, bounding_boxes: float32 -> {_OUTPUTS}",
    types={"T": _SIZES},
    attrs={**stateful.SEEDS, "min_object_covered": attr("float", default=0.1), **_ATTRS},
    infer=_infer,
    kernel=_stateful_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="random",
)
