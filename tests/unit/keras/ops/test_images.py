"""`keras.ops.image` against formulas in float64, and `vectorize` against NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.keras import ops
from pinnace.keras.ops import image

RNG = np.random.default_rng(5)
X = RNG.random((2, 9, 7, 3))
FIRST = X.transpose(0, 3, 1, 2)
CLOSE = {"rtol": 1e-6, "atol": 1e-7}
# Projections are computed in float32.
SINGLE = {"rtol": 1e-4, "atol": 1e-5}
CASES: dict[str, Callable[[Any], Any]] = {
    "rgb_to_grayscale": image.rgb_to_grayscale,
    "hsv_to_rgb": image.hsv_to_rgb,
    "rgb_to_hsv": image.rgb_to_hsv,
    "resize": lambda x: image.resize(x, (4, 5)),
    "crop_to_aspect_ratio": lambda x: image.resize(x, (4, 5), crop_to_aspect_ratio=True),
    "pad_to_aspect_ratio": lambda x: image.resize(x, (4, 5), pad_to_aspect_ratio=True),
    "affine_transform": lambda x: image.affine_transform(x, [1.0, 0.1, 1, 0.2, 0.9, 0, 0, 0]),
    "perspective_transform": lambda x: image.perspective_transform(
        x, [[0, 0], [6, 0], [0, 8], [6, 8]], [[1, 0], [6, 1], [0, 7], [5, 8]]
    ),
    "gaussian_blur": lambda x: image.gaussian_blur(x, (5, 3), (0.5, 2.0)),
    "elastic_transform": lambda x: image.elastic_transform(x, 3.0, 1.0, seed=4),
    "pad_images": lambda x: image.pad_images(x, 1, 2, target_height=12, target_width=10),
    "crop_images": lambda x: image.crop_images(x, 1, 2, target_height=3, target_width=4),
    "extract_patches": lambda x: image.extract_patches(x, (2, 3), 2, padding="same"),
}
FORMATTED = {
    "rgb_to_grayscale": {},
    "resize": {"size": (4, 5), "crop_to_aspect_ratio": True},
    "gaussian_blur": {"kernel_size": (3, 5)},
    "extract_patches": {"size": 2},
    "pad_images": {"top_padding": 1, "left_padding": 2, "target_height": 11, "target_width": 10},
    "elastic_transform": {"seed": 3},
}


@pytest.mark.parametrize("name", CASES)
def test_a_traced_function_of_images_of_unknown_size_gives_the_same(name: str) -> None:
    images = X.astype(np.float32)
    wanted = CASES[name](images).numpy()
    unknown = [tf.TensorSpec([None, None, None, 3])]
    found = tf.function(CASES[name], input_signature=unknown)(images).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_one_image_is_a_batch_of_one(name: str) -> None:
    images = X.astype(np.float32)
    if name == "elastic_transform":
        images = images[:1]  # random numbers apply to the whole batch
    np.testing.assert_allclose(CASES[name](images[0]), CASES[name](images)[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", FORMATTED)
def test_channels_may_be_first(name: str) -> None:
    function, options = getattr(image, name), FORMATTED[name]
    found = function(FIRST, data_format="channels_first", **options)
    wanted = np.asarray(function(X, **options)).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(found, wanted, **CLOSE)


def test_grey_is_the_weighted_sum() -> None:
    wanted = X @ [0.2989, 0.587, 0.114]
    np.testing.assert_allclose(image.rgb_to_grayscale(X)[..., 0], wanted, **CLOSE)


def test_hues_come_back_as_colours() -> None:
    again = image.hsv_to_rgb(image.rgb_to_hsv(X.astype(np.float32)))
    np.testing.assert_allclose(again, X, rtol=1e-5, atol=1e-6)


def test_patches_are_the_windows() -> None:
    found = image.extract_patches(X, (2, 3), 1).numpy()
    for row in range(8):
        for column in range(5):
            window = X[:, row : row + 2, column : column + 3]
            np.testing.assert_array_equal(found[:, row, column], window.reshape(2, -1))


def test_patches_of_volumes_are_the_windows() -> None:
    volumes = RNG.random((2, 4, 5, 6, 2))
    found = image.extract_patches_3d(volumes, (2, 3, 1), (1, 2, 1)).numpy()
    assert found.shape == (2, 3, 2, 6, 12)
    for z in range(3):
        for y in range(2):
            for x in range(6):
                window = volumes[:, z : z + 2, 2 * y : 2 * y + 3, x : x + 1]
                np.testing.assert_allclose(found[:, z, y, x], window.reshape(2, -1), **CLOSE)


def bell(size: int, sigma: float) -> Any:
    heights = np.exp(-0.5 * ((np.arange(size) - (size - 1) / 2) / sigma) ** 2)
    return heights / heights.sum()


def test_a_blur_is_the_sum_over_the_window() -> None:
    found = image.gaussian_blur(X, (3, 3), (0.75, 1.5)).numpy()
    # Both axes have the same size, so that the kernel is columns by rows.
    kernel = np.outer(bell(3, 1.5), bell(3, 0.75))
    wide = np.pad(X, [(0, 0), (1, 1), (1, 1), (0, 0)])
    wanted = sum(kernel[i, j] * wide[:, i : i + 9, j : j + 7] for i in range(3) for j in range(3))
    np.testing.assert_allclose(found, wanted, **CLOSE)


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror"])
@given(data=st.data())
def test_places_between_elements_are_interpolated(mode: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 6))
    array = RNG.normal(size=size)
    place = data.draw(st.floats(-2 * size, 3 * size).filter(lambda x: abs(x % 1 - 0.5) > 0.01))
    end = size - 1

    def element(i: int) -> float:
        if mode == "constant":
            return float(array[i]) if 0 <= i < size else 0.25
        if mode == "nearest":
            return float(array[min(max(i, 0), end)])
        if mode == "wrap":
            return float(array[i % size])
        return float(array[min(i % (2 * end), 2 * end - i % (2 * end))])

    low = int(np.floor(place))
    share = place - low
    linear = image.map_coordinates(array, [[place]], 1, mode, 0.25)
    wanted = (1 - share) * element(low) + share * element(low + 1)
    np.testing.assert_allclose(linear, [wanted], rtol=1e-5, atol=1e-5)
    nearest = image.map_coordinates(array, [[place]], 0, mode, 0.25)
    np.testing.assert_allclose(nearest, [element(round(place))], **CLOSE)


@given(data=st.data())
def test_four_points_are_moved_where_they_should(data: st.DataObject) -> None:
    """An image of its own coordinates shows where each pixel comes from."""
    rows, columns = np.mgrid[:20, :30].astype(np.float32)
    places = np.stack([columns, rows], -1)
    start = np.array([[5, 5], [24, 5], [5, 14], [24, 14]], np.float32)
    moves = data.draw(st.lists(st.integers(-3, 3), min_size=8, max_size=8))
    end = start + np.reshape(moves, (4, 2)).astype(np.float32)
    found = image.perspective_transform(places, start, end).numpy()
    for (x, y), wanted in zip(end.astype(int), start, strict=True):
        np.testing.assert_allclose(found[y, x], wanted, **SINGLE)


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3", "lanczos5"])
def test_scaling_by_one_moves_by_whole_pixels(method: str) -> None:
    found = image.scale_and_translate(X, X.shape, [1.0, 1.0], [2.0, -1.0], (1, 2), method)
    wanted = np.zeros_like(X)
    wanted[:, 2:, :-1] = X[:, :-2, 1:]
    np.testing.assert_allclose(found, wanted, **SINGLE)


def test_a_constant_image_stays_constant_at_any_scale() -> None:
    ones = np.ones((6, 5, 1), np.uint8) * 7
    found = image.scale_and_translate(ones, (9, 3, 1), [1.5, 0.6], [0.0, 0.0], (0, 1), "lanczos3")
    np.testing.assert_array_equal(found, np.full((9, 3, 1), 7, np.uint8))


def test_equal_images_are_alike_and_others_less() -> None:
    images = X.astype(np.float32)
    np.testing.assert_allclose(image.ssim(images, images, filter_size=3), [1, 1], rtol=1e-5)
    assert np.all(image.ssim(images, images[::-1], filter_size=3).numpy() < 0.9)


def test_gradients_flow_through_resampling() -> None:
    x = tf.constant(X)
    for name in ("gaussian_blur", "resize", "affine_transform", "scale"):
        function = CASES.get(
            name,
            lambda x: image.scale_and_translate(x, (2, 5, 7, 3), [0.6], [0.1], (1,), "cubic"),
        )
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = tf.reduce_sum(function(x))
        gradient = tape.gradient(value, x)
        assert gradient is not None, name
        assert np.isfinite(gradient.numpy()).all(), name


SIGNATURES: dict[str, tuple[Callable[..., Any], str | None, tuple[Any, ...]]] = {
    "scalars": (lambda a, b: a * 2 + b, None, (X[0, :, :, 0], X[0, 0, :, 1])),
    "broadcast": (lambda a, b: a - b, None, (X[0, :, :1, 0], X[0, 0, :, 1])),
    "plain": (lambda a: a + 1, None, (np.float64(2.0),)),
    "products": (lambda a, b: a @ b, "(m,n),(n,p)->(m,p)", (X, X[:, :1].swapaxes(2, 3))),
    "rows": (lambda a: a[::-1], "(m)->(m)", (X,)),
}


@pytest.mark.parametrize("name", SIGNATURES)
@pytest.mark.parametrize("traced", [False, True])
def test_a_vectorized_function_is_numpys(name: str, traced: bool) -> None:
    function, signature, arguments = SIGNATURES[name]
    wanted = np.vectorize(function, signature=signature)(*arguments)
    called = ops.vectorize(function, signature=signature)
    found = (tf.function(called) if traced else called)(*map(tf.constant, arguments))
    np.testing.assert_allclose(found, wanted, **CLOSE)


def test_excluded_arguments_are_handed_over_as_they_are() -> None:
    called = ops.vectorize(lambda a, power: a**power, excluded={1})
    np.testing.assert_allclose(called(X[0, 0, :, 0], 3), X[0, 0, :, 0] ** 3, **CLOSE)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "rank": (lambda: image.rgb_to_grayscale(X[0, 0]), ValueError, "Invalid images rank"),
    "channels": (lambda: image.rgb_to_grayscale(X[..., :2]), ValueError, "Invalid channel size"),
    "integers": (lambda: image.rgb_to_hsv(X.astype(int)), ValueError, "expected float dtype"),
    "size": (lambda: image.resize(X, (3,)), ValueError, "tuple of 2 integers"),
    "interpolation": (lambda: image.resize(X, (3, 4), "cubic"), ValueError, "got 'cubic'"),
    "fill_mode": (
        lambda: image.affine_transform(X, np.zeros(8), fill_mode="mirror"),
        ValueError,
        "`fill_mode`",
    ),
    "transform": (
        lambda: image.affine_transform(X, np.zeros((1, 1, 8))),
        ValueError,
        "Invalid transform rank",
    ),
    "points": (
        lambda: image.perspective_transform(X, np.zeros((3, 2)), np.zeros((3, 2))),
        ValueError,
        "Invalid start_points shape",
    ),
    "coordinates": (
        lambda: image.map_coordinates(X, np.zeros((3, 2)), 1),
        ValueError,
        "First dim of `coordinates`",
    ),
    "order": (
        lambda: image.map_coordinates(X, np.zeros((4, 2)), 2),
        NotImplementedError,
        "order must be 0 or 1",
    ),
    "padding": (lambda: image.pad_images(X, 1, 2), ValueError, "Must specify exactly two of"),
    "below": (
        lambda: image.pad_images(X, 1, 2, target_height=5, target_width=20),
        ValueError,
        "bottom_padding must be >= 0",
    ),
    "outside": (
        lambda: image.crop_images(X, 8, 0, target_height=3, target_width=2),
        ValueError,
        "inside of the 9 pixels",
    ),
    "method": (
        lambda: image.scale_and_translate(X, X.shape, [1.0], [0.0], (1,), "area"),
        ValueError,
        "`method`",
    ),
    "window": (lambda: image.extract_patches(X, "3"), TypeError, "Invalid `size` argument"),
    "blur": (lambda: image.gaussian_blur(X.astype(int)), ValueError, "must be floats"),
    "edges": (lambda: image.sobel_edges(X[0]), ValueError, "expected rank 4"),
    "function": (lambda: ops.vectorize(3), ValueError, "to be a callable"),
    "signature": (lambda: ops.vectorize(abs, signature="m->m"), ValueError, "signature must be"),
    "count": (
        lambda: ops.vectorize(abs, signature="(m),(n)->()")(X),
        TypeError,
        "wrong number of positional arguments",
    ),
    "sizes": (
        lambda: ops.vectorize(lambda a, b: a + b, signature="(m),(m)->(m)")(X, X[..., :2]),
        ValueError,
        "inconsistent size for core dimension m",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_told(name: str) -> None:
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("size", [3, (3, 3), np.int64(3)])
@pytest.mark.parametrize("sigma", [1, 1.0, (1.0, 1.0), np.float32(1), tf.constant(1.0)])
def test_one_number_is_the_size_or_deviation_of_both_axes(size: Any, sigma: Any) -> None:
    images = np.arange(96, dtype=np.float32).reshape(1, 8, 4, 3)
    blur = tf.keras.ops.image.gaussian_blur
    whole = blur(images, (3, 3), (1.0, 1.0)).numpy()
    np.testing.assert_array_equal(blur(images, size, sigma), whole)
    traced = tf.function(lambda s: blur(images, size, s))(tf.constant(1.0))
    np.testing.assert_array_equal(traced, whole)
    np.testing.assert_array_equal(
        tf.function(lambda s: blur(images, size, (s, s)))(tf.constant(1.0)), whole
    )
    assert blur(tf.keras.Input((8, 4, 3)), size, sigma).shape == (None, 8, 4, 3)
