"""GradientTape: what it watches, its results, and its refusals."""

import logging
import threading

import numpy as np
import pytest

import pinnace as tf
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup


def test_a_watched_tensor_has_a_gradient() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert float(tape.gradient(y, x)) == 6.0


def test_trainable_variables_are_watched_when_read_and_others_are_not() -> None:
    v, w = tf.Variable(2.0), tf.Variable(5.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * w
    dv, dw = tape.gradient(y, [v, w])
    assert float(dv) == 5.0
    assert dw is None
    assert tape.watched_variables() == (v,) or [x is v for x in tape.watched_variables()] == [True]


def test_a_variable_read_twice_gets_both_contributions() -> None:
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * 2.0 + v * v
    assert float(tape.gradient(y, v)) == 8.0


def test_a_tape_gives_its_gradients_once_unless_it_is_persistent() -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match=r"once.\n  Try: GradientTape\(persistent=True\)"):
        tape.gradient(y, x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * x
    assert float(tape.gradient(y, x)) == 4.0
    assert float(tape.gradient(z, x)) == 12.0


def test_output_gradients_multiply() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    found = tape.gradient(y, x, output_gradients=tf.constant([10.0, 1.0]))
    np.testing.assert_array_equal(found.numpy(), [20.0, 4.0])


@pytest.mark.parametrize(("wish", "expected"), [("none", None), ("zero", 0.0)])
def test_unconnected_sources_are_answered_as_asked(wish: str, expected: float | None) -> None:
    x, other = tf.constant(1.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, other])
        y = x * x
    found = tape.gradient(y, other, unconnected_gradients=wish)
    assert (found is None) if expected is None else float(found) == expected


def test_an_unknown_wish_is_refused_by_name() -> None:
    with tf.GradientTape() as tape:
        pass
    with pytest.raises(
        ValueError, match="unconnected_gradients must be 'none' or 'zero', got 'nan'"
    ):
        tape.gradient(tf.constant(1.0), tf.constant(1.0), unconnected_gradients="nan")


def test_nested_tapes_give_second_and_third_derivatives() -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = x * x * x * x
            dy = first.gradient(y, x)
        d2y = second.gradient(dy, x)
    d3y = third.gradient(d2y, x)
    assert [float(d) for d in (dy, d2y, d3y)] == [32.0, 48.0, 48.0]


def test_stop_recording_leaves_a_gap() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * x
    assert tape.gradient(z, x) is None


def test_reset_forgets() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        tape.watch(x)
        z = y + x
    assert float(tape.gradient(z, x)) == 1.0


def test_a_source_may_lie_in_the_middle() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    dx, dy = tape.gradient(z, [x, y])
    assert (float(dx), float(dy)) == (108.0, 18.0)


def test_structures_of_targets_and_sources_are_kept() -> None:
    v = {"a": tf.Variable(1.0), "b": (tf.Variable(2.0), tf.Variable(3.0))}
    with tf.GradientTape() as tape:
        targets = [v["a"] * 2.0, v["b"][0] * v["b"][1]]
    found = tape.gradient(targets, v)
    assert float(found["a"]) == 2.0
    assert tuple(float(g) for g in found["b"]) == (3.0, 2.0)


def test_broadcast_operands_get_gradients_of_their_own_shape() -> None:
    x, b = tf.constant(np.ones((4, 3), np.float32)), tf.constant(np.ones(3, np.float32))
    with tf.GradientTape() as tape:
        tape.watch([x, b])
        y = tf.reduce_sum(x * b)
    dx, db = tape.gradient(y, [x, b])
    assert dx.shape == [4, 3]
    np.testing.assert_array_equal(db.numpy(), [4.0, 4.0, 4.0])


@pytest.mark.parametrize("value", [1, "text"])
def test_what_has_no_gradient_is_watched_with_a_warning(
    value: object, caplog: pytest.LogCaptureFixture
) -> None:
    """TensorFlow warns as well; the gradient is None."""
    x = tf.constant(value)
    with caplog.at_level(logging.WARNING), tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.constant(2.0) * 3.0
    assert "only floating-point and complex tensors have gradients" in caplog.text
    assert tape.gradient(y, x) is None


def test_a_number_cannot_be_watched() -> None:
    with (
        tf.GradientTape() as tape,
        pytest.raises(ValueError, match="only tensors and variables can be watched, got float"),
    ):
        tape.watch(1.0)


def test_a_custom_gradient_takes_the_place_of_the_real_one() -> None:
    @tf.custom_gradient
    def doubled(x: tf.Tensor) -> object:
        return x * 2.0, lambda dy: dy * 100.0

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = doubled(x) * 3.0
    assert float(y) == 18.0
    assert float(tape.gradient(y, x)) == 300.0


def test_stop_gradient_stops() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * tf.stop_gradient(x)
    assert float(tape.gradient(y, x)) == 3.0


def test_a_placeholder_with_default_hands_gradients_on() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = execute(lookup("PlaceholderWithDefault"), x, shape=[2]) * 3.0
    np.testing.assert_array_equal(tape.gradient(y, x), [3.0, 3.0])


def test_threads_have_tapes_of_their_own() -> None:
    found: list[float] = []

    def work(n: int) -> None:
        x = tf.constant(float(n))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(50):
                y = y + x * x
        found.append(float(tape.gradient(y, x)))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    with tf.GradientTape() as outer:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outer.watched_variables() == ()
    assert sorted(found) == [1.0 + 100.0 * n for n in range(8)]


def test_a_string_has_no_gradient_not_even_its_own() -> None:
    x, text = tf.constant(3.0), tf.constant("a")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, text])
        y = x * x
    assert tape.gradient(text, text) is None
    assert [tape.gradient([y, text], [x, text])[at] for at in (0, 1)] == [6.0, None]
