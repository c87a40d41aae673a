"""A graph is immutable, and data derived from it are deleted with it."""

import dataclasses
import gc
import weakref

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import drop_plan, plan_of
from pinnace.graph.graph import Graph, GraphBuilder


def test_a_finished_graph_cannot_be_assigned_to() -> None:
    graph = GraphBuilder("f").finish()
    for field in dataclasses.fields(Graph):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(graph, field.name, getattr(graph, field.name))


def test_a_builder_goes_on_where_a_graph_ended_and_leaves_it_as_it_is() -> None:
    graph = tf.function(tf.exp).get_concrete_function(tf.TensorSpec([2], tf.float32)).graph
    builder = GraphBuilder("g", graph)
    before = [getattr(graph, field.name) for field in dataclasses.fields(graph)]
    again = builder.add(graph.outputs[0].node.op, graph.outputs, {"T": tf.float32}, "Exp")
    builder.set_outputs([*graph.outputs, *again.outputs])
    longer = builder.finish()
    assert again.name not in {node.name for node in graph.nodes}
    assert (len(longer.nodes), longer.output_names) == (3, ("output_0", "output_1"))
    assert [getattr(graph, field.name) for field in dataclasses.fields(graph)] == before
    found = plan_of(longer)([np.zeros(2, np.float32)])
    assert [one[0] for one in found] == pytest.approx([1.0, np.e])


def test_symbolic_tensors_are_in_the_finished_graph() -> None:
    made = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        made.append(tf.exp(x))
        return made[0]

    concrete = f.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert all(x.graph is concrete.graph for x in (*made, *concrete.inputs, *concrete.outputs))


def test_a_plan_is_built_once_until_it_is_dropped() -> None:
    graph = tf.function(tf.exp).get_concrete_function(tf.TensorSpec([2], tf.float32)).graph
    plan = plan_of(graph)
    assert plan_of(graph) is plan
    drop_plan(graph)
    assert plan_of(graph) is not plan


def graph_held_by_its_plan() -> "weakref.ref[Graph]":
    """The graph of a run and differentiated function, to which a function that it calls refers."""
    held: list[object] = []

    def double(x: tf.Tensor) -> tf.Tensor:
        return x * len(held)

    @tf.function(autograph=False)
    def f(x: tf.Tensor) -> tf.Tensor:
        return tf.py_function(double, [x], tf.float32) * x

    held += [f, f]
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 12.0
    assert float(f(x)) == 18.0
    (concrete,) = f.concrete_functions()
    return weakref.ref(concrete.graph)


def test_a_graph_whose_plan_leads_back_to_it_is_freed() -> None:
    graph = graph_held_by_its_plan()
    gc.collect()
    assert graph() is None
