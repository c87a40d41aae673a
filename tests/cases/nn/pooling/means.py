"""Cases of core/ops/nn/pooling/means.py: naive loops."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.nn.pooling.maxima import (
    FLAT,
    IMAGE,
    SOLID,
    VOLUME,
    Float64s,
    Rule,
    attrs,
    pooled,
    windows,
)
from cases.nn.spatial_convolutions import normal
from support.opcase import OpCase


def mean_gradient(rule: Rule) -> Callable[..., Float64s]:
    def gradient(sizes: Any, dy: Float64s) -> Float64s:
        dx = np.zeros(tuple(sizes))
        axes = tuple(range(1, dx.ndim - 1))
        for window, part in windows(dx.shape[1:-1], *rule):
            count = int(np.prod([s.stop - s.start for s in part]))
            share = dy[(slice(None), *window)] / count
            dx[(slice(None), *part)] += np.expand_dims(share, axes)
        return dx

    return gradient


CASES = [
    OpCase(
        "AvgPool", st.tuples(normal(*IMAGE)), lambda x: pooled(x, FLAT, np.mean), attrs=attrs(FLAT)
    ),
    OpCase(
        "AvgPoolGrad",
        st.tuples(st.just(np.array(IMAGE, np.int32)), normal(2, 2, 4, 2)),
        mean_gradient(FLAT),
        attrs=attrs(FLAT),
    ),
    OpCase(
        "AvgPool3D",
        st.tuples(normal(*VOLUME)),
        lambda x: pooled(x, SOLID, np.mean),
        attrs=attrs(SOLID),
    ),
    OpCase(
        "AvgPool3DGrad",
        st.tuples(st.just(np.array(VOLUME, np.int32)), normal(1, 2, 1, 2, 2)),
        mean_gradient(SOLID),
        attrs=attrs(SOLID),
    ),
]
