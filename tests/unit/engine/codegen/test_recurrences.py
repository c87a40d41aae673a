"""Kernels of loops over arrays give the plans' results, and leave unsupported loops to plans."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.engine.codegen import loop_calls, recurrences
from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops are separate kernels, not parts of their plan's."""
    monkeypatch.setattr(loop_calls, "_MULTIPLICATIONS", 0)
    monkeypatch.setattr(loop_calls, "SHARED_MULTIPLICATIONS", 0)
    monkeypatch.setattr(loop_calls, "PARTS_MULTIPLICATIONS", 0)


class Taken:
    """Counts the iterations that kernels run."""

    def __init__(self) -> None:
        self.turns = 0
        self.failed = False

    def __enter__(self) -> Self:
        self._advance = recurrences.Variant._advance

        def advance(variant: Any, *arguments: Any) -> Any:
            found = self._advance(variant, *arguments)
            if found is not None:
                self.turns += found[0]
                self.failed |= found[1]
            return found

        recurrences.Variant._advance = advance  # type: ignore[method-assign]
        return self

    def __exit__(self, *raised: object) -> None:
        recurrences.Variant._advance = self._advance  # type: ignore[method-assign]


def by_plan(make: Callable[[], Any], *arguments: Any) -> list[Any]:
    """The results of a new function of the kind as a plan."""
    tier, config.settings.tier = config.settings.tier, "plan"
    try:
        return flat(tf.function(make())(*arguments))
    finally:
        config.settings.tier = tier


def flat(results: Any) -> list[Any]:
    return [np.array(one) for one in tf.nest.flatten(results)]


def compiled(make: Callable[[], Any], *arguments: Any) -> tuple[list[Any], Taken]:
    """The results of a new function of the kind after its loops are compiled."""
    tier, config.settings.tier = config.settings.tier, "auto"
    try:
        function = tf.function(make())
        function(*arguments)
        # The lists of a gradient's loop come from the loop before: one more set of shapes.
        function(*arguments)
        with Taken() as taken:
            return flat(function(*arguments)), taken
    finally:
        config.settings.tier = tier


def check(make: Callable[[], Any], *arguments: Any, rtol: float = 2e-5) -> Taken:
    """Check that both ways agree, within the rounding of sums in another order."""
    wanted = by_plan(make, *arguments)
    found, taken = compiled(make, *arguments)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        finite = np.abs(other[np.isfinite(other)])
        scale = float(finite.max()) if finite.size else 1.0
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * max(scale, 1e-30))
    return taken


# Layers.


LAYERS: dict[str, Callable[[], Any]] = {
    "lstm": lambda: tf.keras.layers.LSTM(9, return_sequences=True),
    "lstm backwards": lambda: tf.keras.layers.LSTM(9, go_backwards=True),
    "lstm dropout": lambda: tf.keras.layers.LSTM(9, recurrent_dropout=0.5),
    "gru": lambda: tf.keras.layers.GRU(9, return_sequences=True),
    "gru before": lambda: tf.keras.layers.GRU(9, reset_after=False),
    "simple": lambda: tf.keras.layers.SimpleRNN(9, activation="relu", return_sequences=True),
    "stacked": lambda: tf.keras.layers.RNN(
        [tf.keras.layers.LSTMCell(6), tf.keras.layers.GRUCell(5)], return_sequences=True
    ),
    "both ways": lambda: tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(7)),
}


MASKED = ("lstm", "gru", "stacked")


@pytest.mark.parametrize(
    ("name", "masked"), [*((name, False) for name in LAYERS), *((name, True) for name in MASKED)]
)
def test_a_recurrent_layer_and_its_gradient(name: str, masked: bool) -> None:
    layer = LAYERS[name]()
    x = tf.constant(normal(4, 11, 5))
    mask = tf.constant(RANDOM.random((4, 11)) > 0.3) if masked else None
    layer(x)

    def make() -> Any:
        def run(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = layer(x, mask=mask)
                loss = tf.reduce_sum(tf.square(y))
            return y, tape.gradient(loss, [x, *layer.trainable_variables])

        return run

    assert check(make, x).turns >= 22  # forward and back


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 7), st.sampled_from([1, 2, 3]))
def test_a_mask_that_is_repeated(rows: int, units: int, steps: int, form: int) -> None:
    """As repeated in Keras's loops in SavedModels: for each unit, for each row, or once."""
    x = tf.constant(normal(steps, rows, units))
    shapes = {1: (rows, 1), 2: (1, units), 3: (rows, units)}
    masks = tf.constant(RANDOM.random((steps, *shapes[form])) > 0.4)
    weights = tf.constant(normal(units, units))

    def make() -> Any:
        def run(x: Any, masks: Any) -> Any:
            listed = tf.TensorArray(tf.bool, steps).unstack(masks)

            def step(i: Any, state: Any, before: Any) -> tuple[Any, Any, Any]:
                mask = tf.tile(listed.read(i), [rows // shapes[form][0], units // shapes[form][1]])
                made = tf.tanh(x[i] + tf.matmul(state, weights))
                return i + 1, tf.where(mask, made, state), tf.where(mask, made, before)

            zeros = tf.zeros((rows, units))
            return tf.while_loop(lambda i, *_: i < steps, step, (0, zeros, zeros))[1:]

        return run

    assert check(make, x, masks).turns == steps


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 5), st.integers(1, 6), st.data())
def test_columns_side_by_side(
    rows: int, units: int, before: int, steps: int, data: st.DataObject
) -> None:
    """As the gates of Keras's GRUs in SavedModels."""
    after = data.draw(st.integers(0, 5))
    x = tf.constant(normal(steps, rows, units))
    weights = tf.constant(normal(units, before + units + after))
    end = data.draw(st.sampled_from([before + units, -after])) if after else None

    def make() -> Any:
        def run(x: Any) -> Any:
            def step(i: Any, state: Any) -> tuple[Any, Any]:
                found = tf.matmul(state, weights)[:, before:end]
                return i + 1, tf.tanh(x[i] + found)

            return tf.while_loop(lambda i, _: i < steps, step, (0, tf.zeros((rows, units))))[1]

        return run

    assert check(make, x).turns == steps


def test_columns_in_another_order_are_left_to_the_plan() -> None:
    x, weights = tf.constant(normal(5, 4, 3)), tf.constant(normal(3, 6))
    for parts, turns in ((np.s_[:, ::2], 5), (np.s_[:, 5:2:-1], 0)):

        def make(parts: Any = parts) -> Any:
            def run(x: Any) -> Any:
                def step(i: Any, state: Any) -> tuple[Any, Any]:
                    return i + 1, tf.tanh(x[i] + tf.matmul(state, weights)[parts])

                return tf.while_loop(lambda i, _: i < 5, step, (0, tf.zeros((4, 3))))[1]

            return run

        assert check(make, x).turns == turns


def test_what_is_repeated_and_kept_is_left_to_the_plan() -> None:
    x = tf.constant(normal(5, 1, 3))

    def make() -> Any:
        def run(x: Any) -> Any:
            listed = tf.TensorArray(tf.float32, 5).unstack(x)

            def step(i: Any, state: Any, kept: Any) -> tuple[Any, Any, Any]:
                wide = tf.tile(listed.read(i), [4, 1])
                return i + 1, tf.tanh(state + wide), kept.write(i, wide)

            kept = tf.TensorArray(tf.float32, 5, element_shape=[4, 3])
            ends = tf.while_loop(lambda i, *_: i < 5, step, (0, tf.zeros((4, 3)), kept))
            return ends[1], ends[2].stack()

        return run

    assert check(make, x).turns == 0


def test_what_is_repeated_for_a_product_is_left_to_the_plan() -> None:
    x, weights = tf.constant(normal(5, 1, 3)), tf.constant(normal(3, 3))

    def make() -> Any:
        def run(x: Any) -> Any:
            def step(i: Any, state: Any) -> tuple[Any, Any]:
                return i + 1, tf.tanh(state + tf.matmul(tf.tile(x[i], [4, 1]), weights))

            return tf.while_loop(lambda i, _: i < 5, step, (0, tf.zeros((4, 3))))[1]

        return run

    assert check(make, x).turns == 0


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 20), st.integers(1, 40), st.integers(1, 40), st.integers(1, 9), st.booleans())
def test_sizes_of_all_kinds(rows: int, features: int, units: int, steps: int, watch: bool) -> None:
    kernel, recurrent = tf.Variable(normal(features, units)), tf.Variable(normal(units, units))
    bias = tf.Variable(normal(units))
    x = tf.constant(normal(steps, rows, features))

    def make() -> Any:
        def run(x: Any) -> Any:
            with tf.GradientTape() as tape:
                if watch:
                    tape.watch(x)
                h = tf.zeros((rows, units))
                total = tf.zeros((rows, 1))
                for i in tf.range(steps):
                    z = tf.matmul(x[i], kernel) + tf.matmul(h, recurrent, transpose_b=True)
                    h = tf.tanh(z + bias) * 0.5 + tf.sigmoid(total) * h
                    total = total + 0.125
                loss = tf.reduce_sum(h * h)
            return h, tape.gradient(loss, [kernel, recurrent, bias] + [x] * watch)

        return run

    # Chaotic for large weights: rounding errors grow by a small factor in each of up to nine steps.
    check(make, x, rtol=2e-3)


def test_batches_of_other_sizes_are_taken() -> None:
    layer = tf.keras.layers.LSTM(8)
    run = tf.function(lambda x: layer(x))
    tier, config.settings.tier = config.settings.tier, "auto"
    try:
        run(tf.constant(normal(16, 7, 3)))
        for rows in (12, 5, 3):
            x = tf.constant(normal(rows, 7, 3))
            wanted = layer(x)
            with Taken() as taken:
                np.testing.assert_allclose(run(x), wanted, rtol=1e-4, atol=1e-5)
            assert taken.turns == 7
    finally:
        config.settings.tier = tier


# Rows by several threads.


def rows_of(function: Any) -> list[int | None]:
    """The row counts by which the loop kernels that were made can be divided."""
    found = []

    def init(variant: Any, iteration: Any) -> None:
        found.append(iteration.rows)
        made(variant, iteration)

    made = recurrences.Variant.__init__
    recurrences.Variant.__init__ = init  # type: ignore[method-assign]
    try:
        function()
    finally:
        recurrences.Variant.__init__ = made  # type: ignore[method-assign]
    return found


@pytest.mark.parametrize(
    ("name", "masked"), [*((name, False) for name in LAYERS), *((name, True) for name in MASKED)]
)
def test_rows_do_not_depend_on_the_threads_that_take_them(
    name: str, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = LAYERS[name]()
    x = tf.constant(normal(23, 11, 5))
    mask = tf.constant(RANDOM.random((23, 11)) > 0.3) if masked else None
    layer(x)
    monkeypatch.setattr(recurrences, "_WORTH_THREADS", 0)
    found = []
    for threads in (1, 2, 3, 5):
        monkeypatch.setattr(recurrences.team, "size", lambda threads=threads: threads)
        outputs: list[Any] = []
        rows = rows_of(
            lambda: outputs.append(compiled(lambda: lambda x: layer(x, mask=mask), x))  # noqa: B023
        )
        results, taken = outputs[0]
        assert taken.turns >= 11
        # A mask has a number for each row: a vector, which is not divided.
        assert (23 in rows) != masked
        found.append(results)
    for other in found[1:]:
        for one, wanted in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(one, wanted)


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_drawn_sizes_in_rows_of_several_threads(data: st.DataObject) -> None:
    rows, units, steps = (data.draw(st.integers(1, most)) for most in (40, 40, 9))
    w, x = tf.constant(normal(units, units)), tf.constant(normal(steps, rows, units))
    column = tf.constant(normal(rows, 1))

    def make() -> Any:
        def run(x: Any) -> Any:
            h, c = tf.zeros((rows, units)), tf.zeros((rows, 2 * units))
            kept = tf.TensorArray(tf.float32, steps)
            for i in tf.range(steps):
                h = tf.tanh(tf.matmul(h, w) + x[i] * column)
                c = 0.5 * c + tf.concat([h, -h], -1)
                first, second = tf.split(c, 2, -1)
                kept = kept.write(i, first - second)
            return h, c, kept.stack()

        return run

    before = recurrences._WORTH_THREADS, recurrences.team.size
    recurrences._WORTH_THREADS, recurrences.team.size = 0, lambda: 3
    try:
        # Chaotic for large weights, as above.
        check(make, x, rtol=2e-3)
    finally:
        recurrences._WORTH_THREADS, recurrences.team.size = before


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("worth", [0, 1 << 60])
def test_gradients_are_sums_of_the_rows_of_several_threads(
    name: str, worth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = LAYERS[name]()
    x = tf.constant(normal(23, 11, 5))
    layer(x)
    monkeypatch.setattr(recurrences, "_WORTH_THREADS", worth)

    def make() -> Any:
        def run(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(tf.square(layer(x)))
            return tape.gradient(loss, [x, *layer.trainable_variables])

        return run

    wanted = by_plan(make, x)
    for threads in (1, 2, 5):
        monkeypatch.setattr(recurrences.team, "size", lambda threads=threads: threads)
        outputs: list[Any] = []
        rows = rows_of(lambda: outputs.append(compiled(make, x)))  # noqa: B023
        # In a GRU, a bias is also summed over rows within an iteration.
        assert None not in rows or "gru" in name or name == "stacked"
        for one, other in zip(outputs[0][0], wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())
        again, _ = compiled(make, x)
        for one, other in zip(outputs[0][0], again, strict=True):
            np.testing.assert_array_equal(one, other)


MIXED: dict[str, Callable[[Any, Any], Any]] = {
    "products of states": lambda h, _: tf.matmul(h, tf.matmul(h, h, transpose_a=True)) * 0.01,
    "sums of rows": lambda h, _: tf.tanh(h + tf.reduce_sum(h, 0, keepdims=True) * 0.01),
    "turned products": lambda h, w: tf.tanh(tf.matmul(h, w, transpose_a=True)),
    "shapes of other rows": lambda h, _: tf.reshape(tf.reshape(h, (4, 16)) * 0.5, (8, 8)),
}


@pytest.mark.parametrize("name", MIXED)
def test_rows_that_depend_on_each_other_are_not_cut(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recurrences, "_WORTH_THREADS", 0)
    monkeypatch.setattr(recurrences.team, "size", lambda: 2)
    w, x = tf.constant(normal(8, 8)), tf.constant(normal(8, 8))

    def make() -> Any:
        def run(h: Any) -> Any:
            for _ in tf.range(6):
                h = MIXED[name](h, w)
            return h

        return run

    rows = rows_of(lambda: check(make, x, rtol=1e-4))
    assert set(rows) <= {None}


# Loops of their own.


def test_values_that_are_not_numbers_pass_through() -> None:
    x = normal(6, 5, 4)
    x[2, 1, 3], x[4, 0, 0], x[3, 2, 1] = np.nan, np.inf, -np.inf
    w = tf.constant(normal(4, 4))

    def make() -> Any:
        def run(x: Any) -> Any:
            h = tf.zeros((5, 4))
            kept = tf.TensorArray(tf.float32, 6)
            for i in tf.range(6):
                h = tf.nn.relu(tf.tanh(tf.matmul(h, w)) + x[i]) - tf.maximum(x[i], 0.25)
                kept = kept.write(i, h)
            return kept.stack()

        return run

    (wanted,) = by_plan(make, tf.constant(x))
    (found,), taken = compiled(make, tf.constant(x))
    assert taken.turns == 6
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))
    assert np.isnan(found).any()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_states_that_change_places() -> None:
    w = tf.constant(normal(4, 4))

    def make() -> Any:
        def run(a: Any, b: Any, c: Any) -> Any:
            return tf.while_loop(
                lambda i, *_: i < 7,
                lambda i, a, b, c: (i + 1, b, c, tf.tanh(tf.matmul(a, w)) - b),
                (0, a, b, c),
            )

        return run

    assert check(make, *(tf.constant(normal(3, 4)) for _ in range(3))).turns == 7


@pytest.mark.parametrize("steps", [0, 1, 2, 9])
def test_any_number_of_turns(steps: int) -> None:
    w = tf.constant(0.5 * normal(4, 4))  # gradients where tanh is almost 1 would be pure rounding

    def make() -> Any:
        def run(n: Any, x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                _, y, s = tf.while_loop(
                    lambda i, *_: i < n,
                    lambda i, y, s: (i + 1, tf.tanh(tf.matmul(y, w)), s + tf.cast(i, tf.float32)),
                    (0, x, 0.5),
                )
            return y, s, tape.gradient(y, x)

        return run

    assert check(make, tf.constant(steps), tf.constant(normal(3, 4))).turns == 2 * steps


def test_more_turns_than_a_kernel_takes_at_once() -> None:
    def make() -> Any:
        def run(n: Any, x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                _, y = tf.while_loop(
                    lambda i, _: i < n, lambda i, y: (i + 1, y + 0.001 * tf.tanh(y)), (0, x)
                )
            return y, tape.gradient(y, x)

        return run

    assert check(make, tf.constant(9000), tf.constant(normal(2, 3)), rtol=1e-3).turns == 18000


def test_an_empty_batch_is_left_to_the_plan() -> None:
    layer = tf.keras.layers.LSTM(3)
    layer(tf.zeros((1, 4, 2)))
    assert check(lambda: lambda x: layer(x), tf.zeros((0, 4, 2))).turns == 0


def test_a_variable_that_a_loop_assigns_is_left_to_the_plan() -> None:
    v = tf.Variable(normal(2, 2))
    first = v.numpy()

    def make() -> Any:
        def run(x: Any) -> Any:
            v.assign(first)
            for _ in tf.range(5):
                v.assign_add(x * 0.5)
                x = tf.tanh(x + v)
            return x, v.read_value()

        return run

    assert check(make, tf.constant(normal(2, 2))).turns == 0


def test_each_call_reads_its_variables_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "cache", None)
    w = tf.Variable(normal(4, 4), shape=tf.TensorShape(None))
    x = tf.constant(normal(3, 4))

    def run(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.tanh(tf.matmul(x, w))
        return x

    tier, config.settings.tier = config.settings.tier, "auto"
    try:
        traced = tf.function(run)
        with Taken() as taken:
            for _ in range(3):
                w.assign(normal(4, 4))
                wanted = x.numpy()
                for _ in range(3):
                    wanted = np.tanh(wanted @ w.numpy())
                np.testing.assert_allclose(traced(x), wanted, rtol=1e-4, atol=1e-5)
        assert taken.turns == 9
        # A variable of another shape: the kernel was not made for it.
        w.assign(normal(5, 5))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"columns of a|MatMul|aligned"):
            traced(x)
    finally:
        config.settings.tier = tier


def test_elements_that_are_read_and_set_in_one_turn() -> None:
    x = tf.constant(normal(5, 3, 2))

    def make() -> Any:
        def run(x: Any) -> Any:
            held = tf.TensorArray(tf.float32, 5, clear_after_read=False).unstack(x)
            for i in tf.range(4):
                a, b = held.read(i), held.read(i + 1)
                held = held.write(i, b * 2.0)
                held = held.write(i + 1, a + 1.0)
            return held.stack()

        return run

    (wanted,) = by_plan(make, x)
    rows = x.numpy().copy()
    for i in range(4):
        a, b = rows[i].copy(), rows[i + 1].copy()
        rows[i], rows[i + 1] = b * 2, a + 1
    np.testing.assert_array_equal(wanted, rows)
    (found,), taken = compiled(make, x)
    assert taken.turns == 4
    np.testing.assert_array_equal(found, rows)


def test_of_two_values_set_at_one_place_the_last_stays() -> None:
    x = tf.constant(normal(5, 3, 2))

    def make() -> Any:
        def run(x: Any) -> Any:
            held, h = tf.TensorArray(tf.float32, 5), tf.zeros((3, 2))
            for i in tf.range(5):
                later = tf.tanh(x[i] + tf.matmul(h, tf.ones((2, 2))))
                held = held.write(i, later)
                h = tf.exp(-x[i])
                held = held.write(i, h)
            return held.stack(), later

        return run

    assert check(make, x).turns == 5


def test_a_list_given_to_two_loops_is_two_lists() -> None:
    x = tf.constant(normal(4, 3, 2))

    def make() -> Any:
        def run(x: Any) -> Any:
            held = tf.TensorArray(tf.float32, 4, clear_after_read=False).unstack(x)
            first, second = held, held
            for i in tf.range(4):
                first = first.write(i, tf.tanh(x[i]))
            for i in tf.range(3):
                second = second.write(i, tf.exp(x[i]))
            return held.stack(), first.stack(), second.stack()

        return run

    assert check(make, x).turns == 7


def test_an_index_out_of_range_is_the_plans_to_refuse() -> None:
    def program(n: Any, x: Any) -> Any:
        kept = tf.TensorArray(tf.float32, 4)
        for i in tf.range(n):
            x = tf.tanh(x + 1.0)
            kept = kept.write(i, x)
        return kept.stack()

    x = tf.constant(normal(2, 2))
    tier, config.settings.tier = config.settings.tier, "auto"
    try:
        run = tf.function(program)
        for _ in range(2):
            run(tf.constant(4), x)
        with Taken() as taken, pytest.raises(tf.errors.OpError, match=r"index.*\[0, 4\)"):
            run(tf.constant(6), x)
        assert taken.turns == 4
        assert taken.failed
        run(tf.constant(4), x)
    finally:
        config.settings.tier = tier


def test_a_slice_counts_from_the_end_and_knows_its_bounds() -> None:
    x = tf.constant(normal(4, 2, 3))

    def run(n: Any, x: Any) -> Any:
        y = tf.zeros((2, 3))
        for i in tf.range(n):
            y = tf.tanh(y) + x[-1 - i]
        return y

    assert check(lambda: run, tf.constant(4), x).turns == 4
    tier, config.settings.tier = config.settings.tier, "auto"
    try:
        traced = tf.function(run)
        traced(tf.constant(4), x)
        with pytest.raises(tf.errors.OpError):
            traced(tf.constant(5), x)
    finally:
        config.settings.tier = tier


def test_a_loop_that_sums_products_where_they_lie() -> None:
    x, w = tf.constant(normal(6, 3, 4)), tf.constant(normal(4, 5))

    def make() -> Any:
        def run(x: Any, start: Any) -> Any:
            total = start
            for i in tf.range(6):
                total = total + tf.matmul(x[i], w)
            return total, start

        return run

    start = normal(3, 5)
    given = tf.constant(start)
    assert check(make, x, given).turns == 6
    np.testing.assert_array_equal(given.numpy(), start)  # it is unchanged


def test_gradients_of_gradients() -> None:
    w = tf.constant(normal(3, 3) * 0.5)

    def make() -> Any:
        def run(x: Any) -> Any:
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = x
                    for _ in tf.range(4):
                        y = tf.tanh(tf.matmul(y, w))
                slope = tape.gradient(y, x)
            return slope, outer.gradient(slope, x)

        return run

    check(make, tf.constant(normal(2, 3)), rtol=1e-4)


def test_loops_run_in_several_threads() -> None:
    layer = tf.keras.layers.GRU(16, return_sequences=True)
    run = tf.function(lambda x: layer(x))
    inputs = [tf.constant(normal(8, 20, 12)) for _ in range(4)]
    wanted = [layer(x).numpy() for x in inputs]
    run(inputs[0])
    wrong: list[float] = []

    def work(index: int) -> None:
        for _ in range(30):
            found = run(inputs[index]).numpy()
            wrong.append(float(np.abs(found - wanted[index]).max()))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 120
    assert max(wrong) < 1e-5


def test_results_are_not_written_into_by_later_calls() -> None:
    layer = tf.keras.layers.LSTM(32, return_sequences=True, return_state=True)
    run = tf.function(lambda x: layer(x))
    x = tf.constant(normal(16, 40, 8))
    run(x)
    first = run(x)
    copies = flat(first)
    for _ in range(5):
        run(tf.constant(normal(16, 40, 8)))
    for kept, copy in zip(flat(first), copies, strict=True):
        np.testing.assert_array_equal(kept, copy)


def test_a_run_can_be_cancelled_between_turns() -> None:
    from pinnace.framework.context import state
    from pinnace.ops.running import Stop

    w = tf.constant(normal(64, 64))

    def run(n: Any, x: Any) -> Any:
        for _ in tf.range(n):
            x = tf.tanh(tf.matmul(x, w))
        return x

    tier, config.settings.tier = config.settings.tier, "auto"
    try:
        traced = tf.function(run)
        x = tf.constant(normal(64, 64))
        traced(tf.constant(2), x)
        stop = Stop()
        timer = threading.Timer(0.2, stop.end, [tf.errors.CancelledError(None, None, "enough")])
        state.stop = stop
        timer.start()
        with pytest.raises(tf.errors.CancelledError):
            traced(tf.constant(100_000_000), x)
    finally:
        state.stop = None
        config.settings.tier = tier
