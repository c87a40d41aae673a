"""Passes keep the order of side effects, also if nodes that carry it are folded or inlined."""

from __future__ import annotations

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.graph.graph import FunctionRef, GraphBuilder, Node, Value
from pinnace.ops.registry import lookup


class _Program:
    """A graph with one variable: its handle, and nodes in any order that controls permit."""

    def __init__(self) -> None:
        self.variable = tf.Variable(1.0)
        self.graph = GraphBuilder("program")
        self.handle = self.graph.add_input(
            lookup("Placeholder"),
            tf.TensorSpec([], tf.resource),
            "handle",
            tf.TensorSpec([], tf.float32),
        )

    def constant(self, number: float) -> Value:
        array = np.array(number, np.float32)
        return self.graph.add(
            lookup("Const"), (), {"value": array, "dtype": tf.float32}, "number"
        ).outputs[0]

    def assign(self, value: Value) -> Node:
        node = self.graph.add(
            lookup("AssignVariableOp"), (self.handle, value), {"dtype": tf.float32}, "assign"
        )
        self.graph.effects.append(node)
        return node

    def read(self, *controls: Node) -> Value:
        return self.graph.add(
            lookup("ReadVariableOp"), (self.handle,), {"dtype": tf.float32}, "read", controls
        ).outputs[0]

    def run(self, result: Value) -> float:
        self.graph.set_outputs([result], ["result"])
        (found,) = plan_of(self.graph.finish())([np.asarray(self.variable.handle._array)])
        return float(found)


@pytest.mark.parametrize("between", ["Identity", "IdentityN", "Const", "Neg", "call", "two"])
def test_a_read_waits_for_an_assignment_through_what_computes_nothing(between: str) -> None:
    program = _Program()
    # Added before the assignment for which it waits: only control inputs determine the order.
    number = program.constant(5.0)
    assign = program.assign(number)
    graph = program.graph
    if between == "Const":
        attrs = {"value": np.array(2.0, np.float32), "dtype": tf.float32}
        waiting = graph.add(lookup("Const"), (), attrs, "waiting", (assign,))
    elif between == "IdentityN":
        waiting = graph.add(
            lookup("IdentityN"), (number,), {"T": (tf.float32,)}, "waiting", (assign,)
        )
    elif between == "call":
        inner = GraphBuilder("inner")
        x = inner.add_input(lookup("Placeholder"), tf.TensorSpec([], tf.float32), "x")
        inner.set_outputs([x], ["y"])
        waiting = graph.add(
            lookup("PartitionedCall"),
            (number,),
            {
                "f": FunctionRef("inner", inner.finish()),
                "Tin": (tf.float32,),
                "Tout": (tf.float32,),
            },
            "waiting",
            (assign,),
        )
    elif between == "two":
        first = graph.add(lookup("Identity"), (number,), {"T": tf.float32}, "first", (assign,))
        waiting = graph.add(lookup("NoOp"), (), {}, "waiting", (first,))
    else:
        waiting = graph.add(lookup(between), (number,), {"T": tf.float32}, "waiting", (assign,))
    assert program.run(program.read(waiting)) == 5.0


def test_what_takes_the_value_of_a_waiting_identity_waits_too() -> None:
    program = _Program()
    first = program.assign(program.constant(5.0))
    nine = program.constant(9.0)
    waiting = program.graph.add(lookup("Identity"), (nine,), {"T": tf.float32}, "waiting", (first,))
    second = program.assign(waiting.outputs[0])
    assert program.run(program.read(second)) == 9.0
    assert float(program.variable) == 9.0


def test_an_identity_that_waits_for_reads_alone_is_folded_away() -> None:
    program = _Program()
    read = program.read()
    waiting = program.graph.add(lookup("Identity"), (read,), {"T": tf.float32}, "y", (read.node,))
    assert program.run(waiting.outputs[0]) == 1.0
    plan = plan_of(program.graph.finish())
    assert [step.node.op.name for step in plan.steps] == ["ReadVariableOp"]
