"""Graphs are compared by their nodes; decorators of test cases skip where they should."""

import unittest

import pytest

import pinnace as tf


def graph(f):
    return tf.function(f).get_concrete_function(tf.TensorSpec([2])).graph.as_graph_def()


def test_graphs_are_compared_by_their_nodes():
    first = graph(lambda x: x * 2 + 1)
    tf.test.assert_equal_graph_def(first, first)
    turned = type(first)()
    turned.CopyFrom(first)
    del turned.node[:]
    turned.node.extend(reversed(first.node))
    tf.test.assert_equal_graph_def(first, turned)
    turned.node[0].op += "2"
    with pytest.raises(AssertionError, match="differs"):
        tf.test.assert_equal_graph_def(first, turned)
    with pytest.raises(AssertionError, match="graph only"):
        tf.test.assert_equal_graph_def(first, graph(lambda x: tf.exp(x)))
    with pytest.raises(TypeError, match="must be a GraphDef"):
        tf.test.assert_equal_graph_def(first, None)


@pytest.mark.parametrize("holds", [False, True])
def test_a_test_is_skipped_where_a_condition_holds(holds):
    class Case(unittest.TestCase):
        @tf.test.disable_with_predicate(lambda: holds, "not here")
        def test_fails(self):
            self.fail("it ran")

    outcome = unittest.TestResult()
    Case("test_fails").run(outcome)
    assert [reason for _, reason in outcome.skipped] == ["not here"] * holds
    assert len(outcome.failures) == 1 - holds


def test_the_machine_is_asked():
    kinds = [kind for kind in ("x86", "aarch64") if tf.test.is_cpu_target_available(kind)]
    assert len(kinds) <= 1
    assert not tf.test.is_cpu_target_available("abacus")
    assert tf.test.with_eager_op_as_function(unittest.TestCase) is unittest.TestCase
    assert tf.test.with_eager_op_as_function()(unittest.TestCase) is unittest.TestCase
    tf.test.experimental.sync_devices()
