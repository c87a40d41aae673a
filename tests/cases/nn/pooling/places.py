"""Cases of core/ops/nn/pooling/places.py."""

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.nn.pooling.maxima import FLAT, IMAGE, Float64s, at_maximum, attrs, different, pooled
from support.opcase import OpCase


def with_places(x: Float64s) -> tuple[Float64s, npt.NDArray[np.int64]]:
    y = pooled(x, FLAT, np.max)
    places = np.zeros(y.shape, np.int64)
    for output, place in at_maximum(x, FLAT):
        places[output] = np.ravel_multi_index(place[1:], x.shape[1:])
    return y, places


CASES = [
    OpCase("MaxPoolWithArgmax", st.tuples(different(*IMAGE)), with_places, attrs=attrs(FLAT)),
]
