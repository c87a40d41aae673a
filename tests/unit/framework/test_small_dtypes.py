"""The dtypes of at most 8 bits under TensorFlow's names, and which are quantized."""

import numpy as np
import pytest

import pinnace as tf

NAMES = [name for name in dir(tf.dtypes.experimental) if not name.startswith("_")]


@pytest.mark.parametrize("name", NAMES)
def test_a_small_dtype_holds_small_numbers(name):
    dtype = getattr(tf.dtypes.experimental, name)
    assert dtype is getattr(tf.experimental, name)
    assert dtype.name == name
    np.testing.assert_array_equal(tf.cast(tf.cast([0.0, 1.0], dtype), tf.float32), [0, 1])


def test_there_are_ten_and_five_are_quantized():
    assert len(NAMES) == 10
    quantized = {tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32}
    assert set(tf.dtypes.QUANTIZED_DTYPES) == quantized
