"""Convolution, pooling and batch norm against TensorFlow's results."""

import json
from typing import Any

import numpy as np
import pytest

from pinnace.ops.kernels import convolution, depthwise, normalization, pooling
from pinnace.ops.kernels.precision import Array
from pinnace.ops.kernels.windows import explicit_pairs, place_windows
from support.golden import golden

CASES: list[dict[str, Any]] = json.loads(golden("nn/cases.json").read_text())
with np.load(golden("nn/cases.npz")) as _file:
    ARRAYS: dict[str, Array] = dict(_file)


def of(*ops: str) -> pytest.MarkDecorator:
    chosen = [(i, case) for i, case in enumerate(CASES) if case["op"] in ops]
    return pytest.mark.parametrize(("index", "case"), chosen, ids=lambda v: v if v is int else "")


def arrays_of(index: int, case: dict[str, Any]) -> dict[str, Array]:
    return {name: ARRAYS[f"{index}/{name}"] for name in case["arrays"]}


def pads_of(case: dict[str, Any], sizes: Any, window: Any) -> Any:
    dilations = case.get("dilations", [1] * len(window))
    explicit = case.get("explicit_paddings")
    pairs = explicit_pairs(explicit, "NHWC") if explicit else ()
    return place_windows(sizes, window, case["strides"], dilations, case["padding"], pairs).pads


@of("conv", "depthwise")
def test_convolutions(index: int, case: dict[str, Any]) -> None:
    a = arrays_of(index, case)
    x, f = a["x"], a["filter"]
    how = (case["strides"], pads_of(case, x.shape[1:-1], f.shape[:-2]), case["dilations"])
    module: Any = convolution if case["op"] == "conv" else depthwise
    name = "conv" if case["op"] == "conv" else "depthwise_conv"
    np.testing.assert_array_equal(getattr(module, name)(x, f, *how), a["y"])
    if "dx" in a:
        dx = getattr(module, f"{name}_input_gradient")(x.shape, f, a["dy"], *how)
        np.testing.assert_array_equal(dx, a["dx"])
        df = getattr(module, f"{name}_filter_gradient")(x, f.shape, a["dy"], *how)
        np.testing.assert_array_equal(df, a["df"])


@of("max_pool")
def test_max_pool_ties_nan_and_infinity(index: int, case: dict[str, Any]) -> None:
    a = arrays_of(index, case)
    x = a["x"]
    how = (case["ksize"], case["strides"], pads_of(case, x.shape[1:-1], case["ksize"]))
    np.testing.assert_array_equal(pooling.max_pool(x, *how), a["y"])
    ties: pooling.Ties = "every" if x.ndim == 5 else "first"
    dx = pooling.max_pool_gradient(x, a["y"], a["dy"], *how, ties=ties)
    np.testing.assert_array_equal(dx, a["dx"])


@of("argmax")
def test_max_pool_with_argmax(index: int, case: dict[str, Any]) -> None:
    a = arrays_of(index, case)
    x = a["x"]
    how = (case["ksize"], case["strides"], pads_of(case, x.shape[1:-1], case["ksize"]))
    with_batch = case["include_batch_in_index"]
    y, argmax = pooling.max_pool_with_argmax(x, *how, with_batch)
    np.testing.assert_array_equal(y, a["y"])
    np.testing.assert_array_equal(argmax, a["argmax"])
    dy = np.ones(y.shape, np.float32)
    dx = pooling.max_pool_with_argmax_gradient(dy, argmax, x.shape, with_batch)
    expected = pooling.max_pool_gradient(x, pooling.max_pool(x, *how), dy, *how)
    np.testing.assert_array_equal(dx, expected)


@of("avg_pool")
def test_avg_pool(index: int, case: dict[str, Any]) -> None:
    a = arrays_of(index, case)
    x = a["x"]
    how = (case["ksize"], case["strides"], pads_of(case, x.shape[1:-1], case["ksize"]))
    np.testing.assert_allclose(pooling.avg_pool(x, *how), a["y"], rtol=1e-6)
    dx = pooling.avg_pool_gradient(x.shape, a["dy"], *how)
    np.testing.assert_allclose(dx, a["dx"], rtol=1e-6, atol=1e-6)


@of("batch_norm")
def test_batch_norm(index: int, case: dict[str, Any]) -> None:
    a = arrays_of(index, case)
    x, scale, offset, epsilon = a["x"], a["scale"], a["offset"], case["epsilon"]
    if case["training"]:
        result = normalization.batch_norm_training(x, scale, offset, epsilon)
        y = result.y
        np.testing.assert_allclose(result.mean, a["batch_mean"], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(result.variance, a["batch_variance"], rtol=1e-5, atol=1e-6)
        gradients = normalization.batch_norm_training_gradient(
            a["dy"], x, scale, result.mean, result.biased_variance, epsilon
        )
    else:
        moments = a["mean"], a["variance"]
        y = normalization.batch_norm_inference(x, scale, offset, *moments, epsilon)
        gradients = normalization.batch_norm_inference_gradient(
            a["dy"], x, scale, *moments, epsilon
        )
    np.testing.assert_allclose(y, a["y"], rtol=1e-5, atol=1e-5)
    for gradient, name in zip(gradients, ["dx", "dscale", "doffset"], strict=True):
        np.testing.assert_allclose(gradient, a[name], rtol=1e-4, atol=1e-4)
