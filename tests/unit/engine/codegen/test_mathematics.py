"""The functions of generated kernels against float64, in units of the last place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special

from pinnace.engine.codegen import compiler

_TEXT = """T = np.float32


@njit([void(WRITTEN, WRITTEN)], cache=True, error_model="numpy", fastmath={{"contract"}})
def kernel(x, y):
    for c in range(len(x)):
        y[c] = {name}(x[c])
"""
# What the docstrings promise.
FUNCTIONS: dict[str, tuple[Any, float, float, float]] = {
    "exp": (np.exp, -87, 88.7, 2),
    "tanh": (np.tanh, -12, 12, 3),
    "erf": (special.erf, -5, 5, 8),
    "erfc": (special.erfc, -5, 9, 16),
    "expm1": (np.expm1, -5, 5, 3),
}
ENDS = np.array([np.nan, np.inf, -np.inf, 0, 200, -200], np.float32)


def made(name: str) -> Any:
    kernel = compiler.request(_TEXT.format(name=name))
    assert kernel.done.wait(120)
    assert kernel.function is not None, compiler.errors or compiler.failure
    return kernel.function


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_as_exact_as_it_says(name: str) -> None:
    reference, low, high, ulps = FUNCTIONS[name]
    x = np.linspace(low, high, 200_001).astype(np.float32)
    y = np.empty_like(x)
    made(name)(x, y)
    wanted = reference(x.astype(np.float64))
    # Below the smallest normal number digits are lost by definition.
    unit = np.maximum(np.spacing(np.abs(wanted).astype(np.float32)), np.finfo(np.float32).tiny)
    assert np.max(np.abs(y - wanted) / unit) <= ulps


@pytest.mark.parametrize("name", FUNCTIONS)
def test_its_ends_are_those_of_the_function(name: str) -> None:
    y = np.empty_like(ENDS)
    made(name)(ENDS, y)
    with np.errstate(over="ignore"):
        wanted = FUNCTIONS[name][0](ENDS.astype(np.float64)).astype(np.float32)
    # One unit: a fit may come to rest just below 1.
    np.testing.assert_allclose(y, wanted, rtol=math.ldexp(1, -23))
