"""Divisions by a constant in a network: rounded as in the plan, so that errors have no bias."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config
from unit.engine.networks.test_region import arrays_of, networks_of

if TYPE_CHECKING:
    from collections.abc import Callable

ONE = np.eye(64, dtype=np.float32)
# Half an ulp, always in one direction, was 3e-8; unbiased errors average to far less.
_ONE_SIDED = 5e-9


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


def found(between: Callable[[Any], Any], x: Any) -> Any:
    """A network of x: products with ones before and after."""

    @tf.function
    def run(x: Any) -> Any:
        return tf.matmul(between(tf.matmul(x, ONE)), ONE)

    plan, arrays = arrays_of(run, x)
    (network,) = networks_of(plan, arrays)
    (made,) = network([x], [None])
    return made


def one_sided(made: Any, exact: Any) -> float:
    """The mean of relative errors, which is about 0 if they are unbiased."""
    return float(abs(np.mean(made.astype(np.float64) / exact - 1)))


@pytest.mark.parametrize("divisor", [6, 3, 7, 10, -6, 0.7, 1e-11, 3e11, 2, 0.25])
def test_quotients_are_those_of_the_processor(divisor: float) -> None:
    random = np.random.default_rng(0)
    x = (10 ** random.uniform(-20, 20, (80, 64)) * random.choice([-1, 1], (80, 64))).astype("f")
    by = np.float32(divisor)
    made = found(lambda y: tf.abs(y) / by, x)
    wanted = np.abs(x) / by
    usual = np.isfinite(wanted) & (np.abs(wanted) > 1e-30)
    np.testing.assert_array_equal(made[usual], wanted[usual])
    exact = np.abs(x).astype(np.float64)[usual] / np.float64(by)
    assert one_sided(made[usual], exact) < _ONE_SIDED


@pytest.mark.parametrize("number", [0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-40])
@pytest.mark.parametrize("divisor", [6.0, 0.7, 2.0, 1e-20, 1e20])
def test_numbers_that_have_no_neighbours(number: float, divisor: float) -> None:
    # Each row has a single number: a product with ones adds the others to it.
    x = np.zeros((64, 64), np.float32)
    x[np.arange(64), np.arange(64)] = number
    by = np.float32(divisor)
    made = found(lambda y: (tf.abs(y) * 0.5 - 1.0) / by, x)
    with np.errstate(all="ignore"):
        inner = x @ ONE
        wanted = (((np.abs(inner) * np.float32(0.5)) - 1) / by).astype(np.float32) @ ONE
    np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize("kind", ["constant", "variable", "channels", "norm"])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_divisors_that_are_0(kind: str, zero: float) -> None:
    """Terms of both signs would be infinities of both signs if 0 divided the weights."""
    random = np.random.default_rng(2)
    x, w = (random.standard_normal(shape).astype(np.float32) for shape in ((320, 64), (64, 64)))
    by = np.full(() if kind == "constant" else 64, zero, np.float32)
    if kind == "channels":
        by[::2] = 0.5
    weights = tf.Variable(w)
    divisor = tf.constant(by) if kind in {"constant", "channels"} else tf.Variable(by)
    ones, zeros = tf.Variable(tf.ones([64])), tf.Variable(tf.zeros([64]))

    @tf.function
    def run(x: Any) -> Any:
        y = tf.matmul(tf.nn.relu(tf.matmul(x, weights)), weights)
        if kind != "norm":
            return tf.nn.relu(y / divisor)
        y = tf.raw_ops.FusedBatchNormV3(
            x=y[:, None, None], scale=ones, offset=zeros, mean=zeros, variance=divisor,
            epsilon=0.0, is_training=False,
        )[0]  # fmt: skip
        return tf.nn.relu(y)

    with np.errstate(all="ignore"):
        y = np.maximum(x @ w, 0) @ w
        quotient = y / (np.sqrt(np.abs(by)) if kind == "norm" else by)
        wanted = np.maximum(quotient, 0).astype(np.float32)
    for _ in range(3):
        answer = np.reshape(run(tf.constant(x)), wanted.shape)
        np.testing.assert_allclose(answer, wanted, rtol=1e-3, atol=1e-2)
    plan, arrays = arrays_of(run, tf.constant(x))
    assert networks_of(plan, arrays)


@pytest.mark.parametrize("divides", [True, False])
def test_gates_of_a_product_have_no_direction(divides: bool) -> None:
    """x relu6(x + 3) / 6, and times the float32 nearest to 1/6, which is another number."""
    random = np.random.default_rng(1)
    x = random.uniform(-2.9, 2.9, (400, 64)).astype(np.float32)
    sixth = np.float32(1 / 6)

    def gate(y: Any) -> Any:
        part = tf.nn.relu6(y + 3.0)
        return y * (part / 6.0 if divides else part * sixth)

    made = found(gate, x)
    part = np.clip((x + np.float32(3)).astype(np.float64), 0, 6)
    exact = x.astype(np.float64) * (part / 6 if divides else part * np.float64(sixth))
    assert one_sided(made, exact) < _ONE_SIDED
