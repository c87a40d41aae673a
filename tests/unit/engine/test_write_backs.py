"""Assignments of a value that was just read are removed if nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf


def ops_of(function: Any, *arguments: Any) -> list[str]:
    graph = function.get_concrete_function(*arguments).plan.graph
    return [node.op.name for node in graph.nodes]


def test_what_was_read_is_not_written_back() -> None:
    first, second = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])

    @tf.function
    def run(x: Any) -> Any:
        y = x * first + second
        first.assign(first.read_value())
        second.assign(second.read_value())
        with tf.control_dependencies([tf.debugging.assert_less(x, 100.0)]):
            return tf.identity(y)

    x = tf.constant([5.0, 6.0])
    assert "AssignVariableOp" not in ops_of(run, x)
    for _ in range(5):
        np.testing.assert_array_equal(run(x).numpy(), [8.0, 16.0])
    first.assign([2.0, 2.0])
    np.testing.assert_array_equal(run(x).numpy(), [13.0, 16.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(x * 100.0)


def test_it_stays_where_something_else_changes() -> None:
    first, second = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])

    @tf.function
    def swapped() -> Any:
        a, b = first.read_value(), second.read_value()
        first.assign(b)
        second.assign(a)
        return a

    @tf.function
    def counted() -> Any:
        a = first.read_value()
        second.assign_add(a)
        first.assign(a)
        return second.read_value()

    @tf.function
    def doubled() -> Any:
        a = first.read_value()
        first.assign(a * 2.0)
        first.assign(a)
        return first.read_value()

    for function in (swapped, counted, doubled):
        assert "AssignVariableOp" in ops_of(function)
    swapped()
    np.testing.assert_array_equal(first.numpy(), [3.0, 4.0])
    np.testing.assert_array_equal(counted().numpy(), [4.0, 6.0])
    np.testing.assert_array_equal(doubled().numpy(), [3.0, 4.0])


def test_what_waits_for_it_still_runs() -> None:
    variable = tf.Variable(2.0)

    @tf.function
    def run(x: Any) -> Any:
        value = variable.read_value()
        done = variable.assign(value)
        with tf.control_dependencies([done]):
            return x + variable.read_value()

    for _ in range(4):
        assert run(tf.constant(1.0)).numpy() == 3.0
