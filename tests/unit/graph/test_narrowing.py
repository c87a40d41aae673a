"""Graphs specialised for arguments with more precise specs."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.graph.graph import Graph
from pinnace.graph.narrowing import narrowed
from pinnace.graph.walk import ordered


def traced(function: Any, *specs: tf.TensorSpec) -> Graph:
    graph: Graph = tf.function(function).get_concrete_function(*specs).graph
    return graph


ANY = tf.TensorSpec(None, tf.float32)


def test_shapes_are_inferred_again_from_the_arguments() -> None:
    graph = traced(lambda x: tf.reduce_sum(tf.nn.relu(x) * 2.0, -1), ANY)
    assert graph.outputs[0].shape.rank is None
    found = narrowed(graph, [Shape([None, 3])])
    assert found.outputs[0].shape.as_list() == [None]
    assert [value.shape.as_list() for value in found.inputs] == [[None, 3]]
    assert graph.inputs[0].shape.rank is None


def test_shapes_go_into_calls_branches_and_loops() -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return x + 1.0

    def program(x: tf.Tensor, n: tf.Tensor) -> Any:
        y = tf.cond(n > 1, lambda: inner(x), lambda: x * 2.0)
        return tf.while_loop(lambda i, _: i < n, lambda i, v: (i + 1, inner(v)), [0, y])[1]

    graph = traced(program, ANY, tf.TensorSpec([], tf.int32))
    found = narrowed(graph, [Shape([2, None]), Shape([])])
    assert found.outputs[0].shape.as_list() == [2, None]
    for node in ordered(found):
        for ref in node.attrs.values():
            inputs = getattr(getattr(ref, "graph", None), "inputs", ())
            ranks = [value.shape.rank for value in inputs if value.dtype is tf.float32]
            assert None not in ranks


def test_what_grows_in_a_loop_stays_open() -> None:
    def program(x: tf.Tensor) -> Any:
        return tf.while_loop(
            lambda i, _: i < 3,
            lambda i, v: (i + 1, tf.concat([v, v], 0)),
            [0, x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
        )[1]

    found = narrowed(traced(program, ANY), [Shape([2, 5])])
    assert found.outputs[0].shape.as_list() == [None, 5]


def test_what_is_not_possible_is_told_with_its_node() -> None:
    graph = traced(lambda x: tf.matmul(x, np.ones((3, 2), np.float32)), ANY)
    with pytest.raises(InvalidArgumentError, match=r"node 'BatchMatMulV2': .*got 5 and 3"):
        narrowed(graph, [Shape([4, 5])])
