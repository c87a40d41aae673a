"""Ops without a registered gradient raise LookupError only if a gradient reaches them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf

PHRASE = r"No gradient defined for operation '\w+' \(op type: AdjustContrastv2\)"


def pictures() -> tf.Variable:
    return tf.Variable(np.linspace(0, 1, 48, dtype=np.float32).reshape(1, 4, 4, 3))


def contrast(x: Any) -> Any:
    return tf.image.adjust_contrast(x, 2.0)


def eagerly(x: tf.Variable) -> Any:
    with tf.GradientTape() as tape:
        y = contrast(x)
    return tape.gradient(y, x)


def of_a_function(x: tf.Variable) -> Any:
    call = tf.function(lambda: contrast(x))
    with tf.GradientTape() as tape:
        y = call()
    return tape.gradient(y, x)


def of_a_branch_that_is_not_taken(x: tf.Variable) -> Any:
    call = tf.function(lambda k: tf.cond(k > 0, lambda: contrast(x), lambda: x * 2.0))
    with tf.GradientTape() as tape:
        y = call(tf.constant(0))
    return tape.gradient(y, x)


def by_gradients(x: tf.Variable) -> Any:
    return tf.function(lambda: tf.gradients(contrast(x * 1.0), x))()


def forwards(x: tf.Variable) -> Any:
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = contrast(x)
    return accumulator.jvp(y)


@pytest.mark.parametrize(
    "asked",
    [
        eagerly,
        lambda x: tf.function(eagerly)(x),
        of_a_function,
        of_a_branch_that_is_not_taken,
        by_gradients,
        forwards,
    ],
)
def test_asking_for_a_gradient_that_is_not_defined_raises(
    asked: Callable[[tf.Variable], Any],
) -> None:
    with pytest.raises(LookupError, match=PHRASE):
        asked(pictures())


def test_zeros_for_unconnected_sources_do_not_hide_it() -> None:
    x = pictures()
    with tf.GradientTape() as tape:
        y = tf.image.adjust_hue(x, 0.2)
    with pytest.raises(LookupError, match="registry has no entry for: AdjustHue"):
        tape.gradient(y, x, unconnected_gradients="zero")


def test_what_no_gradient_reaches_does_not_matter() -> None:
    x = pictures()
    with tf.GradientTape(persistent=True) as tape:
        changed = contrast(x)
        stopped = tf.stop_gradient(contrast(x)) + x
        beside = x * 2.0
        whole = tf.cast(tf.cast(contrast(x), tf.int32), tf.float32)
    np.testing.assert_array_equal(tape.gradient(stopped, x), np.ones(x.shape))
    np.testing.assert_array_equal(tape.gradient(beside, x), np.full(x.shape, 2.0))
    assert tape.gradient(whole, x) is None
    with pytest.raises(LookupError, match="AdjustContrastv2"):
        tape.gradient(changed, x)


def test_of_constants_it_is_none() -> None:
    x = pictures()
    with tf.GradientTape() as tape:
        y = contrast(tf.ones([1, 2, 2, 3]))
    assert tape.gradient(y, x) is None
