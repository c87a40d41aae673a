"""to_categorical, normalize, dtype policies."""

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.keras import dtype_policy, layers


def test_class_numbers_become_rows() -> None:
    assert keras.utils.to_categorical([0, 2]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert keras.utils.to_categorical([[0], [1]], 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    with pytest.raises(ValueError, match="numbers must be from 0 to 1, got 0 to 2"):
        keras.utils.to_categorical([0, 2], 2)


def test_vectors_get_length_1() -> None:
    np.testing.assert_allclose(keras.utils.normalize([[3.0, 4.0], [0, 0]]), [[0.6, 0.8], [0, 0]])


def test_policies_name_two_dtypes() -> None:
    mixed = keras.DTypePolicy("mixed_bfloat16")
    assert (mixed.compute_dtype, mixed.variable_dtype) == ("bfloat16", "float32")
    assert keras.DTypePolicy("float64").compute_dtype == "float64"
    assert dtype_policy.get(mixed.get_config() and {"config": mixed.get_config()}) == mixed
    with pytest.raises(ValueError, match="name must be a dtype, or one of mixed_float16"):
        keras.DTypePolicy("mixed_float8")
    layer = layers.Dense(1, dtype="mixed_float16")
    assert (layer.compute_dtype, layer.variable_dtype) == ("float16", "float32")


def test_the_default_dtype_can_be_changed() -> None:
    dtype_policy.set_floatx("float64")
    try:
        assert layers.Dense(2)(np.ones((1, 2))).dtype.name == "float64"
    finally:
        dtype_policy.set_floatx("float32")
    assert layers.Dense(2)(np.ones((1, 2))).dtype.name == "float32"
    with pytest.raises(ValueError, match="must be the name of a float dtype, got 'int8'"):
        dtype_policy.set_floatx("int8")


def test_rows_of_an_array_are_float64_and_of_a_tensor_a_tensor() -> None:
    # Keras fills an array with NumPy's default dtype, and passes tensors to its backend.
    assert keras.utils.to_categorical(np.array([[0], [2]], "uint8"), 3).dtype == np.float64
    rows = keras.utils.to_categorical(tf.constant([[0], [2]]), 3)
    assert isinstance(rows, tf.Tensor)
    assert rows.dtype == tf.float32
    assert rows.numpy().tolist() == [[1, 0, 0], [0, 0, 1]]
    mapped = tf.data.Dataset.range(3).map(lambda x: keras.utils.to_categorical(x, 3))
    assert np.stack(list(mapped.as_numpy_iterator())).tolist() == np.eye(3).tolist()


def test_a_tensor_is_normalised_as_a_tensor() -> None:
    x = tf.constant([[3.0, 4.0], [0.0, 0.0]])
    found = tf.function(tf.keras.utils.normalize)(x)
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_a_number_is_no_policy() -> None:
    with pytest.raises(ValueError, match="Cannot interpret"):
        keras.dtype_policies.get(123)
    with pytest.raises(ValueError, match="Invalid `policy` argument"):
        keras.config.set_dtype_policy(12345)
    with pytest.raises(ValueError, match="Invalid `policy` argument"):
        keras.config.set_dtype_policy("mixed_float15")
    assert keras.config.dtype_policy().name == "float32"
