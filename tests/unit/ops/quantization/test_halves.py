"""Numbers midway between two steps, as TensorFlow 2.21 rounds them."""

import numpy as np

import pinnace as tf


def test_unsigned_steps_from_the_lowest_round_halves_to_even() -> None:
    # Steps of 1/85: 42.5, 127.5 and 212.5 of them.
    x = tf.constant([0.5, 1.5, 2.5])
    q, low, high = tf.quantization.quantize(x, 0.0, 3.0, tf.quint8, mode="MIN_FIRST")
    assert np.asarray(tf.bitcast(q, tf.uint8)).tolist() == [42, 128, 212]
    assert (float(low), float(high)) == (0.0, 3.0)


def test_a_range_that_begins_half_way_begins_at_the_step_of_float32() -> None:
    # -1 is 127.5 steps of 2/255; in float32 slightly less, so that the range starts at -127.
    q = tf.bitcast(tf.constant([0, 255], tf.uint8), tf.quint8)
    y = tf.quantization.dequantize(q, -1.0, 1.0, mode="MIN_FIRST")
    np.testing.assert_allclose(y, [-127 * 2 / 255, 128 * 2 / 255], rtol=1e-6)
