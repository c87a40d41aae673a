"""The thread's context stack: which observer sees the next op, and under which name."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.context import pop_tape, push_tape, state, tapes_hidden, tracing


def test_init_scope_runs_at_once_inside_a_traced_function() -> None:
    seen: list[Any] = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        assert not tf.executing_eagerly()
        with tf.init_scope():
            assert tf.executing_eagerly()
            seen.append((tf.constant(2.0) * 3.0).numpy())
        assert not tf.executing_eagerly()
        return x

    f(tf.constant(1.0))
    assert seen == [6.0]


def test_init_scope_hides_tapes_and_scopes() -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as tape, tf.name_scope("outer"):
        tape.watch(x)
        with tf.init_scope():
            assert state.tapes == ()
            y = x * x
            v = tf.Variable(1.0, name="v")
        assert state.tapes == (tape,)
        assert state.scope == "outer/"
    assert v.name == "v:0"
    assert tape.gradient(y, x) is None


def test_init_scope_gives_back_what_was_there_after_an_error() -> None:
    with tf.GradientTape() as tape:
        with pytest.raises(KeyError), tf.init_scope():
            raise KeyError
        assert state.tapes == (tape,)


def test_name_scopes_nest_and_an_empty_one_starts_over() -> None:
    with tf.name_scope("a") as a, tf.name_scope("b") as b:
        assert (a, b) == ("a/", "a/b/")
        with tf.name_scope("") as top:
            assert top == ""
        assert state.scope == "a/b/"
    assert state.scope == ""


def test_nodes_are_named_after_their_scopes() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("block"):
            return tf.add(x, x, name="sum")

    graph = f.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
    assert "block/sum" in [node.name for node in graph.nodes]


def test_a_thread_starts_with_nothing_on_its_stack() -> None:
    found: dict[str, Any] = {}

    def look() -> None:
        found["stack"] = (state.tracer, state.tapes, state.scope)
        found["eager"] = tf.executing_eagerly()
        found["value"] = (tf.constant(2.0) + 1.0).numpy()

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape(), tf.name_scope("outer"):
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
        return x

    f(tf.constant(1.0))
    assert found == {"stack": (None, (), ""), "eager": True, "value": 3.0}


def test_a_tape_sees_only_its_own_thread() -> None:
    x = tf.constant(2.0)
    made: list[tf.Tensor] = []
    with tf.GradientTape() as tape:
        tape.watch(x)
        thread = threading.Thread(target=lambda: made.append(x * x))
        thread.start()
        thread.join()
    assert tape.gradient(made[0], x) is None


def test_tapes_hidden_see_nothing() -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tapes_hidden():
            y = x * x
    assert tape.gradient(y, x) is None


def test_a_tape_that_is_not_on_the_stack_is_popped_without_harm() -> None:
    first, second = tf.GradientTape(), tf.GradientTape()
    push_tape(first)
    try:
        pop_tape(second)
        assert state.tapes == (first,)
    finally:
        pop_tape(first)
    assert state.tapes == ()


def test_ops_go_to_the_tracer_while_there_is_one() -> None:
    taken: list[tuple[str, int]] = []

    class Notebook:
        def add(self, op: Any, arguments: Any, attrs: Any, name: Any) -> Any:
            del attrs, name
            taken.append((op.name, len(arguments)))
            return (tf.Tensor.__new__(tf.Tensor),)

    x = tf.constant([1.0])
    with tracing(Notebook()):
        tf.negative(x)
        with tracing(None):
            np.testing.assert_array_equal(tf.negative(x), [-1.0])
        tf.add(x, x)
    assert taken == [("Neg", 1), ("AddV2", 2)]
