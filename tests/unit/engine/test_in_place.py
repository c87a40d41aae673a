"""Loops that write into a large array: no other reader sees it, and it is not copied each time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import recovery
from pinnace.engine.build import plan_of
from pinnace.framework import config
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.running import RunContext
from pinnace.profiler import profile

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.engine.plan import Plan

ROWS, WIDTH = 6, 5
RNG = np.random.default_rng(3)


def by_window(x: Any, i: Any, row: Any) -> Any:
    start = tf.stack([i, 0])
    return tf.raw_ops.XlaDynamicUpdateSlice(input=x, update=row[None], indices=start)


def by_index(x: Any, i: Any, row: Any) -> Any:
    return tf.tensor_scatter_nd_update(x, [[i]], row[None])


def by_sum(x: Any, i: Any, row: Any) -> Any:
    return tf.tensor_scatter_nd_add(x, [[i]], row[None] + 1.0)


UPDATES = {"window": by_window, "index": by_index, "sum": by_sum}


def written(x: Any, write: Callable[..., Any]) -> Any:
    """Each row depends on the previous one, so that overwriting a row too early is detected."""

    def body(i: Any, x: Any) -> Any:
        return i + 1, write(x, i, x[i - 1] * 0.5 + tf.cast(i, tf.float32))

    return tf.while_loop(lambda i, _: i < ROWS, body, (tf.constant(1), x))[1]


def one_by_one(x: Any, write: Callable[..., Any]) -> Any:
    for i in range(1, ROWS):
        x = write(x, tf.constant(i), x[i - 1] * 0.5 + float(i))
    return x


def drawn() -> Any:
    return RNG.standard_normal((ROWS, WIDTH)).astype("f4")


@pytest.fixture(params=["plan", "compiled", "auto"], autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", request.param)


def body_of(function: Any, *given: Any) -> Plan:
    plan = function.get_concrete_function(*given).plan
    (node,) = [step.node for step in plan.steps if step.node.op.runs == "loop"]
    return plan_of(node.attrs["body"].graph)


@pytest.mark.parametrize("kind", UPDATES)
def test_answers_are_those_of_ops_one_by_one(kind: str) -> None:
    write = UPDATES[kind]
    function = tf.function(lambda x: written(x, write))
    for _ in range(20):
        array = drawn()
        given = tf.constant(array)
        np.testing.assert_array_equal(function(given), one_by_one(given, write))
        np.testing.assert_array_equal(given, array)


@pytest.mark.parametrize("kind", UPDATES)
def test_what_nobody_else_has_is_written_into(kind: str) -> None:
    function = tf.function(lambda x: written(x, UPDATES[kind]))
    body = body_of(function, tf.constant(drawn()))
    first = [np.array(1, np.int32), drawn()]
    rest = [np.asarray(value.shape) for value in body.graph.inputs[2:]]
    assert not rest
    step = body.nested(RunContext(), first)
    kept = first[1]
    before = kept.copy()
    made = step(list(first))  # two names: it is copied
    assert not np.shares_memory(made[1], kept)
    np.testing.assert_array_equal(kept, before)
    address = made[1].ctypes.data
    given, made = list(made), ()
    again = step(given)
    assert again[1].ctypes.data == address
    given = list(again)
    view = again[1][2:]
    del again
    last = step(given)
    assert not np.shares_memory(last[1], view)


def test_an_iteration_may_still_need_what_was_there_before() -> None:
    """The old value is read after the write, is a loop variable, has a view, and is collected."""

    def body(i: Any, x: Any, old: Any, view: Any, total: Any, all_of: Any) -> Any:
        row = tf.fill([WIDTH], tf.cast(i, tf.float32))
        new = by_window(x, i, row)
        total += tf.reduce_sum(x) + tf.reduce_sum(old) * 2.0 + tf.reduce_sum(view) * 3.0
        flat = tf.reshape(new, [-1])
        return i + 1, new, x, flat, total, all_of.write(i, new)

    @tf.function
    def run(x: Any) -> Any:
        start = (tf.constant(0), x, x, tf.reshape(x, [-1]), 0.0, tf.TensorArray(tf.float32, ROWS))
        _, x, old, view, total, rows = tf.while_loop(lambda i, *_: i < ROWS, body, start)
        return x, old, view, total, rows.stack()

    for _ in range(4):
        x = np.round(drawn() * 8)  # sums are exact
        found = [one.numpy() for one in run(tf.constant(x))]
        states = [x]
        for i in range(ROWS):
            states.append(states[-1].copy())
            states[-1][i] = i
        olds = [x, *states[:-1]]
        total = sum(
            state.sum() + old.sum() * 2 + state.sum() * 3
            for state, old in zip(states[:-1], olds, strict=False)
        )
        wanted = [states[-1], states[-2], states[-1].ravel(), total, np.stack(states[1:])]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_variables_and_constants_keep_their_values() -> None:
    array = drawn()
    variable, constant = tf.Variable(array), tf.constant(array)
    function = tf.function(lambda: (written(variable, by_window), written(constant, by_index)))
    for _ in range(4):
        for found in function():
            np.testing.assert_array_equal(found, one_by_one(tf.constant(array), by_window))
        np.testing.assert_array_equal(variable, array)
        np.testing.assert_array_equal(constant, array)


@pytest.mark.parametrize("kind", UPDATES)
def test_gradients_are_those_of_ops_one_by_one(kind: str) -> None:
    write, x = UPDATES[kind], tf.constant(drawn())
    function = tf.function(lambda x: written(x, write))
    slopes = []
    for run in (function, function, function, lambda x: one_by_one(x, write)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(run(x)))
        slopes.append(tape.gradient(y, x).numpy())
    for one in slopes[:-1]:
        np.testing.assert_allclose(one, slopes[-1], rtol=1e-5, atol=1e-6)


def test_threads_share_what_they_are_given() -> None:
    function = tf.function(lambda x: written(x, by_window))
    shared = tf.constant(drawn())
    before = shared.numpy().copy()
    wanted = one_by_one(shared, by_window).numpy()
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: function(shared).numpy(), range(200)):
            np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(shared, before)


def test_a_profiler_sees_the_same() -> None:
    function = tf.function(lambda x: written(x, by_window))
    x = tf.constant(drawn())
    before = x.numpy().copy()
    wanted = one_by_one(x, by_window).numpy()
    for _ in range(3):
        np.testing.assert_array_equal(profile(function, x).result, wanted)
        np.testing.assert_array_equal(function(x), wanted)
        np.testing.assert_array_equal(x, before)


def test_an_error_leaves_the_callers_arrays_as_they_were() -> None:
    @tf.function
    def run(x: Any, most: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            x = by_window(x, i, x[i - 1] * 0.5 + tf.cast(i, tf.float32))
            with tf.control_dependencies([tf.debugging.assert_less(i, most)]):
                return i + 1, tf.identity(x)

        return tf.while_loop(lambda i, _: i < ROWS, body, (tf.constant(1), x))[1]

    array = drawn()
    x = tf.constant(array)
    for _ in range(3):
        with pytest.raises(InvalidArgumentError, match="assertion failed"):
            run(x, tf.constant(4))
        np.testing.assert_array_equal(x, array)
        np.testing.assert_array_equal(run(x, tf.constant(99)), one_by_one(x, by_window))


def test_an_iteration_that_has_written_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "auto")  # other code raises such errors, too
    function = tf.function(lambda x: written(x, by_window))
    body = body_of(function, tf.constant(drawn()))
    given = [np.array(1, np.int32), drawn()]
    fault = RuntimeError("a fault of ours")
    assert recovery.iteration(body, fault, given, RunContext()) is not None
    given[1] = None  # type: ignore[call-overload] # as `Source.body` leaves it
    assert recovery.iteration(body, fault, given, RunContext()) is None
