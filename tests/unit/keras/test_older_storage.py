"""Objects as stored by Keras 2; settings that always apply, or cause a warning about no effect."""

from typing import Any

import pytest

import pinnace as tf

keras = tf.keras
legacy = keras.legacy.saving


@pytest.mark.parametrize(
    "instance",
    [keras.initializers.HeNormal(seed=1), keras.layers.Dense(2, "relu"), keras.optimizers.SGD(0.5)],
)
def test_an_object_is_stored_as_class_and_configuration(instance: Any) -> None:
    stored = legacy.serialize_keras_object(instance)
    assert set(stored) == {"class_name", "config"}
    again = legacy.deserialize_keras_object(stored)
    assert type(again) is type(instance)
    assert again.get_config() == instance.get_config()


def test_functions_are_stored_by_name() -> None:
    relu = keras.activations.relu
    assert legacy.serialize_keras_object(relu) == "relu"
    found = keras.utils.legacy.deserialize_keras_object("relu", {"relu": relu})
    assert found is relu
    assert legacy.deserialize_keras_object(None) is legacy.serialize_keras_object(None) is None
    made = legacy.deserialize_keras_object("Dense", custom_objects={"Dense": dict})
    assert made == {}


def test_what_nothing_is_known_of_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown loss: 'nobody'"):
        legacy.deserialize_keras_object("nobody", printable_module_name="loss")
    with pytest.raises(ValueError, match="Could not interpret serialized"):
        legacy.deserialize_keras_object(3)
    with pytest.raises(ValueError, match="doesn't implement"):
        legacy.serialize_keras_object(3)


def test_settings_of_other_machines_are_refused_or_told() -> None:
    keras.config.set_backend("tensorflow")
    keras.config.set_image_data_format("channels_last")
    keras.config.disable_flash_attention()
    assert not keras.config.is_flash_attention_enabled()
    assert not keras.config.is_nnx_enabled()
    with pytest.raises(ValueError, match="backend must be 'tensorflow'"):
        keras.config.set_backend("jax")
    with pytest.raises(ValueError, match="must be one of channels_last, channels_first"):
        keras.backend.set_image_data_format("channels_middle")
    with pytest.warns(UserWarning, match="never run"):
        keras.config.enable_unsafe_deserialization()
    with pytest.warns(UserWarning, match="one way"):
        keras.config.enable_flash_attention()
