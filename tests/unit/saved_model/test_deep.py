"""Deeply nested models work, or raise one error that says so, never Python's RecursionError."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pinnace as tf
from pinnace.framework.errors import DataLossError, InvalidArgumentError, OpError
from pinnace.proto.function_pb2 import FunctionDef
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.proto.types_pb2 import DT_BOOL, DT_FLOAT
from support.changed_models import write_changed

FUNCTIONS = 100  # calls nested in one another


class OneMore(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, "x")])
    def more(self, x: tf.Tensor) -> tf.Tensor:
        return x + 1.0


def call(op: str) -> Callable[[FunctionDef, str, str], str]:
    def add(body: FunctionDef, x: str, callee: str) -> str:
        node = body.node_def.add(name="call", op=op, input=[x])
        node.attr["Tin"].list.type.append(DT_FLOAT)
        node.attr["Tout"].list.type.append(DT_FLOAT)
        node.attr["f"].func.name = callee
        return "call:output:0"

    return add


def branch(op: str) -> Callable[[FunctionDef, str, str], str]:
    """Both branches of a condition call the callee."""

    def add(body: FunctionDef, x: str, callee: str) -> str:
        zero = body.node_def.add(name="zero", op="Const")
        zero.attr["dtype"].type = DT_FLOAT
        zero.attr["value"].tensor.dtype = DT_FLOAT
        zero.attr["value"].tensor.tensor_shape.SetInParent()
        zero.attr["value"].tensor.float_val.append(0)
        less = body.node_def.add(name="less", op="Less", input=["zero:output:0", x])
        less.attr["T"].type = DT_FLOAT
        node = body.node_def.add(name="call", op=op, input=["less:z:0", x])
        node.attr["Tcond"].type = DT_BOOL
        node.attr["Tin"].list.type.append(DT_FLOAT)
        node.attr["Tout"].list.type.append(DT_FLOAT)
        node.attr["then_branch"].func.name = callee
        node.attr["else_branch"].func.name = callee
        return "call:output:0"

    return add


def nested(folder: Path, depth: int, add: Callable[[FunctionDef, str, str], str]) -> Path:
    """A model whose `more` reaches a computation through `depth` functions, including itself."""
    tf.saved_model.save(OneMore(), folder)
    file = folder / "saved_model.pb"
    message = SavedModel.FromString(file.read_bytes())
    functions = message.meta_graphs[0].graph_def.library.function
    (outer,) = [one for one in functions if "signature_wrapper" not in one.signature.name]
    whole = FunctionDef()
    whole.CopyFrom(outer)
    (argument,), (result,) = whole.signature.input_arg, whole.signature.output_arg
    for level in range(1, depth):
        body = outer if level == 1 else functions.add()
        name = outer.signature.name if level == 1 else f"level_{level}"
        body.CopyFrom(whole)
        body.signature.name = name
        body.ClearField("node_def")
        body.ret[result.name] = add(body, argument.name, f"level_{level + 1}")
    inner = functions.add()
    inner.CopyFrom(whole)
    inner.signature.name = f"level_{depth}"
    write_changed(file, message)
    return folder


WAYS: dict[str, Any] = {
    "call": call("PartitionedCall"),
    "stateful call": call("StatefulPartitionedCall"),
    "condition": branch("StatelessIf"),
}


@pytest.mark.parametrize("way", ["call", "stateful call"])
@pytest.mark.parametrize("depth", [2, 19, 20, 21, 22, 60, FUNCTIONS - 1])
def test_calls_inside_of_calls_work(tmp_path: Path, way: str, depth: int) -> None:
    loaded = tf.saved_model.load(nested(tmp_path, depth, WAYS[way]))
    assert float(loaded.more(tf.constant(1.0))) == 2.0
    # The wrapper of a signature adds one.
    assert float(loaded.signatures["serving_default"](x=tf.constant(1.0))["output_0"]) == 2.0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("depth", [FUNCTIONS + 1, 300, 3000])
def test_more_calls_inside_of_calls_are_one_error(tmp_path: Path, way: str, depth: int) -> None:
    loaded = tf.saved_model.load(nested(tmp_path, depth, WAYS[way]))
    for use in (loaded.more, lambda x: loaded.signatures["serving_default"](x=x)):
        with pytest.raises(InvalidArgumentError, match="more than 100 functions call one") as said:
            use(tf.constant(1.0))
        assert str(tmp_path) in str(said.value)
        assert len(str(said.value)) < 1000


@pytest.mark.parametrize("depth", [30, 300])
def test_a_circle_below_deep_calls_is_one_error(tmp_path: Path, depth: int) -> None:
    model = nested(tmp_path, depth, WAYS["call"])
    file = model / "saved_model.pb"
    message = SavedModel.FromString(file.read_bytes())
    for one in message.meta_graphs[0].graph_def.library.function:
        if one.signature.name == "level_29":
            one.node_def[0].attr["f"].func.name = "level_25"
    write_changed(file, message)
    with pytest.raises(InvalidArgumentError, match="calls itself: recursion is not possible"):
        tf.saved_model.load(model).more(tf.constant(1.0))


@pytest.mark.parametrize("depth", [2, 10, 20, 40])
def test_conditions_inside_of_conditions_work_or_say_why(tmp_path: Path, depth: int) -> None:
    loaded = tf.saved_model.load(nested(tmp_path, depth, WAYS["condition"]))
    try:
        assert float(loaded.more(tf.constant(1.0))) == 2.0
    except OpError as error:
        assert "functions" in str(error)  # noqa: PT017
        assert depth > 30


@pytest.mark.parametrize("depth", [30, 300, 3000])
def test_objects_inside_of_objects(tmp_path: Path, depth: int) -> None:
    root = inner = tf.Module()
    for _ in range(depth):
        inner.inner = tf.Module()
        inner = inner.inner
    inner.v = tf.Variable(3.0)
    tf.saved_model.save(root, tmp_path)
    found = tf.saved_model.load(tmp_path)
    for _ in range(depth):
        found = found.inner
    assert float(found.v) == 3.0


class Deep(tf.Module):
    @tf.function
    def first(self, x: Any) -> Any:
        return tf.nest.flatten(x)[0] * 2.0


def in_lists(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def in_dicts(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = {"key": value}
    return value


@pytest.mark.parametrize(("wrap", "depth"), [(in_lists, 10), (in_lists, 40), (in_dicts, 25)])
def test_structures_inside_of_structures_work(tmp_path: Path, wrap: Any, depth: int) -> None:
    model = Deep()
    model.first.get_concrete_function(wrap(tf.TensorSpec([], tf.float32), depth))
    tf.saved_model.save(model, tmp_path / "model")
    loaded = tf.saved_model.load(tmp_path / "model")
    assert float(loaded.first(wrap(tf.constant(2.0), depth))) == 4.0


@pytest.mark.parametrize(("wrap", "depth"), [(in_lists, 50), (in_lists, 90), (in_dicts, 40)])
def test_what_could_not_be_read_again_is_not_saved(tmp_path: Path, wrap: Any, depth: int) -> None:
    tf.saved_model.save(OneMore(), tmp_path / "model")
    model = Deep()
    model.first.get_concrete_function(wrap(tf.TensorSpec([], tf.float32), depth))
    with pytest.raises(InvalidArgumentError, match="nested too deep for the format"):
        tf.saved_model.save(model, tmp_path / "model")
    assert float(tf.saved_model.load(tmp_path / "model").more(tf.constant(1.0))) == 2.0


def test_a_file_nested_too_deep_says_so(tmp_path: Path) -> None:
    tf.saved_model.save(OneMore(), tmp_path)
    file = tmp_path / "saved_model.pb"
    message = SavedModel.FromString(file.read_bytes())
    (function, *_) = message.meta_graphs[0].object_graph_def.concrete_functions.values()
    inner = function.output_signature
    for _ in range(90):
        inner = inner.list_value.values.add()
    inner.none_value.SetInParent()
    write_changed(file, message)
    with pytest.raises(DataLossError, match="nested deeper than the format allows"):
        tf.saved_model.load(tmp_path)
