"""Past differences of compiled code, each as the smallest program that shows it, against NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.engine.codegen import clusters
from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True, scope="module")
def _hot() -> Iterator[None]:
    """Compile everything possible before the call, however small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "_ENTRY_US", -1e9)
        patch.setattr(config.settings, "tier", "compiled")
        patch.setattr(config.settings, "fusion", True)
        yield


def compiled(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result from machine code."""
    return function(*arguments)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def wide_softmax(x: Any) -> Any:
    power = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def test_a_function_of_an_input_first_used_behind_a_softmax_is_computed() -> None:
    x, y = normal(256, 128), normal(256, 128)

    @tf.function
    def attn(x: Any, y: Any) -> Any:
        return tf.nn.softmax(x) * tf.tanh(y)

    # Softmax and tanh are within a few units of the last place, sums of 128 terms within 128.
    wanted = wide_softmax(x) * np.tanh(y.astype(np.float64))
    np.testing.assert_allclose(compiled(attn, x, y).numpy(), wanted, rtol=2e-5, atol=1e-9)


def test_a_gate_behind_a_layer_norm_is_computed() -> None:
    x, y = normal(256, 128), normal(256, 128)

    @tf.function
    def gate(x: Any, y: Any) -> Any:
        m = tf.reduce_mean(x, -1, keepdims=True)
        v = tf.reduce_mean(tf.square(x - m), -1, keepdims=True)
        return (x - m) * tf.math.rsqrt(v + 1e-3) * tf.sigmoid(y)

    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    factor = 1 / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-3)
    wanted = centred * factor / (1 + np.exp(-y.astype(np.float64)))
    np.testing.assert_allclose(compiled(gate, x, y).numpy(), wanted, rtol=2e-4, atol=2e-6)


def test_what_two_later_loops_need_is_computed_in_the_first_of_them() -> None:
    x, y = normal(16, 24), normal(16, 24)

    @tf.function
    def f(x: Any, y: Any) -> Any:
        return tf.nn.softmax(tf.nn.softmax(x) * tf.exp(y)) + tf.exp(y)

    power = np.exp(y.astype(np.float64))
    wanted = wide_softmax(wide_softmax(x) * power) + power
    np.testing.assert_allclose(compiled(f, x, y).numpy(), wanted, rtol=2e-5)


EXTREMES = [-(2**63), -(2**63) + 1, 2**63 - 1, -(2**31), 2**31 - 1, 2**62, -1, 0]


def wrapped(value: int, bits: int) -> int:
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


LOOPS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[int, int], int]]] = {
    "sum": (lambda a, c: a + c, lambda a, c: a + c),
    "difference": (lambda a, c: c - a, lambda a, c: c - a),
    "product": (lambda a, c: a * c + 1, lambda a, c: a * c + 1),
    "square": (lambda a, c: tf.math.squared_difference(a, c), lambda a, c: (a - c) ** 2),
    "negative": (lambda a, c: -a - c, lambda a, c: -a - c),
    "size": (lambda a, c: tf.abs(a) - c, lambda a, c: abs(a) - c),
    "rounding": (lambda a, c: tf.round(a + c), lambda a, c: a + c),
}


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", LOOPS)
def test_integers_in_a_loop_wrap_as_they_do_without_one(name: str, bits: int) -> None:
    step, exact = LOOPS[name]
    dtype = {32: tf.int32, 64: tf.int64}[bits]
    constants = [value for value in EXTREMES if wrapped(value, bits) == value]

    @tf.function
    def loops(x: Any, n: Any) -> Any:
        return [
            tf.while_loop(
                lambda i, *_: i < n,
                lambda i, a, c=c: (i + 1, step(a, tf.constant(c, dtype))),
                [0, x],
            )[1]
            for c in constants
        ]

    for start in (5, constants[0]):
        for turns in (1, 2, 5):
            found = compiled(loops, tf.constant(start, dtype), tf.constant(turns))
            for c, one in zip(constants, found, strict=True):
                wanted = start
                for _ in range(turns):
                    wanted = wrapped(exact(wanted, c), bits)
                assert one.numpy() == wanted, f"{name} with {c}, {turns} turns from {start}"


def test_a_loop_takes_infinities_and_what_is_not_a_number_as_constants() -> None:
    @tf.function
    def lowest(n: Any) -> Any:
        return tf.while_loop(
            lambda i, *_: i < n,
            lambda i, a, b, c: (
                i + 1,
                tf.minimum(a, tf.cast(i, tf.float32)),
                tf.maximum(b, tf.constant(np.nan, tf.float64)),
                c * tf.constant(-0.0),
            ),
            [
                tf.constant(0),
                tf.constant(np.inf),
                tf.constant(-np.inf, tf.float64),
                tf.constant(1.0),
            ],
        )[1:]

    a, b, c = (one.numpy() for one in compiled(lowest, tf.constant(3)))
    assert a == 0
    assert np.isnan(b)
    assert c == 0
    assert np.signbit(c)
    body = next(
        step.node.attrs["body"].graph
        for step in lowest.get_concrete_function(tf.constant(3)).plan.steps
        if "While" in step.node.op.name
    )
    loops = plan_of(body).tiers.loops()
    assert loops is not None
    assert loops._loop is not None


def test_a_rectifier_makes_zero_of_what_counts_as_zero() -> None:
    """A comparison with 0 treats a denormal number as 0: then it must not be passed on."""
    least = np.finfo(np.float32).smallest_subnormal
    x = np.array([[-least, least, -1.0, 1.0, np.nan, -0.0] * 8], np.float32)

    @tf.function
    def f(x: Any) -> Any:
        return tf.nn.relu(x), tf.minimum(x * 2.0, 0.0)

    rectified, below = (one.numpy() for one in compiled(f, tf.constant(x)))
    assert np.isnan(rectified[x != x]).all()
    assert set(rectified[x == x].tolist()) == {0.0, 1.0}
    assert set(below[x == x].tolist()) == {0.0, -2.0}


def test_a_constant_is_folded_as_a_run_computes_it() -> None:
    """The reciprocal of the largest number is denormal: 0 in a run, and so in constant folding."""
    lowest = np.finfo(np.float64).min

    @tf.function
    def f() -> Any:
        return tf.math.reciprocal(tf.constant(lowest, tf.float64))

    folded = f().numpy()
    assert folded == 0
    assert np.signbit(folded)


def test_erfc_is_within_its_bound_of_the_c_library() -> None:
    """The bound was computed with SciPy's erfc, which is off by 260 ulp where erfc is small."""
    x = np.random.default_rng(0).uniform(-6, 26, 4000)
    wanted = np.array([math.erfc(one) for one in x])
    found = tf.math.erfc(tf.constant(x)).numpy()
    assert (np.abs(found - wanted) <= 18 * np.spacing(wanted)).all()
