"""Cases of core/ops/nn/depthwise.py: a convolution with a block-diagonal filter."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.nn.spatial_convolutions import (
    adjoint_to_filter,
    adjoint_to_input,
    attrs,
    constant,
    correlate,
    normal,
)
from support.opcase import OpCase

Float64s: TypeAlias = npt.NDArray[np.float64]
RULE: tuple[Any, ...] = ((2, 2), (1, 1), "SAME")


def block_diagonal(w: Float64s) -> Float64s:
    """[rows, columns, C, M] as [rows, columns, C, C * M]."""
    _, _, channels, multiplier = w.shape
    full = np.zeros((*w.shape[:3], channels * multiplier))
    for c in range(channels):
        full[:, :, c, c * multiplier : (c + 1) * multiplier] = w[:, :, c]
    return full


def diagonal_blocks(full: Float64s, multiplier: int) -> Float64s:
    channels = full.shape[2]
    blocks = [full[:, :, c, c * multiplier : (c + 1) * multiplier] for c in range(channels)]
    return np.stack(blocks, axis=2)


def filter_gradient(x: Float64s, sizes: Any, dy: Float64s) -> Float64s:
    rows, columns, channels, multiplier = sizes
    whole = (rows, columns, channels, channels * multiplier)
    return diagonal_blocks(adjoint_to_filter(x, whole, dy, *RULE), multiplier)


CASES = [
    OpCase(
        "DepthwiseConv2dNative",
        st.tuples(normal(2, 4, 3, 2), normal(2, 2, 2, 2)),
        lambda x, w: correlate(x, block_diagonal(w), *RULE),
        attrs=attrs(*RULE),
    ),
    OpCase(
        "DepthwiseConv2dNativeBackpropInput",
        st.tuples(constant(1, 4, 3, 2), normal(2, 2, 2, 2), normal(1, 2, 2, 4)),
        lambda sizes, w, dy: adjoint_to_input(sizes, block_diagonal(w), dy, *RULE),
        attrs=attrs(*RULE),
    ),
    OpCase(
        "DepthwiseConv2dNativeBackpropFilter",
        st.tuples(normal(1, 4, 3, 2), constant(2, 2, 2, 2), normal(1, 2, 2, 4)),
        filter_gradient,
        attrs=attrs(*RULE),
    ),
]
