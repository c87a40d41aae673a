"""SavedModels of JAX and Keras on JAX give their libraries' results, as other models do."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import onnx
from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.inline import inline
from pinnace.graph.walk import ordered
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.inspection import inspect
from support.changed_models import write_changed
from support.golden import golden

GOLDEN = Path(__file__).parents[3] / "golden" / "jax"
NAMES = sorted(path.name for path in GOLDEN.iterdir())


def arrays_of(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(golden(f"jax/{name}") / "io.npz") as arrays:
        content = dict(arrays)
    given = {key[3:]: value for key, value in content.items() if key.startswith("in/")}
    return given, {key[4:]: value for key, value in content.items() if key.startswith("out/")}


def asked(loaded: Any, given: dict[str, Any]) -> dict[str, Any]:
    serve = loaded.signatures["serving_default"]
    found = serve(**{key: tf.constant(value) for key, value in given.items()})
    return {key: value.numpy() for key, value in found.items()}


def check(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        assert found[key].dtype == value.dtype, key
        if value.dtype.kind == "f":
            np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-5, err_msg=key)
        else:
            np.testing.assert_array_equal(found[key], value, err_msg=key)


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_jax_also_when_saved_again(name: str, tmp_path: Path) -> None:
    given, wanted = arrays_of(name)
    loaded = tf.saved_model.load(GOLDEN / name / "model")
    tf.saved_model.save(loaded, tmp_path / "again", signatures=dict(loaded.signatures))
    check(asked(loaded, given), wanted)
    check(asked(tf.saved_model.load(tmp_path / "again"), given), wanted)
    again = SavedModel.FromString((tmp_path / "again" / "saved_model.pb").read_bytes())
    functions = again.meta_graphs[0].graph_def.library.function
    assert "XlaCallModule" not in {node.op for one in functions for node in one.node_def}
    report = inspect(GOLDEN / name / "model")
    assert (report.load_error, list(report.unsupported)) == ("", [])


def test_batches_of_any_size_are_taken() -> None:
    serve = tf.saved_model.load(GOLDEN / "jax_attention" / "model").signatures["serving_default"]
    rows = np.random.default_rng(0).standard_normal((5, 7, 6)).astype("f4")
    whole = serve(x0=tf.constant(rows))["y0"]
    assert whole.shape == [5, 7, 6]
    alone = serve(x0=tf.constant(rows[3:4]))["y0"]
    np.testing.assert_allclose(whole[3:4], alone, rtol=1e-4, atol=1e-5)


def test_a_shape_that_jax_refuses_is_refused_with_its_words() -> None:
    serve = tf.saved_model.load(GOLDEN / "jax_dynamic" / "model").signatures["serving_default"]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Expected value >= 1 for dimension variable 'b'"
    ):
        serve(x0=tf.zeros([0, 3]))


def test_layers_become_the_nodes_that_they_become_of_tensorflow(tmp_path: Path) -> None:
    report = onnx.export(GOLDEN / "jax_mlp" / "model", tmp_path / "mlp.onnx")
    assert report.op_counts["MatMul"] == 2
    assert not {"Expand", "Where", "Loop", "Einsum"} & set(report.op_counts)
    loaded = tf.saved_model.load(GOLDEN / "keras_image" / "model")
    ops: set[str] = set()
    waiting = [loaded.signatures["serving_default"].graph]
    while waiting:
        graph = waiting.pop()
        ops.update(node.op.name for node in graph.nodes)
        waiting += [ref.graph for ref in graph.functions()]
    assert {"Conv2D", "MaxPool", "DepthwiseConv2dNative", "MatMul", "Relu"} <= ops
    assert not ops & {"BroadcastTo", "GatherNd", "Einsum", "While"}


def ops_of(name: str) -> Counter[str]:
    """The number of each op in a model with calls inlined and unused nodes removed."""
    graph = tf.saved_model.load(GOLDEN / name / "model").signatures["serving_default"].graph
    return Counter(node.op.name for node in ordered(fold(inline(graph))))


def test_a_transformer_has_the_operators_of_the_same_one_of_tensorflow(tmp_path: Path) -> None:
    report = onnx.export(GOLDEN / "keras_transformer" / "model", tmp_path / "model.onnx")
    # The operators of the export of the same layers by Keras 3.15 on TensorFlow 2.21.
    wanted = {"LayerNormalization": 4, "Softmax": 2, "Erf": 2, "Div": 2, "MatMul": 16}
    wanted |= {"Add": 18, "Mul": 6, "Reshape": 8, "Transpose": 8}
    assert dict(report.op_counts) == wanted
    ops = ops_of("keras_transformer")
    # Each norm has one mean and one variance, each attention one softmax and two products.
    assert ops["Mean"] == 8
    assert ops["Softmax"] == ops["Erfc"] == 2
    assert ops["BatchMatMulV2"] == 4
    assert not {"Exp", "Max", "Sum", "SelectV2", "BroadcastTo"} & set(ops)


def test_attention_is_softmax_between_two_products() -> None:
    ops = ops_of("jax_heads")
    # The fifth has groups of heads, whose softmax and products have different row orders.
    assert (ops["Softmax"], ops["BatchMatMulV2"]) == (4, 9)
    assert (ops["Exp"], ops["Max"], ops["Sum"]) == (1, 1, 1)


def test_activations_are_one_op_each() -> None:
    ops = ops_of("jax_curves")
    for name in ("Elu", "Selu", "Softsign", "Erf", "Softmax", "LogSoftmax", "Sigmoid"):
        assert ops[name] == 1, name
    # Nested patterns, too: GELU contains erfc, Mish and log_sigmoid contain Softplus.
    assert (ops["Relu6"], ops["Softplus"], ops["Erfc"]) == (2, 2, 2)
    assert ops["LeakyRelu"] == 3
    # Lookalikes that are not replaced: a softmax over the first axis, and celu.
    assert ops["Expm1"] == 1


def test_transposed_convolutions_are_gradients_of_strided_ones() -> None:
    ops = ops_of("jax_spread")
    assert (ops["Conv2DBackpropInput"], ops["Conv3DBackpropInputV2"]) == (10, 2)
    # A strided one, and others: other padding (five), dilated kernels, groups, strides.
    assert (ops["Conv2D"], ops["Conv3D"], ops["DepthwiseConv2dNative"]) == (7, 1, 1)
    # Keras reverses the kernel, a variable, as the op does.
    ops = ops_of("keras_images")
    assert (ops["Conv2DBackpropInput"], ops["ReverseV2"], ops["Transpose"]) == (1, 0, 0)


def test_means_over_windows_are_pools() -> None:
    ops = ops_of("jax_averaged")
    assert (ops["MaxPool"], ops["MaxPool3D"], ops["AvgPool3D"]) == (4, 1, 2)
    # Other numbers, windows and padding than the sum's; counts of twos, and of computed numbers.
    assert ops["RealDiv"] == 6
    # Padding is added for three of those only, and never for a maximum.
    assert ops["PadV2"] == 3
    assert ops_of("keras_images")["AvgPool"] == 1
    assert not {"Mul", "RealDiv", "Slice", "EnsureShape"} & set(ops_of("keras_images"))


def test_rows_that_are_taken_are_gathered_by_the_numbers_themselves() -> None:
    ops = ops_of("jax_taken")
    # Each table is read once for the same ids, whatever is given for ids out of range.
    assert ops["GatherV2"] == 9
    # Ids have no axis for index vectors of length one, nor has the selection after them.
    assert not {"GatherNd", "All", "BroadcastTo"} & set(ops)


def test_norms_keep_the_axis_of_their_means() -> None:
    graph = tf.saved_model.load(GOLDEN / "jax_norms" / "model").signatures["serving_default"].graph
    nodes = ordered(fold(inline(graph)))
    kept = [node.attrs["keep_dims"] for node in nodes if node.op.name == "Mean"]
    # One mean is a result without its axis.
    assert kept.count(False) == 1
    assert kept.count(True) == 8


def loops_of(name: str) -> list[tuple[dict[str, int], list[str]]]:
    """For each loop of a model, the number of each op in its body, and its variables' dtypes."""
    found = []
    waiting = [tf.saved_model.load(GOLDEN / name / "model").signatures["serving_default"].graph]
    while waiting:
        graph = waiting.pop()
        for node in graph.nodes:
            if node.op.runs == "loop":
                body = node.attrs["body"].graph
                kinds = [value.dtype.name for value in node.inputs]
                found.append((dict(Counter(one.op.name for one in body.nodes)), kinds))
        waiting += [ref.graph for ref in graph.functions()]
    return found


def test_a_scan_reads_and_writes_rows_as_the_loops_of_tensorflow_do() -> None:
    ((body, variables),) = loops_of("jax_lstm")
    assert body["TensorListSetItem"] == variables.count("variant") == 1
    assert not {"TensorScatterUpdate", "XlaDynamicUpdateSlice", "Minimum", "Maximum"} & set(body)
    assert not {"Slice", "BroadcastTo", "Reshape"} & set(body)


def test_loops_with_several_states_have_lists_and_know_their_counters() -> None:
    loops = loops_of("jax_counted")
    lists = [variables.count("variant") for _, variables in loops]
    assert (lists.count(2), lists.count(1), lists.count(0)) == (4, 3, 5)
    clamped = [body for body, _ in loops if "GatherV2" in body or "Slice" in body]
    # Rows at indices from a tensor, of every second row, and of an inner loop's.
    assert len(clamped) == 3
    for body, variables in loops:
        assert variables.count("variant") == body.get("TensorListSetItem", 0)


def test_small_products_of_rows_are_computed_in_the_loop_that_reads_them() -> None:
    loops = [body for body, _ in loops_of("jax_projected")]
    products = [body["MatMul"] for body in loops]
    # The others are too large, narrower than the rows, changed first, or read twice.
    assert (products.count(2), products.count(1)) == (5, 8)


def test_last_rows_that_are_states_are_taken_from_those() -> None:
    loaded = tf.saved_model.load(GOLDEN / "jax_last_rows" / "model")
    plan = loaded.signatures["serving_default"].plan
    loops = [step.node for step in plan.steps if step.node.op.runs == "loop"]
    lists = [sum(value.dtype.name == "variant" for value in node.inputs) for node in loops]
    # Seven loops have no list then. The others write rows that are not last, or not a state.
    assert (lists.count(0), lists.count(1)) == (7, 10)
    # A selection by a negated condition becomes one by the condition, with swapped operands.
    assert not {"LogicalNot"} & set(ops_of("jax_last_rows"))


def test_rows_that_are_read_too_stay_tensors() -> None:
    loops = loops_of("jax_scans_of_batches")
    lists = [variables.count("variant") for _, variables in loops]
    # Scans that return pairs of rows: plain, reversed, unrolled, and of one row. Those with one,
    # and a map.
    assert lists.count(2) == 4
    assert lists.count(1) == 4
    # Tensors that are also read, and rows at other places than the counter's.
    assert lists.count(0) == 10
    for body, variables in loops:
        assert variables.count("variant") == body.get("TensorListSetItem", 0)


def test_a_gradient_goes_through_a_module() -> None:
    loaded = tf.saved_model.load(GOLDEN / "keras_dense" / "model")
    x = tf.constant(np.random.default_rng(1).standard_normal((2, 6)).astype("f4"))
    serve = loaded.signatures["serving_default"]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(serve(x=x)["output_0"][:, 0])
    found = tape.gradient(y, x).numpy()
    step, numeric = 1e-3, np.zeros((2, 6))
    for place in np.ndindex(2, 6):
        ahead = x.numpy()
        ahead[place] += step
        behind = x.numpy()
        behind[place] -= step
        ys = [
            float(tf.reduce_sum(serve(x=tf.constant(one))["output_0"][:, 0]))
            for one in (ahead, behind)
        ]
        numeric[place] = (ys[0] - ys[1]) / (2 * step)
    np.testing.assert_allclose(found, numeric, rtol=2e-2, atol=1e-3)


def changed(tmp_path: Path, name: str, old: bytes, new: bytes) -> Path:
    """A copy of a model with some bytes of its module replaced, of equal number."""
    folder = tmp_path / name
    shutil.copytree(GOLDEN / name / "model", folder)
    message = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    count = 0
    for function in message.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "XlaCallModule":
                count += node.attr["module"].s.count(old)
                node.attr["module"].s = node.attr["module"].s.replace(old, new)
    assert count, old
    write_changed(folder / "saved_model.pb", message)
    return folder


def test_a_call_of_code_from_outside_is_refused_by_its_name(tmp_path: Path) -> None:
    folder = changed(tmp_path, "jax_linear_algebra", b"lapack_spotrf_ffi", b"somebody_elses_op")
    with pytest.raises(
        tf.errors.UnimplementedError,
        match=r"(?s)saved_model.pb: function .*'somebody_elses_op' is code outside the module",
    ):
        asked(tf.saved_model.load(folder), arrays_of("jax_linear_algebra")[0])


def test_an_op_of_another_dialect_is_refused_by_its_name(tmp_path: Path) -> None:
    folder = changed(tmp_path, "jax_mlp", b"tanh_v2", b"tanz_v2")
    with pytest.raises(tf.errors.UnimplementedError, match=re.escape("'vhlo.tanz_v2'")):
        asked(tf.saved_model.load(folder), arrays_of("jax_mlp")[0])


@pytest.mark.parametrize(
    ("attribute", "error"),
    [
        ("version", "version 3; 4 is the oldest"),
        ("dim_args_spec", "sizes as arguments"),
        ("Tin", r"the module takes \['float32'\], its node says \['int32'\]"),
        ("module", "the bytes are not MLIR bytecode"),
    ],
)
def test_another_node_is_refused(tmp_path: Path, attribute: str, error: str) -> None:
    shutil.copytree(GOLDEN / "jax_mlp" / "model", tmp_path / "model")
    path = tmp_path / "model" / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    for function in message.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "XlaCallModule":
                if attribute == "version":
                    node.attr["version"].i = 3
                elif attribute == "dim_args_spec":
                    node.attr["dim_args_spec"].list.s.append(b"0.0")
                elif attribute == "Tin":
                    node.attr["Tin"].list.type[:] = [3]
                else:
                    node.attr["module"].s = b"nothing"
    write_changed(path, message)
    with pytest.raises(tf.errors.OpError, match=error):
        asked(tf.saved_model.load(tmp_path / "model"), arrays_of("jax_mlp")[0])
