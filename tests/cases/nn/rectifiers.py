"""Cases of core/ops/nn/rectifiers.py; kinks are kept out."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from support.opcase import OpCase

Float64s: TypeAlias = npt.NDArray[np.float64]


def apart_from(*kinks: float) -> st.SearchStrategy[float]:
    """Numbers at least 0.01 from every kink."""
    numbers = st.floats(-10, 10, width=32)
    return numbers.filter(lambda x: all(abs(x - kink) > 0.01 for kink in kinks))


def arrays(count: int, elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Any, ...]]:
    """`count` arrays of one shape, rank 0 to 3, empty ones too."""
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    return shapes.flatmap(
        lambda shape: st.tuples(*[hnp.arrays(np.float64, shape, elements=elements)] * count)
    )


def relu(x: Float64s) -> Float64s:
    return (x + np.abs(x)) / 2


def relu6(x: Float64s) -> Float64s:
    return np.clip(x, 0, 6)


# The attribute is float32, which rounds alpha.
ALPHA = float(np.float32(0.2))


def leaky_relu(x: Float64s) -> Float64s:
    return np.where(x > 0, x, ALPHA * x)


def relu_grad(gradients: Float64s, features: Float64s) -> Float64s:
    return gradients * np.heaviside(features, 0)


def relu6_grad(gradients: Float64s, features: Float64s) -> Float64s:
    return gradients * np.heaviside(features, 0) * np.heaviside(6 - features, 0)


def leaky_relu_grad(gradients: Float64s, features: Float64s) -> Float64s:
    return gradients * (ALPHA + (1 - ALPHA) * np.heaviside(features, 0))


CASES = [
    OpCase("Relu", arrays(1, apart_from(0)), relu),
    OpCase("Relu6", arrays(1, apart_from(0, 6)), relu6),
    OpCase("LeakyRelu", arrays(1, apart_from(0)), leaky_relu),
    OpCase("ReluGrad", arrays(2, apart_from(0)), relu_grad),
    OpCase("Relu6Grad", arrays(2, apart_from(0, 6)), relu6_grad),
    OpCase("LeakyReluGrad", arrays(2, apart_from(0)), leaky_relu_grad),
]
