"""Early calls run the same form as later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.engine.codegen import fused, kernels
from pinnace.engine.codegen.fused import Fused
from pinnace.framework import config
from pinnace.ops.kernels import pieces, team

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "auto")


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An element for each call of a cluster."""
    found: list[int] = []
    call = Fused.__call__

    def counted(self: Any, *given: Any) -> Any:
        found.append(1)
        return call(self, *given)

    monkeypatch.setattr(Fused, "__call__", counted)
    return found


def step_of(weights: Any) -> Callable[[Any, Any], Any]:
    """A training step that returns the loss, and leaves the weights unchanged on request."""

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            found = tf.tanh(tf.matmul(x, weights)) * tf.sigmoid(x) - y
            loss = tf.reduce_mean(tf.square(found))
        weights.assign(weights - 0.0 * tape.gradient(loss, weights))
        return loss, found

    return step


def test_a_training_step_is_machine_code_in_its_first_call(calls: list[int]) -> None:
    step, x, y = step_of(tf.Variable(normal(64, 64))), normal(48, 64), normal(48, 64)
    first = [one.numpy() for one in step(x, y)]
    count = len(calls)
    assert count > 0
    for number in range(2, 30):
        found = [one.numpy() for one in step(x, y)]
        assert len(calls) == number * count
        for one, other in zip(found, first, strict=True):
            np.testing.assert_array_equal(one, other)


def test_steps_without_weights_are_machine_code_in_their_first_call(calls: list[int]) -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.tanh(x * 1.5 + 0.25) * tf.exp(-x), tf.reduce_sum(tf.tanh(x) * x, 0)

    x = normal(64, 512)
    first = [one.numpy() for one in f(x)]
    assert calls
    for _ in range(20):
        for one, other in zip(f(x), first, strict=True):
            np.testing.assert_array_equal(one.numpy(), other)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(first[0], np.tanh(wide * 1.5 + 0.25) * np.exp(-wide), rtol=1e-5)
    np.testing.assert_allclose(first[1], (np.tanh(wide) * wide).sum(0), rtol=1e-5)


def test_without_a_library_the_plan_answers(
    calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "_functions", {})
    step, x, y = step_of(tf.Variable(normal(64, 64))), normal(48, 64), normal(48, 64)
    for _ in range(5):
        found = [one.numpy() for one in step(x, y)]
        assert not calls
        config.set_tier("plan")
        for one, other in zip(step(x, y), found, strict=True):
            np.testing.assert_array_equal(one.numpy(), other)
        config.set_tier("auto")


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "_SHARED", 1)
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)

    def program(x: Any) -> Any:
        y = tf.tanh(x * 1.5) + x
        return y, tf.nn.softmax(y), tf.reduce_sum(y * x, 0)

    for shape in ((3000, 40), (1, 70000), (2000, 9)):
        x, found = normal(*shape), []
        for threads, offers in ((1, False), (2, True), (2, False), (4, True), (4, False)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(team, "size", lambda threads=threads: threads)
                if not offers:
                    patch.setattr(pieces, "can_offer", lambda _: False)
                function = tf.function(program)
                for _ in range(4):
                    made = function(x)
                graph = function.get_concrete_function(x).graph
                (prepared,) = plan_of(graph).tiers._tier.prepared.values()
                assert prepared is not None
                assert any(isinstance(one, Fused) for one in prepared.layout._members.values())
                found.append([one.numpy() for one in made])
        for others in found[1:]:
            for one, other in zip(others, found[0], strict=True):
                np.testing.assert_array_equal(one, other)
