"""The functions of generated kernels against float64, in ulps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

from pinnace.engine.codegen import general
from support import numba_kernels

_TEXT = """T = np.float32


@njit([void(WRITTEN, WRITTEN)], cache=True, error_model="numpy", fastmath={{"contract"}})
def kernel(x, y):
    for c in range(len(x)):
        y[c] = {name}(x[c])
"""
_WHOLE = _TEXT.replace("    for c", "    whole_vectors()\n    for c")
# The errors that the docstrings promise.
FUNCTIONS: dict[str, tuple[Any, float, float, float]] = {
    "exp": (np.exp, -87, 88.7, 2),
    "sigmoid": (special.expit, -87.3, 87.3, 3),
    "tanh": (np.tanh, -12, 12, 3),
    "erf": (special.erf, -5, 5, 8),
    "erfc": (special.erfc, -5, 9, 16),
    "expm1": (np.expm1, -5, 5, 3),
}
ENDS = np.array([np.nan, np.inf, -np.inf, 0, 200, -200], np.float32)


def made(name: str, text: str = _TEXT) -> Any:
    return numba_kernels.compiled(text.format(name=name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_as_exact_as_it_says(name: str) -> None:
    reference, low, high, ulps = FUNCTIONS[name]
    x = np.linspace(low, high, 200_001).astype(np.float32)
    y = np.empty_like(x)
    made(name)(x, y)
    wanted = reference(x.astype(np.float64))
    # Below the smallest normal number, precision is lost by definition.
    unit = np.maximum(np.spacing(np.abs(wanted).astype(np.float32)), np.finfo(np.float32).tiny)
    assert np.max(np.abs(y - wanted) / unit) <= ulps


@pytest.mark.parametrize("name", FUNCTIONS)
def test_its_ends_are_those_of_the_function(name: str) -> None:
    y = np.empty_like(ENDS)
    made(name)(ENDS, y)
    with np.errstate(over="ignore"):
        wanted = FUNCTIONS[name][0](ENDS.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wide_registers_give_the_same_bits(name: str) -> None:
    _, low, high, _ = FUNCTIONS[name]
    narrow, whole = made(name), made(name, _WHOLE)
    for count in (*range(1, 80), 4099):
        x = np.linspace(low, high, count).astype(np.float32)
        x[count // 2] = ENDS[count % len(ENDS)]
        found, wanted = np.empty_like(x), np.empty_like(x)
        whole(x, found)
        narrow(x, wanted)
        np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32))


def test_registers_are_as_wide_as_the_processors() -> None:
    from llvmlite import binding

    if not binding.get_host_cpu_features().get("avx512f"):
        pytest.skip("this processor has no registers of 64 bytes")
    from pinnace.engine.codegen import objects

    dispatcher = objects.dispatcher_of(general.module_of(_WHOLE.format(name="tanh")))
    (assembler,) = dispatcher.inspect_asm().values()
    assert "zmm" in assembler


def test_tanh_is_odd_and_keeps_what_is_tiny() -> None:
    tiny = np.float32([0, 1e-45, 1e-41, 1e-38, 2e-38, 1e-30, 1e-10, 1e-4])
    x = np.concatenate([tiny, np.geomspace(1e-3, 3e38, 4001).astype(np.float32)])
    above, below = np.empty_like(x), np.empty_like(x)
    made("tanh")(x, above)
    made("tanh")(-x, below)
    np.testing.assert_array_equal(above.view(np.uint32) ^ np.uint32(1 << 31), below.view(np.uint32))
    np.testing.assert_array_equal(above[: len(tiny) - 1], tiny[:-1])
    assert above.max() == 1


def test_the_error_function_is_1_where_that_is_the_nearest_number() -> None:
    """1 - erf is a factor of GELU: what is left of it is multiplied by an x of any size."""
    x = np.geomspace(3.95, 3e38, 10_001).astype(np.float32)
    for sign in (np.float32(1), np.float32(-1)):
        y = np.empty_like(x)
        made("erf")(sign * x, y)
        np.testing.assert_array_equal(y, sign)


def test_sigmoids_of_what_is_far_below_0_keep_their_digits() -> None:
    x = -np.geomspace(1, 3e38, 10_001).astype(np.float32)
    y = np.empty_like(x)
    made("sigmoid")(x, y)
    wanted = special.expit(x.astype(np.float64))
    normal = wanted >= np.finfo(np.float32).tiny
    assert np.max(np.abs(y[normal] / wanted[normal] - 1)) < 4e-7
    # Below the smallest normal number precision decreases to zero.
    assert np.all(y[~normal] <= np.finfo(np.float32).tiny)
    assert not y[x < -89].any()
