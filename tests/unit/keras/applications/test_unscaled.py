"""Networks that scale pixels themselves take unscaled ones."""

import warnings

import numpy as np
import pytest

import pinnace as tf

MODULES = ["efficientnet", "efficientnet_v2", "convnext", "mobilenet_v3"]


@pytest.mark.parametrize("name", MODULES)
def test_pictures_stay_what_they_are(name: str) -> None:
    module = getattr(tf.keras.applications, name)
    x = np.array([[[0.0, 127.5, 255.0]]], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert module.preprocess_input(x) is x
        assert module.preprocess_input(x, "channels_first") is x
    np.testing.assert_array_equal(x, [[[0.0, 127.5, 255.0]]])


@pytest.mark.parametrize("name", ["xception", "inception_v3", "inception_resnet_v2", "nasnet"])
def test_pictures_are_scaled_from_minus_1_to_1(name: str) -> None:
    module = getattr(tf.keras.applications, name)
    x = np.array([[[0.0, 127.5, 255.0]]], np.float32)
    np.testing.assert_array_equal(module.preprocess_input(x.copy()), [[[-1.0, 0.0, 1.0]]])
    tensor = module.preprocess_input(tf.constant(x), data_format="channels_last")
    np.testing.assert_array_equal(tensor.numpy(), [[[-1.0, 0.0, 1.0]]])


def test_what_is_given_in_vain_is_told() -> None:
    from pinnace.framework import no_effect

    no_effect._told.discard(("preprocess_input", "data_format"))
    with pytest.warns(UserWarning, match="preprocess_input: data_format has no effect: the model"):
        tf.keras.applications.efficientnet.preprocess_input(np.zeros((1, 1, 3)), "channels_last")


@pytest.mark.parametrize("name", [*MODULES, "xception", "nasnet"])
def test_classes_are_decoded_by_the_same_function(name: str) -> None:
    module = getattr(tf.keras.applications, name)
    with pytest.raises(ValueError, match=r"decode_predictions: preds must have shape"):
        module.decode_predictions(np.zeros((2, 10)))
