"""Switch, Merge and frames of TensorFlow 1 become If and While.

`tests/unit/saved_model/test_golden.py` tests whole models of TensorFlow; here are forms of graphs
that TensorFlow does not write, and invalid graphs.
"""

from typing import Any

import numpy as np
import pytest

from pinnace.engine.build import plan_of
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.attrs import encode_attr
from pinnace.graph.codec.graphs import decode_graph
from pinnace.proto.graph_pb2 import GraphDef

BOOL, FLOAT, INT = dtypes.bool, dtypes.float32, dtypes.int32


def graph_of(*nodes: tuple[Any, ...]) -> GraphDef:
    """A graph from nodes (op, name, inputs, attributes)."""
    message = GraphDef()
    for op, name, inputs, *attrs in nodes:
        node = message.node.add(op=op, name=name, input=inputs)
        for key, value in (attrs[0] if attrs else {}).items():
            node.attr[key].CopyFrom(encode_attr(value))
    return message


def constant(name: str, value: Any, *controls: str) -> tuple[Any, ...]:
    array = np.asarray(value)
    kind = {"f": FLOAT, "i": INT, "b": BOOL}[array.dtype.kind]
    array = array.astype(kind.numpy)
    return "Const", name, [f"^{one}" for one in controls], {"dtype": kind, "value": array}


def node(op: str, name: str, *inputs: str, kind: Any = FLOAT, **attrs: Any) -> tuple[Any, ...]:
    return op, name, list(inputs), {"T": kind, **attrs}


P = ("p:0", "p", TensorSpec([], BOOL))
Q = ("q:0", "q", TensorSpec([], BOOL))
X = ("x:0", "x", TensorSpec([None], FLOAT))
ASKED = [
    ("Placeholder", "p", [], {"dtype": BOOL}),
    ("Placeholder", "q", [], {"dtype": BOOL}),
    ("Placeholder", "x", [], {"dtype": FLOAT}),
]


def run(message: GraphDef, outputs: list[str], **feeds: Any) -> list[Any]:
    inputs = [one for one in (P, Q, X) if one[1] in feeds]
    graph = decode_graph(message, "the file", outputs, inputs=inputs)
    arrays = [np.asarray(feeds[name]) for _, name, _ in inputs]
    return [found.tolist() for found in plan_of(graph)(arrays)]


def both_ways(message: GraphDef, output: str, **feeds: Any) -> list[Any]:
    return [run(message, [output], p=np.bool_(p), **feeds)[0] for p in (False, True)]


ROW = np.float32([1, -2])


def test_a_merge_of_a_switch_passes_on() -> None:
    message = graph_of(
        *ASKED,
        node("Switch", "s", "x", "p"),
        node("Merge", "m", "s:1", "s", N=2),
        node("Identity", "which", "m:1", kind=INT),
    )
    assert both_ways(message, "m", x=ROW) == [[1, -2], [1, -2]]
    # Which input was alive: the first is for `true`.
    assert both_ways(message, "which", x=ROW) == [1, 0]


def test_the_condition_may_be_passed_on_and_a_side_may_be_constant() -> None:
    message = graph_of(
        *ASKED,
        node("Identity", "pred", "p", kind=BOOL),
        node("Switch", "pivot", "p", "p", kind=BOOL),
        node("Identity", "t", "pivot:1", kind=BOOL),
        node("Switch", "s", "x", "pred"),
        node("Neg", "n", "s"),
        constant("c", [7.0, 8.0], "t"),
        node("Merge", "m", "n", "c", N=2),
    )
    assert both_ways(message, "m", x=ROW) == [[-1, 2], [7, 8]]


def test_choices_that_need_one_another_are_not_one() -> None:
    """Two conditions on p with one on q between them: p, q, p in turn."""

    def choice(name: str, data: str, by: str) -> list[tuple[Any, ...]]:
        return [
            node("Switch", f"{name}/s", data, by),
            node("Neg", f"{name}/n", f"{name}/s:1"),
            node("Merge", name, f"{name}/s", f"{name}/n", N=2),
        ]

    message = graph_of(
        *ASKED,
        *choice("a", "x", "p"),
        *choice("b", "a", "q"),
        *choice("c", "b", "p"),
        *choice("d", "x", "p"),
        node("AddV2", "sum", "c", "d"),
    )
    for p in (False, True):
        for q in (False, True):
            sign = (-1 if q else 1) + (-1 if p else 1)
            found = run(message, ["sum"], p=np.bool_(p), q=np.bool_(q), x=ROW)[0]
            assert found == (ROW * sign).tolist()


def test_results_of_one_choice_are_one_node() -> None:
    message = graph_of(
        *ASKED,
        node("Switch", "s", "x", "p"),
        node("Neg", "n", "s:1"),
        node("Merge", "a", "s", "n", N=2),
        node("Exp", "e", "s:1"),
        node("Merge", "b", "s", "e", N=2),
    )
    graph = decode_graph(message, "the file", ["a", "b"], inputs=[P, X])
    assert [one.op.name for one in graph.nodes].count("StatelessIf") == 1


def loop(limit: str, *step: tuple[Any, ...], invariant: str = "one") -> list[tuple[Any, ...]]:
    enter = {"frame_name": "frame"}
    return [
        constant("zero", 0),
        constant("one", 1),
        constant("limit", 3),
        node("Enter", "e", "zero", kind=INT, **enter),
        node("Enter", "e/one", invariant, kind=INT, is_constant=True, **enter),
        node("Enter", "e/limit", limit, kind=INT, is_constant=True, **enter),
        node("Merge", "m", "e", "again", kind=INT, N=2),
        node("Less", "less", "m", "e/limit", kind=INT),
        ("LoopCond", "test", ["less"]),
        node("Switch", "s", "m", "test", kind=INT),
        *step,
        node("AddV2", "more", "s:1", "e/one", kind=INT),
        node("NextIteration", "again", "more", kind=INT),
        node("Exit", "out", "s", kind=INT),
    ]


def test_a_loop_runs() -> None:
    assert run(graph_of(*loop("limit")), ["out"]) == [3]


def test_what_a_loop_takes_may_be_fed() -> None:
    graph = decode_graph(
        graph_of(*loop("limit")), "the file", ["out"], inputs=[("limit", "n", TensorSpec([], INT))]
    )
    assert plan_of(graph)([np.int32(11)])[0] == 11


def test_a_loop_in_a_side_of_a_choice() -> None:
    message = graph_of(
        *ASKED,
        constant("bound", 5),
        node("Switch", "bound/s", "bound", "p", kind=INT),
        *loop("bound/s:1"),
        node("Merge", "m2", "bound/s", "out", kind=INT, N=2),
        node("Neg", "n", "m2", kind=INT),
    )
    assert both_ways(message, "n") == [-5, -5]


def test_a_dead_value_cannot_be_asked_for() -> None:
    message = graph_of(*ASKED, node("Switch", "s", "x", "p"), node("Neg", "n", "s"))
    with pytest.raises(UnimplementedError, match="node 's': a Switch cannot be requested"):
        run(message, ["n"], p=np.bool_(True), x=ROW)


def test_a_merge_of_two_conditions_is_refused() -> None:
    message = graph_of(
        *ASKED,
        node("Switch", "s", "x", "p"),
        node("Switch", "t", "x", "q"),
        node("Merge", "m", "s", "t:1", N=2),
    )
    with pytest.raises(UnimplementedError, match="does not join the two sides of one Switch"):
        run(message, ["m"], p=np.bool_(True), q=np.bool_(True), x=ROW)


def test_a_loop_that_changes_the_dtype_is_refused() -> None:
    nodes = [one for one in loop("limit") if one[1] != "again"]
    message = graph_of(
        *nodes,
        ("Cast", "cast", ["more"], {"SrcT": INT, "DstT": FLOAT}),
        node("NextIteration", "again", "cast"),
    )
    with pytest.raises(InvalidArgumentError, match="is int32, but the body gives float32"):
        run(message, ["out"])


def test_an_exit_of_no_loop_is_refused() -> None:
    message = graph_of(*ASKED, node("Exit", "out", "x"))
    with pytest.raises(UnimplementedError, match="input 0 of this Exit of a loop must be a Switch"):
        run(message, ["out"], x=ROW)


def test_many_choices_in_sequence_are_no_deep_recursion() -> None:
    nodes = list(ASKED)
    before = "x"
    for k in range(400):
        nodes += [
            node("Switch", f"s{k}", before, "p" if k % 2 else "q"),
            node("Neg", f"n{k}", f"s{k}:1"),
            node("Merge", f"m{k}", f"s{k}", f"n{k}", N=2),
        ]
        before = f"m{k}"
    assert run(graph_of(*nodes), [before], p=np.bool_(True), q=np.bool_(False), x=ROW) == [[1, -2]]


def test_a_loop_whose_variable_is_none_is_refused() -> None:
    nodes = [one for one in loop("limit") if one[1] != "m"]
    message = graph_of(*nodes, node("Merge", "m", "e", "e", kind=INT, N=2))
    with pytest.raises(UnimplementedError, match="does not join an Enter and a NextIteration"):
        run(message, ["out"])
