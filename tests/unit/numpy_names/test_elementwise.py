"""Elementwise functions of NumPy's names whose dtypes are TensorFlow's own."""

import pinnace as tf
from pinnace.framework.dtypes import as_dtype


def test_radians_in_bfloat16_stay_bfloat16() -> None:
    degrees = tf.experimental.numpy.rad2deg
    found = degrees(tf.constant([0.75, -1.25, 1.0, -0.25], tf.bfloat16))
    # TensorFlow's results: the factor is a bfloat16 too.
    assert found.numpy().tolist() == [43.0, -71.5, 57.25, -14.3125]
    for dtype, wanted in (("float16", "float16"), ("float32", "float32"), ("int32", "float64")):
        assert degrees(tf.constant([1], dtype)).dtype is as_dtype(wanted)
