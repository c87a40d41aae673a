"""Graphs with TensorFlow's interface: read, built by hand, imported, and turned into functions."""

from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace.compat import v1


def dense() -> tuple[object, tf.Variable]:
    kernel = tf.Variable(tf.ones([3, 2]), name="w")

    def f(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(tf.matmul(x, kernel, transpose_b=False, name="mm"))

    return tf.function(f).get_concrete_function(tf.TensorSpec([None, 3], tf.float32)), kernel


def frozen() -> v1.GraphDef:
    """y = relu(x @ ones), as a GraphDef."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        product = tf.matmul(x, tf.constant(np.ones([3, 2], np.float32), name="kernel"), name="mm")
        tf.nn.relu(product, name="y")
    return v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())


def test_a_functions_graph_tells_its_operations() -> None:
    concrete, _ = dense()
    graph = concrete.graph
    kinds = [one.type for one in graph.get_operations()]
    assert kinds == ["Placeholder", "Placeholder", "ReadVariableOp", "MatMul", "Relu"]
    product = graph.get_operation_by_name("mm")
    assert isinstance(graph, tf.Graph)
    assert isinstance(product, tf.Operation)
    assert [one.name for one in product.inputs] == ["x:0", "ReadVariableOp:0"]
    assert product.outputs[0] is graph.get_tensor_by_name("mm:0")
    assert [one.type for one in product.outputs[0].consumers()] == ["Relu"]
    assert product.outputs[0].op == product
    assert product.outputs[0].value_index == 0
    assert product.graph is graph
    assert concrete.captured_inputs[0].dtype is tf.resource
    assert [arg.name for arg in concrete.function_def.signature.input_arg] == ["x", "w_resource"]


def test_attributes_are_told_as_tensorflow_tells_them() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4, 4, 1], name="x")
        y = tf.nn.conv2d(x, np.ones([2, 2, 1, 1], np.float32), [1, 2, 2, 1], "SAME", name="conv")
        tf.cond(tf.reduce_sum(y) > 0, lambda: y, lambda: -y, name="choice")
    place, conv = (graph.get_operation_by_name(name) for name in ("x", "conv"))
    assert place.get_attr("dtype") is tf.float32
    assert [dim.size for dim in place.get_attr("shape").dim] == [-1, 4, 4, 1]
    assert list(conv.get_attr("strides")) == [1, 2, 2, 1]
    assert conv.get_attr("padding") == b"SAME"
    assert conv.get_attr("data_format") == b"NHWC"  # a default
    assert conv.get_attr("use_cudnn_on_gpu") is True
    choice = graph.get_operation_by_name("choice")
    assert choice.get_attr("Tout") == [tf.float32]
    assert choice.get_attr("then_branch").name
    constant = next(one for one in graph.get_operations() if one.type == "Const")
    assert tf.make_ndarray(constant.get_attr("value")).shape == (2, 2, 1, 1)
    assert {one.name for one in conv.op_def.attr} >= {"T", "strides", "padding"}
    with pytest.raises(ValueError, match="'conv' has no attr named 'nothing'"):
        conv.get_attr("nothing")


@pytest.mark.parametrize(
    ("ask", "error", "text"),
    [
        (lambda g: g.get_operation_by_name("nope"), KeyError, "not in the graph"),
        (lambda g: g.get_operation_by_name("x:0"), ValueError, "refer to a Tensor, not a Operat"),
        (lambda g: g.get_tensor_by_name("nope:0"), KeyError, "does not exist in the graph"),
        (lambda g: g.get_tensor_by_name("x:4"), KeyError, "only has 1 outputs"),
        (lambda g: g.get_tensor_by_name("x"), ValueError, "refers to an Operation, not a Tensor"),
        (lambda g: g.get_tensor_by_name(3), TypeError, "Tensor names are strings"),
        (lambda g: g.get_operations()[0].run(), tf.errors.UnimplementedError, "no sessions"),
    ],
)
def test_a_wrong_name_is_an_error_that_says_which(
    ask: object, error: type[Exception], text: str
) -> None:
    concrete, _ = dense()
    with pytest.raises(error, match=text):
        ask(concrete.graph)


def test_a_message_tells_shapes_when_asked() -> None:
    concrete, _ = dense()
    plain, shaped = (concrete.graph.as_graph_def(add_shapes=wanted) for wanted in (False, True))
    assert all("_output_shapes" not in node.attr for node in plain.node)
    assert all("_output_shapes" in node.attr for node in shaped.node)
    assert "transpose_a" in next(node for node in plain.node if node.name == "mm").attr


def test_a_graph_is_the_default_one_until_it_is_finalized() -> None:
    with tf.Graph().as_default() as graph:
        assert v1.get_default_graph() is graph
        assert not tf.executing_eagerly()
        one = tf.constant(1.0, name="one")
        graph.add_to_collection("kept", one)
    assert one.graph is graph
    assert (graph.collections, graph.get_collection("kept")) == (["kept"], [one])
    graph.finalize()
    with graph.as_default(), pytest.raises(RuntimeError, match="finalized"):
        tf.constant(2.0)
    with graph.as_default(), pytest.raises(AssertionError):
        v1.reset_default_graph()


def test_variables_and_sessions_are_refused_by_name() -> None:
    kernel = tf.Variable(1.0)
    with tf.Graph().as_default(), pytest.raises(tf.errors.UnimplementedError, match="no sessions"):
        tf.identity(kernel)
    with pytest.raises(tf.errors.UnimplementedError, match="wrap_function"):
        v1.Session()


def test_a_frozen_graph_becomes_a_function() -> None:
    message = frozen()
    wrapped = v1.wrap_function(lambda: v1.import_graph_def(message, name=""), [])
    x = np.array([[1, 2, 3], [-1, -2, -3]], np.float32)
    expected = np.maximum(x @ np.ones([3, 2], np.float32), 0)
    both = wrapped.prune(["x:0"], ["y:0", "mm"])
    np.testing.assert_array_equal(both(tf.constant(x))[0], expected)
    assert both(tf.constant(x))[1] is None
    one = wrapped.prune("x:0", {"y": wrapped.graph.get_tensor_by_name("y:0")})
    np.testing.assert_array_equal(one(x=tf.constant(x))["y"], expected)
    inside = wrapped.prune("mm:0", "y:0")  # an input in the middle of the graph
    np.testing.assert_array_equal(inside(tf.constant([[-1.0, 2.0]])), [[0, 2]])
    with pytest.raises(ValueError, match="placeholder 'x'"):
        wrapped.prune([], "y:0")
    with pytest.raises(KeyError):
        wrapped.prune("nope:0", "y:0")


def test_a_pruned_function_has_the_variables_it_needs_and_their_gradients() -> None:
    kernel, other = tf.Variable(2.0), tf.Variable(5.0)
    wrapped = v1.wrap_function(
        lambda x: (x * kernel, x + other), [tf.TensorSpec([], tf.float32, "x")]
    )
    pruned = wrapped.prune("x:0", wrapped.outputs[0])
    assert len(pruned.captured_inputs) == 1
    with tf.GradientTape() as tape:
        y = pruned(tf.constant(3.0))
    assert (float(y), float(tape.gradient(y, kernel))) == (6.0, 3.0)
    kernel.assign(4.0)
    assert float(pruned(tf.constant(3.0))) == 12.0


def test_import_maps_inputs_returns_elements_and_prefixes_names() -> None:
    message = frozen()
    with tf.Graph().as_default() as graph:
        x = tf.constant(np.ones([1, 3], np.float32))
        y, product = tf.import_graph_def(message, {"x:0": x}, ["y:0", "mm"])
        tf.import_graph_def(message)
        tf.import_graph_def(message, name="a/b")
    assert (y.name, product.name) == ("import/y:0", "import/mm")
    assert product.inputs[0] is x
    names = [one.name for one in graph.get_operations()]
    assert {"import_1/y", "a/b/y"} <= set(names)

    @tf.function
    def twice(x: tf.Tensor) -> tf.Tensor:
        (y,) = tf.graph_util.import_graph_def(message, {"x": x}, ["y:0"])
        return y * 2

    np.testing.assert_array_equal(twice(tf.constant([[1.0, 2.0, 3.0]])), [[12, 12]])
    with graph.as_default():
        with pytest.raises(ValueError, match="return node 'zz' not found"):
            tf.import_graph_def(message, return_elements=["zz"])
        with pytest.raises(ValueError, match=r"not found in graph_def: \[zz:0\]"):
            tf.import_graph_def(message, {"zz:0": x})
        with pytest.raises(TypeError, match="GraphDef proto"):
            tf.import_graph_def("a file")


def test_graphs_are_written_and_cut(tmp_path: Path) -> None:
    message = frozen()
    binary = tf.io.write_graph(message, tmp_path, "g.pb", as_text=False)
    assert v1.GraphDef.FromString(Path(binary).read_bytes()) == message
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(message, name="")
    text = Path(tf.io.write_graph(graph, tmp_path / "new", "g.pbtxt")).read_text()
    assert 'name: "mm"' in text
    again = tf.saved_model.load_frozen_graph(binary)
    assert float(again(x=np.ones([1, 3], np.float32))["y"][0, 0]) == 3
    part = v1.graph_util.extract_sub_graph(message, ["mm"])
    assert [node.name for node in part.node] == ["x", "kernel", "mm"]
    with pytest.raises(AssertionError, match="nope is not in graph"):
        v1.graph_util.extract_sub_graph(message, ["nope"])
