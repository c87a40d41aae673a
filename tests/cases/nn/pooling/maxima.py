"""Cases of core/ops/nn/pooling/maxima.py: naive loops; no two values are equal."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.nn.spatial_convolutions import normal, placed
from support.opcase import OpCase

Float64s: TypeAlias = npt.NDArray[np.float64]
Rule: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], str]

FLAT: Rule = ((2, 3), (2, 1), "SAME")
SOLID: Rule = ((2, 2, 1), (1, 2, 1), "VALID")


def different(*shape: int) -> st.SearchStrategy[Float64s]:
    count = int(np.prod(shape))
    order = st.permutations(range(count))
    return order.map(lambda places: np.array(places, np.float64).reshape(shape) / 8 - 2)


def windows(
    sizes: tuple[int, ...], ksize: tuple[int, ...], steps: tuple[int, ...], padding: str
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each window and the part of the input that it reads."""
    places = [placed(n, k, s, 1, padding) for n, k, s in zip(sizes, ksize, steps, strict=True)]
    for window in np.ndindex(*(count for count, _ in places)):
        starts = [o * s - before for o, s, (_, before) in zip(window, steps, places, strict=True)]
        yield (
            window,
            tuple(
                slice(max(start, 0), min(start + k, n))
                for start, k, n in zip(starts, ksize, sizes, strict=True)
            ),
        )


def pooled(x: Float64s, rule: Rule, reduce: Callable[..., Any]) -> Float64s:
    axes = tuple(range(1, x.ndim - 1))
    found = {
        window: reduce(x[(slice(None), *part)], axis=axes)
        for window, part in windows(x.shape[1:-1], *rule)
    }
    counts = np.max(list(found), axis=0) + 1
    y = np.zeros((len(x), *counts, x.shape[-1]))
    for window, value in found.items():
        y[(slice(None), *window)] = value
    return y


def at_maximum(x: Float64s, rule: Rule) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The index of each output element, and the index in x of its maximum."""
    for window, part in windows(x.shape[1:-1], *rule):
        for image in range(len(x)):
            for channel in range(x.shape[-1]):
                inside = x[(image, *part, channel)]
                place = np.unravel_index(np.argmax(inside), inside.shape)
                here = tuple(s.start + int(n) for s, n in zip(part, place, strict=True))
                yield (image, *window, channel), (image, *here, channel)


def max_gradient(rule: Rule) -> Callable[..., Float64s]:
    def gradient(x: Float64s, _: Float64s, dy: Float64s) -> Float64s:
        dx = np.zeros(x.shape)
        for output, place in at_maximum(x, rule):
            dx[place] += dy[output]
        return dx

    return gradient


def max_second(rule: Rule) -> Callable[..., Float64s]:
    def second(x: Float64s, y: Float64s, ddx: Float64s) -> Float64s:
        ddy = np.zeros(y.shape)
        for output, place in at_maximum(x, rule):
            ddy[output] = ddx[place]
        return ddy

    return second


def and_maxima(rule: Rule, *shape: int, like: str) -> st.SearchStrategy[tuple[Any, ...]]:
    """x, its maxima, and numbers in the shape of one of them."""
    x = different(*shape)
    y_shape = pooled(np.zeros(shape), rule, np.max).shape
    other = normal(*(y_shape if like == "output" else shape))
    return st.tuples(x, other).map(lambda pair: (pair[0], pooled(pair[0], rule, np.max), pair[1]))


def attrs(rule: Rule) -> dict[str, Any]:
    ksize, steps, padding = rule
    return {"ksize": (1, *ksize, 1), "strides": (1, *steps, 1), "padding": padding}


IMAGE, VOLUME = (2, 3, 4, 2), (1, 3, 3, 2, 2)
SIZES = [st.just(np.array([1, *FLAT[i], 1], np.int32)) for i in range(2)]
CASES = [
    OpCase(
        "MaxPool",
        st.tuples(different(*IMAGE)),
        lambda x: pooled(x, FLAT, np.max),
        attrs=attrs(FLAT),
    ),
    OpCase(
        "MaxPoolV2",
        st.tuples(different(*IMAGE), SIZES[0], SIZES[1]),
        lambda x, *_: pooled(x, FLAT, np.max),
        attrs={"padding": "SAME"},
    ),
    OpCase(
        "MaxPoolGrad",
        and_maxima(FLAT, *IMAGE, like="output"),
        max_gradient(FLAT),
        attrs=attrs(FLAT),
        differentiable=(2,),  # the maxima's positions are constant
    ),
    OpCase(
        "MaxPoolGradGrad",
        and_maxima(FLAT, *IMAGE, like="input"),
        max_second(FLAT),
        attrs=attrs(FLAT),
    ),
    OpCase(
        "MaxPool3D",
        st.tuples(different(*VOLUME)),
        lambda x: pooled(x, SOLID, np.max),
        attrs=attrs(SOLID),
    ),
    OpCase(
        "MaxPool3DGrad",
        and_maxima(SOLID, *VOLUME, like="output"),
        max_gradient(SOLID),
        attrs=attrs(SOLID),
        differentiable=(2,),
    ),
    OpCase(
        "MaxPool3DGradGrad",
        and_maxima(SOLID, *VOLUME, like="input"),
        max_second(SOLID),
        attrs=attrs(SOLID),
    ),
]
