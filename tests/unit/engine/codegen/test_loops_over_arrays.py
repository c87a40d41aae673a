"""Typical loops: whole iterations are tables, with the plan's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.engine.codegen import kernels
from pinnace.framework import config
from tests.unit.engine.codegen.test_recurrences import alone, check, normal

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["alone"]  # a fixture

ROWS, STEPS, UNITS = 5, 9, 6


def layer_norm_lstm() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    x, wx, wh = normal(ROWS, STEPS, 3), normal(3, 4 * UNITS), normal(UNITS, 4 * UNITS)

    def norm(z: Any) -> Any:
        mean = tf.reduce_mean(z, -1, keepdims=True)
        return (z - mean) * tf.math.rsqrt(tf.reduce_mean((z - mean) ** 2, -1, keepdims=True) + 0.1)

    def run(x: Any) -> Any:
        h = c = tf.zeros((ROWS, UNITS))
        made = tf.TensorArray(tf.float32, STEPS)
        for t in tf.range(STEPS):
            i, f, g, o = tf.split(norm(x[:, t] @ wx + h @ wh), 4, -1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(norm(c))
            made = made.write(t, h)
        return made.stack(), c

    return run, (tf.constant(x),)


def greedy_decoder() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    rows, out, inside = normal(11, UNITS), normal(UNITS, 11), normal(UNITS, UNITS)

    def run(h: Any) -> Any:
        token = tf.zeros((ROWS,), tf.int32)
        made = tf.TensorArray(tf.int32, STEPS)
        for t in tf.range(STEPS):
            h = tf.tanh(tf.gather(rows, token) + h @ inside)
            token = tf.argmax(h @ out, -1, output_type=tf.int32)
            made = made.write(t, token)
        return made.stack(), h

    return run, (tf.constant(normal(ROWS, UNITS)),)


def roll_out() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    first, second = normal(4, 7), normal(7, 2)

    def run(s: Any) -> Any:
        states, rewards = tf.TensorArray(tf.float32, STEPS), tf.TensorArray(tf.float32, STEPS)
        actions = tf.TensorArray(tf.int32, STEPS)
        for t in tf.range(STEPS):
            action = tf.argmax(tf.nn.relu(s @ first) @ second, -1, output_type=tf.int32)
            force = tf.where(action == 1, 0.5, -0.5)
            place, speed, angle, turn = tf.unstack(s, axis=-1)
            states, actions = states.write(t, s), actions.write(t, action)
            bent = tf.sin(angle) * 0.8 + force * tf.cos(angle)
            s = tf.stack([place + speed * 0.1, speed + force, angle + turn * 0.1, turn + bent], -1)
            rewards = rewards.write(t, tf.where(tf.abs(angle) < 0.4, 1.0, 0.0))
        return states.stack(), actions.stack(), rewards.stack(), s

    return run, (tf.constant(normal(ROWS, 4)),)


def sinkhorn() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def run(k: Any) -> Any:
        for _ in tf.range(STEPS):
            k = k / tf.reduce_sum(k, 1, keepdims=True)
            k = k / tf.reduce_sum(k, 0, keepdims=True)
        return k

    return run, (tf.constant(np.exp(normal(ROWS, UNITS))),)


def masked() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """As in Keras's recurrent layers on JAX: a row of an invariant mask for each step."""
    weights = normal(UNITS, UNITS) * 0.3
    mask = np.random.default_rng(2).random((STEPS, ROWS, 1)) < 0.5

    def run(h: Any, mask: Any) -> Any:
        for step in tf.range(STEPS):
            h = tf.where(tf.logical_not(mask[step]), h, tf.tanh(h @ weights + 0.1))
        return h

    return run, (tf.constant(normal(ROWS, UNITS)), tf.constant(mask))


def power_iteration() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    matrix = normal(UNITS, UNITS)

    def run(v: Any) -> Any:
        for _ in tf.range(STEPS):
            v = matrix @ v
            v = v / tf.reduce_max(tf.abs(v))
        return v

    return run, (tf.constant(normal(UNITS, 1)),)


def descent() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    x, y = tf.constant(normal(ROWS, UNITS)), tf.constant(normal(ROWS, 3))

    def run(w: Any) -> Any:
        for _ in tf.range(STEPS):
            with tf.GradientTape() as tape:
                tape.watch(w)
                loss = tf.reduce_mean(tf.square(tf.tanh(x @ w) - y))
            w = w - tape.gradient(loss, w)
        return w

    return run, (tf.constant(normal(UNITS, 3)),)


def runge_kutta() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def slope(y: Any) -> Any:
        return tf.stack([y[:, 1], (1 - y[:, 0] ** 2) * y[:, 1] - y[:, 0]], -1)

    def run(y: Any) -> Any:
        for _ in tf.range(STEPS):
            first = slope(y)
            y = y + 0.01 * (first + slope(y + 0.01 * first))
        return y

    return run, (tf.constant(normal(ROWS, 2)),)


def mixture() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    table = normal(ROWS, UNITS)

    def run(q: Any) -> Any:
        for _ in tf.range(STEPS):
            weights = tf.nn.softmax(q @ tf.transpose(tf.constant(table)), -1)
            q = tf.math.log1p(tf.abs(weights @ table)) + tf.math.atan2(q, tf.abs(q) + 1.0)
        return q

    return run, (tf.constant(normal(3, UNITS)),)


KINDS = (
    layer_norm_lstm, greedy_decoder, roll_out, sinkhorn, power_iteration, descent, runge_kutta,
    mixture,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_loop(kind: Any) -> None:
    run, arguments = kind()
    assert check(lambda: run, *arguments, rtol=1e-4).turns == STEPS


def test_an_index_out_of_range_is_the_plans_to_refuse() -> None:
    rows = normal(STEPS, UNITS)

    @tf.function
    def run(token: Any) -> Any:
        h = tf.zeros((ROWS, UNITS))
        made = tf.TensorArray(tf.float32, STEPS)
        for t in tf.range(STEPS):
            h = h + tf.gather(rows, token)
            made = made.write(t, h)
            token = token + 1
        return made.stack()

    wanted = np.repeat(rows.cumsum(0)[:, None], ROWS, 1)
    for _ in range(4):
        np.testing.assert_allclose(run(tf.constant([0] * ROWS)), wanted, rtol=1e-4, atol=1e-5)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 9 is not in"):
            run(tf.constant([0, 3, 0, 1, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[4\] = -1 is not in"):
            run(tf.constant([0, 0, 0, 0, -1]))


SLICES: dict[str, Callable[[Any, Any], Any]] = {
    "x[:, t]": lambda x, t: x[:, t],
    "x[:, -t]": lambda x, t: x[:, -t],
    "x[::-1, t]": lambda x, t: x[::-1, t],
    "x[::2, t]": lambda x, t: tf.repeat(x[::2, t], 2, 0),
    "x[:2, t]": lambda x, t: tf.repeat(x[:2, t], 2, 0),
    "x[1:3, t]": lambda x, t: tf.repeat(x[1:3, t], 2, 0),
    "x[:, t, :]": lambda x, t: x[:, t, :],
    "x[:, t, ::-1]": lambda x, t: x[:, t, ::-1],
    "x[:, t:t + 1]": lambda x, t: x[:, t : t + 1][:, 0],
    "x[..., t, :]": lambda x, t: x[..., t, :],
    "x[:, None, t]": lambda x, t: x[:, None, t][:, 0],
    "x[t]": lambda x, t: tf.transpose(x, [1, 0, 2])[t],
    "x[t, ::-1]": lambda x, t: tf.transpose(x, [1, 0, 2])[t, ::-1],
}


@pytest.mark.parametrize("name", SLICES)
def test_slices_by_the_number_of_an_iteration(name: str) -> None:
    def run(x: Any) -> Any:
        h = tf.zeros((4, UNITS))
        for t in tf.range(STEPS):
            h = tf.tanh(h * 0.5 + SLICES[name](x, t))
        return h

    taken = check(lambda: run, tf.constant(normal(4, STEPS, UNITS)))
    assert taken.turns == STEPS or name not in {"x[:, t]", "x[:, -t]", "x[t]"}


INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "one_hot": lambda n, h: h + tf.one_hot(n % UNITS, UNITS),
    "one_hot beyond": lambda n, h: h + tf.one_hot(n - 5, UNITS, on_value=2.0, off_value=-1.0),
    "cast": lambda n, h: h + tf.cast(n, tf.float32)[:, None],
    "equal": lambda n, h: tf.where(tf.equal(n, 4)[:, None], h, -h),
    "less": lambda n, h: h * tf.cast(n < 3, tf.float32)[:, None],
    "both": lambda n, h: tf.where(((n > 1) & (n < 6))[:, None], h, h * 0.5),
    "either": lambda n, h: tf.where((tf.not_equal(n, 2) | (n == 7))[:, None], h, h + 1.0),
    "choice": lambda n, h: h + tf.cast(tf.where(n > 3, n, -n), tf.float32)[:, None],
    "divided": lambda n, h: h + tf.cast((n - 4) // 3 + (n - 4) % 3, tf.float32)[:, None],
    "largest": lambda n, h: h + tf.cast(tf.maximum(n, 3) - tf.minimum(n, 5), tf.float32)[:, None],
    "rounded": lambda n, h: h + tf.cast(tf.cast(h * 3.0, tf.int32) + n[:, None], tf.float32),
    "gathered": lambda n, h: h + tf.gather(tf.reshape(tf.range(60.0), (10, UNITS)), n % 10),
    "wide": lambda n, h: h + tf.cast(tf.cast(n, tf.int64) * 2**33 // 2**32, tf.float32)[:, None],
}


@pytest.mark.parametrize("name", INTEGERS)
def test_steps_on_integers(name: str) -> None:
    def run(n: Any, x: Any) -> Any:
        h = x
        for _ in tf.range(STEPS):
            h = tf.tanh(INTEGERS[name](n, h) * 0.25 + x)
            n = n * 3 % 11
        return n, h

    assert check(lambda: run, tf.constant([1, 4, 0, 10, 7]), tf.constant(normal(5, UNITS))).turns


def test_a_division_by_zero_is_the_plans_to_refuse() -> None:
    @tf.function
    def run(n: Any) -> Any:
        h = tf.zeros((3, 2))
        for t in tf.range(STEPS):
            h = h + tf.cast(7 // (n - t), tf.float32)[:, None]
        return h

    for _ in range(4):
        wanted = sum(7 // (np.array([20, -1, 30]) - t) for t in range(STEPS))
        np.testing.assert_array_equal(run(tf.constant([20, -1, 30]))[:, 1], wanted)
        with pytest.raises(tf.errors.InvalidArgumentError, match="zero"):
            run(tf.constant([20, 6, 30]))


@pytest.mark.parametrize("reduce", [tf.reduce_max, tf.reduce_sum, tf.reduce_mean, tf.nn.softmax])
def test_rows_without_numbers_are_the_plans(reduce: Any) -> None:
    def run(x: Any, empty: Any) -> Any:
        h = x
        for _ in tf.range(STEPS):
            h = (
                h * 0.5
                + tf.reduce_sum(reduce(h * empty, axis=-1))
                + reduce(h * empty, axis=-1).shape[0]
            )
        return h

    assert check(lambda: run, tf.ones((4, 1)), tf.zeros((4, 0))).turns == 0


def test_a_table_is_made_at_the_first_start(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    function_of = kernels.function

    def asked_for(name: str) -> Any:
        asked.append(name)
        return function_of(name)

    monkeypatch.setattr(kernels, "function", asked_for)
    monkeypatch.setattr(config.settings, "tier", "auto")
    run, arguments = sinkhorn()
    tf.function(run)(*arguments)
    assert asked == ["statements"]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 5), st.integers(0, 2), st.data())
def test_drawn_steps(rows: int, width: int, steps: int, axis: int, data: Any) -> None:
    """Slices, reductions, stacks and functions in random order and with random sizes."""
    x = tf.constant(normal(rows, steps, width))
    names = ["sum", "mean", "max", "softmax", "sin", "floor", "column", "stack", "power", "places"]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
    place = data.draw(st.integers(0, width - 1))

    def one(name: str, h: Any, x: Any) -> Any:
        # Of exact values: neither jumps nor sums of many terms amplify rounding.
        if name in {"sum", "mean", "max"}:
            reduce = getattr(tf, f"reduce_{name}")
            return h - 0.1 * reduce(x, [-1] if axis else [0, 1], keepdims=True)
        if name == "column":
            return h + h[:, place : place + 1]
        if name == "stack":
            return tf.stack(tf.unstack(h, axis=1)[::-1], 1)
        if name == "places":
            return h + tf.cast(tf.argmax(x, -1), tf.float32)[:, None]
        if name == "floor":
            return h + tf.floor(x * 3.0)
        functions = {"softmax": tf.nn.softmax, "sin": tf.sin}
        return functions[name](h) if name in functions else tf.abs(h) ** 1.5

    def run(x: Any) -> Any:
        h = tf.zeros((rows, width))
        for t in tf.range(steps):
            h = tf.tanh(h + x[:, t])
            for name in chosen:
                h = tf.tanh(one(name, h, x[:, t]))
        return h

    check(lambda: run, x, rtol=1e-4)
