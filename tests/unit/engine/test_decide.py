"""Constant conditions, decided before a program is run or written."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.engine.passes.decide import decided
from pinnace.graph.graph import Graph
from pinnace.graph.walk import ordered

X = tf.TensorSpec([2], tf.float32)


def traced(function: Any, *specs: tf.TensorSpec) -> Graph:
    graph: Graph = tf.function(function).get_concrete_function(*specs).graph
    return graph


def ops(graph: Graph) -> set[str]:
    return {node.op.name for node in ordered(graph)}


def chosen(condition: Any) -> Any:
    """A nested condition, as in a model of version 1 for training."""

    def program(x: tf.Tensor) -> Any:
        training = tf.raw_ops.PlaceholderWithDefault(input=condition, shape=())
        return tf.raw_ops.If(
            cond=tf.identity(training),
            input=[x],
            Tout=[tf.float32],
            then_branch=tf.function(lambda x: x * 2.0).get_concrete_function(X),
            else_branch=tf.function(lambda x: x - 1.0).get_concrete_function(X),
        )[0]

    return program


@pytest.mark.parametrize(("condition", "wanted"), [(True, [2, 4]), (False, [0, 1]), (3, [2, 4])])
def test_the_branch_of_a_known_condition_is_what_is_left(condition: Any, wanted: Any) -> None:
    graph = traced(chosen(condition), X)
    assert ops(graph) & {"If", "StatelessIf"}
    found = decided(graph)
    assert not ops(found) & {"If", "StatelessIf", "StatefulPartitionedCall"}
    (y,) = plan_of(found)([np.array([1, 2], np.float32)])
    assert y.tolist() == wanted


def test_a_condition_of_an_input_stays() -> None:
    graph = traced(lambda x: tf.cond(x[0] > 0, lambda: x, lambda: -x), X)
    assert ops(decided(graph)) & {"If", "StatelessIf"}


def test_what_only_the_other_branch_assigns_is_gone() -> None:
    kept = tf.Variable([1.0, 1.0])

    def program(x: tf.Tensor) -> Any:
        training = tf.raw_ops.PlaceholderWithDefault(input=False, shape=())

        def update() -> Any:
            kept.assign(x)
            return x

        return tf.cond(training, update, lambda: kept * x)

    graph = traced(program, X)
    assert any(node.op.name in {"If", "StatelessIf"} for node in graph.nodes)
    assert "AssignVariableOp" not in ops(decided(graph))
