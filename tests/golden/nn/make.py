"""Writes cases.json and cases.npz beside it: convolutions, poolings, batch norms by TensorFlow.

Run with a Python that has tensorflow-cpu 2.21: python tests/golden/nn/make.py

Inputs are small integers, so that sums are exact in any order and maxima tie often.
"""

import itertools
import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

R = tf.raw_ops
RNG = np.random.default_rng(20)
ARRAYS: dict[str, np.ndarray] = {}
CASES: list[dict[str, object]] = []


def whole(*shape: int, low: int = -4, high: int = 5) -> np.ndarray:
    """Random small integers as float32."""
    return RNG.integers(low, high, shape).astype(np.float32)


def add(op: str, attrs: dict[str, object], **arrays: object) -> None:
    """One case: its attributes as JSON, its arrays in the .npz."""
    index = len(CASES)
    CASES.append({"op": op, **attrs, "arrays": sorted(arrays)})
    for name, array in arrays.items():
        ARRAYS[f"{index}/{name}"] = np.asarray(array)


def convolutions() -> None:
    """Conv2D and DepthwiseConv2dNative with both gradients; Conv3D forward."""
    for padding, stride, dilation, size in itertools.product(
        ["SAME", "VALID"], [1, 2, 3], [1, 2], [(7, 6), (5, 8)]
    ):
        if stride > 1 and dilation > 1:
            continue  # TensorFlow's CPU gradients do not support it
        how = {
            "strides": [1, stride, stride, 1],
            "padding": padding,
            "dilations": [1, dilation, dilation, 1],
        }
        attrs = {"padding": padding, "strides": [stride] * 2, "dilations": [dilation] * 2}
        x, f = whole(2, *size, 2), whole(3, 2, 2, 3)
        y = R.Conv2D(input=x, filter=f, **how)
        dy = whole(*y.shape)
        dx = R.Conv2DBackpropInput(input_sizes=x.shape, filter=f, out_backprop=dy, **how)
        df = R.Conv2DBackpropFilter(input=x, filter_sizes=f.shape, out_backprop=dy, **how)
        add("conv", attrs, x=x, filter=f, y=y, dy=dy, dx=dx, df=df)
        y = R.DepthwiseConv2dNative(input=x, filter=f, **how)
        arrays = {"x": x, "filter": f, "y": y}
        if dilation == 1:
            dy = whole(*y.shape)
            arrays["dy"] = dy
            arrays["dx"] = R.DepthwiseConv2dNativeBackpropInput(
                input_sizes=x.shape, filter=f, out_backprop=dy, **how
            )
            arrays["df"] = R.DepthwiseConv2dNativeBackpropFilter(
                input=x, filter_sizes=f.shape, out_backprop=dy, **how
            )
        add("depthwise", attrs, **arrays)
    x, f = whole(1, 6, 5, 2), whole(3, 3, 2, 2)
    how = {
        "strides": [1, 2, 1, 1],
        "padding": "EXPLICIT",
        "explicit_paddings": [0, 0, 2, 1, 0, 1, 0, 0],
    }
    y = R.Conv2D(input=x, filter=f, **how)
    attrs = {
        "padding": "EXPLICIT",
        "explicit_paddings": how["explicit_paddings"],
        "strides": [2, 1],
        "dilations": [1, 1],
    }
    add("conv", attrs, x=x, filter=f, y=y)
    # Groups: the filter has half the channels.
    x, f = whole(2, 5, 5, 4), whole(3, 3, 2, 6)
    y = tf.nn.conv2d(x, f, 2, "SAME")
    add("conv", {"padding": "SAME", "strides": [2, 2], "dilations": [1, 1]}, x=x, filter=f, y=y)
    x, f = whole(1, 4, 5, 3, 2), whole(2, 3, 2, 2, 2)
    how = {"strides": [1, 2, 1, 2, 1], "padding": "SAME"}
    y = R.Conv3D(input=x, filter=f, **how)
    dy = whole(*y.shape)
    dx = R.Conv3DBackpropInputV2(input_sizes=x.shape, filter=f, out_backprop=dy, **how)
    df = R.Conv3DBackpropFilterV2(input=x, filter_sizes=f.shape, out_backprop=dy, **how)
    attrs = {"padding": "SAME", "strides": [2, 1, 2], "dilations": [1, 1, 1]}
    add("conv", attrs, x=x, filter=f, y=y, dy=dy, dx=dx, df=df)


def poolings() -> None:
    """Max and mean pooling in two and three dimensions; ties, NaN and -inf."""
    for padding, ksize, strides in itertools.product(
        ["SAME", "VALID"], [(2, 2), (3, 2)], [(1, 1), (2, 2), (3, 1)]
    ):
        x = whole(2, 6, 5, 2, low=0, high=3)
        pool(padding, ksize, strides, x)
    special = whole(2, 6, 6, 2, low=0, high=3)
    special.reshape(-1)[RNG.permutation(special.size)[:50]] = np.nan
    special.reshape(-1)[RNG.permutation(special.size)[:30]] = -np.inf
    special[0, :3, :3] = -np.inf
    special[1, :3, :3] = np.nan
    for padding, ksize, strides in [("SAME", (3, 3), (2, 2)), ("VALID", (2, 2), (2, 2))]:
        pool(padding, ksize, strides, special)
    for padding in ["SAME", "VALID"]:
        x = whole(1, 4, 5, 4, 2, low=0, high=3)
        how = {"ksize": [1, 2, 2, 3, 1], "strides": [1, 2, 1, 2, 1], "padding": padding}
        attrs = {"padding": padding, "ksize": [2, 2, 3], "strides": [2, 1, 2]}
        y = R.MaxPool3D(input=x, **how)
        dy = whole(*y.shape)
        dx = R.MaxPool3DGrad(orig_input=x, orig_output=y, grad=dy, **how)
        add("max_pool", attrs, x=x, y=y, dy=dy, dx=dx)
        y = R.AvgPool3D(input=x, **how)
        dx = R.AvgPool3DGrad(orig_input_shape=x.shape, grad=dy, **how)
        add("avg_pool", attrs, x=x, y=y, dy=dy, dx=dx)


def pool(padding: str, ksize: tuple[int, int], strides: tuple[int, int], x: np.ndarray) -> None:
    """The 2-D poolings of one input."""
    how = {"ksize": [1, *ksize, 1], "strides": [1, *strides, 1], "padding": padding}
    attrs = {"padding": padding, "ksize": ksize, "strides": strides}
    y = R.MaxPool(input=x, **how)
    dy = whole(*y.shape)
    dx = R.MaxPoolGrad(orig_input=x, orig_output=y, grad=dy, **how)
    add("max_pool", attrs, x=x, y=y, dy=dy, dx=dx)
    for batch in [False, True]:
        y, argmax = R.MaxPoolWithArgmax(input=x, include_batch_in_index=batch, **how)
        add("argmax", {**attrs, "include_batch_in_index": batch}, x=x, y=y, argmax=argmax)
    if np.isfinite(x).all():
        y = R.AvgPool(value=x, **how)
        dx = R.AvgPoolGrad(orig_input_shape=x.shape, grad=dy, **how)
        add("avg_pool", attrs, x=x, y=y, dy=dy, dx=dx)


def batch_norms() -> None:
    """FusedBatchNormV3 and its gradient, training and inference."""
    for shape in [(2, 3, 4, 5), (1, 1, 1, 2), (3, 2, 2, 1)]:
        x, dy = whole(*shape), whole(*shape)
        scale, offset = whole(shape[-1]), whole(shape[-1])
        mean, variance = whole(shape[-1]), whole(shape[-1], low=1)
        for training in [True, False]:
            given = ([], []) if training else (mean, variance)
            outputs = R.FusedBatchNormV3(
                x=x,
                scale=scale,
                offset=offset,
                mean=given[0],
                variance=given[1],
                is_training=training,
                epsilon=0.01,
            )
            gradients = R.FusedBatchNormGradV3(
                y_backprop=dy,
                x=x,
                scale=scale,
                reserve_space_1=outputs[3] if training else mean,
                reserve_space_2=outputs[4] if training else variance,
                reserve_space_3=outputs[5],
                epsilon=0.01,
                is_training=training,
            )
            names = ["y", "batch_mean", "batch_variance"]
            arrays = dict(zip(names, outputs, strict=False))
            arrays |= dict(zip(["dx", "dscale", "doffset"], gradients, strict=False))
            arrays |= {"x": x, "dy": dy, "scale": scale, "offset": offset}
            if not training:
                arrays |= {"mean": mean, "variance": variance}
            add("batch_norm", {"training": training, "epsilon": 0.01}, **arrays)


convolutions()
poolings()
batch_norms()
(HERE / "cases.json").write_text("[\n" + ",\n".join(map(json.dumps, CASES)) + "\n]\n")
np.savez_compressed(HERE / "cases.npz", **ARRAYS)
for file in ["cases.json", "cases.npz"]:
    record(f"nn/{file}", script="nn/make.py", made_with=f"tensorflow {tf.__version__}")
