"""Encoding and decoding of functions and graphs, in TensorFlow's format."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnace.engine.build import plan_of
from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError, OpError, UnimplementedError
from pinnace.framework.specs import TensorSpec, parse
from pinnace.framework.variable import Variable
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.function import function
from pinnace.graph.codec.attrs import encode_attr
from pinnace.graph.codec.encoding import (
    FunctionNames,
    encode_function,
    encode_graph,
    encode_library,
)
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.codec.graphs import decode_graph
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.graph.graph import Graph, GraphBuilder
from pinnace.graph.walk import ordered
from pinnace.ops import registry
from pinnace.ops.array import constants
from pinnace.ops.math import arithmetic, exponents, products, reduction
from pinnace.proto.attr_value_pb2 import AttrValue
from pinnace.proto.function_pb2 import FunctionDef
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.proto.node_def_pb2 import NodeDef
from pinnace.proto.op_def_pb2 import OpDef as OpDefMessage
from pinnace.proto.saved_model_pb2 import SavedModel

GOLDEN = Path(__file__).parents[2] / "golden" / "saved_models"
MODELS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def traced(body: Any, *specs: str) -> ConcreteFunction:
    found: ConcreteFunction = function(body).get_concrete_function(*map(parse, specs))
    return found


def through_bytes(concrete: ConcreteFunction) -> Graph:
    """The graph after writing and reading, with all called functions."""
    names = FunctionNames()
    messages = encode_library([concrete.graph], names)
    data = [FunctionDef.FromString(message.SerializeToString()) for message in messages]
    return FunctionLibrary(data, "the file").graph(names.of(concrete.graph))


def run(graph: Graph, *arrays: Any) -> list[Any]:
    return [np.asarray(array) for array in plan_of(graph)([np.asarray(a) for a in arrays])]


def definition(text: str) -> FunctionDef:
    """A function of one float32 argument x and one result y, from `node = Op(inputs)` lines."""
    message = FunctionDef()
    message.signature.name = "f"
    message.signature.input_arg.add(name="x", type=1)
    message.signature.output_arg.add(name="y", type=1)
    for line in text.strip().splitlines():
        left, _, right = line.strip().partition(" = ")
        op, _, rest = right.partition("(")
        if left == "return":
            message.ret["y"] = right
            continue
        node = message.node_def.add(name=left, op=op)
        node.input.extend(one.strip() for one in rest.rstrip(")").split(",") if one.strip())
        if op not in ("NoOp",):
            node.attr["T"].type = 1  # type: ignore[assignment]
    return message


def test_inside_a_function_an_output_has_the_name_of_the_op_argument() -> None:
    message = encode_function(
        traced(
            lambda x, w: exponents.exp(products.matmul(x, w)), "float32[?, 3]", "float32[3, 2]"
        ).graph,
        "f",
    )
    by_op = {node.op: node for node in message.node_def}
    assert list(by_op["MatMul"].input) == ["x", "w"]
    assert list(by_op["Exp"].input) == [f"{by_op['MatMul'].name}:product:0"]
    assert next(iter(message.ret.values())).endswith(":y:0")


def test_names_of_arguments_are_legal_and_the_users_name_is_kept() -> None:
    def f(X: Any, _1y: Any) -> Any:  # noqa: N803
        return arithmetic.add(X, _1y, name="x")

    message = encode_function(traced(f, "float32[]", "float32[]").graph, "f")
    assert [arg.name for arg in message.signature.input_arg] == ["x_1", "arg_1y"]
    assert message.arg_attr[0].attr["_user_specified_name"].s == b"X"
    assert [node.name for node in message.node_def] == ["x"]


def test_a_default_is_left_out_and_comes_back() -> None:
    concrete = traced(lambda x: products.matmul(x, x, transpose_b=True), "float32[2, 2]")
    message = encode_function(concrete.graph, "f")
    (node,) = message.node_def
    assert set(node.attr) == {"T", "transpose_b", "_output_shapes"}
    (back,) = [n for n in through_bytes(concrete).nodes if n.op.name == "MatMul"]
    assert back.attrs["transpose_a"] is False
    assert back.attrs["transpose_b"] is True


def test_effects_are_named_in_control_ret_and_order_stays() -> None:
    variable = Variable(1.0)

    def f(x: Any) -> Any:
        variable.assign_add(x)
        doubled = variable.read_value() * 2.0
        variable.assign(doubled)
        return variable.read_value()

    concrete = traced(f, "float32[]")
    message = encode_function(concrete.graph, "f")
    written = [n.name for n in message.node_def if n.op.startswith("Assign")]
    assert set(message.control_ret) == set(written) == set(message.signature.control_output)
    assert message.signature.is_stateful
    assert message.signature.input_arg[1].handle_data[0].dtype == dtypes.float32.enum
    assert run(through_bytes(concrete), 2.0, variable.handle._array) == [6.0]
    assert float(variable) == 6.0


def test_an_effect_that_only_a_no_op_waits_for_happens() -> None:
    variable = Variable(0.0)
    message = definition(
        """
        read = ReadVariableOp(v, ^done)
        done = NoOp(^assign)
        assign = AssignVariableOp(v, x)
        return = x
        """
    )
    message.signature.input_arg.add(name="v", type=dtypes.resource.enum)
    for node in message.node_def:
        node.attr["dtype"].type = 1  # type: ignore[assignment]
    message.control_ret["done"] = "done"
    graph = FunctionLibrary([message], "the file").graph("f")
    run(graph, np.float32(3), variable.handle._array)
    assert float(variable) == 3.0


def test_a_called_function_is_written_once_and_found_again() -> None:
    square = function(lambda x: x * x)
    concrete = traced(lambda x: square(x) + square(x + 1.0), "float32[]")
    names = FunctionNames()
    assert len(encode_library([concrete.graph], names)) == 2
    assert run(through_bytes(concrete), np.float32(2)) == [13.0]


def test_two_functions_of_one_name_get_two_names() -> None:
    names = FunctionNames("")
    first, second = GraphBuilder("f").finish(), GraphBuilder("f").finish()
    assert (names.of(first), names.of(second), names.of(first)) == ("f", "f_1", "f")


def test_a_node_may_have_a_function_as_its_op() -> None:
    inner = definition("neg = Neg(x)\nreturn = neg:y:0")
    inner.signature.name = "negated"
    outer = definition("call = negated(x)\nreturn = call:y:0")
    graph = FunctionLibrary([inner, outer], "the file").graph("f")
    assert run(graph, np.float32(2)) == [-2.0]


def test_an_unknown_op_is_kept_and_only_fails_when_it_runs() -> None:
    message = definition("odd = Frobnicate(x)\nn = Neg(odd:result:1)\nreturn = n:y:0")
    message.node_def[0].attr["level"].i = 3
    graph = FunctionLibrary([message], "the file").graph("f")
    with pytest.raises(UnimplementedError, match="Frobnicate"):
        plan_of(graph)
    again = encode_function(graph, "f")
    (node,) = [n for n in again.node_def if n.op == "Frobnicate"]
    assert node.attr["level"].i == 3
    assert set(node.attr) == {"T", "level", "_output_shapes"}
    assert [list(n.input) for n in again.node_def if n.op == "Neg"] == [["odd:result:1"]]


def test_an_unknown_op_is_as_the_file_defines_it() -> None:
    op = OpDefMessage(name="Frobnicate", is_stateful=True)
    op.attr.add(name="N", type="int")
    op.attr.add(name="T", type="type")
    op.attr.add(name="depth", type="int").default_value.i = 7
    op.input_arg.add(name="values", number_attr="N", type_attr="T")
    op.output_arg.add(name="parts", number_attr="N", type_attr="T")
    message = definition("odd = Frobnicate(x, x)\nreturn = odd:parts:1")
    message.node_def[0].attr["N"].i = 2
    graph = FunctionLibrary([message], "the file", [op]).graph("f")
    (node,) = [n for n in graph.nodes if n.op.name == "Frobnicate"]
    assert node.attrs["depth"] == 7
    assert [value.dtype for value in node.outputs] == [dtypes.float32] * 2
    assert node.op.stateful


def test_what_a_node_leaves_out_is_the_default_of_the_file() -> None:
    op = OpDefMessage(name="Frobnicate")
    op.attr.add(name="N", type="int").default_value.i = 2
    op.attr.add(name="T", type="type").default_value.type = dtypes.float32.enum
    op.attr.add(name="kinds", type="list(type)").default_value.list.type.append(dtypes.int64.enum)
    op.attr.add(name="depth", type="int").default_value.i = 7
    op.input_arg.add(name="values", number_attr="N", type_attr="T")
    op.output_arg.add(name="parts", number_attr="N", type_attr="T")
    op.output_arg.add(name="rest", type_list_attr="kinds")
    message = definition("odd = Frobnicate(x, x)\nreturn = odd:parts:1")
    del message.node_def[0].attr["T"]
    graph = FunctionLibrary([message], "the file", [op]).graph("f")
    (node,) = [n for n in graph.nodes if n.op.name == "Frobnicate"]
    assert node.attrs == {"N": 2, "T": dtypes.float32, "kinds": (dtypes.int64,), "depth": 7}
    assert [v.dtype for v in node.outputs] == [dtypes.float32, dtypes.float32, dtypes.int64]


def test_a_known_op_takes_defaults_that_only_the_file_has() -> None:
    op = OpDefMessage(name="Cast")
    op.attr.add(name="SrcT", type="type")
    op.attr.add(name="DstT", type="type").default_value.type = dtypes.int32.enum
    message = definition("n = Cast(x)\nreturn = n:y:0")
    message.signature.output_arg[0].type = dtypes.int32.enum  # type: ignore[assignment]  # the stubs want the enum's own int
    message.node_def[0].attr["SrcT"].type = dtypes.float32.enum  # type: ignore[assignment]  # as above
    graph = FunctionLibrary([message], "the file", [op]).graph("f")
    assert graph.outputs[0].dtype is dtypes.int32


BROKEN = {
    "n = Neg(y)\nreturn = n:y:0": "takes 'y'",
    "n = Neg(z:y:0)\nreturn = n:y:0": "input 'z:y:0' of node 'n' does not exist",
    "n = Neg(x)\nreturn = n:z:0": "has the outputs y:0",
    "n = Neg(x)\nreturn = n:y:1": "has the outputs y:0",
    "n = Neg(x)\nreturn = n:0": "is not of the form",
    "n = Neg(x:y:0)\nreturn = n:y:0": "an argument is one tensor",
    "n = Neg(m:y:0)\nm = Neg(n:y:0)\nreturn = n:y:0": "circle through node",
    "n = Neg(x, x)\nreturn = n:y:0": "takes 1 inputs",
    "n = LogicalNot(x)\nreturn = x": "takes a bool as x, got float32",
    "n = Neg(x)\nn = Neg(x)\nreturn = n:y:0": "two nodes are named 'n'",
    "x = Neg(x)\nreturn = x:y:0": "'x' is an argument and a node",
    "n = Cast(x)\nreturn = x": "needs attribute",
    "n = Neg(x)": "nothing computes result 'y'",
    "n = PartitionedCall(x)\nreturn = x": "attribute 'f' is required",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_function_that_cannot_be_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        FunctionLibrary([definition(text)], "the file").graph("f")
    assert str(caught.value).startswith("the file: function 'f'")
    assert BROKEN[text] in str(caught.value)


def test_an_attribute_of_the_wrong_kind_names_its_place() -> None:
    message = definition("n = Neg(x)\nreturn = n:y:0")
    message.node_def[0].attr["T"].CopyFrom(AttrValue(i=1))
    with pytest.raises(InvalidArgumentError, match="node 'n', attribute 'T' must be of kind type"):
        FunctionLibrary([message], "the file").graph("f")


def test_a_call_must_fit_the_function() -> None:
    inner = definition("neg = Neg(x)\nreturn = neg:y:0")
    inner.signature.name = "g"
    message = definition("n = PartitionedCall(x)\nreturn = x")
    attrs = message.node_def[0].attr
    attrs["f"].func.name = "g"
    attrs["Tin"].list.type.append(1)
    attrs["Tout"].list.type.extend([1, 3])
    with pytest.raises(InvalidArgumentError, match=r"'g' gives \['float32'\], the call has"):
        FunctionLibrary([message, inner], "the file").graph("f")


def test_a_call_of_a_missing_function_names_it() -> None:
    message = definition("n = PartitionedCall(x)\nreturn = x")
    message.node_def[0].attr["f"].func.name = "g"
    with pytest.raises(InvalidArgumentError, match="there is no function 'g'"):
        FunctionLibrary([message], "the file").graph("f")


def test_a_function_that_calls_itself_is_refused() -> None:
    message = definition("n = f(x)\nreturn = n:y:0")
    graph = FunctionLibrary([message], "the file")
    with pytest.raises(InvalidArgumentError, match="calls itself"):
        graph.graph("f")


def test_a_huge_count_is_refused_before_anything_is_made() -> None:
    message = definition("n = Unpack(x)\nreturn = n:output:0")
    message.node_def[0].attr["num"].i = 1 << 40
    with pytest.raises(InvalidArgumentError, match="attribute 'num': must be from 0 to"):
        FunctionLibrary([message], "the file").graph("f")


def test_a_main_graph_comes_back() -> None:
    concrete = traced(lambda x: reduction.reduce_sum(exponents.exp(x)), "float32[?]")
    message = GraphDef.FromString(encode_graph(concrete.graph).SerializeToString())
    output = next(node for node in message.node if node.op == "Sum")
    graph = decode_graph(
        message, "the file", [f"{output.name}:0"], inputs=[("x:0", "x", TensorSpec([None]))]
    )
    assert run(graph, np.zeros(3, np.float32)) == [3.0]


def test_any_tensor_of_a_main_graph_can_be_fed() -> None:
    message = GraphDef()
    message.node.add(name="a", op="Nowhere")
    node = message.node.add(name="b", op="Neg", input=["a:2"])
    node.attr["T"].type = 1  # type: ignore[assignment]
    graph = decode_graph(message, "the file", ["b"], inputs=[("a:2", "a", TensorSpec([]))])
    assert run(graph, np.float32(1)) == [-1.0]


def test_a_loop_without_an_end_is_refused_as_such() -> None:
    message = GraphDef()
    message.node.add(name="m", op="Merge", input=["n"])
    message.node.add(name="n", op="NextIteration", input=["m"])
    with pytest.raises(InvalidArgumentError, match="a circle through node 'm'"):
        decode_graph(message, "the file", ["m"])


# TensorFlow's own files.


def library(name: str) -> FunctionLibrary:
    model = SavedModel.FromString((GOLDEN / name / "model" / "saved_model.pb").read_bytes())
    (meta,) = model.meta_graphs
    ops = meta.meta_info_def.stripped_op_list.op
    return FunctionLibrary(meta.graph_def.library.function, name, ops)


@pytest.mark.parametrize("name", MODELS)
def test_functions_of_tensorflow_are_written_as_they_were_read(name: str) -> None:
    functions = library(name)
    for one in functions.names():
        graph = functions.graph(one)
        again = encode_function(graph, one, lambda called: called.name)
        own = {value.node for value in graph.inputs}
        kept = {node.name for node in ordered(graph) if node not in own}
        assert essence(again, kept) == essence(functions.message(one), kept), one


def essence(message: FunctionDef, kept: set[str]) -> Any:
    """The meaningful parts of a function: no free-form attributes, defaults or unused nodes."""
    signature = message.signature
    return (
        [
            (arg.name, arg.type, [one.SerializeToString() for one in arg.handle_data])
            for arg in signature.input_arg
        ],
        [(arg.name, arg.type) for arg in signature.output_arg],
        dict(message.ret),
        set(message.control_ret.values()) & kept,
        {node.name: node_essence(node, kept) for node in message.node_def if node.name in kept},
    )


# They only tell a device that the product belongs to a gradient.
_HINTS = {"grad_a", "grad_b", "grad_x", "grad_y"}


def node_essence(node: NodeDef, kept: set[str]) -> Any:
    op = registry.find(node.op)
    attrs = {}
    for name, value in node.attr.items():
        if (
            name in _HINTS
            or name.startswith("_")
            or (op is not None and name in op.attrs and is_default(op, name, value))
        ):
            continue
        if op is not None and name in op.type_sets and op.type_sets[name].default is not None:
            default = op.type_sets[name].default
            if default is not None and value.type == default.enum:
                continue
        if value.WhichOneof("value") == "tensor":
            array = decode_tensor(value.tensor)
            attrs[name] = (value.tensor.dtype, array.shape, array.tolist())
        else:
            attrs[name] = value.SerializeToString(deterministic=True)
    data = [text for text in node.input if text[:1] != "^"]
    # A control input from an argument has no effect.
    controls = sorted(text for text in node.input if text[:1] == "^" and text[1:] in kept)
    return node.op, data, controls, sorted(attrs.items())


def is_default(op: Any, name: str, value: AttrValue) -> bool:
    definition = op.attrs[name]
    if definition.required:
        return False
    same = encode_attr(definition.default, definition.kind)
    return bool(same == value)


@settings(max_examples=60)
@given(data=st.data())
def test_a_damaged_function_is_a_graph_or_one_error(data: st.DataObject) -> None:
    functions = library(data.draw(st.sampled_from(["poly_module", "autograph_flow", "keras_lstm"])))
    name = data.draw(st.sampled_from(functions.names()))
    content = bytearray(functions.message(name).SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    try:
        message = FunctionDef.FromString(bytes(content))
    except Exception:
        return
    others = [functions.message(one) for one in functions.names() if one != name]
    if message.signature.name in functions and message.signature.name != name:
        return
    damaged = FunctionLibrary([message, *others], "the file")
    try:
        encode_function(damaged.graph(message.signature.name), "f", lambda called: called.name)
    except OpError as error:
        assert "the file" in str(error)  # noqa: PT017 (a graph is fine too)


def test_constants_are_not_copied_for_nothing() -> None:
    big = np.arange(1 << 16, dtype=np.float32)
    concrete = traced(lambda x: x + constants.constant(big), "float32[65536]")
    (node,) = [n for n in through_bytes(concrete).nodes if n.op.name == "Const"]
    assert not node.attrs["value"].flags.owndata
    assert convert_to_tensor(node.attrs["value"]).shape == [1 << 16]
