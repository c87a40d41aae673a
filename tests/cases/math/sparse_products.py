"""Cases of core/ops/math/sparse_products.py."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pinnace.framework import dtypes
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def matrices(rng: np.random.Generator, flip_a: bool, flip_b: bool) -> tuple[Array, Array]:
    """Integers, many of them 0: sums of products are exact."""
    m, k, n = rng.integers(1, 5, 3)
    a, b = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n))
    a, b = (np.where(rng.random(x.shape) < 0.5, x, 0).astype(np.float64) for x in (a, b))
    return a.T if flip_a else a, b.T if flip_b else b


def product(a: Array, b: Array, flip_a: bool, flip_b: bool) -> Array:
    return np.einsum("ji,jk->ik" if flip_a else "ij,jk->ik", a, b.T if flip_b else b)


CASES = [
    OpCase(
        "SparseMatMul",
        random_arrays(lambda rng, a=flip_a, b=flip_b: matrices(rng, a, b)),
        lambda a, b, x=flip_a, y=flip_b: product(a, b, x, y),
        attrs={"transpose_a": flip_a, "transpose_b": flip_b},
        dtypes=(dtypes.float32,),
        differentiable=(),
    )
    for flip_a in (False, True)
    for flip_b in (False, True)
]
