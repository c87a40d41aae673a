"""Printing and parsing graphs, and the checks of `verify`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace import saved_model
from pinnace.engine.build import plan_of
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.variable import Variable
from pinnace.functions.function import function
from pinnace.graph.graph import Graph
from pinnace.graph.text import parse, text_of
from pinnace.graph.verify import verify
from pinnace.ops.array.constants import constant

GOLDEN = Path(__file__).parents[2] / "golden" / "saved_models"

TEXT = """\
f(x: float32[?, 3], w: resource of float32[3, 2]):
  read: float32[3, 2] = ReadVariableOp(w, dtype=float32)
  done = NoOp(^read)
  axis: int32[] = Const(value=int32[] {1})
  product: float32[?, 2] = MatMul(x, read)
  parts: (float32[?, 1], float32[?, 1]) = Split(axis, product, num_split=2)
  sum: float32[?, 1] = AddN(parts, parts:1)
  r: float32[?, 1] = Relu(sum, ^done)
  return y=r, z=parts:1
  effects done
"""


def test_a_graph_comes_back_from_its_text() -> None:
    graph = parse(TEXT)
    verify(graph)
    assert text_of(graph) == TEXT
    w = Variable(np.ones((3, 2), np.float32))
    y, z = plan_of(graph)([np.ones((1, 3), np.float32), np.asarray(w.handle._array)])
    assert (y.tolist(), z.tolist()) == ([[6.0]], [[3.0]])


def test_specs_are_inferred_and_literals_are_constants() -> None:
    graph = parse(
        """
        f(x: float32[2]):
          y = AddV2(x, [1, 2.5])   # float32, since x is
          m = Max(y, 0, keep_dims=True)
          return m
        """
    )
    assert graph.outputs[0].spec == TensorSpec([1])
    assert plan_of(graph)([np.zeros(2, np.float32)])[0].tolist() == [2.5]
    assert graph.output_names == ("output_0",)


def test_functions_follow_the_graph_that_calls_them() -> None:
    text = """\
f(x: float32[]):
  call: float32[] = PartitionedCall(x, f=@g, Tout=(float32,))
  return y=call

g(x: float32[]):
  n: float32[] = Neg(x)
  return y=n
"""
    graph = parse(text)
    assert plan_of(graph)([np.float32(2)])[0] == -2
    assert "f=@g" in text_of(graph)
    assert "g(x: float32[]):" in text_of(graph, functions=True)


@pytest.mark.parametrize(
    "value",
    [
        np.array([1.5, -np.inf, np.nan], np.float32),
        np.array([True, False]),
        np.array([[1, 2], [3, 4]], np.int64),
        np.array([b"a,b", b'"]}'], object),
        np.array(1 - 2j, np.complex64),
        np.zeros((0, 3), np.uint8),
    ],
    ids=["float", "bool", "int", "text", "complex", "empty"],
)
def test_constants_come_back(value: Any) -> None:
    graph = function(lambda: constant(value)).get_concrete_function().graph
    again = parse(text_of(graph))
    found = plan_of(again)([])[0]
    assert found.dtype == value.dtype
    assert found.shape == value.shape
    assert str(found.tolist()) == str(value.tolist())


def test_a_large_constant_is_not_shown() -> None:
    graph = function(lambda: constant(np.arange(100))).get_concrete_function().graph
    assert "int64[100] {...}" in text_of(graph)
    with pytest.raises(InvalidArgumentError, match="are not in the text"):
        parse(text_of(graph))


BROKEN = {
    "": "must begin with",
    "y = Neg(x)": "must begin with",
    "f(x: float32[]):\n y = Neg(z)": "there is no value 'z'",
    "f(x: float32[]):\n y Neg(x)": "expected `name = Op",
    "f(x: float32[]):\n y = Neg(x, x)": "got 2 inputs",
    "f(x: float32[]):\n x = Neg(x)": "there is a node 'x' already",
    "f(x: float32[]):\n y: int32[] = Neg(x)": "is not a int32",
    "f(x: float32[2], y: float32[3]):\n z = AddV2(x, y)": "shapes must broadcast",
    "f(x: float):": "must look like",
    "f(x: float32[]):\n y = PartitionedCall(x, f=@f, Tout=(float32,))": "or it calls itself",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_what_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse(text)
    assert BROKEN[text] in str(caught.value)


def test_an_unknown_op_is_refused_by_name() -> None:
    with pytest.raises(UnimplementedError, match="'Frob'"):
        parse("f(x: float32[]):\n y = Frob(x)")


@pytest.mark.parametrize("name", sorted(p.name for p in GOLDEN.iterdir() if p.is_dir()))
def test_graphs_of_tensorflow_are_what_inference_says(name: str) -> None:
    model = saved_model.load(GOLDEN / name / "model")
    for key in model.signatures:
        try:
            graphs = [model.signatures[key].graph]
        except UnimplementedError as error:
            pytest.skip(f"not there yet: {error}")
        for graph in graphs:
            verify(graph)
            assert text_of(graph)
            graphs.extend(ref.graph for ref in graph.functions() if ref.graph not in graphs)


def one_node() -> tuple[Graph, Any]:
    graph = parse("f(x: float32[2, 3]):\n y = Neg(x)\n return y=y")
    return graph, graph.outputs[0].node


def test_verify_finds_what_is_wrong() -> None:
    def refused(graph: Graph, words: str) -> None:
        with pytest.raises(InvalidArgumentError, match=words):
            verify(graph)

    graph, node = one_node()
    node.outputs[0].spec = TensorSpec([7])
    refused(graph, r"output 0 has shape \[7\], inference says \[2, 3\]")
    graph, node = one_node()
    node.outputs[0].spec = TensorSpec([2, 3], "int32")
    refused(graph, "Neg gives")
    graph, node = one_node()
    node.attrs["T"] = TensorSpec([], "int8").dtype
    refused(graph, "Neg takes")
    graph, node = one_node()
    del node.attrs["T"]
    refused(graph, "needs attribute 'T'")
    graph, node = one_node()
    node.inputs = node.outputs
    refused(graph, "circle")
    graph, node = one_node()
    node.inputs = tuple(one_node()[0].inputs)
    refused(graph, "is no output of a node of it")
    graph, node = one_node()
    node.controls = (one_node()[1],)
    refused(graph, "waits for")
    graph, node = one_node()
    graph = replace(graph, effects=(one_node()[1],))
    refused(graph, "effect")
    graph, node = one_node()
    node.name = "x"
    refused(graph, "two nodes are named 'x'")
    graph, node = one_node()
    graph = replace(graph, output_names=("y", "z"))
    refused(graph, "names for 1 and 2")
