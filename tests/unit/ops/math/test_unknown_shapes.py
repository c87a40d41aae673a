"""Gradients with shapes unknown until the run equal those with known shapes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace

X, Y = np.arange(1.0, 7).reshape(2, 3), np.linspace(-1, 1, 6).reshape(3, 2)
ROW = np.array([[2.0, 3.0, 4.0]])

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sum": (lambda x: pinnace.reduce_sum(x * x, 1), (X,)),
    "sum of all": (lambda x: pinnace.reduce_sum(x * x), (X,)),
    "mean": (lambda x: pinnace.reduce_mean(x * x, [0]), (X,)),
    "max": (lambda x: pinnace.reduce_max(x * x, 1, keepdims=True), (X,)),
    "prod": (lambda x: pinnace.reduce_prod(x, -1), (X,)),
    "norm": (lambda x: pinnace.norm(x, axis=1), (X,)),
    "variance": (lambda x: pinnace.math.reduce_variance(x, 0), (X,)),
    "logsumexp": (lambda x: pinnace.reduce_logsumexp(x, 1), (X,)),
    "add": (lambda x, y: x + y * y, (X, ROW)),
    "pow": (lambda x, y: x**y, (X, ROW)),
    "maximum": (pinnace.maximum, (X, ROW + 0.5)),
    "clip": (lambda x: pinnace.clip_by_value(x, 2.5, 4.5), (X,)),
    "matmul": (lambda x, y: pinnace.matmul(x, y) ** 2.0, (X, Y)),
    "batches": (lambda x, y: pinnace.matmul(x, y), (np.stack([X, X + 1]), Y)),
    "tensordot": (lambda x, y: pinnace.tensordot(x, y, 1), (X, Y)),
    "einsum": (lambda x, y: pinnace.einsum("ij,jk->ki", x, y), (X, Y)),
    "einsum that sums": (lambda x: pinnace.einsum("ij->j", x), (X,)),
    "einsum under dots": (lambda x, y: pinnace.einsum("...i,ij->...j", x, y), (X, Y)),
    "cumsum": (lambda x: pinnace.cumsum(x * x, 1), (X,)),
    "segments": (lambda x: pinnace.math.unsorted_segment_mean(x, [1, -1], 3), (X,)),
    "inverse": (lambda x: pinnace.linalg.inv(pinnace.matmul(x, x, transpose_b=True)), (X,)),
    "diagonal": (lambda x: pinnace.linalg.diag_part(x), (X,)),
}


def gradients(function: Callable[..., Any], *xs: Any) -> list[Any]:
    with pinnace.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        y = function(*xs)
        loss = pinnace.reduce_sum(y * pinnace.sin(y))
    return list(tape.gradient(loss, list(xs)))


@pytest.mark.parametrize("unknown", ["sizes", "ranks"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_need_no_shapes(name: str, unknown: str) -> None:
    function, arrays = FUNCTIONS[name]
    if unknown == "ranks" and name in {"tensordot", "einsum under dots", "segments"}:
        pytest.skip("these need to know the rank")
    xs = [pinnace.constant(x) for x in arrays]
    specs = [
        pinnace.TensorSpec([None] * x.ndim if unknown == "sizes" else None, "float64")
        for x in arrays
    ]
    traced = pinnace.function(lambda *ys: gradients(function, *ys), input_signature=specs)
    for found, wanted in zip(traced(*xs), gradients(function, *xs), strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-12)
