"""Layers that augment images: invariants of every draw; adaptive pooling."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import layers

X = np.random.default_rng(0).random((16, 6, 5, 3)).astype(np.float32)
WARPS = (
    lambda f, **o: layers.RandomRotation(f, **o),
    lambda f, **o: layers.RandomZoom(f, **o),
    lambda f, **o: layers.RandomTranslation(f, f, **o),
)


def test_flips_are_mirrored_pictures_or_the_same() -> None:
    y = layers.RandomFlip("horizontal", seed=1)(X, training=True).numpy()
    mirrored = [np.array_equal(one, other[:, ::-1]) for one, other in zip(y, X, strict=True)]
    same = [np.array_equal(one, other) for one, other in zip(y, X, strict=True)]
    assert all(a != b for a, b in zip(mirrored, same, strict=True))
    assert any(mirrored)
    assert any(same)


@pytest.mark.parametrize("make", WARPS)
@pytest.mark.parametrize("fill", ["reflect", "wrap", "constant", "nearest"])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_warps_by_nothing_change_nothing(make: Any, fill: str, interpolation: str) -> None:
    layer = make(0.0, fill_mode=fill, interpolation=interpolation)
    np.testing.assert_allclose(layer(X, training=True), X, atol=1e-5)
    np.testing.assert_array_equal(layer(X, training=False), X)


@pytest.mark.parametrize("make", WARPS)
def test_warps_stay_between_the_darkest_and_the_brightest(make: Any) -> None:
    layer = make(0.3, seed=2)
    y = tf.function(lambda x: layer(x, training=True))(X).numpy()
    assert y.shape == X.shape
    assert X.min() - 1e-5 <= y.min() <= y.max() <= X.max() + 1e-5
    assert not np.allclose(y, X)


def test_a_translation_by_a_known_share_moves_down_and_right() -> None:
    layer = layers.RandomTranslation((0.5, 0.5), (0.2, 0.2), fill_mode="constant")
    y = layer(X, training=True).numpy()
    wanted = np.zeros_like(X)
    wanted[:, 3:, 1:] = X[:, :3, :4]
    np.testing.assert_allclose(y, wanted, atol=1e-5)


def test_a_half_turn_is_both_mirrors() -> None:
    layer = layers.RandomRotation((0.5, 0.5))
    np.testing.assert_allclose(layer(X, training=True), X[:, ::-1, ::-1], atol=1e-4)


def test_a_crop_is_a_part() -> None:
    y = layers.RandomCrop(3, 2, seed=1)(X, training=True).numpy()
    parts = [X[:, i : i + 3, j : j + 2] for i in range(4) for j in range(4)]
    assert sum(np.array_equal(y, part) for part in parts) == 1


def test_contrast_keeps_means_and_brightness_moves_all_alike() -> None:
    y = layers.RandomContrast(0.5, value_range=(-9, 9), seed=1)(X, training=True).numpy()
    np.testing.assert_allclose(y.mean((1, 2)), X.mean((1, 2)), atol=1e-5)
    z = layers.RandomBrightness(0.2, value_range=(-9, 9), seed=1)(X, training=True).numpy()
    moved = (z - X).reshape(len(X), -1)
    np.testing.assert_allclose(moved, np.broadcast_to(moved[:, :1], moved.shape), atol=1e-5)
    assert np.abs(moved).max() <= 0.2 * 18


@pytest.mark.parametrize("size", [1, 3, (2, 5), (6, 5), (7, 4)])
def test_adaptive_windows_cover_what_they_should(size: Any) -> None:
    rows, columns = (size, size) if isinstance(size, int) else size
    for cls, reduce in (
        (layers.AdaptiveAveragePooling2D, np.mean),
        (layers.AdaptiveMaxPooling2D, np.max),
    ):
        y = cls(size)(X).numpy()
        assert y.shape == (16, rows, columns, 3)
        for i in range(rows):
            for j in range(columns):
                window = X[
                    :,
                    int(np.floor(i * 6 / rows)) : int(np.ceil((i + 1) * 6 / rows)),
                    int(np.floor(j * 5 / columns)) : int(np.ceil((j + 1) * 5 / columns)),
                ]
                np.testing.assert_allclose(y[:, i, j], reduce(window, (1, 2)), rtol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_masks_go_where_a_crop_goes(seed: int) -> None:
    image = np.zeros((1, 9, 7, 1), np.float32)
    left, top, right, bottom = 2, 3, 6, 8
    image[:, top:bottom, left:right] = 1
    data = {
        "images": image,
        "segmentation_masks": image,
    }
    found = layers.RandomCrop(4, 3, seed=seed)(data, training=True)
    part = found["images"].numpy()
    np.testing.assert_array_equal(found["segmentation_masks"], part)


def test_a_crop_of_images_whose_size_is_not_known_is_a_part() -> None:
    layer = layers.RandomCrop(3, 2, seed=1)
    signature = [tf.TensorSpec([None, None, None, 3])]
    y = tf.function(lambda x: layer(x, training=True), input_signature=signature)(X).numpy()
    parts = [X[:, i : i + 3, j : j + 2] for i in range(4) for j in range(4)]
    assert sum(np.allclose(y, part, atol=1e-6) for part in parts) == 1
