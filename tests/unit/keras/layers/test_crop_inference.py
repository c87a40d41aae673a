"""RandomCrop without training: the largest centred part, resized to the requested size."""

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.keras import layers

X = np.random.default_rng(4).random((2, 8, 11, 3)).astype("float32")
SIZES = [(4, 4), (4, 6), (8, 11), (2, 9), (7, 1), (12, 12), (3, 20), (16, 22)]


def middle(x, size):
    """By the documentation of Keras's smart_resize, which describes the same in other words."""
    return keras.preprocessing.image.smart_resize(x, size)


@pytest.mark.parametrize("size", SIZES)
def test_the_middle_is_taken_in_the_proportions_of_the_result(size):
    layer = layers.RandomCrop(*size)
    np.testing.assert_allclose(layer(X, training=False), middle(X, size), rtol=1e-5)
    np.testing.assert_allclose(layer(X[0], training=False), middle(X[0], size), rtol=1e-5)


def test_a_square_of_a_wide_picture_is_its_middle_columns():
    wide = np.arange(2 * 4 * 8, dtype="float32").reshape(2, 4, 8, 1)
    cropped = layers.RandomCrop(4, 4)(wide, training=False)
    np.testing.assert_array_equal(cropped, wide[:, :, 2:6])


def test_channels_may_come_first():
    layer = layers.RandomCrop(4, 6, data_format="channels_first")
    first = X.transpose(0, 3, 1, 2)
    expected = middle(X, (4, 6)).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(layer(first, training=False), expected, rtol=1e-5)


@pytest.mark.parametrize("size", [(4, 6), (7, 1), (12, 12)])
def test_sizes_may_be_unknown_before_there_are_pictures(size):
    layer = layers.RandomCrop(*size)
    traced = tf.function(
        lambda x: layer(x, training=False),
        input_signature=[tf.TensorSpec([None, None, None, 3], "float32")],
    )
    for x in (X, X[:, 1:, :5]):
        np.testing.assert_allclose(traced(x), middle(x, size), rtol=1e-5)


def test_bytes_become_floats_as_in_training():
    layer = layers.RandomCrop(4, 6)
    pictures = (X * 255).astype("uint8")
    plain, training = layer(pictures, training=False), layer(pictures, training=True)
    assert plain.dtype == training.dtype == "float32"
    assert plain.shape == training.shape


def test_masks_go_with_the_pictures():
    picture = np.zeros((1, 8, 16, 1), "float32")
    picture[0, 2:4, 6:10] = 1.0
    given = {
        "images": picture,
        "segmentation_masks": picture.astype("int32"),
    }
    layer = layers.RandomCrop(4, 4)
    found = layer(given, training=False)
    # The middle 8 by 8, whose columns start at 4, at half the size.
    expected = np.zeros((1, 4, 4, 1))
    expected[0, 1:2, 1:3] = 1
    np.testing.assert_array_equal(found["segmentation_masks"], expected)
    np.testing.assert_allclose(found["images"], expected)


def test_a_model_is_trained_and_asked_with_one_shape(tmp_path):
    model = keras.Sequential(
        [keras.Input((8, 11, 3)), layers.RandomCrop(4, 4), layers.Flatten(), layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    y = np.zeros((2, 1))
    model.fit(X, y, validation_data=(X, y), verbose=0)
    expected = model.predict(X, verbose=0)
    assert expected.shape == (2, 1)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(again.predict(X, verbose=0), expected, rtol=1e-6)
    tf.saved_model.save(model, tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    np.testing.assert_allclose(
        next(iter(loaded.signatures["serving_default"](tf.constant(X)).values())),
        expected,
        rtol=1e-5,
    )


LAYERS = [
    *(layers.RandomCrop(4, 6), layers.CenterCrop(4, 6), layers.Resizing(4, 6)),
    *(layers.RandomZoom(0.3), layers.RandomRotation(0.3), layers.RandomTranslation(0.2, 0.2)),
    *(layers.RandomFlip(), layers.RandomShear(0.2, 0.2)),
    *(layers.RandomBrightness(0.2), layers.RandomContrast(0.2)),
    *(layers.RandAugment(),),
    *(layers.Solarization(), layers.AutoContrast()),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_training_or_not_the_shape_is_the_one_that_was_foretold(layer):
    given = keras.Input((8, 11, 3))
    foretold = layer(given).shape[1:]
    for training in (True, False, None):
        assert layer(X, training=training).shape[1:] == foretold
    assert tuple(layer.compute_output_shape((None, 8, 11, 3)))[1:] == foretold
