"""The default position of channels: `keras.config.set_image_data_format`."""

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
layers = keras.layers
X = np.random.default_rng(0).normal(size=(2, 3, 8, 6)).astype("float32")
LAST = X.transpose(0, 2, 3, 1)


@pytest.fixture(autouse=True)
def channels_first():
    keras.config.set_image_data_format("channels_first")
    yield
    keras.config.set_image_data_format("channels_last")


def back(x):
    """The array with its channels first again."""
    return np.asarray(x).transpose(0, 3, 1, 2)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Conv2D", {"filters": 4, "kernel_size": 3, "kernel_initializer": "ones"}),
        ("DepthwiseConv2D", {"kernel_size": 3, "depthwise_initializer": "ones"}),
        ("Conv2DTranspose", {"filters": 4, "kernel_size": 3, "kernel_initializer": "ones"}),
        ("MaxPooling2D", {}),
        ("AveragePooling2D", {}),
        ("UpSampling2D", {}),
        ("ZeroPadding2D", {}),
        ("Cropping2D", {"cropping": 1}),
        ("Resizing", {"height": 4, "width": 3}),
    ],
)
def test_layers_have_channels_first(name, arguments):
    layer = getattr(layers, name)(**arguments)
    assert layer.get_config()["data_format"] == "channels_first"
    last = getattr(layers, name)(**arguments, data_format="channels_last")
    np.testing.assert_allclose(layer(X), back(last(LAST)), rtol=1e-5, atol=1e-5)


def test_global_pools_and_flatten():
    np.testing.assert_allclose(layers.GlobalAveragePooling2D()(X), X.mean((2, 3)), rtol=1e-5)
    np.testing.assert_array_equal(layers.GlobalMaxPooling2D()(X), X.max((2, 3)))


def test_functions_have_channels_first():
    ops = keras.ops
    kernel = np.random.default_rng(1).normal(size=(3, 3, 3, 4)).astype("float32")
    for function, *rest in [
        (ops.max_pool, 2),
        (ops.average_pool, 2),
        (ops.conv, kernel),
        (ops.image.resize, (4, 3)),
        (ops.image.rgb_to_grayscale,),
    ]:
        expected = back(function(LAST, *rest, data_format="channels_last"))
        np.testing.assert_allclose(function(X, *rest), expected, rtol=1e-5, atol=1e-5)
        given = function(X, *rest, data_format="channels_first")
        np.testing.assert_allclose(given, expected, rtol=1e-5, atol=1e-5)


def test_networks_are_made_with_channels_last_only():
    with pytest.raises(ValueError, match="made with channels last"):
        keras.applications.MobileNet(weights=None)


def test_what_is_no_format():
    with pytest.raises(ValueError, match="`data_format` argument must be one of"):
        keras.config.set_image_data_format("first")
    assert keras.backend.image_data_format() == "channels_first"
