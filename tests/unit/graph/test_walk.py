"""The order of a graph's nodes: as written, if that order can run."""

import dataclasses

import pinnace as tf
from pinnace.graph.walk import needed, ordered


def graph_of(function, *specs):
    return tf.function(function).get_concrete_function(*specs).graph


def chain(x):
    first = tf.exp(x)
    kept = tf.sin(x)
    second = tf.cos(first)
    tf.tanh(x)  # not needed by any node
    return second, kept


SPEC = tf.TensorSpec([3], tf.float32)


def names(nodes) -> list[str]:
    return [node.op.name for node in nodes if node.op.name in {"Exp", "Sin", "Cos", "Tanh"}]


def test_nodes_stay_in_the_order_they_were_written() -> None:
    graph = graph_of(chain, SPEC)
    assert names(ordered(graph)) == ["Exp", "Sin", "Cos"]
    # Backwards from the outputs they have another order.
    assert names(needed(graph.outputs, graph.effects)) == ["Exp", "Cos", "Sin"]


def test_nodes_that_are_listed_in_another_order_run_all_the_same() -> None:
    graph = graph_of(chain, SPEC)
    graph = dataclasses.replace(graph, nodes=graph.nodes[::-1])
    seen = set()
    for node in ordered(graph):
        assert all(value.node in seen for value in node.inputs)
        seen.add(node)
    assert sorted(names(seen)) == ["Cos", "Exp", "Sin"]


def test_gradients_of_weights_are_not_put_off_to_the_end() -> None:
    weights = [tf.Variable(tf.eye(4)) for _ in range(6)]

    def step(x):
        with tf.GradientTape() as tape:
            for weight in weights:
                x = tf.tanh(x @ weight)
            loss = tf.reduce_sum(x)
        return tape.gradient(loss, weights)

    graph = graph_of(step, tf.TensorSpec([4, 4], tf.float32))
    order = ordered(graph)
    gradients = {value.node for value in graph.outputs}
    places = [index for index, node in enumerate(order) if node in gradients]
    last_tanh = max(i for i, node in enumerate(order) if node.op.name == "TanhGrad")
    # All except the first weight's, which needs everything before it.
    assert sum(place < last_tanh for place in places) == len(weights) - 1
