"""Loop-invariant constants become constants of loop bodies, and nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.framework import config
from pinnace.graph.graph import constant_of

RANDOM = np.random.default_rng(0)
FIRST, SECOND = (RANDOM.standard_normal((4, 4)).astype(np.float32) / 2 for _ in range(2))


def body_of(function: Any) -> Any:
    """The plan of the body of a function's one loop."""
    plan = function.get_concrete_function().plan
    (node,) = [step.node for step in plan.steps if "body" in step.node.attrs]
    return plan_of(node.attrs["body"].graph)


def products_by_constants(function: Any) -> list[bool]:
    """For each product in the body, whether its matrix is a constant."""
    nodes = [step.node for step in body_of(function).steps]
    return [constant_of(node.inputs[1]) is not None for node in nodes if node.op.name == "MatMul"]


@pytest.fixture(params=["plan", "compiled"], autouse=True)
def _tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", request.param)


def test_what_is_handed_on_is_a_constant_and_still_a_result() -> None:
    @tf.function(input_signature=[tf.TensorSpec([3, 4])])
    def f(x: Any) -> Any:
        def body(i: Any, h: Any, w: Any, b: Any) -> Any:
            return i + 1, tf.tanh(h @ w + tf.split(b, 2)[0]), tf.identity(w), b

        start = (tf.constant(0), x, tf.constant(FIRST), tf.constant(np.arange(8, dtype="f4")))
        return tf.while_loop(lambda i, *_: i < 3, body, start)[1:]

    x = RANDOM.standard_normal((3, 4)).astype(np.float32)
    h = x.astype(np.float64)
    for _ in range(3):
        h = np.tanh(h @ FIRST + np.arange(4))
    for _ in range(2):
        found, w, b = f(x)
        np.testing.assert_allclose(found.numpy(), h, rtol=1e-5, atol=1e-6)
        assert np.array_equal(w.numpy(), FIRST)
        assert np.array_equal(b.numpy(), np.arange(8))
    assert products_by_constants(f) == [True]
    assert not any(step.node.op.name == "Split" for step in body_of(f).steps)


def test_what_changes_is_none() -> None:
    @tf.function(input_signature=[tf.TensorSpec([3, 4])])
    def f(x: Any) -> Any:
        def body(i: Any, h: Any, v: Any, w: Any) -> Any:
            return i + 1, h @ v, w, v

        start = (tf.constant(0), x, tf.constant(FIRST), tf.constant(SECOND))
        return tf.while_loop(lambda i, *_: i < 3, body, start)[1:]

    x = RANDOM.standard_normal((3, 4)).astype(np.float32)
    for _ in range(2):
        found, v, w = f(x)
        wanted = x.astype(np.float64) @ FIRST @ SECOND @ FIRST
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)
        assert np.array_equal(v.numpy(), SECOND)
        assert np.array_equal(w.numpy(), FIRST)
    assert products_by_constants(f) == [False]


def test_an_inner_loop_has_them_too() -> None:
    @tf.function(input_signature=[tf.TensorSpec([3, 4])])
    def f(x: Any) -> Any:
        def inner(j: Any, h: Any, w: Any) -> Any:
            return j + 1, tf.tanh(h @ w), w

        def outer(i: Any, h: Any, w: Any) -> Any:
            _, h, w = tf.while_loop(lambda j, *_: j < 2, inner, (tf.constant(0), h, w))
            return i + 1, h, w

        def other(i: Any, h: Any, w: Any) -> Any:
            _, h, _ = tf.while_loop(lambda j, *_: j < 2, inner, (tf.constant(0), h, w))
            return i + 1, h, w

        start = (tf.constant(0), x, tf.constant(FIRST))
        y = tf.while_loop(lambda i, *_: i < 2, outer, start)[1]
        return tf.while_loop(lambda i, *_: i < 2, other, (tf.constant(0), y, tf.constant(FIRST)))

    x = RANDOM.standard_normal((3, 4)).astype(np.float32)
    h = x.astype(np.float64)
    for _ in range(8):
        h = np.tanh(h @ FIRST)
    for _ in range(2):
        _, found, w = f(x)
        np.testing.assert_allclose(found.numpy(), h, rtol=1e-5, atol=1e-6)
        assert np.array_equal(w.numpy(), FIRST)


def test_gradients_do_not_mind() -> None:
    x = tf.constant(RANDOM.standard_normal((3, 4)).astype(np.float32))
    w = tf.constant(FIRST)

    def run(x: Any, w: Any) -> Any:
        def body(i: Any, h: Any, w: Any) -> Any:
            return i + 1, tf.tanh(h @ w), w

        return tf.while_loop(lambda i, *_: i < 3, body, (tf.constant(0), x, w))[1]

    @tf.function
    def gradient(x: Any) -> Any:
        inside = tf.constant(FIRST)
        with tf.GradientTape() as tape:
            tape.watch([x, inside])
            y = tf.reduce_sum(run(x, inside))
        return tape.gradient(y, [x, inside])

    with tf.GradientTape() as tape:
        tape.watch([x, w])
        h = x
        for _ in range(3):
            h = tf.tanh(h @ w)
        y = tf.reduce_sum(h)
    wanted = tape.gradient(y, [x, w])
    for _ in range(2):
        for found, one in zip(gradient(x), wanted, strict=True):
            np.testing.assert_allclose(found.numpy(), one.numpy(), rtol=1e-5, atol=1e-6)
