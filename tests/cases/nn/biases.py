"""Cases of core/ops/nn/biases.py."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from support.opcase import OpCase

Float64s: TypeAlias = npt.NDArray[np.float64]

NUMBERS = st.floats(-10, 10, width=32)
SHAPES = hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4)


def values(*, bias_axis: int | None) -> st.SearchStrategy[tuple[Any, ...]]:
    """Images, and with `bias_axis` a number for each entry of that axis."""

    def of(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
        parts = [hnp.arrays(np.float64, shape, elements=NUMBERS)]
        if bias_axis is not None:
            parts.append(hnp.arrays(np.float64, shape[bias_axis], elements=NUMBERS))
        return st.tuples(*parts)

    return SHAPES.flatmap(of)


def first(bias: Float64s, rank: int) -> Float64s:
    return bias.reshape(-1, *[1] * (rank - 2))


def summed(dy: Float64s, axis: int) -> Float64s:
    """One sum per entry of `axis`."""
    return np.array([np.sum(dy.take(n, axis)) for n in range(dy.shape[axis])])


CASES = [
    OpCase("BiasAdd", values(bias_axis=-1), lambda x, b: x + b[None, :]),
    OpCase(
        "BiasAdd",
        values(bias_axis=1),
        lambda x, b: x + first(b, x.ndim),
        attrs={"data_format": "NCHW"},
    ),
    OpCase("BiasAddV1", values(bias_axis=-1), lambda x, b: x + b[None, :]),
    # A sum of up to 64 terms of about 10, with cancellation.
    OpCase("BiasAddGrad", values(bias_axis=None), lambda dy: summed(dy, -1), slack=640.0),
    OpCase(
        "BiasAddGrad",
        values(bias_axis=None),
        lambda dy: summed(dy, 1),
        attrs={"data_format": "NCHW"},
        slack=640.0,
    ),
]
