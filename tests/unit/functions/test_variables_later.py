"""Variables of Keras objects in functions: created once, in the first call, as in TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable

PHRASE = "Creating variables on a non-first call to a function decorated with tf.function"
SINGLETON = "tf.function only supports singleton tf.Variables created on the first call"
MAKERS: dict[str, Callable[[], Any]] = {
    "Variable": lambda: tf.Variable(1.0),
    "keras.Variable": lambda: tf.keras.Variable(1.0),
    "optimizer": tf.keras.optimizers.SGD,
    "metric": tf.keras.metrics.Mean,
    "dropout": lambda: tf.keras.layers.Dropout(0.5),
    "built layer": lambda: tf.keras.layers.Dense(1)(tf.zeros([1, 2])),
    "generator": lambda: tf.random.Generator.from_seed(1),
}
every_maker = pytest.mark.parametrize("kind", MAKERS)


@every_maker
@pytest.mark.parametrize("lifted", [False, True])
def test_on_a_later_trace_they_are_refused(kind: str, lifted: bool) -> None:
    held: dict[str, Any] = {}

    @tf.function(autograph=False)
    def call(x: Any) -> Any:
        if x.shape[0] == 3:
            if lifted:
                with tf.init_scope():
                    held["it"] = MAKERS[kind]()
            else:
                held["it"] = MAKERS[kind]()
        return x

    call(tf.zeros([2]))
    with pytest.raises(ValueError, match=PHRASE):
        call(tf.zeros([3]))


@every_maker
def test_made_anew_in_each_trace_they_are_refused(kind: str) -> None:
    @tf.function
    def call(x: Any) -> Any:
        MAKERS[kind]()
        return x

    with pytest.raises(ValueError, match=SINGLETON):
        call(tf.zeros([2]))


@every_maker
def test_made_once_on_the_first_call_they_are_welcome(kind: str) -> None:
    held: list[Any] = []

    @tf.function
    def call(x: Any) -> Any:
        if not held:
            held.append(MAKERS[kind]())
        return x

    assert call(tf.zeros([2])).shape == [2]
    assert call(tf.zeros([3])).shape == [3]
    assert len(held) == 1


def test_a_layer_that_is_built_on_a_later_call_is_refused() -> None:
    layer = tf.keras.layers.Dense(1)
    call = tf.function(lambda x: layer(x[None]) if x.shape[0] == 3 else x)
    call(tf.zeros([2]))
    with pytest.raises(ValueError, match=PHRASE):
        call(tf.zeros([3]))


def test_an_optimizer_of_the_first_call_steps_from_then_on() -> None:
    weight, held = tf.Variable([1.0, 2.0]), []

    @tf.function
    def step() -> Any:
        if not held:
            held.append(tf.keras.optimizers.SGD(0.5))
        held[0].apply_gradients([(tf.constant([1.0, 1.0]), weight)])

    step()
    step()
    np.testing.assert_array_equal(weight, [0.0, 1.0])


def test_a_function_within_is_asked_as_well() -> None:
    held: list[Any] = []

    @tf.function
    def inner(x: Any) -> Any:
        if x.shape[0] == 3 and not held:
            held.append(tf.keras.metrics.Mean())
        return x

    outer = tf.function(lambda x: inner(x) + 1.0)
    outer(tf.zeros([2]))
    with pytest.raises(ValueError, match=PHRASE):
        outer(tf.zeros([3]))


def test_tables_are_no_variables() -> None:
    held: list[Any] = []

    @tf.function(autograph=False)
    def call(x: Any) -> Any:
        if x.shape[0] == 3:
            held.append(tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1))
        return x

    call(tf.zeros([2]))
    call(tf.zeros([3]))
    assert len(held) == 1
