"""Convolutions and poolings as ops: TensorFlow's numbers, layouts, shapes and messages."""

import json
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pinnace.framework.dtypes import float32
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.ops import nn
from pinnace.ops.execute import execute
from pinnace.ops.opdef import InferCall
from pinnace.ops.registry import lookup
from support.golden import golden

Array = npt.NDArray[Any]
CASES = json.loads(golden("nn/cases.json").read_text())
ARRAYS = np.load(golden("nn/cases.npz"))
CLOSE: dict[str, Any] = {"rtol": 2e-5, "atol": 2e-5}


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def arrays(index: int) -> dict[str, Array]:
    return {name: ARRAYS[f"{index}/{name}"] for name in CASES[index]["arrays"]}


def run(op: str, *inputs: Any, **attrs: Any) -> Any:
    return execute(lookup(op), *inputs, **attrs)


def full(values: Any) -> tuple[int, ...]:
    return (1, *values, 1)


def of(*ops: str) -> list[int]:
    return [index for index, case in enumerate(CASES) if case["op"] in ops]


@pytest.mark.parametrize("index", of("conv", "depthwise"))
def test_convolutions_are_tensorflows(index: int) -> None:
    case, a = CASES[index], arrays(index)
    spatial = len(case["strides"])
    attrs = {
        "strides": full(case["strides"]),
        "dilations": full(case["dilations"]),
        "padding": case["padding"],
    }
    if "explicit_paddings" in case:
        attrs["explicit_paddings"] = tuple(case["explicit_paddings"])
    if case["op"] == "depthwise":
        names = [
            "DepthwiseConv2dNative",
            *(f"DepthwiseConv2dNativeBackprop{x}" for x in ("Input", "Filter")),
        ]
    elif spatial == 3:
        names = ["Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"]
    else:
        names = ["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"]
    x, w = a["x"], a["filter"]
    np.testing.assert_allclose(run(names[0], x, w, **attrs).numpy(), a["y"], **CLOSE)
    if "dy" in a:
        dx = run(names[1], np.array(x.shape, np.int32), w, a["dy"], **attrs)
        df = run(names[2], x, np.array(w.shape, np.int32), a["dy"], **attrs)
        np.testing.assert_allclose(dx.numpy(), a["dx"], **CLOSE)
        np.testing.assert_allclose(df.numpy(), a["df"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("index", of("max_pool", "avg_pool"))
def test_poolings_are_tensorflows(index: int) -> None:
    case, a = CASES[index], arrays(index)
    attrs = {
        "ksize": full(case["ksize"]),
        "strides": full(case["strides"]),
        "padding": case["padding"],
    }
    if "explicit_paddings" in case:
        attrs["explicit_paddings"] = tuple(case["explicit_paddings"])
    name = ("MaxPool" if case["op"] == "max_pool" else "AvgPool") + (
        "3D" if len(case["ksize"]) == 3 else ""
    )
    y = run(name, a["x"], **attrs)
    np.testing.assert_allclose(y.numpy(), a["y"], **CLOSE)
    if "dy" in a:
        first = (a["x"], y) if case["op"] == "max_pool" else (np.array(a["x"].shape, np.int32),)
        dx = run(f"{name}Grad", *first, a["dy"], **attrs)
        np.testing.assert_allclose(dx.numpy(), a["dx"], **CLOSE)


@pytest.mark.parametrize("index", of("argmax"))
def test_places_of_maxima_are_tensorflows(index: int) -> None:
    case, a = CASES[index], arrays(index)
    y, places = run(
        "MaxPoolWithArgmax",
        a["x"],
        ksize=full(case["ksize"]),
        strides=full(case["strides"]),
        padding=case["padding"],
        include_batch_in_index=case["include_batch_in_index"],
    )
    np.testing.assert_array_equal(y.numpy(), a["y"])
    np.testing.assert_array_equal(places.numpy(), a["argmax"])


@pytest.mark.parametrize("index", of("batch_norm"))
def test_batch_norms_are_tensorflows(index: int) -> None:
    case, a = CASES[index], arrays(index)
    empty = np.zeros(0, np.float32)
    options = {"epsilon": case["epsilon"], "is_training": case["training"]}
    moments = (a.get("mean", empty), a.get("variance", empty))
    outputs = run("FusedBatchNormV3", a["x"], a["scale"], a["offset"], *moments, **options)
    for name, found in zip(["y", "batch_mean", "batch_variance"], outputs, strict=False):
        np.testing.assert_allclose(found.numpy(), a[name], **CLOSE)
    saved = outputs[3:5] if case["training"] else moments
    gradients = run(
        "FusedBatchNormGradV3", a["dy"], a["x"], a["scale"], *saved, outputs[5], **options
    )
    for name, found in zip(["dx", "dscale", "doffset"], gradients, strict=False):
        np.testing.assert_allclose(found.numpy(), a[name], rtol=1e-4, atol=1e-4)


def moved(x: Array) -> Array:
    return np.moveaxis(x, -1, 1)


def test_channels_first_gives_the_same_numbers() -> None:
    x, w = drawn(2, 6, 5, 4), drawn(3, 2, 4, 3, seed=1)
    options: dict[str, Any] = {"strides": [2, 1], "padding": "SAME"}
    first: dict[str, Any] = {**options, "data_format": "NCHW"}
    for f, args in (
        (nn.conv2d, (w,)),
        (nn.depthwise_conv2d, (drawn(3, 2, 4, 2, seed=2),)),
        (partial(nn.max_pool2d, ksize=[3, 2]), ()),
        (partial(nn.avg_pool2d, ksize=[3, 2]), ()),
    ):
        last = f(x, *args, **options).numpy()
        np.testing.assert_allclose(f(moved(x), *args, **first).numpy(), moved(last), **CLOSE)
    x1, w1 = drawn(2, 7, 4), drawn(3, 4, 3)
    y1 = nn.conv1d(x1, w1, 2, "VALID").numpy()
    found = nn.conv1d(moved(x1), w1, 2, "VALID", "NCW").numpy()
    np.testing.assert_allclose(found, moved(y1), **CLOSE)
    x3, w3 = drawn(1, 4, 3, 5, 2), drawn(2, 2, 2, 2, 3)
    y3 = nn.conv3d(x3, w3, 1, "SAME").numpy()
    found = nn.conv3d(moved(x3), w3, 1, "SAME", "NCDHW").numpy()
    np.testing.assert_allclose(found, moved(y3), **CLOSE)


def test_convolution_chooses_by_the_rank_of_the_filters() -> None:
    for x, w, f in (
        (drawn(2, 7, 4), drawn(3, 4, 3), nn.conv1d),
        (drawn(2, 7, 6, 4), drawn(3, 2, 4, 3), nn.conv2d),
        (drawn(2, 4, 3, 5, 2), drawn(2, 2, 2, 2, 3), nn.conv3d),
    ):
        direct = f(x, w, 1, "VALID").numpy()
        np.testing.assert_array_equal(nn.convolution(x, w).numpy(), direct)


def test_several_leading_axes_are_one_batch() -> None:
    x, w = drawn(2, 3, 6, 5, 4), drawn(3, 2, 4, 3, seed=1)
    y = nn.conv2d(x, w, 1, "VALID").numpy()
    flat = nn.conv2d(x.reshape(6, 6, 5, 4), w, 1, "VALID").numpy()
    np.testing.assert_array_equal(y, flat.reshape(2, 3, *flat.shape[1:]))


def test_a_transpose_is_the_adjoint_of_its_convolution() -> None:
    for forward, back, x, w, options in (
        (nn.conv1d, nn.conv1d_transpose, drawn(2, 7, 3), drawn(3, 3, 4), {"padding": "SAME"}),
        (
            nn.conv2d,
            nn.conv2d_transpose,
            drawn(2, 7, 6, 3),
            drawn(3, 2, 3, 4),
            {"padding": "VALID"},
        ),
        (
            nn.conv3d,
            nn.conv3d_transpose,
            drawn(2, 4, 5, 3, 3),
            drawn(2, 3, 2, 3, 4),
            {"padding": "SAME"},
        ),
    ):
        y = forward(x, w, 2, **options).numpy()
        dy = drawn(*y.shape, seed=5)
        dx = back(dy, w, list(x.shape), 2, **options).numpy()
        np.testing.assert_allclose(np.sum(y * dy), np.sum(x * dx), rtol=1e-4)


def test_atrous_convolutions_are_dilated_ones() -> None:
    x, w = drawn(2, 7, 6, 4), drawn(3, 2, 4, 3, seed=1)
    y = nn.atrous_conv2d(x, w, 2, "SAME").numpy()
    np.testing.assert_array_equal(y, nn.conv2d(x, w, 1, "SAME", dilations=2).numpy())
    dx = nn.atrous_conv2d_transpose(y, w, [2, 7, 6, 4], 2, "SAME").numpy()
    np.testing.assert_allclose(np.sum(y * y), np.sum(x * dx), rtol=1e-4)


def test_dilated_pooling_takes_every_other_element() -> None:
    x = drawn(2, 7, 6, 3)
    expected = np.maximum.reduce([x[:, i : i + 5, j : j + 4] for i in (0, 2) for j in (0, 2)])
    np.testing.assert_array_equal(nn.pool(x, [2, 2], "MAX", dilations=[2, 2]).numpy(), expected)
    expected = (x[:, :4] + x[:, 3:]) / 2
    np.testing.assert_allclose(
        nn.pool(x, [2, 1], "AVG", dilations=[3, 1]).numpy(), expected, **CLOSE
    )


def test_second_gradients_of_maxima_read_where_the_maxima_are() -> None:
    x = drawn(2, 4, 4, 3)
    ddx = drawn(2, 4, 4, 3, seed=1)
    attrs: dict[str, Any] = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
    y, places = run("MaxPoolWithArgmax", x, **attrs, include_batch_in_index=True)
    expected = ddx.reshape(-1)[places.numpy()]
    np.testing.assert_array_equal(run("MaxPoolGradGrad", x, y, ddx, **attrs).numpy(), expected)
    sizes = [np.array(attrs[name], np.int32) for name in ("ksize", "strides")]
    found = run("MaxPoolGradGradV2", x, y, ddx, *sizes, padding="VALID").numpy()
    np.testing.assert_array_equal(found, expected)
    found = run("MaxPoolV2", x, *sizes, padding="VALID").numpy()
    np.testing.assert_array_equal(found, y.numpy())
    within = run("MaxPoolWithArgmax", x, **attrs)[1]
    found = run("MaxPoolGradGradWithArgmax", x, ddx, within, **attrs).numpy()
    np.testing.assert_array_equal(found, expected)


def inferred(op: str, *shapes: Any, **attrs: Any) -> Any:
    definition = lookup(op)
    specs = tuple(TensorSpec(Shape(shape), float32) for shape in shapes)
    found = definition.infer(InferCall(definition, specs, definition.full_attrs(attrs)))
    return found.as_list() if isinstance(found, Shape) else [shape.as_list() for shape in found]


STEP_2: dict[str, Any] = {"strides": (1, 2, 2, 1), "padding": "SAME"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            lambda: inferred("Conv2D", [None, None, 7, 3], [2, 2, 3, 5], **STEP_2),
            [None, None, 4, 5],
        ),
        (lambda: inferred("Conv2D", None, [2, 2, 3, 5], **STEP_2), [None, None, None, 5]),
        (lambda: inferred("Conv2D", [1, 8, 8, 3], None, **STEP_2), [1, 4, 4, None]),
        (
            lambda: inferred("Conv2D", [1, 8, 8, 3], None, strides=(1, 1, 1, 1), padding="VALID"),
            [1, None, None, None],
        ),
        (
            lambda: inferred(
                "Conv2D",
                [None, 3, 9, 9],
                [3, 3, 3, 4],
                strides=(1, 1, 2, 2),
                padding="VALID",
                data_format="NCHW",
            ),
            [None, 4, 4, 4],
        ),
        (
            lambda: inferred("DepthwiseConv2dNative", [2, 5, 5, None], [3, 3, 4, 2], **STEP_2),
            [2, 3, 3, 8],
        ),
        (
            lambda: inferred("MaxPool", [None, 5, None, 3], ksize=(1, 2, 2, 1), **STEP_2),
            [None, 3, None, 3],
        ),
        (lambda: inferred("AvgPool", None, ksize=(1, 2, 2, 1), **STEP_2), [None] * 4),
        (
            lambda: inferred("FusedBatchNormV3", [2, None, None, None], [3], [3], [0], [0]),
            [[2, None, None, 3], [3], [3], [3], [3], [None]],
        ),
        (lambda: inferred("BiasAdd", [2, None], [4]), [2, 4]),
        (
            lambda: inferred("SparseSoftmaxCrossEntropyWithLogits", [None, 3], [4]),
            [[4], [4, 3]],
        ),
    ],
)
def test_shapes_are_inferred_as_far_as_sizes_are_known(found: Any, expected: Any) -> None:
    assert found() == expected


X, W = np.zeros((1, 4, 4, 4), np.float32), np.zeros((2, 2, 4, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: nn.conv2d(X, np.zeros((2, 2, 3, 3), np.float32), 1, "SAME"),
            (
                r"Conv2D: channels of the input must equal those of the filter.*got 4 and 3\n"
                r"  input: float32\[1, 4, 4, 4\]   filter: float32\[2, 2, 3, 3\]"
            ),
        ),
        (
            lambda: nn.conv2d(X, np.zeros((2, 2, 2, 3), np.float32), 1, "SAME"),
            "output channels must be a multiple of the 2 groups, got 3",
        ),
        (lambda: nn.conv2d(X[0], W, 1, "SAME"), "Conv2D: input must have 4 axes, got rank 3"),
        (
            lambda: nn.conv2d(X, np.zeros((5, 5, 4, 3), np.float32), 1, "VALID"),
            "Conv2D: window along spatial axis 0 must not be longer than the padded input, got 5",
        ),
        (lambda: nn.conv2d(X, W, [1, 2, 3], "SAME"), "strides must have 1, 2 or 4 entries"),
        (lambda: nn.conv2d(X, W, 1, "FOO"), "padding must be 'SAME', 'VALID' or"),
        (
            lambda: nn.conv2d(X, W, 1, "SAME", "NWHC"),
            "data_format must be NHWC or NCHW, got 'NWHC'",
        ),
        (lambda: nn.conv2d(X, W, [2, 1, 1, 1], "SAME"), "strides must be 1 for batch and channels"),
        (
            lambda: nn.depthwise_conv2d(X, np.zeros((2, 2, 3, 1), np.float32), [1] * 4, "SAME"),
            "channels of the input must equal those of the filter, got 4 and 3",
        ),
        (
            lambda: nn.conv2d_transpose(X, W, [1, 8, 8, 4], 2),
            "channels of out_backprop must be those of the filter, got 4 and 3",
        ),
        (
            lambda: nn.conv2d_transpose(X[..., :3], W, [1, 9, 8, 4], 2),
            "must have the shape of its output",
        ),
        (lambda: nn.max_pool(X, 5, 1, "VALID"), "MaxPool: window along spatial axis 0 must not be"),
        (lambda: nn.max_pool(X, [2, 1, 1, 1], 1, "VALID"), "ksize must be 1 for the batch"),
        (lambda: nn.max_pool(X[0, 0], 2, 1, "VALID"), "input must have 3, 4 or 5 axes"),
        (lambda: nn.pool(X, [2, 2], "MEAN"), "pooling_type must be 'MAX' or 'AVG', got 'MEAN'"),
        (lambda: nn.pool(X, [2, 2], "MAX", padding="SAME", dilations=[2, 2]), "dilations go with"),
        (lambda: nn.convolution(X, W[0, 0]), "filters must have 3, 4 or 5 axes"),
    ],
)
def test_what_cannot_be_right_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_an_empty_batch_gives_an_empty_result() -> None:
    assert nn.conv2d(X[:0], W, 1, "SAME").shape == [0, 4, 4, 3]
    assert nn.max_pool(X[:0], 2, 2, "SAME").shape == [0, 2, 2, 4]
    assert nn.avg_pool(X[:0], 2, 2, "SAME").shape == [0, 2, 2, 4]
