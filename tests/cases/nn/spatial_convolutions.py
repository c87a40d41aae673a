"""Cases of core/ops/nn/spatial_convolutions.py: naive loops over every window."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from support.opcase import OpCase

Float64s: TypeAlias = npt.NDArray[np.float64]


def normal(*shape: int) -> st.SearchStrategy[Float64s]:
    return hnp.arrays(np.float64, shape, elements=st.floats(-2, 2, width=32))


def placed(size: int, taps: int, stride: int, rate: int, padding: str) -> tuple[int, int]:
    """The number of windows, and the number of zeros before the first element."""
    reach = (taps - 1) * rate + 1
    if padding == "VALID":
        return (size - reach) // stride + 1, 0
    count = -(-size // stride)
    return count, max((count - 1) * stride + reach - size, 0) // 2


def correlate(
    x: Float64s, w: Float64s, steps: tuple[int, ...], rates: tuple[int, ...], padding: str
) -> Float64s:
    """[batch, *counts, out]: one window after the other, one tap after the other."""
    places = [
        placed(size, taps, step, rate, padding)
        for size, taps, step, rate in zip(x.shape[1:-1], w.shape, steps, rates, strict=False)
    ]
    y = np.zeros((len(x), *(count for count, _ in places), w.shape[-1]))
    for window in np.ndindex(*y.shape[1:-1]):
        for tap in np.ndindex(*w.shape[:-2]):
            at = tuple(
                o * step - before + t * rate
                for o, t, step, rate, (_, before) in zip(
                    window, tap, steps, rates, places, strict=True
                )
            )
            if all(0 <= n < size for n, size in zip(at, x.shape[1:-1], strict=True)):
                y[(slice(None), *window)] += x[(slice(None), *at)] @ w[tap]
    return y


def adjoint_to_input(sizes: Any, w: Float64s, dy: Float64s, *rule: Any) -> Float64s:
    """The sum of dy times the response to a unit input, for each element of each picture."""
    one = tuple(sizes)[1:]
    units = np.eye(int(np.prod(one))).reshape(-1, *one)  # a batch of all
    responses = correlate(units, w, *rule)
    return np.stack([np.sum(responses * y, axis=tuple(range(1, y.ndim + 1))) for y in dy]).reshape(
        -1, *one
    )


def adjoint_to_filter(x: Float64s, sizes: Any, dy: Float64s, *rule: Any) -> Float64s:
    dw = np.zeros(tuple(sizes))
    for place in np.ndindex(*dw.shape):
        unit = np.zeros(dw.shape)
        unit[place] = 1
        dw[place] = np.sum(correlate(x, unit, *rule) * dy)
    return dw


def constant(*sizes: int) -> st.SearchStrategy[npt.NDArray[np.int32]]:
    return st.just(np.array(sizes, np.int32))


STEPPED: tuple[Any, ...] = ((2, 1), (1, 1), "SAME")
SPREAD: tuple[Any, ...] = ((1, 1), (1, 2), "VALID")
CUT: tuple[Any, ...] = ((2, 1), (1, 1), "VALID")
CUBIC: tuple[Any, ...] = ((1, 2, 1), (1, 1, 1), "SAME")


def attrs(steps: tuple[int, ...], rates: tuple[int, ...], padding: str) -> dict[str, Any]:
    return {"strides": (1, *steps, 1), "dilations": (1, *rates, 1), "padding": padding}


CASES = [
    OpCase(
        "Conv2D",
        st.tuples(normal(2, 4, 3, 2), normal(3, 2, 2, 2)),
        lambda x, w: correlate(x, w, *STEPPED),
        attrs=attrs(*STEPPED),
    ),
    OpCase(
        "Conv2D",
        st.tuples(normal(1, 3, 5, 2), normal(2, 2, 2, 1)),
        lambda x, w: correlate(x, w, *SPREAD),
        attrs=attrs(*SPREAD),
    ),
    OpCase(
        "Conv2DBackpropInput",
        st.tuples(constant(1, 4, 3, 2), normal(3, 2, 2, 2), normal(1, 2, 3, 2)),
        lambda sizes, w, dy: adjoint_to_input(sizes, w, dy, *STEPPED),
        attrs=attrs(*STEPPED),
    ),
    OpCase(  # of images with a row above, and a column on either side
        "Conv2DBackpropInput",
        st.tuples(constant(1, 4, 3, 2), normal(3, 2, 2, 2), normal(1, 2, 4, 2)),
        lambda sizes, w, dy: adjoint_to_input(np.add(sizes, [0, 1, 2, 0]), w, dy, *CUT)[
            :, 1:, 1:-1
        ],
        attrs={**attrs((2, 1), (1, 1), "EXPLICIT"), "explicit_paddings": (0, 0, 1, 0, 1, 1, 0, 0)},
    ),
    OpCase(
        "Conv2DBackpropFilter",
        st.tuples(normal(1, 4, 3, 2), constant(3, 2, 2, 2), normal(1, 2, 3, 2)),
        lambda x, sizes, dy: adjoint_to_filter(x, sizes, dy, *STEPPED),
        attrs=attrs(*STEPPED),
    ),
    OpCase(
        "Conv3D",
        st.tuples(normal(1, 3, 3, 2, 2), normal(2, 2, 1, 2, 2)),
        lambda x, w: correlate(x, w, *CUBIC),
        attrs=attrs(*CUBIC),
    ),
    OpCase(
        "Conv3DBackpropInputV2",
        st.tuples(constant(1, 3, 3, 2, 2), normal(2, 2, 1, 2, 2), normal(1, 3, 2, 2, 2)),
        lambda sizes, w, dy: adjoint_to_input(sizes, w, dy, *CUBIC),
        attrs=attrs(*CUBIC),
    ),
    OpCase(
        "Conv3DBackpropFilterV2",
        st.tuples(normal(1, 3, 3, 2, 2), constant(2, 2, 1, 2, 2), normal(1, 3, 2, 2, 2)),
        lambda x, sizes, dy: adjoint_to_filter(x, sizes, dy, *CUBIC),
        attrs=attrs(*CUBIC),
    ),
]
