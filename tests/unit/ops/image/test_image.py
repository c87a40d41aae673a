"""Image ops: values computed by hand or from TensorFlow's tests, and finite differences."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.ops import image
from pinnace.ops.execute import execute
from pinnace.ops.image import interpolation
from pinnace.ops.registry import lookup

RNG = np.random.default_rng(5)
METHODS = [
    "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic",
]  # fmt: skip


def _op(name: str, *arguments: Any, **attrs: Any) -> Any:
    return execute(lookup(name), *arguments, **attrs)


def _picture(*rows: Any) -> Any:
    return np.array(rows, np.float32).reshape(1, len(rows), -1, 1)


def _plane(x: Any) -> Any:
    return x.numpy()[0, :, :, 0]


# Resizing.


def test_bilinear_with_half_pixel_centres() -> None:
    y = image.resize(_picture([1, 2], [3, 4]), [4, 4])
    expected = [
        [1, 1.25, 1.75, 2],
        [1.5, 1.75, 2.25, 2.5],
        [2.5, 2.75, 3.25, 3.5],
        [3, 3.25, 3.75, 4],
    ]
    np.testing.assert_array_equal(_plane(y), expected)


def test_bilinear_of_the_older_kinds() -> None:
    x = _picture([1, 2], [3, 4])
    plain = _op("ResizeBilinear", x, [2, 4])
    np.testing.assert_array_equal(_plane(plain), [[1, 1.5, 2, 2], [3, 3.5, 4, 4]])
    corners = _op("ResizeBilinear", x, [3, 3], align_corners=True)
    np.testing.assert_array_equal(_plane(corners), [[1, 1.5, 2], [2, 2.5, 3], [3, 3.5, 4]])


def test_nearest() -> None:
    x = _picture([1, 2, 3])
    np.testing.assert_array_equal(_plane(image.resize(x, [1, 2], "nearest")), [[1, 3]])
    np.testing.assert_array_equal(_plane(_op("ResizeNearestNeighbor", x, [1, 2])), [[1, 2]])
    corners = _op("ResizeNearestNeighbor", x, [1, 2], align_corners=True)
    np.testing.assert_array_equal(_plane(corners), [[1, 3]])
    ints = image.resize(x.astype(np.uint8), [2, 6], "nearest")
    assert ints.dtype is tf.uint8
    np.testing.assert_array_equal(_plane(ints), [[1, 1, 2, 2, 3, 3]] * 2)


def test_area_is_the_mean_of_what_is_covered() -> None:
    x = RNG.standard_normal((2, 4, 6, 3)).astype(np.float32)
    y = image.resize(x, [2, 2], "area")
    expected = x.reshape(2, 2, 2, 2, 3, 3).mean(axis=(2, 4))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)
    y = _op("ResizeArea", _picture([1, 2, 3]), [1, 2])
    np.testing.assert_allclose(_plane(y), [[(1 + 2 / 2) / 1.5, (2 / 2 + 3) / 1.5]], rtol=1e-6)


@given(st.integers(1, 9), st.integers(1, 9), st.booleans(), st.booleans())
def test_weights_add_up_to_one(size: int, new_size: int, align: bool, half: bool) -> None:
    half = half and not align
    for weights in (
        interpolation.linear_weights(size, new_size, align, half),
        interpolation.nearest_weights(size, new_size, align, half),
        interpolation.cubic_weights(size, new_size, align, half),
        interpolation.area_weights(size, new_size, align=False),
    ):
        assert weights.shape == (new_size, size)
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("half", [False, True])
def test_cubic_weights_are_the_cubics(half: bool) -> None:
    a = -0.5 if half else -0.75

    def cubic(x: float) -> float:
        x = abs(x)
        if x <= 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0

    weights = interpolation.cubic_weights(12, 24, align=False, half=half)
    for new in range(8, 16):  # away from the edges
        where = (new + 0.5) / 2 - 0.5 if half else new / 2
        expected = [cubic(old - where) for old in range(12)]
        np.testing.assert_allclose(weights[new], expected, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [False, True])
def test_a_flat_picture_stays_flat(method: str, antialias: bool) -> None:
    x = np.full((1, 5, 7, 2), 3.0, np.float32)
    for size in ([3, 4], [9, 8], [5, 7]):
        y = image.resize(x, size, method, antialias=antialias)
        assert y.shape == [1, *size, 2]
        np.testing.assert_allclose(y.numpy(), 3, rtol=1e-5)


def test_without_antialias_the_triangle_is_bilinear() -> None:
    x = RNG.standard_normal((1, 4, 5, 2)).astype(np.float32)
    scale = np.array([7 / 4, 9 / 5], np.float32)
    y = _op(
        "ScaleAndTranslate", x, [7, 9], scale, [0.0, 0.0], kernel_type="triangle", antialias=False
    )
    np.testing.assert_allclose(y.numpy(), image.resize(x, [7, 9]).numpy(), rtol=1e-4, atol=1e-5)


def test_a_single_picture_and_its_proportions() -> None:
    x = np.zeros((4, 8, 3), np.float32)
    assert image.resize(x, [2, 2]).shape == [2, 2, 3]
    assert image.resize(x, [6, 6], preserve_aspect_ratio=True).shape == [3, 6, 3]
    same = image.resize(x.astype(np.uint8), [4, 8])
    assert same.dtype is tf.uint8


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("ResizeBilinear", {}),
        ("ResizeBilinear", {"half_pixel_centers": True}),
        ("ResizeBicubic", {}),
        ("ResizeBicubic", {"half_pixel_centers": True}),
        ("ResizeNearestNeighbor", {}),
        ("ResizeNearestNeighbor", {"align_corners": True}),
    ],
)
@pytest.mark.parametrize("size", [[2, 7], [6, 3]])
def test_resizing_is_linear_and_its_gradient_the_transpose(
    name: str, attrs: dict[str, Any], size: list[int]
) -> None:
    x = tf.constant(RNG.standard_normal((2, 4, 5, 3)).astype(np.float32))
    dy = tf.constant(RNG.standard_normal((2, *size, 3)).astype(np.float32))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = _op(name, x, size, **attrs)
    dx = tape.gradient(y, x, output_gradients=dy)
    assert dx.shape == x.shape
    forward, backward = np.sum(y.numpy() * dy.numpy()), np.sum(dx.numpy() * x.numpy())
    np.testing.assert_allclose(forward, backward, rtol=1e-4, atol=1e-4)


def test_resize_refuses() -> None:
    with pytest.raises(ValueError, match=r"method must be one of .* got 'cubic'"):
        image.resize(np.zeros((1, 2, 2, 1), np.float32), [1, 1], "cubic")
    with pytest.raises(ValueError, match="three or four axes"):
        image.resize(np.zeros((2, 2), np.float32), [1, 1])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="ResizeBilinear: sizes must be positive"
    ):
        image.resize(np.zeros((1, 2, 2, 1), np.float32), [0, 1])


# Parts.


def test_crop_and_resize() -> None:
    x = _picture([1, 2], [3, 4])
    whole = image.crop_and_resize(x, [[0.0, 0.0, 1.0, 1.0]], [0], [3, 3])
    np.testing.assert_array_equal(_plane(whole), [[1, 1.5, 2], [2, 2.5, 3], [3, 3.5, 4]])
    flipped = image.crop_and_resize(x, [[1.0, 1.0, 0.0, 0.0]], [0], [2, 2])
    np.testing.assert_array_equal(_plane(flipped), [[4, 3], [2, 1]])
    centre = image.crop_and_resize(x, [[0.0, 0.0, 1.0, 1.0]], [0], [1, 1])
    np.testing.assert_array_equal(_plane(centre), [[2.5]])
    outside = image.crop_and_resize(x, [[-1.0, 0.0, 1.0, 1.0]], [0], [3, 1], extrapolation_value=-1)
    np.testing.assert_array_equal(_plane(outside), [[-1], [1.5], [3.5]])
    nearest = image.crop_and_resize(x, [[0.0, 0.0, 0.4, 0.6]], [0], [2, 2], "nearest")
    np.testing.assert_array_equal(_plane(nearest), [[1, 2], [1, 2]])
    with pytest.raises(tf.errors.OutOfRangeError, match=r"box_ind\[0\] = 1 is not in \[0, 1\)"):
        image.crop_and_resize(x, [[0.0, 0.0, 1.0, 1.0]], [1], [1, 1])


@pytest.mark.parametrize("crop", [[3, 2], [1, 1]])
def test_gradients_of_crop_and_resize(crop: list[int]) -> None:
    pictures = RNG.standard_normal((2, 5, 6, 2)).astype(np.float32)
    boxes = np.float32([[0.13, 0.21, 0.83, 0.77], [0.41, 0.07, 0.63, 1.4]])
    owner = [1, 0]
    x, b = tf.constant(pictures), tf.constant(boxes)
    with tf.GradientTape() as tape:
        tape.watch([x, b])
        y = image.crop_and_resize(x, b, owner, crop)
    dy = RNG.standard_normal(y.shape.as_list()).astype(np.float32)
    dx, db = tape.gradient(y, [x, b], output_gradients=tf.constant(dy))
    np.testing.assert_allclose(
        np.sum(dx.numpy() * pictures), np.sum(y.numpy() * dy), rtol=1e-4, atol=1e-4
    )
    step = 1e-3
    for place in np.ndindex(2, 4):
        sums = []
        for sign in (1, -1):
            moved = boxes.copy()
            moved[place] += sign * step
            z = image.crop_and_resize(x, moved, owner, crop).numpy()
            sums.append(np.sum(z.astype(float) * dy))
        numeric = (sums[0] - sums[1]) / (2 * step)
        np.testing.assert_allclose(db.numpy()[place], numeric, rtol=2e-2, atol=2e-2)


def test_flips_and_turns() -> None:
    x = RNG.standard_normal((2, 3, 4, 2))
    np.testing.assert_array_equal(image.flip_left_right(x).numpy(), x[:, :, ::-1])
    np.testing.assert_array_equal(image.flip_up_down(x[0]).numpy(), x[0, ::-1])
    np.testing.assert_array_equal(image.transpose(x).numpy(), x.transpose(0, 2, 1, 3))
    for k in range(-1, 5):
        np.testing.assert_array_equal(image.rot90(x, k).numpy(), np.rot90(x, k, (1, 2)))


def test_crops_and_borders() -> None:
    x = np.arange(24).reshape(4, 6, 1)
    np.testing.assert_array_equal(image.crop_to_bounding_box(x, 1, 2, 2, 3).numpy(), x[1:3, 2:5])
    padded = image.pad_to_bounding_box(x, 1, 2, 7, 9).numpy()
    np.testing.assert_array_equal(padded, np.pad(x, ((1, 2), (2, 1), (0, 0))))
    np.testing.assert_array_equal(image.central_crop(x, 0.5).numpy(), x[1:3, 1:5])
    y = image.resize_with_crop_or_pad(x, 2, 9).numpy()
    np.testing.assert_array_equal(y, np.pad(x[1:3], ((0, 0), (1, 2), (0, 0))))


# Boxes: TensorFlow's non_max_suppression_op_test.cc.

BOXES = np.float32(
    [
        [0, 0, 1, 1],
        [0, 0.1, 1, 1.1],
        [0, -0.1, 1, 0.9],
        [0, 10, 1, 11],
        [0, 10.1, 1, 11.1],
        [0, 100, 1, 101],
    ]
)
SCORES = np.float32([0.9, 0.75, 0.6, 0.95, 0.5, 0.3])


def test_one_box_of_each_cluster() -> None:
    assert image.non_max_suppression(BOXES, SCORES, 3).numpy().tolist() == [3, 0, 5]
    assert image.non_max_suppression(BOXES, SCORES, 2).numpy().tolist() == [3, 0]
    assert image.non_max_suppression(BOXES, SCORES, 30).numpy().tolist() == [3, 0, 5]
    few = image.non_max_suppression(BOXES, SCORES, 3, score_threshold=0.4)
    assert few.numpy().tolist() == [3, 0]
    corners = BOXES[:, [2, 3, 0, 1]]
    assert image.non_max_suppression(corners, SCORES, 3).numpy().tolist() == [3, 0, 5]


def test_padded_boxes() -> None:
    found, count = image.non_max_suppression_padded(
        BOXES, SCORES, 5, score_threshold=0.4, pad_to_max_output_size=True
    )
    assert found.numpy().tolist() == [3, 0, 0, 0, 0]
    assert int(count) == 2


def test_soft_suppression() -> None:
    found, scores = image.non_max_suppression_with_scores(
        BOXES, SCORES, 6, iou_threshold=0.5, score_threshold=0.0, soft_nms_sigma=0.5
    )
    assert found.numpy().tolist() == [3, 0, 1, 5, 4, 2]
    np.testing.assert_allclose(scores.numpy(), [0.95, 0.9, 0.384, 0.3, 0.256, 0.197], atol=1e-3)


def test_thresholds_are_shares() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"iou_threshold must be in \[0, 1\]"):
        image.non_max_suppression(BOXES, SCORES, 3, iou_threshold=1.5)


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic", "area", "lanczos3"])
def test_traced_with_unknown_sizes_is_eager(method: str) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None] * 4), tf.TensorSpec([2], tf.int32)])
    def f(x: Any, size: Any) -> Any:
        y = image.resize(x, size, method)
        assert y.shape.rank == 4
        return image.flip_left_right(image.resize_with_crop_or_pad(y, 6, 3))

    x = RNG.standard_normal((1, 3, 5, 2)).astype(np.float32)
    expected = image.flip_left_right(
        image.resize_with_crop_or_pad(image.resize(x, [4, 7], method), 6, 3)
    )
    found = f(tf.constant(x), tf.constant([4, 7]))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_complex_patches_flow_back_part_by_part(padding: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((1, 5, 4, 2)) + 1j * rng.standard_normal((1, 5, 4, 2))

    def flown(array: Any, dy: Any = None) -> Any:
        picture = tf.constant(array)
        with tf.GradientTape() as tape:
            tape.watch(picture)
            y = image.extract_patches(picture, [1, 2, 2, 1], [1, 2, 1, 1], [1, 1, 1, 1], padding)
        seed = np.ones(y.shape) if dy is None else dy
        return y, tape.gradient(y, picture, output_gradients=tf.constant(seed, y.dtype)).numpy()

    y, _ = flown(x)
    dy = rng.standard_normal(y.shape) + 1j * rng.standard_normal(y.shape)
    dx = flown(x, dy)[1]
    np.testing.assert_allclose(dx, flown(x.real, dy.real)[1] + 1j * flown(x.real, dy.imag)[1])


def test_where_no_patch_fits_nothing_flows_back() -> None:
    x = tf.ones([1, 2, 2, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = image.extract_patches(x, [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    assert y.shape == [1, 0, 0, 27]
    np.testing.assert_array_equal(tape.gradient(y, x), np.zeros((1, 2, 2, 3)))


@pytest.mark.parametrize(
    "op",
    [
        image.adjust_hue,
        image.adjust_saturation,
        lambda x, _: image.rgb_to_hsv(x),
        lambda x, _: image.hsv_to_rgb(x),
    ],
)
def test_colours_of_unknown_channels_have_three(op: Any) -> None:
    f = tf.function(
        lambda x: op(x, 0.1), [tf.TensorSpec([None, None, None], tf.float32)], autograph=False
    )
    assert f(np.zeros((2, 1, 3), np.float32)).shape == (2, 1, 3)
    for channels in (2, 4, 0):
        with pytest.raises(tf.errors.InvalidArgumentError, match="3 channels"):
            f(np.zeros((2, 1, channels), np.float32))


@pytest.mark.parametrize("sizes", [[None, None, 3], [2, None, 8, None], [None, 9, None, 3]])
@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_the_centre_of_pictures_of_unknown_size(
    sizes: list[int | None], fraction: float, as_tensor: bool
) -> None:
    x = np.random.default_rng(1).uniform(size=(2, 9, 8, 3)[-len(sizes) :]).astype(np.float32)
    expected = tf.image.central_crop(x, fraction)
    spec = tf.TensorSpec(sizes)
    if as_tensor:
        number = tf.TensorSpec(())
        traced = tf.function(tf.image.central_crop, input_signature=[spec, number])
        found = traced(x, fraction)
    else:
        found = tf.function(lambda x: tf.image.central_crop(x, fraction), input_signature=[spec])(x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rank", [3, None])
def test_crops_and_frames_have_their_size_while_tracing(rank: int | None) -> None:
    functions = [
        lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 5, 6),
        lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 15, 16),
        lambda x: tf.image.resize_with_crop_or_pad(x, 5, 16),
    ]
    x = np.random.default_rng(1).uniform(size=(9, 9, 3)).astype(np.float32)
    for function, size in zip(functions, [(5, 6), (15, 16), (5, 16)], strict=True):
        spec = tf.TensorSpec(None if rank is None else [None, None, 3], tf.float32)
        traced = tf.function(function, input_signature=[spec])
        assert traced.get_concrete_function().structured_outputs.shape[:2] == size
        np.testing.assert_array_equal(traced(x), function(x))


@pytest.mark.parametrize(
    "call",
    [
        lambda image, x: image.crop_to_bounding_box(x, 2, 2, 4, 4),
        lambda image, x: image.crop_to_bounding_box(x, -1, 2, 1, 1),
        lambda image, x: image.crop_to_bounding_box(x, 0, 0, 0, 1),
        lambda image, x: image.crop_to_bounding_box(x[0], 0, 0, 1, 1),
        lambda image, x: image.crop_to_bounding_box(x[None, None], 0, 0, 1, 1),
        lambda image, x: image.pad_to_bounding_box(x, 2, 2, 4, 4),
        lambda image, x: image.pad_to_bounding_box(x, -1, 2, 9, 9),
        lambda image, x: image.resize_with_crop_or_pad(x, 0, 4),
        lambda image, x: image.resize_with_crop_or_pad(x[:0], 4, 4),
        lambda image, x: image.central_crop(x[:, :0], 0.5),
        lambda image, x: image.flip_left_right(x[0]),
        lambda image, x: image.flip_up_down(x[:0]),
        lambda image, x: image.random_flip_up_down(x[:0]),
        lambda image, x: image.transpose(x[:0]),
        lambda image, x: image.rot90(x[0], 2),
    ],
)
def test_parts_that_are_not_inside_and_pictures_without_pixels_are_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="must "):
        call(tf.image, np.zeros((4, 4, 1)))


@pytest.mark.parametrize(("offset", "size"), [(6, 5), (-1, 5), (0, 10)])
def test_a_part_outside_is_refused_when_the_function_runs(offset: int, size: int) -> None:
    number = tf.TensorSpec((), tf.int32)
    cropped = tf.function(
        lambda x, at, size: tf.image.crop_to_bounding_box(x, at, 0, size, 6),
        input_signature=[tf.TensorSpec([None, None, 3]), number, number],
    )
    assert cropped(np.zeros((9, 9, 3)), 4, 5).shape == [5, 6, 3]
    with pytest.raises(tf.errors.InvalidArgumentError):
        cropped(np.zeros((9, 9, 3)), offset, size)


@pytest.mark.parametrize("shape", [(4, 5, 2), (3, 4, 5, 2)])
@pytest.mark.parametrize("known", [False, True])
def test_turns_can_be_counted_by_a_tensor(shape: tuple[int, ...], known: bool) -> None:
    x = np.random.default_rng(1).uniform(size=shape).astype(np.float32)
    specs = [tf.TensorSpec(shape if known else None), tf.TensorSpec((), tf.int32)]
    turned = tf.function(tf.image.rot90, input_signature=specs)
    for k in range(-3, 6):
        expected = np.rot90(x, k, axes=(len(shape) - 3, len(shape) - 2))
        np.testing.assert_array_equal(turned(x, k), expected)


def test_pictures_of_unknown_rank() -> None:
    x = np.random.default_rng(1).uniform(size=(3, 4, 5, 3)).astype(np.float32)
    for function in (tf.image.transpose, tf.image.rgb_to_grayscale):
        traced = tf.function(function, input_signature=[tf.TensorSpec(None)])
        np.testing.assert_allclose(traced(x), function(x), rtol=1e-6)
        np.testing.assert_allclose(traced(x[0]), function(x[0]), rtol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_boxes_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        tf.image.crop_and_resize(np.zeros((1, 4, 4, 1)), [[bad, 0, 1, 1]], [0], [2, 2])


@pytest.mark.parametrize("count", [1, 127, 128, 129, 700])
@pytest.mark.parametrize("most", [5, 1000])
def test_suppression_in_blocks_is_that_of_one_box_after_another(count: int, most: int) -> None:
    random = np.random.default_rng(count)
    corner = random.uniform(0, 4, (count, 2))
    boxes = np.concatenate([corner, corner + random.uniform(0, 1.5, (count, 2))], 1)
    boxes = boxes.astype(np.float32)
    scores = random.integers(0, 50, count).astype(np.float32)  # with ties
    kept: list[int] = []
    for i in sorted(range(count), key=lambda i: (-scores[i], i)):
        low = np.maximum(boxes[i, :2], boxes[kept, :2])
        shared = np.maximum(np.minimum(boxes[i, 2:], boxes[kept, 2:]) - low, 0).prod(1)
        area = (boxes[[*kept, i], 2:] - boxes[[*kept, i], :2]).prod(1)
        if scores[i] > 3 and not (shared / (area[:-1] + area[-1] - shared) > 0.3).any():
            kept.append(i)
    found = tf.image.non_max_suppression(boxes, scores, most, 0.3, 3.0)
    np.testing.assert_array_equal(found, kept[:most])
