"""Bilinear resizing of images of usual sizes, whose positions ONNX Runtime rounds differently."""

from typing import Any

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


@pytest.mark.parametrize("old", [False, True], ids=["v2", "v1"])
def test_pictures_of_any_size_are_made_of_one_size(old: bool) -> None:
    resize = tf.compat.v1.image.resize_bilinear if old else tf.image.resize
    function = tf.function(
        lambda x: resize(x, [224, 160]),
        input_signature=[tf.TensorSpec([None, None, None, 1])],
        autograph=False,
    )
    report = export(function.get_concrete_function())
    random = np.random.default_rng(0)
    for height, width in ((480, 640), (100, 75), (224, 160), (1, 3), (301, 17)):
        x = random.uniform(0, 255, (2, height, width, 1)).astype("f4")
        (got,) = run_model(report, [x])
        wanted = np.asarray(function(tf.constant(x)))
        np.testing.assert_allclose(got, wanted, rtol=0, atol=255 * 1e-5)


def test_a_rank_that_only_a_sample_tells_is_declared_and_said() -> None:
    function = tf.function(
        lambda x, shape: {"y": tf.reshape(x, shape)},
        input_signature=[
            tf.TensorSpec([None], name="x"),
            tf.TensorSpec([None], tf.int32, name="shape"),
        ],
        autograph=False,
    )
    concrete = function.get_concrete_function()
    with pytest.raises(NotImplementedError, match="or sample= with typical inputs"):
        export(concrete)
    x = np.arange(6, dtype=np.float32)
    report = export(concrete, sample={"x": x, "shape": np.int32([2, 3])})
    (output,) = report.model.graph.output
    assert len(output.type.tensor_type.shape.dim) == 2
    told = {one.key: one.value for one in report.model.metadata_props}
    assert told["ranks_of_sample"] == "output_0: 2"
    (got,) = run_model(report, [x, np.int32([3, 2])])
    np.testing.assert_array_equal(got, x.reshape(3, 2))


def _squeezed(x: Any, shape: Any) -> Any:
    return tf.math.add(tf.reduce_sum(tf.squeeze(tf.reshape(x, shape))), 1.0)


def _by_segments(x: Any, shape: Any) -> Any:
    rows = tf.reshape(x, shape)
    return tf.reduce_max(tf.math.segment_sum(rows, tf.range(tf.shape(rows)[0]) // 2))


@pytest.mark.parametrize("function", [_squeezed, _by_segments])
def test_ranks_of_values_inside_are_told_by_a_sample(function: Any) -> None:
    specs = [tf.TensorSpec([None], name="x"), tf.TensorSpec([None], tf.int32, name="shape")]
    concrete = tf.function(function, specs, autograph=False).get_concrete_function()
    with pytest.raises(NotImplementedError, match="sample= with typical inputs"):
        export(concrete)
    x = np.arange(12, dtype=np.float32)
    report = export(concrete, sample={"x": x, "shape": np.int32([3, 4])})
    told = {one.key: one.value for one in report.model.metadata_props}
    assert told["ranks_of_sample"] == "output_0: 0"
    shape = np.int32([6, 2])
    (got,) = run_model(report, [x, shape])
    np.testing.assert_allclose(got, np.asarray(concrete(tf.constant(x), tf.constant(shape))))


@pytest.mark.parametrize("sizes", [(10, 4), (256, 224), (10, 3)])
@pytest.mark.parametrize("before_it", [False, True])
def test_channels_are_scaled_and_not_columns(sizes: tuple[int, int], before_it: bool) -> None:
    """Scales channels like image processors; 3 columns are as many as channels."""
    before, after = sizes
    scale, shift = (np.array(part, np.float32) for part in ([0.5, 2.0, 4.0], [0.1, -1.0, 3.0]))

    def prepared(x: Any) -> Any:
        if before_it:
            return tf.image.resize(x * scale + shift, [after, after])
        return tf.image.resize(x, [after, after]) * scale + shift

    signature = [tf.TensorSpec([None, before, before, 3])]
    function = tf.function(prepared, input_signature=signature, autograph=False)
    report = export(function.get_concrete_function())
    x = np.random.default_rng(0).uniform(0, 255, (2, before, before, 3)).astype("f4")
    (got,) = run_model(report, [x])
    wanted = np.asarray(tf.image.resize(x, [after, after])) * scale + shift
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1000 * 1e-5)
