"""Cases of core/ops/linalg/eigen.py: triangular matrices; their eigenvalues are the diagonal."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.linalg.solving import LEADS, OPTIONS
from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def triangles() -> st.SearchStrategy[tuple[Array, ...]]:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        size = int(rng.integers(1, 4))
        lead = LEADS[rng.integers(2)]
        apart = 2 * np.arange(1, size + 1) + rng.random((*lead, size))
        above = np.triu(rng.standard_normal((*lead, size, size)), 1)
        return (above + apart[..., None] * np.eye(size),)

    return random_arrays(build)


def by_substitution(x: Array) -> tuple[Array, Array]:
    values = np.diagonal(x, axis1=-2, axis2=-1).copy()
    vectors = np.zeros_like(x)
    for place in np.ndindex(*values.shape):
        *lead, k = place
        a = x[tuple(lead)]
        v = np.zeros(len(a))
        v[k] = 1
        for i in range(k - 1, -1, -1):
            v[i] = a[i, i + 1 :] @ v[i + 1 :] / (values[place] - a[i, i])
        vectors[(*lead, slice(None), k)] = v / np.linalg.norm(v)
    return values.astype(np.complex128), vectors.astype(np.complex128)


CASES = [
    OpCase(
        "Eig",
        triangles(),
        by_substitution,
        attrs={"Tout": kind},
        differentiable=(0,) if narrow is dtypes.float64 else (),
        **{**OPTIONS, "dtypes": (narrow,), "smooth": 100, "project": np.triu},
    )
    for kind, narrow in (
        (dtypes.complex128, dtypes.float64),
        (dtypes.complex64, dtypes.float32),
    )
]
