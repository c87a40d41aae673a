"""Images by compiled code and by NumPy, whose results are compared with TensorFlow's elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config
from pinnace.ops.kernels import compiled, team

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [(1, 31, 47, 3), (3, 24, 17, 1), (2, 40, 9, 20), (1, 1, 400, 4), (4, 300, 1, 2)]
SIZES = [(24, 24), (64, 80), (1, 1), (31, 5), (7, 150)]
METHODS = ["bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]
CHANGES: dict[str, Callable[[Any], Any]] = {
    "rgb_to_hsv": tf.image.rgb_to_hsv,
    "hsv_to_rgb": tf.image.hsv_to_rgb,
    "hue": lambda x: tf.image.adjust_hue(x, 0.3),
    "hue backwards": lambda x: tf.image.adjust_hue(x, -0.7),
    "saturation": lambda x: tf.image.adjust_saturation(x, 1.7),
    "no saturation": lambda x: tf.image.adjust_saturation(x, 0.0),
    "contrast": lambda x: tf.image.adjust_contrast(x, 1.6),
}


@pytest.fixture(autouse=True)
def _machine_code() -> None:
    if compiled.made("colours") is None:
        pytest.skip("there is no machine code for this processor")


def both(make: Callable[[], Any]) -> tuple[Any, Any]:
    """The result by machine code, and by NumPy."""
    found = make().numpy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config.settings, "tier", "plan")
        return found, make().numpy()


def drawn(shape: tuple[int, ...], kind: str = "float32") -> Any:
    random = np.random.default_rng(0)
    if kind == "uint8":
        return random.integers(0, 256, shape).astype(np.uint8)
    return random.random(shape).astype(kind)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_resize(shape: tuple[int, ...], method: str, antialias: bool) -> None:
    for kind in ("float32", "uint8"):
        x = drawn(shape, kind)
        for size in SIZES:
            found, wanted = both(
                lambda x=x, size=size: tf.image.resize(x, size, method, antialias=antialias)
            )
            scale = 255 if kind == "uint8" else 1
            np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6 * scale)


def test_a_uniform_picture_stays_uniform() -> None:
    x = np.full((1, 37, 41, 3), 0.3, np.float32)
    np.testing.assert_array_equal(tf.image.resize(x, [64, 29]), np.float32(0.3))


@pytest.mark.parametrize("half_pixel_centers", [False, True])
@pytest.mark.parametrize("align_corners", [False, True])
def test_old_centres(align_corners: bool, half_pixel_centers: bool) -> None:
    if align_corners and half_pixel_centers:
        pytest.skip("TensorFlow refuses both")
    options = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    x = drawn((2, 20, 30, 3))
    for op in (tf.raw_ops.ResizeBilinear, tf.raw_ops.ResizeBicubic):
        found, wanted = both(lambda op=op: op(images=x, size=[33, 21], **options))
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("op", ["ResizeBilinearGrad", "ResizeBicubicGrad"])
def test_gradients(op: str) -> None:
    given = {"grads": drawn((2, 50, 40, 3)), "original_image": drawn((2, 23, 61, 3))}
    found, wanted = both(lambda: getattr(tf.raw_ops, op)(**given, half_pixel_centers=True))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("shape", [(2, 20, 30, 3), (50, 21, 3)], ids=str)
def test_colours(change: str, shape: tuple[int, ...]) -> None:
    x = drawn(shape)
    x.reshape(-1, 3)[:6] = [
        [0, 0, 0],
        [1, 1, 1],
        [0.5, 0.5, 0.2],
        [0.1, 0.7, 0.7],
        [1, 0, 1],
        [0, 1, 0],
    ]
    found, wanted = both(lambda: CHANGES[change](x))
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=3e-6)


@pytest.mark.parametrize("change", CHANGES)
def test_colours_of_other_dtypes(change: str) -> None:
    kind = "uint8" if "to" not in change else "float64"
    found, wanted = both(lambda: CHANGES[change](drawn((2, 20, 30, 3), kind)))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1 if kind == "uint8" else 0)


def test_crops() -> None:
    x = drawn((3, 40, 50, 6))
    random = np.random.default_rng(1)
    boxes = random.uniform(-0.2, 1.2, (9, 4)).astype(np.float32)
    index = random.integers(0, 3, 9).astype(np.int32)
    for method in ("bilinear", "nearest"):
        found, wanted = both(
            lambda method=method: tf.image.crop_and_resize(x, boxes, index, [11, 7], method, 0.25)
        )
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)
    assert tf.image.crop_and_resize(x, boxes[:0], index[:0], [11, 7]).shape == (0, 11, 7, 6)


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.constant(drawn((4, 150, 170, 3)))
    changes = [
        *CHANGES.values(),
        *(lambda x, m=m: tf.image.resize(x, [99, 201], m) for m in METHODS),
    ]
    found = [change(x).numpy() for change in changes]
    monkeypatch.setattr(team, "size", lambda: 1)
    for change, wanted in zip(changes, found, strict=True):
        np.testing.assert_array_equal(change(x).numpy(), wanted)
