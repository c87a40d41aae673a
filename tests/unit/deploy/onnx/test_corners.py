"""Numbers at the limits of their types: signed zeros, infinities, integers that wrap."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from unit.deploy.onnx.one_op import run_model

NUMBERS = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.5, -1e-30, 1e30])
LARGE = np.array(
    [[2**31 - 1, 2**31 - 5, 7], [-(2**31), 3 - 2**31, -9], [2**30, 2**30, 2**30]], np.int64
)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_atan2_on_the_axes_and_far_out(kind: Any) -> None:
    y, x = (part.ravel().astype(kind) for part in np.meshgrid(NUMBERS, NUMBERS))
    spec = tf.TensorSpec([None], kind)
    function = tf.function(tf.math.atan2, input_signature=[spec, spec])
    (got,) = run_model(export(function.get_concrete_function()), [y, x])
    wanted = np.arctan2(y, x)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-40)
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(wanted)[known])


@pytest.mark.parametrize("axis", [0, 1, [0, 1]])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(("name", "rows"), [("sum", None), ("prod", 3), ("prod", None)])
def test_integers_wrap_and_are_not_rounded(
    name: str, rows: int | None, kind: Any, keep: bool, axis: Any
) -> None:
    reduce = {"sum": tf.reduce_sum, "prod": tf.reduce_prod}[name]
    function = tf.function(
        lambda x: reduce(x, axis, keepdims=keep), input_signature=[tf.TensorSpec([rows, 3], kind)]
    )
    report = export(function.get_concrete_function())
    x = LARGE.astype(kind)
    if kind is np.int64:
        x = x * (2**31 + 1) + 1  # beyond the integers of float64
    (got,) = run_model(report, [x])
    axes = tuple(axis) if isinstance(axis, list) else axis
    with np.errstate(over="ignore"):
        wanted = getattr(np, name)(x, axis=axes, keepdims=keep, dtype=kind)
    np.testing.assert_array_equal(got, wanted)
    assert got.dtype == kind


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_product_of_however_many(kind: Any) -> None:
    spec = tf.TensorSpec([2, None], kind)
    function = tf.function(lambda x: tf.reduce_prod(x, 1), input_signature=[spec])
    report = export(function.get_concrete_function())
    for count in (0, 1, 2, 3, 5, 31, 32, 100):
        x = np.random.default_rng(count).integers(-(2**31), 2**31, (2, count)).astype(kind)
        (got,) = run_model(report, [x | 1])
        with np.errstate(over="ignore"):
            wanted = np.prod(x | 1, axis=1, dtype=kind)
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == kind
