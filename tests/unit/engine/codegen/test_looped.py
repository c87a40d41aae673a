"""A loop after convolutions is a separate region, and gives the results of the plan's steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.codegen.looped import Looped
from pinnace.framework import config
from tests.unit.engine.codegen.test_small_plans import normal

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def hot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls use all available machine code."""
    monkeypatch.setattr(config.settings, "tier", "auto")


def looped(function: Any, *arguments: Any) -> list[Looped]:
    """The regions with loops that calls like this run."""
    plan = function.get_concrete_function(*arguments).plan
    prepared = [one for one in plan.tiers._tier.prepared.values() if one is not None]
    members = [one.layout._members for one in prepared]
    return [one for found in members for one in found.values() if isinstance(one, Looped)]


def warmed(function: Any, *arguments: Any) -> Any:
    for _ in range(6):  # one of the first calls compares the regions with the steps
        function(*arguments)
    return function


def by_steps(program: Callable[..., Any], *arguments: Any) -> list[Any]:
    config.settings.tier = "plan"
    found = [np.array(one) for one in tf.nest.flatten(tf.function(program)(*arguments))]
    config.settings.tier = "auto"
    return found


def check(program: Callable[..., Any], *calls: tuple[Any, ...]) -> Any:
    function = warmed(tf.function(program), *calls[0])
    assert looped(function, *calls[0])
    for arguments in calls:
        found = [np.array(one) for one in tf.nest.flatten(function(*arguments))]
        for one, other in zip(found, by_steps(program, *arguments), strict=True):
            np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    return function


def listening(kind: str, *, sequences: bool, head: Callable[[Any], Any]) -> Any:
    """Convolutions over a spectrogram, a recurrent layer over time, and a head."""
    layers = tf.keras.layers
    front = tf.keras.Sequential(
        [
            layers.Conv2D(8, (3, 3), activation="relu", kernel_initializer="he_uniform"),
            layers.Conv2D(4, (2, 3), strides=(1, 2), activation="relu"),
            layers.Reshape((6, -1)),
        ]
    )
    recurrent = getattr(layers, kind)(7, return_sequences=sequences)
    dense = layers.Dense(3)

    def program(x: Any) -> Any:
        return head(dense(recurrent(front(x))))

    program(tf.zeros((1, 9, 11, 1)))
    return program, recurrent


def images(rows: int = 1) -> list[tuple[Any, ...]]:
    drawn = [normal(rows, 9, 11, 1) for _ in range(3)]
    drawn[1][0, 4, 5, 0] = np.nan
    return [(tf.constant(one),) for one in drawn]


@pytest.mark.parametrize("kind", ["GRU", "LSTM", "SimpleRNN"])
def test_a_recurrent_layer_behind_convolutions(kind: str) -> None:
    program, _ = listening(kind, sequences=False, head=lambda y: y)
    check(program, *images())


def test_what_has_no_statement_follows_the_loop() -> None:
    program, _ = listening("GRU", sequences=True, head=lambda y: (tf.sort(y, -1), y * 2.0))
    check(program, *images(2))


def test_weights_of_the_loop_follow_assignments() -> None:
    program, recurrent = listening("LSTM", sequences=False, head=tf.tanh)
    function = check(program, *images())
    for weight in recurrent.weights:
        weight.assign(weight * 0.5 + 0.1)
    (x,) = images()[0]
    np.testing.assert_allclose(function(x), by_steps(program, x)[0], rtol=1e-4, atol=1e-5)


def test_steps_run_where_the_kernel_gives_up() -> None:
    """A loop whose end depends on data needs more iterations than a kernel may run."""
    kernel = tf.constant(normal(3, 3, 1, 4))

    def program(x: Any, limit: Any) -> Any:
        y = tf.nn.relu(tf.nn.conv2d(tf.nn.relu(x), kernel, 1, "VALID"))
        h = tf.tanh(tf.reshape(y, [1, -1]))

        def turn(i: Any, h: Any) -> Any:
            return i + 1, tf.tanh(h * 0.9 + 0.05)

        _, h = tf.while_loop(lambda i, _: i < limit, turn, [0, h])
        return h * 2.0

    x = tf.constant(normal(1, 9, 11, 1))
    function = tf.function(program)
    warmed(function, x, tf.constant(5))
    for limit in (5, 0, 1, 4000):
        given = x, tf.constant(limit)
        np.testing.assert_allclose(function(*given), by_steps(program, *given)[0], rtol=1e-4)
