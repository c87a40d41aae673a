"""Cases of core/ops/nn/fused.py: each step by a separate formula."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]
FLOAT32: dict[str, Any] = {
    "dtypes": (dtypes.float32,),
    "slack": 200.0,
    "reason": "sums of products",
}


def activated(y: Array, name: str) -> Array:
    return {
        "Relu": lambda: (y + np.abs(y)) / 2,
        "Relu6": lambda: np.minimum((y + np.abs(y)) / 2, 6),
        "Elu": lambda: np.vectorize(lambda v: v if v > 0 else math.expm1(v))(y),
        "LeakyRelu": lambda: 0.6 * y + 0.4 * np.abs(y),
        "Tanh": lambda: 1 - 2 / (np.exp(2 * y) + 1),
        "Sigmoid": lambda: 1 / (1 + np.exp(-y)),
    }[name]()


def finished(y: Array, args: tuple[Array, ...], steps: tuple[str, ...]) -> Array:
    if steps[0] == "BiasAdd":
        y = y + args[0]
    else:
        scale, offset, mean, variance = args
        y = scale * (y - mean) / (variance + 1e-4) ** 0.5 + offset
    return activated(y, steps[1]) if len(steps) > 1 else y


def arguments(rng: np.random.Generator, steps: tuple[str, ...], size: int) -> tuple[Array, ...]:
    if steps[0] == "BiasAdd":
        return (rng.standard_normal(size),)
    return (*(rng.standard_normal(size) for _ in range(3)), rng.random(size) + 0.5)


def convolved(x: Array, filters: Array) -> Array:
    """A VALID convolution with strides of 1."""
    rows, columns = filters.shape[:2]
    height, width = x.shape[1] - rows + 1, x.shape[2] - columns + 1
    out = np.zeros((x.shape[0], height, width, filters.shape[3]))
    for i, j in np.ndindex(rows, columns):
        out += x[:, i : i + height, j : j + width] @ filters[i, j]
    return out


def per_channel(x: Array, filters: Array) -> Array:
    parts = [convolved(x[..., c : c + 1], filters[:, :, c : c + 1, :]) for c in range(x.shape[3])]
    return np.concatenate(parts, -1)


WINDOWS = {"strides": (1, 1, 1, 1), "padding": "VALID"}


def convolution(steps: tuple[str, ...]) -> OpCase:
    def build(rng: np.random.Generator) -> tuple[Any, ...]:
        x, filters = rng.standard_normal((2, 4, 5, 3)), rng.standard_normal((2, 3, 3, 4))
        return x, filters, arguments(rng, steps, 4), ()

    attrs = {**WINDOWS, "fused_ops": steps, "num_args": 1 if steps[0] == "BiasAdd" else 4}
    return OpCase(
        "_FusedConv2D",
        random_arrays(build),
        lambda x, f, args, _: finished(convolved(x, f), args, steps),
        attrs=attrs,
        **FLOAT32,
    )


def depthwise(steps: tuple[str, ...]) -> OpCase:
    def build(rng: np.random.Generator) -> tuple[Any, ...]:
        x, filters = rng.standard_normal((2, 4, 5, 3)), rng.standard_normal((2, 3, 3, 2))
        return x, filters, arguments(rng, steps, 6)

    return OpCase(
        "_FusedDepthwiseConv2dNative",
        random_arrays(build),
        lambda x, f, args: finished(per_channel(x, f), args, steps),
        attrs={**WINDOWS, "fused_ops": steps},
        **FLOAT32,
    )


def product(steps: tuple[str, ...]) -> OpCase:
    def build(rng: np.random.Generator) -> tuple[Any, ...]:
        a, b = rng.standard_normal((3, 5)), rng.standard_normal((4, 5))
        return a, b, arguments(rng, steps, 4)

    return OpCase(
        "_FusedMatMul",
        random_arrays(build),
        lambda a, b, args: finished(np.einsum("ik,jk->ij", a, b), args, steps),
        attrs={"transpose_b": True, "fused_ops": steps},
        **FLOAT32,
    )


ENDS = [("BiasAdd",), ("BiasAdd", "Relu"), ("BiasAdd", "Relu6"), ("BiasAdd", "LeakyRelu")]
MORE = [("FusedBatchNorm",), ("FusedBatchNorm", "Relu"), ("BiasAdd", "Elu")]
CASES = [
    *map(convolution, ENDS + MORE),
    *map(depthwise, ENDS),
    *map(product, [*ENDS, ("BiasAdd", "Tanh"), ("BiasAdd", "Sigmoid")]),
]
