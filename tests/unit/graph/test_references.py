"""Main graphs with references: when their variables are read and assigned."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from pinnace.engine.build import plan_of
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.variable import Variable
from pinnace.graph.codec.graphs import add_argument, decode_graph
from pinnace.graph.codec.references import TRANSLATED
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.proto.op_def_pb2 import OpList

if TYPE_CHECKING:
    from pinnace.graph.graph import Graph, Value
    from pinnace.proto.node_def_pb2 import NodeDef

DEFINITIONS = Path(__file__).parents[2] / "golden" / "op_definitions" / "tensorflow.pb.gz"
VARIABLE = """
node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { } } } }
node { name: "v/read" op: "Identity" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
"""


def _node(name: str, op: str, inputs: tuple[str, ...], *attrs: str) -> str:
    listed = "".join(f' input: "{one}"' for one in inputs)
    return f'node {{ name: "{name}" op: "{op}"{listed} {" ".join(attrs)} }}\n'


def _attr(key: str, value: str) -> str:
    return f'attr {{ key: "{key}" value {{ {value} }} }}'


def constant(name: str, value: float, *waits: str) -> str:
    tensor = f"tensor {{ dtype: DT_FLOAT tensor_shape {{ }} float_val: {value} }}"
    controls = tuple(f"^{one}" for one in waits)
    return _node(name, "Const", controls, _attr("dtype", "type: DT_FLOAT"), _attr("value", tensor))


def node(name: str, op: str, *inputs: str) -> str:
    return _node(name, op, inputs, _attr("T", "type: DT_FLOAT"))


def run(text: str, variable: Variable, outputs: list[str]) -> list[float]:
    """The results of a main graph with `variable` as its node `v`."""
    handles: list[Value] = []

    def stands(graph: Graph, message: NodeDef, position: int) -> Value | None:
        if message.name != "v" or position:
            return None
        if not handles:
            handle = TensorSpec.of(variable.shape, variable.dtype)
            spec = TensorSpec.of(Shape(()), dtypes.resource)
            handles.append(add_argument(graph, spec, "v", handle))
        return handles[0]

    graph = decode_graph(text_format.Parse(text, GraphDef()), "test", outputs, given=stands)
    results = plan_of(graph)([np.asarray(variable.handle._array)] * len(handles))
    return [float(one) for one in results]


def test_what_reads_after_an_assignment_finds_it_through_any_identity() -> None:
    text = VARIABLE + constant("one", 1) + node("add", "AssignAdd", "v", "one")
    text += node("after", "Mul", "v/read", "two") + constant("two", 2, "add")
    text += node("again", "Identity", "v/read", "^add")
    assert run(text, Variable(3.0), ["after", "again", "add"]) == [8, 4, 4]


def test_what_an_assignment_waits_for_reads_before_it() -> None:
    text = VARIABLE + constant("one", 1) + node("before", "Mul", "v/read", "one")
    text += node("add", "AssignSub", "v", "one", "^before")
    assert run(text, Variable(3.0), ["before", "add"]) == [3, 2]


def test_without_assignments_one_read_serves_all() -> None:
    text = VARIABLE + node("sum", "AddV2", "v/read", "v") + node("square", "Mul", "sum", "v/read")
    graph = decode_graph(text_format.Parse(text, GraphDef()), "test", ["square"])
    assert [one.op.name for one in graph.nodes].count("ReadVariableOp") == 1
    assert run(text, Variable(3.0), ["square"]) == [18]


@given(
    st.lists(
        st.tuples(st.sampled_from(["AssignAdd", "AssignSub", "Assign"]), st.integers(-5, 5)),
        max_size=6,
    )
)
def test_a_chain_of_assignments_is_run_in_its_order(steps: list[tuple[str, int]]) -> None:
    """Each waits for the previous one; a read follows each, for which the next one also waits."""
    text, waits, expected, value = VARIABLE, [], [], 2.0
    for number, (op, amount) in enumerate(steps):
        text += constant(f"c{number}", amount)
        text += node(f"a{number}", op, "v", f"c{number}", *[f"^{one}" for one in waits])
        text += constant(f"z{number}", 0, f"a{number}")
        text += node(f"r{number}", "AddV2", "v/read", f"z{number}")
        waits = [f"r{number}"]
        value = {"AssignAdd": value + amount, "AssignSub": value - amount, "Assign": amount}[op]
        expected.append(value)
    variable = Variable(2.0)
    assert run(text, variable, [f"r{number}" for number in range(len(steps))]) == expected
    assert variable.numpy() == value


def test_references_that_go_round_in_a_circle_are_told() -> None:
    text = VARIABLE + node("a", "AssignAdd", "b", "v/read") + node("b", "AssignAdd", "a", "v/read")
    with pytest.raises(InvalidArgumentError, match="circle through node"):
        run(text, Variable(1.0), ["a"])


def test_a_long_chain_of_references_needs_no_deep_stack() -> None:
    text, last = VARIABLE + constant("one", 1), "v"
    for number in range(3000):
        text += node(f"a{number}", "AssignAdd", last, "one")
        last = f"a{number}"
    assert run(text, Variable(1.0), [last]) == [3001]


def test_ops_on_references_and_what_they_become_are_tensorflows() -> None:
    known = OpList.FromString(gzip.decompress(DEFINITIONS.read_bytes())).op
    takes = {op.name: [arg.name for arg in op.input_arg] for op in known}
    for name, becomes in TRANSLATED.items():
        assert name in takes, name
        assert becomes in takes, becomes
        assert len(takes[name]) == len(takes[becomes]), name
