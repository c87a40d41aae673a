"""Every op checked for NaN and infinity."""

import threading
from collections.abc import Iterator

import pytest

import pinnace as tf
from pinnace.framework.context import init_scope, state


@pytest.fixture(autouse=True)
def _checks() -> Iterator[None]:
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


def test_an_op_that_is_not_finite_says_which_and_of_what() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        tf.math.log([[0.0, -1.0]])
    text = str(raised.value)
    assert 'output 0 of eagerly-executing op "Log" (# of outputs: 1)' in text
    assert "# of -Inf elements: 1\n  # of +NaN elements: 1\n" in text
    assert "Input tensor: <tf.Tensor: shape=(1, 2)" in text


def test_a_second_call_adds_no_second_check() -> None:
    tf.debugging.enable_check_numerics()
    assert len(state.observers) == len(state.tapes) == 1
    tf.debugging.disable_check_numerics()
    assert state.observers == state.tapes == ()
    assert tf.math.log([0.0]).numpy()[0] == -float("inf")


def test_graphs_show_where_the_op_was_made_and_no_more_than_is_asked_for() -> None:
    tf.debugging.disable_check_numerics()
    tf.debugging.enable_check_numerics(stack_height_limit=1, path_length_limit=4)

    @tf.function(autograph=False)
    def halved(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x) / 2.0

    assert halved(tf.constant([1.0])).numpy() == [0.0]
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        halved(tf.constant([0.0]))
    text = str(raised.value)
    assert 'graph op "Log"' in text
    assert "frames)\n    + ...s.py (L" in text
    assert ") halved\n -> |   return tf.math.log(x) / 2.0" in text


def test_what_tapes_do_not_see_is_checked_too() -> None:
    @tf.custom_gradient
    def shifted(x: tf.Tensor) -> object:
        return x + 1.0, lambda dy: dy / 0.0

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = shifted(x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="RealDiv"):
        tape.gradient(y, x)
    with init_scope(), pytest.raises(tf.errors.InvalidArgumentError, match="RealDiv"):
        x / 0.0


def test_other_threads_are_not_checked() -> None:
    found = []
    other = threading.Thread(target=lambda: found.append(float(tf.constant(1.0) / 0.0)))
    other.start()
    other.join()
    assert found == [float("inf")]
