"""Cases of core/ops/nn/losses.py."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special

from cases.nn.rectifiers import apart_from, arrays
from support.opcase import OpCase

Float64s: TypeAlias = npt.NDArray[np.float64]

LOGITS = st.floats(-10, 10, width=32)
SIZES = st.tuples(st.integers(0, 4), st.integers(1, 4))


def normalised(weights: Float64s) -> Float64s:
    return weights / weights.sum(axis=1, keepdims=True)


def logits_and_probabilities(shape: tuple[int, int]) -> st.SearchStrategy[tuple[Any, ...]]:
    weights = hnp.arrays(np.float64, shape, elements=st.floats(0.125, 1, width=32))
    return st.tuples(hnp.arrays(np.float64, shape, elements=LOGITS), weights.map(normalised))


def logits_and_classes(shape: tuple[int, int]) -> st.SearchStrategy[tuple[Any, ...]]:
    classes = hnp.arrays(np.int64, shape[0], elements=st.integers(0, shape[1] - 1))
    return st.tuples(hnp.arrays(np.float64, shape, elements=LOGITS), classes)


def softmax_cross_entropy(x: Float64s, p: Float64s) -> tuple[Float64s, Float64s]:
    loss = special.logsumexp(x, axis=1) * p.sum(axis=1) - (p * x).sum(axis=1)
    return loss, special.softmax(x, axis=1) - p


def sparse_cross_entropy(x: Float64s, classes: npt.NDArray[Any]) -> tuple[Float64s, Float64s]:
    return softmax_cross_entropy(x, np.eye(x.shape[1])[classes])


CASES = [
    OpCase(
        "SoftmaxCrossEntropyWithLogits",
        SIZES.flatmap(logits_and_probabilities),
        softmax_cross_entropy,
    ),
    OpCase(
        "SparseSoftmaxCrossEntropyWithLogits",
        SIZES.flatmap(logits_and_classes),
        sparse_cross_entropy,
    ),
    OpCase("L2Loss", arrays(1, apart_from()), lambda t: np.linalg.norm(t.reshape(-1)) ** 2 / 2),
]
