"""Bilinear resizing of pictures of usual sizes: ONNX Runtime rounds their places otherwise."""

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from unit.deploy.onnx.one_op import run_model

SIZES = [
    (256, 224),
    (299, 224),
    (320, 224),
    (640, 416),
    (720, 300),
    (513, 65),
    (129, 513),
    (32, 224),
]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("old", [False, True], ids=["v2", "v1"])
def test_usual_sizes_are_exported(sizes: tuple[int, int], old: bool) -> None:
    before, after = sizes
    resize = tf.compat.v1.image.resize_bilinear if old else tf.image.resize
    function = tf.function(
        lambda x: resize(x, [after, after]),
        input_signature=[tf.TensorSpec([1, before, before, 1])],
        autograph=False,
    )
    report = export(function.get_concrete_function())
    x = np.random.default_rng(0).uniform(0, 255, (1, before, before, 1)).astype("f4")
    (got,) = run_model(report, [x])
    wanted = np.asarray(function(tf.constant(x)))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=255 * 1e-5)
