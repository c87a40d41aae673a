"""Small networks, as concrete functions, for tests of exports."""

from collections.abc import Callable
from typing import Any

import numpy as np

import pinnace.ops  # noqa: F401 (registers the ops)
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.tracing import trace
from pinnace.ops.execute import execute_one
from pinnace.ops.registry import lookup


def op(name: str, *arguments: Any, **attrs: Any) -> Tensor:
    return execute_one(lookup(name), *arguments, **attrs)


def weights(*shape: int, seed: int = 0) -> Variable:
    rng = np.random.default_rng([seed, *shape])
    return Variable((rng.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]) or 1)).astype("f4"))


def traced(f: Callable[..., Any], *specs: TensorSpec, name: str = "net") -> ConcreteFunction:
    return trace(f, specs, {}, name)[0]


def image(height: int = 8, width: int = 8, channels: int = 3) -> TensorSpec:
    return TensorSpec([None, height, width, channels], np.float32, name="image")


def conv(x: Tensor, out: int, size: int = 3, stride: int = 1, padding: str = "SAME") -> Tensor:
    kernel = weights(size, size, int(x.shape[-1]), out, seed=1)
    y = op("Conv2D", x, kernel, strides=(1, stride, stride, 1), padding=padding)
    return op("BiasAdd", y, weights(out, seed=2))


def pool(x: Tensor, kind: str = "MaxPool") -> Tensor:
    sizes = (1, 2, 2, 1)
    return op(kind, x, ksize=sizes, strides=sizes, padding="SAME")


def normalised(x: Tensor) -> Tensor:
    count = int(x.shape[-1])
    spread = Variable(np.linspace(0.5, 2, count).astype("f4"))
    moments = (weights(count, seed=5), spread)
    scale, offset = weights(count, seed=3), weights(count, seed=4)
    return op("FusedBatchNormV3", x, scale, offset, *moments, is_training=False, epsilon=1e-3)[0]


def flat(x: Tensor) -> Tensor:
    size = int(np.prod(x.shape.as_list()[1:]))
    return op("Reshape", x, np.array([-1, size], np.int32))


def dense(x: Tensor, out: int) -> Tensor:
    y = op("MatMul", x, weights(int(x.shape[-1]), out, seed=6))
    return op("BiasAdd", y, weights(out, seed=7))


def classifier(x: Tensor) -> Tensor:
    """Convolution, normalisation and pooling, twice; then a dense layer."""
    y = pool(op("Relu", normalised(conv(x, 8))))
    y = pool(op("Relu6", conv(y, 12)))
    return op("Softmax", dense(flat(y), 10))


def squeeze_and_excite(x: Tensor) -> Tensor:
    y = op("Relu", conv(x, 8))
    means = op("Mean", y, np.array([1, 2], np.int32))
    small = op("Reshape", means, np.array([-1, 1, 1, 8], np.int32))
    gate = op("Sigmoid", conv(op("Relu", conv(small, 2, 1)), 8, 1))
    return conv(op("Mul", y, gate), 4)


def residual(x: Tensor) -> Tensor:
    y = conv(x, 6)
    z = op("AddV2", y, conv(op("Relu", conv(y, 6)), 6))
    return op("Mean", op("Relu", z), np.array([1, 2], np.int32))


def branches(x: Tensor) -> Tensor:
    """Concat along channels, then pooling, slicing and padding."""
    y = op("ConcatV2", [conv(x, 4), conv(x, 3, 1), pool_same(x)], np.array(-1, np.int32))
    y = op("Pad", y, np.array([[0, 0], [1, 2], [0, 1], [0, 0]], np.int32))
    begin, end = np.array([0, 1, 1, 0], np.int32), np.array([0, 8, 8, 9], np.int32)
    y = op("StridedSlice", y, begin, end, np.ones(4, np.int32), begin_mask=1, end_mask=1)
    a, b, c = op("Split", np.array(3, np.int32), y, num_split=3)
    return conv(op("Maximum", op("AddV2", a, b), c), 4)


def pool_same(x: Tensor) -> Tensor:
    return op("AvgPool", x, ksize=(1, 3, 3, 1), strides=(1, 1, 1, 1), padding="SAME")


def segmentation(x: Tensor) -> Tensor:
    """A segmentation network: down and up again, with a class for each pixel."""
    y = op("Relu", conv(x, 6, stride=2))
    kernel = weights(2, 2, 5, 6, seed=8)
    sizes = op("Pack", [op("Shape", x)[0], 8, 8, 5])
    y = op("Conv2DBackpropInput", sizes, kernel, y, strides=(1, 2, 2, 1), padding="SAME")
    scores = op("Softmax", conv(op("ConcatV2", [y, x], np.array(3, np.int32)), 4, 1))
    return op("ArgMax", scores, np.array(-1, np.int32))


def channel_statistics(x: Tensor) -> Tensor:
    """Reductions that keep axes, constants of every rank, and a transpose."""
    y = conv(x, 5)
    centred = op("Sub", y, op("Mean", y, np.array([3], np.int32), keep_dims=True))
    y = op("Mul", centred, np.linspace(1, 2, 5).astype("f4"))
    y = op("AddV2", y, np.full((8, 1, 5), 0.25, np.float32))
    return op("Transpose", op("Relu", y), np.array([0, 3, 1, 2], np.int32))


def along_time(x: Tensor) -> Tensor:
    """A 1-D convolution in the 2-D form of TensorFlow."""
    wide = op("ExpandDims", x, np.array(1, np.int32))
    kernel = weights(1, 3, int(x.shape[-1]), 6, seed=9)
    y = op("Conv2D", wide, kernel, strides=(1, 1, 1, 1), padding="SAME")
    y = op("Relu", op("Squeeze", y, squeeze_dims=(1,)))
    again = op("ExpandDims", y, np.array(1, np.int32))
    z = op("Conv2D", again, weights(1, 3, 6, 4), strides=(1, 1, 1, 1), padding="VALID")
    return op("Max", op("Squeeze", z, squeeze_dims=(1,)), np.array([1], np.int32))


def pointwise(x: Tensor) -> Tensor:
    """A matrix product along the channels between two convolutions."""
    y = conv(x, 6)
    y = op("BatchMatMulV2", y, weights(6, 5, seed=10))
    return conv(op("Relu", y), 3)


def dilated(x: Tensor) -> Tensor:
    """A dilated convolution in TensorFlow's earlier form."""
    block = np.array([2, 2], np.int32)
    y = op("SpaceToBatchND", x, block, np.array([[2, 2], [2, 2]], np.int32))
    y = op("Conv2D", y, weights(3, 3, 3, 4), strides=(1, 1, 1, 1), padding="VALID")
    y = op("BatchToSpaceND", y, block, np.zeros((2, 2), np.int32))
    return op("BiasAdd", y, weights(4))


NETWORKS: dict[str, tuple[Callable[..., Any], TensorSpec]] = {
    "classifier": (classifier, image()),
    "gray": (classifier, image(channels=1)),
    "squeeze_and_excite": (squeeze_and_excite, image()),
    "residual": (residual, image()),
    "branches": (branches, image()),
    "segmentation": (segmentation, image()),
    "channel_statistics": (channel_statistics, image()),
    "along_time": (along_time, TensorSpec([None, 9, 4], np.float32, name="series")),
    "pointwise": (pointwise, image()),
    "dilated": (dilated, image()),
    "any_size": (residual, TensorSpec([None, None, None, 3], np.float32, name="image")),
}
