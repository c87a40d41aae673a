"""Threads share the rows of plans with long loops: results do not depend on their division."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.engine.codegen import small_plans
from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.plan_rows import PlanRows
from pinnace.engine.codegen.watching import watched
from pinnace.framework import config
from pinnace.ops.kernels import team
from tests.unit.engine.codegen.test_looped import looped
from tests.unit.engine.codegen.test_small_plans import normal
from tests.unit.engine.codegen.test_small_plans_with_loops import by_steps, small_plan

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = np.random.default_rng(3)
LAYERS = tf.keras.layers


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every loop is worth sharing, and cores are idle."""
    monkeypatch.setattr(config.settings, "tier", "auto")
    monkeypatch.setattr(small_plans, "SHARED_MULTIPLICATIONS", 0)
    monkeypatch.setattr(team, "has_idle_core", lambda _=0: True)


def traced(program: Callable[..., Any], *like: Any) -> Any:
    """The program traced for any number of rows."""
    specs = [tf.TensorSpec([None, *one.shape[1:]], one.dtype) for one in like]
    return tf.function(program, input_signature=specs)


def is_shared(function: Any, *arguments: Any) -> bool:
    """Whether such calls, or their loops with surrounding steps, are tables of parts."""
    found = [small_plan(function, *arguments)]
    found += [region._small for region in looped(function, *arguments)]
    return any(one is not None and isinstance(one._walk, small_plans._Shared) for one in found)


def flat(results: Any) -> list[Any]:
    return [np.array(one) for one in tf.nest.flatten(results)]


def check_bits(monkeypatch: pytest.MonkeyPatch, program: Any, *arguments: Any) -> None:
    """Check equal bits with any number of threads, in all calls, and the steps' results."""
    found = []
    for threads in (1, 2, 4):
        monkeypatch.setattr(team, "size", lambda threads=threads: threads)
        function = traced(program, *arguments)
        found += [flat(function(*arguments)) for _ in range(3)]
        assert is_shared(function, *arguments) == (len(arguments[0]) >= 8)
    # One table for all rows: nothing is worth sharing.
    with monkeypatch.context() as patch:
        patch.setattr(small_plans, "SHARED_MULTIPLICATIONS", 1 << 60)
        function = traced(program, *arguments)
        found.append(flat(function(*arguments)))
        assert small_plan(function, *arguments) is not None
        assert not is_shared(function, *arguments)
    for results in found[1:]:
        for one, other in zip(results, found[0], strict=True):
            np.testing.assert_array_equal(one, other)
    for one, other in zip(found[0], by_steps(program, *arguments), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def masked(layer: Any) -> Any:
    return tf.keras.Sequential([LAYERS.Masking(0.0), layer])


def forecaster(units: int = 6) -> Any:
    encoder = LAYERS.LSTM(units, return_sequences=True, return_state=True)
    decoder = LAYERS.LSTM(units, return_sequences=True)

    def program(x: Any) -> Any:
        kept, *state = encoder(x)
        return kept, decoder(x * 0.5, initial_state=state)

    return program


MODELS: dict[str, Callable[[], Any]] = {
    "lstm": lambda: LAYERS.LSTM(9, return_sequences=True),
    "gru": lambda: LAYERS.GRU(20),
    "gru before": lambda: LAYERS.GRU(7, reset_after=False),
    "simple": lambda: LAYERS.SimpleRNN(17, activation="relu"),
    "backwards": lambda: LAYERS.LSTM(9, go_backwards=True, return_sequences=True),
    "states": lambda: LAYERS.LSTM(5, return_state=True),
    "both ways": lambda: LAYERS.Bidirectional(LAYERS.LSTM(7)),
    "cells": lambda: LAYERS.RNN([LAYERS.LSTMCell(6), LAYERS.GRUCell(5)], return_sequences=True),
    "masked": lambda: masked(LAYERS.LSTM(8)),
    "masked sequences": lambda: masked(LAYERS.GRU(8, return_sequences=True)),
    "masked both ways": lambda: masked(LAYERS.Bidirectional(LAYERS.LSTM(4))),
    "encoder and decoder": forecaster,
    "layers": lambda: tf.keras.Sequential(
        [LAYERS.LSTM(9, return_sequences=True), LAYERS.LSTM(6), LAYERS.Dense(3)]
    ),
    "each step": lambda: tf.keras.Sequential(
        [LAYERS.GRU(9, return_sequences=True), LAYERS.TimeDistributed(LAYERS.Dense(3))]
    ),
}


def steps_of_rows(rows: int, steps: int = 11, features: int = 5) -> Any:
    x = normal(rows, steps, features)
    x[RANDOM.random((rows, steps)) < 0.3] = 0  # masked, if there is a mask
    return tf.constant(x)


@pytest.mark.parametrize("name", MODELS)
def test_recurrent_layers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS[name]()
    model(steps_of_rows(2))
    check_bits(monkeypatch, lambda x: model(x), steps_of_rows(int(RANDOM.choice([16, 32]))))


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 9, 31, 32, 33, 70])
def test_numbers_of_rows(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS["masked sequences"]()
    model(steps_of_rows(2))
    check_bits(monkeypatch, lambda x: model(x), steps_of_rows(rows))


def test_tokens_are_looked_up_and_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tf.keras.Sequential(
        [
            LAYERS.Embedding(20, 8, mask_zero=True),
            LAYERS.Bidirectional(LAYERS.LSTM(7)),
            LAYERS.Dense(4, activation="softmax"),
        ]
    )
    tokens = tf.constant(RANDOM.integers(0, 20, (19, 9)).astype(np.int32))
    model(tokens)
    check_bits(monkeypatch, lambda x: model(x), tokens)
    function = traced(lambda x: model(x), tokens)
    wanted = function(tokens).numpy()
    beyond = tokens.numpy()
    beyond[-1, 3] = 20  # only in the last part
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(tf.constant(beyond))
    np.testing.assert_array_equal(function(tokens).numpy(), wanted)


def test_other_dtypes_are_left_to_the_plan() -> None:
    layer = LAYERS.LSTM(6, dtype="float64")
    x = tf.constant(RANDOM.standard_normal((16, 7, 3)))
    layer(x)
    function = traced(lambda x: layer(x), x)
    assert not is_shared(function, x)
    np.testing.assert_allclose(function(x), by_steps(lambda x: layer(x), x)[0], rtol=1e-12)


def test_weights_follow_assignments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "size", lambda: 2)
    layer, x = LAYERS.LSTM(6), steps_of_rows(16)
    layer(x)
    function = traced(lambda x: layer(x), x)
    function(x)
    for weight in layer.weights:
        weight.assign(weight * 0.5 + 0.1)
    wanted = by_steps(lambda x: layer(x), x)[0]
    np.testing.assert_allclose(function(x), wanted, rtol=1e-4, atol=1e-5)
    assert is_shared(function, x)


def test_short_loops_are_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    from pinnace.engine.codegen import loop_calls

    monkeypatch.setattr(small_plans, "SHARED_MULTIPLICATIONS", loop_calls.SHARED_MULTIPLICATIONS)
    for units, rows, wanted in ((4, 16, False), (64, 16, True), (64, 15, False), (256, 15, True)):
        layer, x = LAYERS.LSTM(units), steps_of_rows(rows)
        layer(x)
        function = traced(lambda x, layer=layer: layer(x), x)
        function(x)
        assert is_shared(function, x) == wanted


@pytest.mark.parametrize(("rows", "scaled"), [(3, False), (9, False), (16, True)])
def test_attention_to_what_an_encoder_keeps(
    rows: int, scaled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, attend = forecaster(), LAYERS.Attention(use_scale=scaled)

    def model(x: Any) -> Any:
        kept, y = program(x)
        seen = attend([tf.reverse(y, [1]), kept])
        turned = tf.matmul(y, kept, transpose_b=True)
        return tf.concat([y, seen], -1), tf.matmul(turned, kept), kept[:, -1]

    model(steps_of_rows(2))
    check_bits(monkeypatch, model, steps_of_rows(rows))


def test_each_step_by_itself_and_stacked(monkeypatch: pytest.MonkeyPatch) -> None:
    recurrent, dense = LAYERS.Bidirectional(LAYERS.GRU(4, return_sequences=True)), LAYERS.Dense(3)

    def model(x: Any) -> Any:
        y = recurrent(x)
        return tf.transpose(tf.stack([dense(y[:, step]) for step in range(5)]), [1, 0, 2])

    model(steps_of_rows(2))
    check_bits(monkeypatch, model, steps_of_rows(20))


def test_several_threads_call_one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "size", lambda: 2)
    model = MODELS["masked both ways"]()
    inputs = [steps_of_rows(16) for _ in range(4)]
    model(inputs[0])
    function = traced(lambda x: model(x), inputs[0])
    wanted = [function(x).numpy() for x in inputs]
    assert is_shared(function, inputs[0])
    wrong: list[bool] = []

    def work(index: int) -> None:
        x, expected = inputs[index], wanted[index]
        wrong.extend(not np.array_equal(function(x).numpy(), expected) for _ in range(30))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 120


def test_a_part_that_raises_leaves_the_call_to_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "size", lambda: 2)
    layer, x = LAYERS.GRU(6), steps_of_rows(16)
    layer(x)
    function = traced(lambda x: layer(x), x)
    wanted = function(x).numpy()
    kernel = small_plan(function, x)
    assert kernel is not None

    def broken(*given: Any) -> int:
        del given
        raise ValueError("a part")

    kernel._walk._walks[-1] = broken  # type: ignore[union-attr, index]
    np.testing.assert_allclose(function(x).numpy(), wanted, rtol=1e-4, atol=1e-5)


# Steps that mix rows.


def looping(turn: Callable[[Any, Any], Any]) -> Any:
    def program(x: Any) -> Any:
        h = tf.tanh(x)
        for _ in tf.range(5):
            h = turn(h, x)
        return h * 2.0

    return program


W = 0.3 * normal(6, 6)
MIXED: dict[str, Any] = {
    "sums of rows": looping(lambda h, _: tf.tanh(h + tf.reduce_sum(h, 0, keepdims=True) * 0.1)),
    "means of rows": looping(lambda h, x: tf.tanh(h - tf.reduce_mean(x, 0))),
    "products of states": looping(lambda h, x: h @ (tf.matmul(h, x, transpose_a=True) * 0.01)),
    "another order": looping(lambda h, _: tf.tanh(h[::-1] @ W)),
    "reversed": looping(lambda h, _: tf.tanh(tf.reverse(h, [0]) @ W)),
    "softmax of rows": looping(lambda h, _: tf.transpose(tf.nn.softmax(tf.transpose(h))) + h),
    "their number": looping(lambda h, x: h @ W / tf.cast(tf.shape(x)[0], tf.float32)),
    "neighbours": looping(lambda h, _: tf.tanh(tf.concat([h[1:], h[:1]], 0) @ W)),
    "the first": looping(lambda h, _: tf.tanh(h[:1] + h @ W)),
}


def by_their_number(x: Any) -> Any:
    """A loop with as many iterations as rows."""
    h = tf.tanh(x)
    for _ in tf.range(tf.shape(x)[0]):
        h = tf.tanh(h @ W)
    return h + 1.0


def until_all_are_small(x: Any) -> Any:
    h, most = x, tf.reduce_max(x)
    while most > 0.1:
        h = h @ W * 0.5
        most = tf.reduce_max(h)
    return h + 1.0


@pytest.mark.parametrize(
    "program", [*MIXED.values(), by_their_number, until_all_are_small], ids=[*MIXED, "turns", "end"]
)
def test_rows_that_depend_on_each_other_are_not_shared(program: Any) -> None:
    x = tf.constant(normal(16, 6))
    function = traced(program, x)
    found = function(x).numpy()
    assert not is_shared(function, x)
    np.testing.assert_allclose(found, by_steps(program, x)[0], rtol=1e-4, atol=1e-5)


def test_what_only_looks_mixed_is_shared() -> None:
    x = tf.constant(normal(16, 6))
    kept = looping(lambda h, x: tf.tanh(h @ W + tf.nn.softmax(x) * tf.reduce_sum(h, 1, True)))
    function = traced(kept, x)
    function(x)
    assert is_shared(function, x)


KEEPING = ("product", "gate", "mask", "sum", "softmax", "parts", "columns", "reshaped", "sine")
MIXING = ("mean of rows", "rows reversed", "products of rows")


def turned(  # noqa: C901 (one case after the other)
    name: str, h: Any, x: Any, mask: Any, w: Any
) -> Any:
    """A step of an iteration on the state, an element of each row's sequence, and its mask."""
    match name:
        case "product":
            return tf.tanh(h @ w + x)
        case "gate":
            return tf.sigmoid(x) * h
        case "mask":
            return tf.where(mask, tf.tanh(x), h)
        case "sum":
            return h - 0.1 * tf.reduce_sum(x, -1, keepdims=True)
        case "softmax":
            return h + tf.nn.softmax(x)
        case "parts":
            return tf.concat(tf.split(h, 2, -1)[::-1], -1)
        case "columns":
            return h * x[:, 1:2]
        case "reshaped":
            return tf.reshape(tf.reshape(h, [-1, 2, 4]) * 0.5, [-1, 8]) + x
        case "sine":
            return tf.sin(h)
        case "mean of rows":
            return h - tf.reduce_mean(h, 0)
        case "rows reversed":
            return h + 0.5 * tf.reverse(x, [0])
    return h + 0.01 * (h @ tf.matmul(x, x, transpose_a=True))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(KEEPING + MIXING), min_size=1, max_size=5), st.data())
def test_drawn_loops(turns: list[str], data: st.DataObject) -> None:
    rows, steps, threads = (data.draw(st.integers(*ends)) for ends in ((8, 40), (1, 6), (1, 3)))
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    w = random.normal(0.0, 0.4, (8, 8)).astype(np.float32)

    def program(x: Any, masks: Any) -> Any:
        xs = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(x, [1, 0, 2]))
        ms = tf.TensorArray(tf.bool, steps).unstack(tf.transpose(masks[:, :, None], [1, 0, 2]))
        kept = tf.TensorArray(tf.float32, steps)

        def turn(i: Any, h: Any, kept: Any) -> Any:
            x, m = xs.read(i), ms.read(i)
            for name in turns:
                h = turned(name, h, x, m, w)
            return i + 1, h, kept.write(i, h)

        state = tf.zeros([tf.shape(x)[0], 8]) + 0.1
        _, h, kept = tf.while_loop(lambda i, *_: i < steps, turn, (0, state, kept))
        return h * 2.0, tf.transpose(kept.stack(), [1, 0, 2])

    numbers = random.standard_normal((rows, steps, 8)).astype(np.float32)
    arguments = tf.constant(numbers), tf.constant(random.random((rows, steps)) > 0.4)
    before, team.size = team.size, lambda: threads
    try:
        function = traced(program, *arguments)
        found = flat(function(*arguments))
    finally:
        team.size = before
    again = flat(function(*arguments))
    for one, other, wanted in zip(found, again, by_steps(program, *arguments), strict=True):
        np.testing.assert_array_equal(one, other)
        # Steps may cancel all there is of a state (of equal rows, less their mean): roundings of
        # its 0.1 are left, which may differ.
        bound = 1e-4 * np.abs(wanted).max() + 1e-6
        np.testing.assert_allclose(one, wanted, rtol=2e-3, atol=bound)
    assert set(turns).isdisjoint(MIXING) or not is_shared(function, *arguments)


# Each step separately: steps that keep rows apart give the rows of parts.

TABLE = normal(9, 4)
STEPS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x + x[:, :1],
    "row": lambda x: x * normal(3, 4),
    "product": lambda x: tf.tensordot(x, W[:4], 1),
    "transposed product": lambda x: tf.matmul(x[:, 0], x[:, 1], transpose_a=True),
    "reshaped": lambda x: tf.reshape(x, [-1, 12]) * 2.0,
    "steps beside rows": lambda x: tf.reshape(x, [-1, 4]),
    "steps in rows": lambda x: tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, 4]),
    "rows apart": lambda x: tf.reshape(x, [3, -1, 4]),
    "transposed": lambda x: tf.transpose(x, [1, 0, 2]),
    "transposed columns": lambda x: tf.transpose(x, [2, 1, 0]),
    "sum of steps": lambda x: tf.reduce_sum(x, 1),
    "mean of all": lambda x: tf.reduce_mean(x, [1, 2]),
    "sum of rows": lambda x: tf.reduce_sum(x, 0),
    "kept sum of rows": lambda x: x - tf.reduce_sum(x, 0, keepdims=True),
    "softmax": tf.nn.softmax,
    "softmax of rows": lambda x: tf.nn.softmax(tf.transpose(x, [1, 2, 0])),
    "largest": lambda x: tf.argmax(x, -1),
    "largest row": lambda x: tf.argmax(x, 0),
    "backwards": lambda x: tf.reverse(x, [1]),
    "rows backwards": lambda x: tf.reverse(x, [0]),
    "sliced": lambda x: x[:, 1:, ::2],
    "rows sliced": lambda x: x[1:],
    "rows turned": lambda x: x[::-1],
    "every other row": lambda x: x[::2],
    "last step": lambda x: x[:, -1],
    "new axis": lambda x: x[:, tf.newaxis, :, 1],
    "split": lambda x: tf.split(x, 2, -1),
    "rows split": lambda x: tf.split(tf.transpose(x, [1, 0, 2]), 3, 0),
    "joined": lambda x: tf.concat([x, x * 2.0], -1),
    "rows joined": lambda x: tf.concat([x, x], 0),
    "repeated": lambda x: tf.tile(x[:, :1], [1, 3, 1]) + x,
    "rows repeated": lambda x: tf.tile(x, [2, 1, 1]),
    "zeros": lambda x: tf.zeros([tf.shape(x)[0], 2]) + x[:, 0, :2],
    "filled with their number": lambda x: tf.fill(
        [tf.shape(x)[0], 4], tf.cast(tf.shape(x)[0], tf.float32)
    ),
    "divided by their number": lambda x: x / tf.cast(tf.shape(x)[0], tf.float32),
    "divided by steps": lambda x: x / tf.cast(tf.shape(x)[1], tf.float32),
    "numbered": lambda x: x + tf.cast(tf.range(tf.shape(x)[0]), tf.float32)[:, None, None],
    "broadcast": lambda x: tf.broadcast_to(tf.constant(TABLE[0]), tf.shape(x)) + x,
    "chosen": lambda x: tf.where(x > 0.0, x, x[:, :1]),
    "cast": lambda x: tf.cast(x * 3.0, tf.int32),
    "looked up": lambda x: tf.gather(TABLE, tf.cast(tf.abs(x[:, 0]), tf.int32)),
    "columns looked up": lambda x: tf.gather(x, [2, 0], axis=1),
    "rows looked up": lambda x: tf.gather(x, [2, 0]),
    "rows by rows": lambda x: tf.gather(x, tf.cast(tf.abs(x[:, 0, 0]), tf.int32)),
    "running sum": lambda x: tf.cumsum(x, 0),
    "sine": lambda x: tf.sin(x) ** 2.0,
}
# At least these keep rows apart.
KEPT = {
    "add", "row", "reshaped", "steps beside rows", "transposed", "transposed columns",
    "sum of steps", "mean of all", "softmax", "largest", "backwards", "sliced", "last step",
    "new axis", "split", "joined", "repeated", "zeros", "divided by steps", "broadcast", "chosen",
    "cast", "looked up", "columns looked up", "sine",
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_each_step(name: str) -> None:
    rows, some = 12, 5
    x = normal(rows, 3, 4)
    plan = traced(STEPS[name], tf.constant(x)).get_concrete_function().plan
    calls = watched(plan, [x])[0], watched(plan, [x[:some]])[0]
    found = PlanRows(rows, some, calls)
    try:
        found.follow([step.node for step in plan.steps if step.node.outputs], {})
        axes = [found.axes[value] for value in plan.graph.outputs]
    except (UnsupportedError, KeyError):
        assert name not in KEPT
        return
    whole = [calls[0][value] for value in plan.graph.outputs]
    for first in (0, rows - some):
        parts = plan.run([np.ascontiguousarray(x[first : first + some])], None)
        for one, part, axis in zip(whole, parts, axes, strict=True):
            each = one.shape[axis] // rows
            taken = np.arange(first * each, (first + some) * each)
            np.testing.assert_allclose(np.take(one, taken, axis), part, rtol=1e-5, atol=1e-6)


SETTLED = {
    "reshaped before": lambda x, w: (tf.reshape(x, [32, 64]), tf.zeros_like(x), w),
    "a state": lambda x, w: (x, tf.zeros([32, 64]), w),
    "an array": lambda x, w: (x + tf.ones([32, 64]), tf.zeros_like(x), w),
    "weights of rows": lambda x, w: (tf.ones([8, 32]) @ x, tf.zeros([8, 64]), w),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("wide", [16, 512])  # layers smaller than the loop, and a network
@pytest.mark.parametrize("name", SETTLED)
def test_a_batch_that_the_program_settles_is_searched_once(
    name: str, wide: int, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[bool] = []
    original = small_plans.small_plan_of

    def counted(*arguments: Any, **options: Any) -> Any:
        searches.append(True)
        return original(*arguments, **options)

    monkeypatch.setattr(small_plans, "small_plan_of", counted)
    weights = [tf.Variable(normal(64, wide) / 8), tf.Variable(normal(wide, 64) / 16)]
    rows = 8 if name == "weights of rows" else 32
    again = tf.Variable(normal(64, 64) / 8)

    def program(x: Any) -> Any:
        x = tf.nn.relu(x @ weights[0]) @ weights[1]
        x, state, recurrent = SETTLED[name](x, again)
        for _ in tf.range(30):
            state = tf.tanh(state @ recurrent + x)
            state = tf.reshape(state, [rows, 64]) if inside else state
        return state

    x = tf.constant(normal(32, 64))
    function = traced(program, x)
    found = [flat(function(x)) for _ in range(4)]
    assert len(searches) <= 1
    for results in found[1:]:
        np.testing.assert_array_equal(results, found[0])
    np.testing.assert_allclose(found[0], by_steps(program, x), rtol=1e-4, atol=1e-5)
