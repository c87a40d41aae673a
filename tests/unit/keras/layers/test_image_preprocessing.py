"""Layers that transform images: formulas, whole pipelines, files, and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import layers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RNG = np.random.default_rng(2)
X = (RNG.random((4, 12, 10, 3)) * 255).astype(np.float32)
MAKERS: dict[str, Callable[..., Any]] = {
    "AutoContrast": lambda: layers.AutoContrast(),
    "CutMix": lambda: layers.CutMix(seed=1),
    "Equalization": lambda: layers.Equalization(),
    "MixUp": lambda: layers.MixUp(seed=1),
    "RandAugment": lambda: layers.RandAugment(seed=1),
    "RandomBrightness": lambda: layers.RandomBrightness(0.4, seed=1),
    "RandomColorDegeneration": lambda: layers.RandomColorDegeneration(0.9, seed=1),
    "RandomContrast": lambda: layers.RandomContrast(0.4, seed=1),
    "RandomFlip": lambda: layers.RandomFlip(seed=1),
    "RandomPosterization": lambda: layers.RandomPosterization(5, seed=1),
    "RandomRotation": lambda: layers.RandomRotation(0.2, seed=1),
    "RandomSharpness": lambda: layers.RandomSharpness(0.9, seed=1),
    "RandomShear": lambda: layers.RandomShear(0.2, 0.1, seed=1),
    "RandomTranslation": lambda: layers.RandomTranslation(0.2, 0.3, seed=1),
    "Solarization": lambda: layers.Solarization(0.3, 0.6, seed=1),
}
# They do the same with and without training.
ALWAYS = {"AutoContrast"}
MOVING = ["RandAugment", "RandomFlip", "RandomRotation", "RandomShear", "RandomTranslation"]


@pytest.mark.parametrize("name", MAKERS)
def test_images_change_while_training_alone(name: str) -> None:
    layer = MAKERS[name]()
    changed = layer(X, training=True).numpy()
    assert changed.shape == X.shape
    assert np.isfinite(changed).all()
    assert not np.allclose(changed, X, atol=1e-3)
    if name not in ALWAYS:
        np.testing.assert_array_equal(layer(X, training=False), X)


@pytest.mark.parametrize("name", MAKERS)
def test_a_dataset_is_changed_as_images_are(name: str) -> None:
    """In a traced function: one draw after another, as in eager mode."""
    plain, mapped = MAKERS[name](), MAKERS[name]()
    wanted = [plain(X, training=True).numpy() for _ in range(2)]
    data = tf.data.Dataset.from_tensors(X).repeat(2).map(lambda x: mapped(x, training=True))
    found = [x.numpy() for x in data]
    # Another order of float32 operations, on values up to 255.
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-2)
    assert name in {*ALWAYS, "Equalization"} or not np.allclose(found[0], found[1], atol=1e-3)


@pytest.mark.parametrize("name", MAKERS)
def test_a_layer_comes_back_from_its_configuration_and_files(name: str, tmp_path: Path) -> None:
    layer = MAKERS[name]()
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    inputs = tf.keras.Input((12, 10, 3))
    model = tf.keras.Model(inputs, layers.Rescaling(0.5)(layer(inputs)))
    model.save(tmp_path / "model.keras")
    loaded = tf.keras.models.load_model(tmp_path / "model.keras")
    plain = model(X, training=False)
    np.testing.assert_allclose(loaded(X, training=False), plain, rtol=1e-6)
    wanted = model(X, training=True).numpy()
    np.testing.assert_allclose(loaded(X, training=True), wanted, rtol=1e-4, atol=2e-2)
    tf.saved_model.save(model, tmp_path / "saved")
    saved = tf.saved_model.load(tmp_path / "saved")
    found = saved.signatures["serving_default"](tf.constant(X))
    np.testing.assert_allclose(next(iter(found.values())), plain, rtol=1e-6)


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("traced", [False, True])
def test_labels_and_masks_follow(name: str, traced: bool) -> None:
    layer = MAKERS[name]()
    data = {
        "images": tf.constant(X),
        "labels": tf.eye(4),
        "segmentation_masks": tf.cast(X[..., :1] > 128, tf.int32),
    }
    call = tf.function(layer) if traced else layer
    found = call(data, training=True)
    np.testing.assert_array_equal(found["labels"], np.eye(4))
    masks = found["segmentation_masks"].numpy()
    assert masks.shape == (4, 12, 10, 1)
    assert set(masks.ravel()) <= {0, 1}


def test_mixed_labels_are_shares_of_both() -> None:
    for layer in (layers.MixUp(1.0, seed=5), layers.CutMix(seed=5)):
        found = layer({"images": X, "labels": np.eye(4, dtype="float32")}, training=True)
        labels = found["labels"].numpy()
        np.testing.assert_allclose(labels.sum(1), 1, rtol=1e-6)
        assert ((labels > 0.01) & (labels < 0.99)).any()


def test_mixed_images_are_weighted_sums() -> None:
    layer = layers.MixUp(seed=5)
    drawn = layer.get_random_transformation(X)
    weight, order = drawn["mix_weight"].numpy(), drawn["permutation_order"].numpy()
    weight = weight[:, None, None, None].astype(np.float64)
    wanted = weight * X + (1 - weight) * X[order]
    np.testing.assert_allclose(layer.transform_images(X, drawn), wanted, rtol=1e-4, atol=1e-2)


def test_a_chosen_layer_is_the_one_that_is_applied() -> None:
    layer = layers.RandAugment(seed=5, num_ops=1)
    drawn = layer.get_random_transformation(X)
    for place, name in enumerate(layer._names):
        found = layer.transform_images(X, {**drawn, "layer_idxes": tf.constant([place])})
        wanted = getattr(layer, name).transform_images(X, drawn["transforms"][name])
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-3)


def test_equalised_values_are_their_ranks() -> None:
    """For distinct values, the result is the rank, scaled to 0 to 255."""
    values = RNG.permutation(256)[:60].reshape(1, 6, 10, 1).astype(np.float32)
    found = layers.Equalization()(values, training=True).numpy()
    ranks = values.ravel().argsort().argsort().reshape(values.shape)
    np.testing.assert_allclose(found, np.round(ranks * 255 / 59), atol=1e-3)


def test_any_number_of_channels_is_equalised_by_the_same_operations() -> None:
    layer = layers.Equalization(data_format="channels_first")

    @tf.function(input_signature=[tf.TensorSpec([None, None, None, None])])
    def equalised(x: Any) -> Any:
        return layer(x, training=True)

    counts = [
        len(tf.function(layer).get_concrete_function(tf.TensorSpec([2, n, 6, 5])).graph.nodes)
        for n in (1, 64)
    ]
    assert counts[0] == counts[1]
    x = RNG.permutation(2048)[:960].reshape(2, 16, 6, 5).astype(np.float32) / 8
    each = [layer(x[:, n : n + 1], training=True).numpy() for n in range(16)]
    np.testing.assert_array_equal(equalised(x), np.concatenate(each, 1))


def test_contrast_is_stretched_to_the_whole_range() -> None:
    found = layers.AutoContrast((0, 1))(X / 510 + 0.2).numpy()
    np.testing.assert_allclose(found.min((1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(found.max((1, 2)), 1, atol=1e-5)
    same = np.full((1, 3, 3, 1), 7.0, np.float32)
    np.testing.assert_array_equal(layers.AutoContrast()(same), same)


def test_layers_compute_in_their_dtype() -> None:
    for name in ("RandomBrightness", "RandomFlip", "CutMix", "Solarization"):
        layer = type(MAKERS[name]()).from_config(
            {**MAKERS[name]().get_config(), "dtype": "float64"}
        )
        assert layer(X, training=True).dtype == tf.float64


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "factor": (lambda: layers.RandomBrightness(2), ValueError, r"`factor` argument .* \[-1, 1\]"),
    "three": (lambda: layers.RandomSharpness([0.1, 0.2, 0.3]), ValueError, "list of two numbers"),
    "range": (lambda: layers.AutoContrast(5), ValueError, "`value_range` argument"),
    "bits": (lambda: layers.RandomPosterization(9), ValueError, r"\[1, 8\]"),
    "fill_mode": (
        lambda: layers.RandomShear(0.1, fill_mode="mirror"),
        NotImplementedError,
        "Unknown `fill_mode` 'mirror'",
    ),
    "interpolation": (
        lambda: layers.RandomRotation(0.1, interpolation="cubic"),
        NotImplementedError,
        "Unknown `interpolation`",
    ),
    "mode": (lambda: layers.RandomFlip("sideways"), ValueError, "got 'sideways'"),
    "rank": (lambda: layers.RandomFlip()(X[0, 0]), ValueError, "rank 3 .* or 4"),
    "boxes": (
        lambda: layers.RandomFlip()({"images": X, "bounding_boxes": {}}),
        NotImplementedError,
        "bounding boxes do not follow",
    ),
    "pipeline": (lambda: layers.Pipeline.from_config({}), ValueError, "`layers` key"),
    "crossing": (
        lambda: layers.HashedCrossing(3)([tf.constant(["a"])]),
        ValueError,
        "at least two inputs",
    ),
    "frames": (lambda: layers.STFTSpectrogram(frame_length=8, frame_step=9), ValueError, "greater"),
    "spectrogram": (lambda: layers.STFTSpectrogram("loud"), ValueError, "Output mode is invalid"),
    "mel": (
        lambda: layers.MelSpectrogram(fft_length=8, sequence_length=9),
        ValueError,
        "greater than or equal",
    ),
    "theta": (lambda: layers.ThresholdedReLU(-1.0), ValueError, "should be >=0"),
    "height": (lambda: layers.RandomHeight((0.5, 0.1)), ValueError, "two ascending ones"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_told(name: str) -> None:
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        call()
