"""Sums of products in place, and steps after a split, give the formula's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import pinnace as tf
from pinnace.engine.codegen import products
from support import numba_kernels

pytest.importorskip("numba")

ENDS = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1e-40, -1e-45, 200, -200, 3e38], np.float32)


def kernel_of(
    program: Any, arguments: list[Any], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Any], str]:
    """The results of a program's kernel, and its source."""
    from pinnace.framework import config

    monkeypatch.setattr(config.settings, "tier", "auto")
    function = tf.function(program)
    tensors = [tf.constant(one) for one in arguments]
    for _ in range(4):
        function(*tensors)
    function(*tensors)
    plan = function.get_concrete_function(*tensors).plan
    prepared = [one for one in plan.tiers._tier.prepared.values() if one is not None]
    (small,) = (one.small for one in prepared if one.small is not None)
    text = "\n".join(small.lines)
    return [np.array(one) for one in tf.nest.flatten(function(*tensors))], text


def cell(x: Any, h: Any, c: Any, k: Any, r: Any, b: Any) -> Any:
    z = tf.nn.bias_add(tf.matmul(x, k) + tf.matmul(h, r), b)
    i, f, new, o = tf.split(z, 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(new)
    return tf.sigmoid(o) * tf.tanh(c), c


def expected(*arguments: Any) -> tuple[Any, Any]:
    x, h, c, k, r, b = (one.astype(np.float64) for one in arguments)
    with np.errstate(invalid="ignore", over="ignore"):
        i, f, new, o = np.split(x @ k + h @ r + b, 4, axis=1)
        c = special.expit(f) * c + special.expit(i) * np.tanh(new)
        return special.expit(o) * np.tanh(c), c


@settings(max_examples=10, deadline=None)
@given(
    rows=st.integers(1, 35),
    features=st.integers(1, 20),
    units=st.sampled_from([1, 5, 15, 16, 17, 33, 64]),
    seed=st.integers(0, 99),
)
def test_a_cell_by_its_formula(rows: int, features: int, units: int, seed: int) -> None:
    draw = np.random.default_rng(seed).standard_normal
    shapes = (
        (rows, features),
        (rows, units),
        (rows, units),
        (features, 4 * units),
        (units, 4 * units),
        (4 * units,),
    )
    arguments = [draw(shape).astype(np.float32) for shape in shapes]
    with pytest.MonkeyPatch.context() as patch:
        found, text = kernel_of(cell, arguments, patch)
    # Only the loop over the gates reads a sum, if their rows are long enough.
    assert (text.count(" in elementwise(") == 1) == (units >= 16)
    for one, other in zip(found, expected(*arguments), strict=True):
        # Sums of up to 84 products of normal numbers.
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_numbers_at_the_ends_of_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    shapes = ((5, 3), (5, 16), (5, 16), (3, 64), (16, 64), (64,))
    arguments = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    for place in (2, 5):  # the state and the bias
        one = arguments[place].reshape(-1)
        one[: ENDS.size * 4] = np.repeat(ENDS, 4)[: one.size]
    found, _ = kernel_of(cell, arguments, monkeypatch)
    for one, other in zip(found, expected(*arguments), strict=True):
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(one, other.astype(np.float32), rtol=1e-4, atol=1e-5)


def shared(x: Any, h: Any, k: Any, r: Any, b: Any) -> Any:
    """Nothing here can be removed: the first product and the sum have two uses, one a product."""
    first = tf.matmul(x, k)
    z = first + tf.matmul(h, r)
    left, right = tf.split(tf.tanh(z + b), [20, 16], axis=-1)
    return tf.matmul(left, k[:20]) + first, tf.exp(right), tf.reduce_sum(z, 0)


def halves(x: Any, h: Any, k: Any, r: Any, b: Any) -> Any:
    """The sum of products is a result; a scalar and a column are among the summands."""
    z = tf.matmul(x, k) + tf.matmul(h, r)
    scaled = (z * x[:, :1] + b) * 2.0 - b[0]
    left, right = tf.split(scaled, 2, axis=-1)
    return z, left * right - left


@pytest.mark.parametrize("rows", [1, 3, 16])
def test_what_is_used_elsewhere_is_made(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(rows).standard_normal
    shapes = ((rows, 20), (rows, 7), (20, 36), (7, 36), (36,))
    arguments = [draw(shape).astype(np.float32) for shape in shapes]
    x, h, k, r, b = (one.astype(np.float64) for one in arguments)
    z = x @ k + h @ r
    squashed = np.tanh(z + b)
    wanted = squashed[:, :20] @ k[:20] + x @ k, np.exp(squashed[:, 20:]), z.sum(0)
    found, _ = kernel_of(shared, arguments, monkeypatch)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    left, right = np.split((z * x[:, :1] + b) * 2 - b[0], 2, axis=-1)
    found, _ = kernel_of(halves, arguments, monkeypatch)
    for one, other in zip(found, (z, left * right - left), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


_PRODUCT = """
from pinnace.engine.codegen.products import at, multiply


@njit([void(READ, READ, WRITTEN, READ, types.Array(int64, 1, "C"), int64, int64, int64)])
def kernel(a, b, c, zeros, table, m, k, n):
    multiply(at(a), k, 1, at(b), n, 0, at(c), n, m, k, n, at(zeros), 0, table)
"""


@pytest.mark.parametrize("m", range(1, 45))
def test_any_number_of_rows_is_cut_into_tiles(m: int) -> None:
    product = numba_kernels.compiled(_PRODUCT)
    draw = np.random.default_rng(m).standard_normal
    a, b = draw((m, 3)).astype(np.float32), draw((3, 32)).astype(np.float32)
    c = np.full((m, 32), np.nan, np.float32)
    table = np.zeros(2 * products.ROWS + 1, np.int64)
    zeros = np.zeros(products.ACROSS, np.float32)
    product(a.reshape(-1), b.reshape(-1), c.reshape(-1), zeros, table, m, 3, 32)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-6)
