"""A plan with a loop as one kernel gives the results of its steps."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import rejections
from pinnace.engine.codegen import small_plans, watching
from pinnace.engine.codegen.plan_statements import PlanStatements
from pinnace.framework import config
from tests.unit.engine.codegen.test_small_plans import normal

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def hot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls use all available machine code."""
    monkeypatch.setattr(config.settings, "tier", "auto")


def small_plan(function: Any, *arguments: Any) -> small_plans.SmallPlan | None:
    """The kernel that such calls run."""
    plan = function.get_concrete_function(*arguments).plan
    prepared = [one for one in plan.tiers._tier.prepared.values() if one is not None]
    found = [one.small for one in prepared if one.small is not None]
    return found[0] if found else None


def warmed(function: Any, *arguments: Any) -> Any:
    for _ in range(4):
        function(*arguments)
    return function


def by_steps(program: Callable[..., Any], *arguments: Any) -> list[Any]:
    """The results of the plan's steps, without machine code."""
    config.settings.tier = "plan"
    found = [np.array(one) for one in tf.nest.flatten(tf.function(program)(*arguments))]
    config.settings.tier = "auto"
    return found


def check(
    program: Callable[..., Any], *calls: tuple[Any, ...], rtol: float = 1e-4, atol: float = 1e-5
) -> Any:
    """Check that one kernel gives the steps' results for each call; the first one makes it.

    Sums of some dozens of products have another order, and iterations propagate the rounding.
    """
    function = warmed(tf.function(program), *calls[0])
    assert small_plan(function, *calls[0]) is not None
    for arguments in calls:
        found = [np.array(one) for one in tf.nest.flatten(function(*arguments))]
        for one, other in zip(found, by_steps(program, *arguments), strict=True):
            np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
            np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
    return function


def built(layer: Any, *shape: int) -> Any:
    layer(tf.zeros(shape))
    for weight in layer.weights:
        weight.assign(0.5 * normal(*weight.shape))
    return layer


def inputs(*shape: int) -> list[tuple[Any, ...]]:
    drawn = [normal(*shape) for _ in range(3)]
    drawn[1].flat[3], drawn[1].flat[-2] = np.nan, np.inf
    return [(tf.constant(one),) for one in drawn]


@pytest.mark.parametrize("option", ["", "return_sequences", "go_backwards"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
def test_recurrent_layers(kind: str, option: str) -> None:
    options = {option: True} if option else {}
    rows = int(RANDOM.choice([1, 1, 2, 5]))
    shape = (rows, int(RANDOM.integers(2, 12)), int(RANDOM.integers(1, 20)))
    layer = built(getattr(tf.keras.layers, kind)(int(RANDOM.integers(1, 40)), **options), *shape)
    check(lambda x: layer(x), *inputs(*shape))


@pytest.mark.parametrize("turns", [8, 5, 3])
def test_elements_are_multiplied_before_the_loop_if_most_are_read(turns: int) -> None:
    weights = tf.constant(0.5 * normal(5, 4))

    def program(x: Any) -> Any:
        items = tf.TensorArray(tf.float32, 8, element_shape=[2, 5]).unstack(x)

        def turn(i: Any, h: Any) -> Any:
            item = items.read(7 - i)
            return i + 1, tf.tanh(item @ weights + h * 0.5) + item[:, 1:]

        _, last = tf.while_loop(lambda i, _: i < turns, turn, [0, tf.zeros((2, 4))])
        return last * 2.0 + 1.0

    function = check(program, *inputs(8, 2, 5))
    found = small_plan(function, *inputs(8, 2, 5)[0])
    assert found is not None
    # In an iteration it is the address of one element.
    (loop,) = found.functions.values()
    assert any("multiply(at(l" in line for line in loop.lines) == (2 * turns >= 8)


@pytest.mark.parametrize("rows", [1, 3])
def test_lists_of_truth_values_have_rows(rows: int) -> None:
    def program(x: Any, masks: Any) -> Any:
        listed = tf.TensorArray(tf.bool, 6, element_shape=[rows, 1]).unstack(masks)

        def turn(i: Any, h: Any) -> Any:
            return i + 1, tf.where(listed.read(i), tf.tanh(h + x), h)

        _, h = tf.while_loop(lambda i, _: i < 6, turn, [0, x * 0.5])
        return h * 2.0

    masks = tf.constant(RANDOM.random((6, rows, 1)) > 0.5)
    check(program, *((x, masks) for (x,) in inputs(rows, 4)))


@pytest.mark.parametrize("mode", ["concat", "sum"])
def test_both_directions(mode: str) -> None:
    layer = tf.keras.layers.Bidirectional(
        tf.keras.layers.GRU(6, return_sequences=True), merge_mode=mode
    )
    layer = built(layer, 1, 7, 3)
    check(lambda x: layer(x), *inputs(1, 7, 3))


def test_layers_upon_each_other_and_a_head() -> None:
    model = tf.keras.Sequential(
        [
            tf.keras.layers.LSTM(9, return_sequences=True),
            tf.keras.layers.SimpleRNN(5),
            tf.keras.layers.Dense(3, activation="tanh"),
        ]
    )
    model(tf.zeros((1, 6, 4)))
    function = check(lambda x: model(x), *inputs(1, 6, 4))
    found = small_plan(function, tf.constant(normal(1, 6, 4)))
    assert found is not None
    assert len(found.functions) == 2
    # The writer, which knew every array of a call, has been freed.
    gc.collect()
    assert not any(isinstance(one, PlanStatements) for one in gc.get_objects())


def test_what_has_no_statement_comes_ahead_and_behind() -> None:
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Embedding(20, 8, mask_zero=True),
            tf.keras.layers.LSTM(7),
            tf.keras.layers.Dense(4),
        ]
    )
    calls = [(tf.constant(RANDOM.integers(0, 20, (1, 9))),) for _ in range(3)]
    model(calls[0][0])
    function = check(lambda x: tf.sort(model(tf.sort(x))), *calls)
    found = small_plan(function, *calls[0])
    assert found is not None
    assert found._parts.ahead
    assert found._parts.behind


def test_an_index_out_of_range_is_the_plans_to_explain() -> None:
    table = tf.Variable(normal(20, 8))
    layer = built(tf.keras.layers.SimpleRNN(7), 1, 9, 8)

    def program(ids: Any) -> Any:
        return layer(tf.gather(table, ids))

    function = check(program, (tf.constant(RANDOM.integers(0, 20, (1, 9))),))
    with pytest.raises(tf.errors.InvalidArgumentError, match="20"):
        function(tf.constant([[20] * 9]))


def test_how_much_goes_ahead_may_depend_on_numbers() -> None:
    table = tf.Variable(normal(20, 8))
    layer = built(tf.keras.layers.GRU(7), 1, 9, 8)

    def program(ids: Any) -> Any:
        kept = tf.boolean_mask(ids, ids > 3)
        return layer(tf.expand_dims(tf.gather(table, kept), 0))

    calls = [[5, 6, 1, 7, 9], [9, 4, 5, 6, 2], [1, 5, 1, 2, 0], [4, 4, 4, 4, 4], [1, 1, 19, 18, 1]]
    check(program, *[(tf.constant(one),) for one in calls])


def test_weights_that_are_assigned_to() -> None:
    layer = built(tf.keras.layers.LSTM(6), 1, 5, 3)
    function = check(lambda x: layer(x), *inputs(1, 5, 3))
    for weight in layer.weights:
        weight.assign(0.5 * normal(*weight.shape))
    x = tf.constant(normal(1, 5, 3))
    wanted = by_steps(lambda x: layer(x), x)
    np.testing.assert_allclose(function(x), wanted[0], rtol=1e-4, atol=1e-5)


def iterations_by_the_numbers(x: Any) -> Any:
    count = tf.constant(0)
    while tf.reduce_sum(x * x, axis=[0, 1]) > 1.0 and count < 3000:
        x = x * 0.999
        count += 1
    return x * 2.0


def test_a_loop_that_takes_long_is_not_watched_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = built(tf.keras.layers.LSTM(6), 1, 5, 3)
    monkeypatch.setattr(watching, "_SECONDS", 0.0)
    function = warmed(tf.function(lambda x: layer(x)), tf.zeros((1, 5, 3)))
    assert small_plan(function, tf.zeros((1, 5, 3))) is None


def test_a_loop_of_many_iterations_stays_the_plans() -> None:
    function = tf.function(iterations_by_the_numbers)
    x = tf.constant(np.full((1, 3), 100.0, np.float32))
    warmed(function, x)
    assert small_plan(function, x) is None
    np.testing.assert_allclose(function(x), by_steps(iterations_by_the_numbers, x)[0], rtol=1e-5)


def powers(x: Any, w: Any, last: Any) -> Any:
    i = tf.constant(0)
    while i < last:
        x = tf.tanh(x @ w)
        i += 1
    return x + 1.0, w * 2.0


def test_how_often_is_an_argument() -> None:
    """The number of iterations does not follow from shapes: the plan runs the loop."""
    x, w = tf.constant(normal(1, 4)), tf.constant(normal(4, 4))
    function = warmed(tf.function(powers), x, w, tf.constant(3))
    for last in (3, 0, 5):
        wanted = by_steps(powers, x, w, tf.constant(last))
        found = function(x, w, tf.constant(last))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def handed_on(x: Any, w: Any) -> Any:
    i, kept = tf.constant(0), x * 3.0
    y = x
    while i < 4:
        y = tf.tanh(y @ w) + kept
        kept = tf.identity(kept)
        i += 1
    return tf.exp(-y) * 2.0, kept, w


def test_what_a_loop_hands_on() -> None:
    w = tf.constant(normal(5, 5))
    check(handed_on, *[(tf.constant(normal(1, 5)), w) for _ in range(3)])


def handed_on_as_variables(x: Any, w: Any) -> Any:
    _, y, kept, w = tf.while_loop(
        lambda i, *_: i < 4,
        lambda i, y, kept, w: (i + 1, tf.tanh(y @ w) + kept, kept, w),
        (tf.constant(0), x, x * 3.0, w),
    )
    return tf.exp(-y) * 2.0, kept, w


def test_variables_that_stay_what_they_are() -> None:
    w = tf.constant(normal(5, 5))
    check(handed_on_as_variables, *[(tf.constant(normal(1, 5)), w) for _ in range(3)])


def flips(x: Any, w: Any) -> Any:
    i = tf.constant(0)
    while i < 40:
        x = tf.abs(x) * 0.5 + 0.1 * (x @ w)
        i += 1
    y = tf.transpose(tf.reshape(x, [2, 3]))
    return y, tf.reverse(y, [0]), y[1], tf.unstack(y)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_last_of_a_sequence(rows: int) -> None:
    """As TensorFlow writes recurrent layers, with the time axis first or the batch axis first."""
    first = built(tf.keras.layers.SimpleRNN(6, return_sequences=True), rows, 5, 4)
    w = tf.constant(normal(6, 3))

    def program(x: Any) -> Any:
        y = first(x)
        steps = tf.transpose(y, [1, 0, 2])
        return steps[-1] @ w, y[:, -1] @ w, y[:, 2] + 1.0

    check(program, *inputs(rows, 5, 4))


def test_orders_of_axes_and_parts() -> None:
    w = tf.constant(0.1 * normal(6, 6))
    check(flips, *[(tf.constant(normal(1, 6)), w) for _ in range(3)])


def test_arguments_that_are_views() -> None:
    layer = built(tf.keras.layers.GRU(5), 1, 6, 3)
    wide = normal(1, 6, 8)
    calls = [
        (tf.constant(normal(1, 6, 3)),),
        (tf.constant(wide)[:, :, 2:5],),
        (tf.broadcast_to(tf.constant(normal(1, 1, 3)), [1, 6, 3]),),
    ]
    check(lambda x: layer(x), *calls)


def test_rows_that_were_all_the_same_when_it_was_watched() -> None:
    """That a list repeats one array is a property of one call, not of its shapes."""
    layer = built(tf.keras.layers.LSTM(5), 1, 6, 3)
    calls = [
        (tf.broadcast_to(tf.constant(normal(1, 1, 3)), [1, 6, 3]),),
        (tf.constant(normal(1, 6, 3)),),
    ]
    check(lambda x: layer(x), *calls)


def test_a_loop_without_iterations_at_the_first_call() -> None:
    """Its recorded iteration would read beyond a list: the plan's loop runs, now and later."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4, 3]), tf.TensorSpec([4, 3])])
    def folded(x: Any, y: Any) -> Any:
        return tf.foldr(lambda a, b: a * 0.5 + b, x) * tf.tanh(y) + tf.exp(-y)

    before, y = rejections.count(), normal(4, 3)
    for rows in (1, 1, 2, 5, 1):
        x = normal(rows, 4, 3)
        wanted = np.float64(x[-1])
        for one in x[-2::-1]:
            wanted = wanted * 0.5 + one
        found = folded(tf.constant(x), tf.constant(y)).numpy()
        np.testing.assert_allclose(found, wanted * np.tanh(y) + np.exp(-y), rtol=1e-5, atol=1e-5)
    assert rejections.count() == before
