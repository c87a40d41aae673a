"""Files that TFLiteConverter wrote give LiteRT's results, and damaged files are refused."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pinnace import saved_model
from pinnace.deploy import lite
from pinnace.deploy.lite.files.flatbuffer import Table, written
from pinnace.deploy.lite.files.parsing import parsed
from pinnace.deploy.lite.files.serialising import serialised
from pinnace.deploy.lite.ir.kinds import NUMBERS
from pinnace.deploy.lite.ir.model import Model, Operator, Quantization, Signature, Subgraph, Tensor
from pinnace.deploy.lite.reading import registry, saving, translation, unsupported
from pinnace.deploy.lite.reading.content import read_content
from pinnace.deploy.lite.reading.saving import functions_of
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework import dtypes
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
)
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from support.command_line import pinnace
from support.golden import FOLDER, golden, truncations

if TYPE_CHECKING:
    from pathlib import Path

FILES = FOLDER / "lite"
NAMES = sorted(one.stem for one in FILES.glob("*.tflite"))
TOLERANCE = {
    # LiteRT also rounds the inputs of products with 8-bit weights to 8 bits: 1 % of the largest.
    "dynamic_range": 0.15,
    # Two quantisation steps: some operators differ by one.
    "conv_by_tensor": 2 / 256,
    "conv_int16": 2 / 32768,
    # One quantisation step of the output.
    "lstm_int8": 0.0053,
}
_STEPS = 2
# LiteRT's Python package lacks TensorFlow's ops, and has few of StableHLO's; without signatures
# `Interpreter` has no names.
OTHERWISE = {"flex", "without_signature", "stablehlo_others"}


# Models with variables or recurrent states, which LiteRT's interpreter keeps between runs.
REMEMBER = {"variables", "fused_lstm", "lstm_int8"}


def draw(spec: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    shape = [3 if n is None else n for n in spec.shape]
    if spec.dtype is dtypes.string:
        return np.array([b"sea", b"?", b"a"], object)
    if spec.dtype.is_floating:
        return rng.standard_normal(shape).astype(spec.dtype.numpy)
    if spec.dtype.size == 1:
        return rng.integers(spec.dtype.min, spec.dtype.max, shape).astype(spec.dtype.numpy)
    return rng.integers(0, 3, shape).astype(spec.dtype.numpy)


def assert_near(found: Any, wanted: Any, tolerance: float, what: str) -> None:
    assert found.shape == wanted.shape, what
    if wanted.dtype == object or found.dtype == bool:
        assert found.tolist() == wanted.tolist(), what
        return
    assert found.dtype == wanted.dtype, what
    if wanted.dtype.itemsize == 1:
        tolerance = min(tolerance, _STEPS) if tolerance >= 1 else _STEPS
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(a, b, rtol=2e-6, atol=tolerance, err_msg=what)


@pytest.mark.parametrize("name", sorted(set(NAMES) - OTHERWISE))
def test_it_gives_what_litert_gives(name: str) -> None:
    pytest.importorskip("ai_edge_litert")
    path = golden(f"lite/{name}.tflite")
    interpreter = Interpreter(path.read_bytes(), WAYS[1])
    functions = lite.load(path)
    assert set(functions) == set(interpreter.signatures())
    for key, function in functions.items():
        for seed in range(3):
            feeds = {one: draw(spec, seed) for one, spec in function.array_inputs.items()}
            if name in REMEMBER:  # a new one, since the first one's state has changed
                interpreter = Interpreter(path.read_bytes(), WAYS[1])
                function = lite.load(path)[key]
            wanted = interpreter.run(feeds, key)
            found = function.run_arrays(feeds)
            assert set(found) == set(wanted)
            for one in wanted:
                assert_near(found[one], wanted[one], TOLERANCE.get(name, 2e-6), f"{key} {one}")


@pytest.mark.parametrize("name", ["conv_int8", "conv_uint8", "conv_int16", "elements_int8"])
def test_each_operator_is_within_one_step_of_litert(name: str) -> None:
    """The outputs of LiteRT's interpreter for the operator."""
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    content = golden(f"lite/{name}.tflite").read_bytes()
    interpreter = litert.Interpreter(
        model_content=content,
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    for one in interpreter.get_input_details():
        spec = TensorSpec(one["shape"], one["dtype"])
        interpreter.set_tensor(one["index"], draw(spec, 1))
    interpreter.invoke()
    places = {one["name"]: one["index"] for one in interpreter.get_tensor_details()}
    (subgraph,) = read_content(content, "the file").subgraphs()
    for operator in subgraph.operators:
        inputs = dict.fromkeys(x for x in operator.inputs if x is not None and x.data is None)
        found = functions_of(
            file_of(operator.kind, operator.inputs, operator.outputs, operator.options), "one"
        )[0]["serving_default"].run_arrays(
            {x.name: interpreter.get_tensor(places[x.name]) for x in inputs}
        )
        for x in operator.outputs:
            wanted = interpreter.get_tensor(places[x.name])
            step = 1 if wanted.dtype.kind in "iu" else 1e-6
            assert_near(found[x.name], wanted, step, f"{operator.kind} {x.name}")


def test_without_signatures_tensors_give_the_names() -> None:
    function = lite.load(FILES / "without_signature.tflite")["serving_default"]
    assert list(function.array_inputs) == ["first"]
    found = function.run_arrays({"first": np.array([[-1, 0, 2]], np.float32)})
    assert {name: value.tolist() for name, value in found.items()} == {"Identity": [[1, 1, 3]]}


def test_ops_of_tensorflow_are_run() -> None:
    function = lite.load(FILES / "flex.tflite")["serving_default"]
    x = draw(function.array_inputs["x"], 0)
    found = function.run_arrays({"x": x})["y"]
    np.testing.assert_allclose(found, np.linalg.inv(x + 4 * np.eye(3)), rtol=1e-5, atol=1e-6)


def test_a_variable_changes_from_run_to_run() -> None:
    function = lite.load(FILES / "variables.tflite")["serving_default"]
    one = np.ones(3, np.float32)
    first, second = (function.run_arrays({"x": one})["total"] for _ in range(2))
    np.testing.assert_allclose(second, first + 1)


def test_a_batch_that_is_fixed_stays_so() -> None:
    function = lite.load(FILES / "lstm.tflite")["serving_default"]
    assert list(function.array_inputs["x"].shape) == [1, 6, 3]
    function = lite.load(FILES / "dense.tflite")["serving_default"]
    assert list(function.array_inputs["x"].shape) == [None, 5]


def tensor(name: str, *shape: int, data: Any = None, **rest: Any) -> Tensor:
    if data is not None:
        return Tensor(name, dtypes.as_dtype(data.dtype), Shape(data.shape), data, **rest)
    return Tensor(name, dtypes.float32, Shape(shape), **rest)


def file_of(
    kind: str,
    inputs: list[Tensor | None],
    outputs: list[Tensor],
    options: dict[str, Any] | None = None,
    **rest: Any,
) -> bytes:
    """A file with one operator; its operands except constants and states are inputs."""
    subgraph = Subgraph("main")
    subgraph.operators.append(Operator(kind, inputs, outputs, options or {}, **rest))
    subgraph.inputs += [x for x in inputs if x is not None and x.data is None and not x.is_state]
    subgraph.outputs += outputs
    names = {x.name: x for x in subgraph.inputs}
    results = {x.name: x for x in outputs}
    return serialised(Model([Signature("serving_default", names, results, subgraph)]))


def compare(content: bytes, seed: int = 0, tolerance: float = 3e-6) -> dict[str, Any]:
    """Run a file here and in LiteRT; return both results."""
    pytest.importorskip("ai_edge_litert")
    functions, _ = functions_of(content, "the file")
    function = functions["serving_default"]
    feeds = {one: draw(spec, seed) for one, spec in function.array_inputs.items()}
    wanted = Interpreter(content, WAYS[1]).run(feeds)
    found = function.run_arrays(feeds)
    for name in wanted:
        assert_near(found[name], wanted[name], tolerance, name)
    return found


def weights(*shape: int, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) / 2


def lstm_inputs(
    first: int, *, size: int = 3, cells: int = 4, outputs: int = 4, peep: bool, coupled: bool
) -> list[Tensor | None]:
    """Weights of an LSTM, up to the bias of its projection."""

    def made(place: int, *shape: int) -> Tensor:
        return tensor(f"w{first}_{place}", data=weights(*shape, seed=first + place))

    found: list[Tensor | None] = [made(n, cells, size) for n in range(4)]
    found += [made(4 + n, cells, outputs) for n in range(4)]
    found += [made(8 + n, cells) if peep else None for n in range(3)]
    found += [made(11 + n, cells) for n in range(4)]
    if coupled:
        for place in (0, 4, 8, 11):
            found[place] = None
    is_projected = outputs != cells
    found += [made(15, outputs, cells) if is_projected else None, None]
    return found


@pytest.mark.parametrize(
    ("peep", "coupled", "outputs", "time_major", "clip", "norm"),
    [
        (False, False, 4, False, 0.0, False),
        (True, False, 4, True, 0.0, False),
        (True, True, 2, False, 0.4, False),
        (False, False, 2, True, 0.0, True),
    ],
)
def test_lstm(
    peep: bool, coupled: bool, outputs: int, time_major: bool, clip: float, norm: bool
) -> None:
    shape = (5, 2, 3) if time_major else (2, 5, 3)
    inputs: list[Tensor | None] = [tensor("x", *shape)]
    inputs += lstm_inputs(1, outputs=outputs, peep=peep, coupled=coupled)
    inputs += [tensor("h", 2, outputs, is_state=True), tensor("c", 2, 4, is_state=True)]
    if norm:
        inputs += [tensor(f"n{n}", data=weights(4, seed=70 + n)) for n in range(4)]
    out = tensor("out", *shape[:2], outputs)
    options = {"fused_activation_function": 4, "cell_clip": clip, "time_major": time_major}
    compare(file_of("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [out], options))


def lstm_both_ways(*, merged: bool) -> bytes:
    inputs: list[Tensor | None] = [tensor("x", 2, 5, 3)]
    inputs += lstm_inputs(1, peep=False, coupled=False)
    inputs += lstm_inputs(18, peep=False, coupled=False)
    inputs += [tensor(name, 2, 4, is_state=True) for name in ("h1", "c1", "h2", "c2")]
    inputs += [None] * 9
    outs = [tensor(name, 2, 5, 8 if merged else 4) for name in (["out"] if merged else "ab")]
    options = {"fused_activation_function": 4, "merge_outputs": merged, "time_major": False}
    return file_of("BIDIRECTIONAL_SEQUENCE_LSTM", inputs, outs, options)


def test_lstm_both_ways() -> None:
    apart = compare(lstm_both_ways(merged=False))
    function = functions_of(lstm_both_ways(merged=True), "the file")[0]["serving_default"]
    feeds = {one: draw(spec, 0) for one, spec in function.array_inputs.items()}
    # LiteRT itself leaves part of a second row of merged outputs unwritten: two runs differ.
    merged = np.concatenate([apart["a"], apart["b"]], axis=-1)
    assert_near(function.run_arrays(feeds)["out"], merged, 3e-6, "out")


def test_simple_recurrent_layer() -> None:
    inputs: list[Tensor | None] = [
        tensor("x", 2, 5, 3),
        tensor("w", data=weights(4, 3, seed=1)),
        tensor("r", data=weights(4, 4, seed=2)),
        tensor("b", data=weights(4, seed=3)),
        tensor("h", 2, 4, is_state=True),
    ]
    options = {"fused_activation_function": 4, "time_major": False}
    compare(file_of("UNIDIRECTIONAL_SEQUENCE_RNN", inputs, [tensor("out", 2, 5, 4)], options))


def test_the_end_of_a_detector() -> None:
    from flatbuffers import flexbuffers

    builder = flexbuffers.Builder()
    with builder.Map():
        for name, number in (("max_detections", 5), ("max_classes_per_detection", 1)):
            builder.Int(name, number)
        builder.Int("num_classes", 3)
        for name, scale in (("y_scale", 10.0), ("x_scale", 10.0), ("h_scale", 5.0)):
            builder.Float(name, scale)
        builder.Float("w_scale", 5.0)
        builder.Float("nms_score_threshold", 0.2)
        builder.Float("nms_iou_threshold", 0.5)
        builder.Bool("use_regular_nms", False)
    anchors = np.abs(weights(9, 4, seed=5)) + 0.1
    inputs: list[Tensor | None] = [
        tensor("boxes", 1, 9, 4),
        tensor("scores", 1, 9, 4),
        tensor("anchors", data=anchors),
    ]
    outs = [
        tensor("found", 1, 5, 4),
        tensor("classes", 1, 5),
        tensor("best", 1, 5),
        tensor("count", 1),
    ]
    content = file_of(
        "CUSTOM",
        inputs,
        outs,
        custom="TFLite_Detection_PostProcess",
        payload=bytes(builder.Finish()),
    )
    found = compare(content, seed=2)
    assert found["count"] > 1


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("padding", [0, 1])
def test_strides_and_rates(kind: str, padding: int) -> None:
    is_depthwise = kind == "DEPTHWISE_CONV_2D"
    shape = (1, 3, 2, 6) if is_depthwise else (6, 3, 2, 3)
    inputs: list[Tensor | None] = [
        tensor("x", 1, 9, 8, 3),
        tensor("w", data=weights(*shape, seed=1)),
        tensor("b", data=weights(6, seed=2)),
    ]
    for strides, rates in (((1, 2), (1, 1)), ((1, 1), (2, 3)), ((2, 2), (1, 1))):
        options = {"padding": padding, "fused_activation_function": 1}
        options |= dict(zip(("stride_h", "stride_w"), strides, strict=True))
        options |= dict(zip(("dilation_h_factor", "dilation_w_factor"), rates, strict=True))
        if is_depthwise:
            options["depth_multiplier"] = 2
        sizes = []
        for size, length, stride, rate in zip((9, 8), (3, 2), strides, rates, strict=True):
            reach = (length - 1) * rate + 1 if padding else 1
            sizes.append(-(-(size - reach + 1) // stride))
        compare(file_of(kind, inputs, [tensor("out", 1, *sizes, 6)], options))


def test_every_operator_is_read_or_has_a_reason() -> None:
    for kind in NUMBERS:
        assert kind in registry.readers() or unsupported.is_explained(kind), kind


def test_every_operator_that_is_written_is_read() -> None:
    from pinnace.deploy.lite.converters.registry import converters

    kinds = {kind for one in converters().values() for kind in one.operators}
    assert kinds <= set(registry.readers())


def four_bits(values: list[int]) -> bytes:
    low, high = (np.array(values[n::2]) & 15 for n in range(2))
    return bytes((low | high << 4).astype(np.uint8))


def test_halves_of_bytes_are_unpacked() -> None:
    from pinnace.deploy.lite.reading.constants import decoded

    raw = memoryview(four_bits([-8, 7, 0, -1, 3, 0]))
    found = decoded(raw, [5], dtypes.int8, 4, None, "w")
    assert found.tolist() == [-8, 7, 0, -1, 3]


def test_zeros_that_were_left_out_are_there_again() -> None:
    """Rows in compressed sparse form, as TensorFlow's sparsity tools write them."""
    from pinnace.deploy.lite.files.parsing import Parsed
    from pinnace.deploy.lite.reading.constants import decoded

    def level(**fields: Any) -> Parsed:
        return Parsed("DimensionMetadata", fields)

    def vector(*values: int) -> Parsed:
        return Parsed("Int32Vector", {"values": np.array(values, np.int32)})

    rows = level(format=0, dense_size=3)
    columns = level(format=1, array_segments=vector(0, 1, 1, 3), array_indices=vector(2, 0, 3))
    table = Parsed(
        "SparsityParameters", {"traversal_order": [0, 1], "dim_metadata": [rows, columns]}
    )
    raw = memoryview(np.array([5, 6, 7], np.float32).tobytes())
    found = decoded(raw, [3, 4], dtypes.float32, 32, table, "w")
    assert found.tolist() == [[0, 0, 5, 0], [0, 0, 0, 0], [6, 0, 0, 7]]
    wrong = Parsed("SparsityParameters", {**table.fields, "traversal_order": [0, 0]})
    with pytest.raises(DataLossError, match="its traversal order"):
        decoded(raw, [3, 4], dtypes.float32, 32, wrong, "w")


def test_weights_behind_the_tables_are_read() -> None:
    """Weights are found by the offsets of buffers, as in files of more than 2 GiB."""
    content = (FILES / "dense.tflite").read_bytes()
    root = parsed(content, "the file")
    end = len(content)
    behind = b""
    buffers = []
    for one in root.list("buffers"):
        data = bytes(one.list("data"))
        if not data:
            buffers.append(Table("Buffer", {}))
            continue
        buffers.append(Table("Buffer", {"offset": end + len(behind), "size": len(data)}))
        behind += data + bytes(-len(data) % 16)

    def again(value: Any) -> Any:
        if hasattr(value, "fields"):
            fields = {name: again(one) for name, one in value.fields.items()}
            return Table(value.name, fields)
        return [again(one) for one in value] if isinstance(value, list) else value

    fields = {name: again(one) for name, one in root.fields.items()}
    tables = written(Table("Model", {**fields, "buffers": buffers}), end)
    assert len(tables) <= end
    moved = tables + bytes(end - len(tables)) + behind
    x = np.ones([2, 5], np.float32)
    found, wanted = (
        functions_of(one, "the file")[0]["serving_default"].run_arrays({"x": x})["output_0"]
        for one in (moved, content)
    )
    np.testing.assert_array_equal(found, wanted)


def test_what_no_graph_holds_becomes_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Large weights become variables, as in files of more than 1 GiB, beyond a GraphDef's limit."""
    monkeypatch.setattr(saving, "_MOST_IN_GRAPH", 0)
    monkeypatch.setattr(translation, "_LARGE", 32)
    path = golden("lite/dense.tflite")
    saving.write_saved_model(path, tmp_path / "1")
    loaded = saved_model.load(tmp_path / "1").signatures["serving_default"]
    assert loaded.variables
    x = np.ones([2, 5], np.float32)
    monkeypatch.undo()
    wanted = lite.load(path)["serving_default"].run_arrays({"x": x})
    np.testing.assert_allclose(loaded.run_arrays({"x": x})["output_0"], wanted["output_0"])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_as_a_saved_model_gives_the_same(name: str, tmp_path: Path) -> None:
    path = golden(f"lite/{name}.tflite")
    saving.write_saved_model(path, tmp_path / "1")
    loaded = saved_model.load(tmp_path / "1").signatures
    functions = lite.load(path)
    assert set(loaded) == set(functions)
    for key, function in functions.items():
        feeds = {one: draw(spec, 1) for one, spec in function.array_inputs.items()}
        wanted = function.run_arrays(feeds)
        found = loaded[key].run_arrays(feeds)
        for one in wanted:
            assert_near(found[one], wanted[one], 1e-6, one)


# Damaged files.


def test_what_is_no_file_of_its_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        lite.load(tmp_path / "missing.tflite")
    other = tmp_path / "other.tflite"
    other.write_bytes(b"PK\3\4 something else")
    with pytest.raises(InvalidArgumentError, match=r"is not a \.tflite file"):
        lite.load(other)


@pytest.mark.parametrize("name", ["dense_int8", "tables", "flex", "lstm_int8", "stablehlo_case"])
def test_a_file_that_is_cut_short_is_refused(name: str) -> None:
    content = golden(f"lite/{name}.tflite").read_bytes()
    for data in truncations(content, 300):
        with contextlib.suppress(OpError):
            functions_of(data, "the file")


def relu(x: Tensor, y: Tensor) -> Operator:
    return Operator("RELU", [x], [y])


def test_a_subgraph_that_calls_itself_is_refused() -> None:
    x, y, p = tensor("x", 2), tensor("y", 2), Tensor("p", dtypes.bool, Shape([]))
    subgraph = Subgraph("round", [p, x], [p, y])
    options = {"then_subgraph_index": subgraph, "else_subgraph_index": subgraph}
    subgraph.operators.append(Operator("IF", [p, p, x], [p, y], options))
    signature = Signature("serving_default", {"p": p, "x": x}, {"y": y}, subgraph)
    with pytest.raises(DataLossError, match="calls itself"):
        functions_of(serialised(Model([signature])), "the file")


def test_a_tensor_that_nothing_computes_is_refused() -> None:
    x, y, z = tensor("x", 2), tensor("y", 2), tensor("z", 2)
    subgraph = Subgraph("main", [x], [y], [relu(z, y)])
    content = serialised(Model([Signature("serving_default", {"x": x}, {"y": y}, subgraph)]))
    with pytest.raises(DataLossError, match="tensor 'z' is used before it is computed"):
        functions_of(content, "the file")


def test_scales_that_do_not_fit_are_refused() -> None:
    how = Quantization((0.5, 0.25), (0, 0), 0)
    data = np.zeros((3, 5), np.int8)
    bad = tensor("w", data=data, quantization=how)
    content = file_of("FULLY_CONNECTED", [tensor("x", 1, 5), bad], [tensor("y", 1, 3)])
    with pytest.raises(DataLossError, match="2 scales"):
        read_content(content, "the file")


def test_an_operator_that_is_not_read_is_named() -> None:
    content = file_of("CUSTOM", [tensor("x", 2)], [tensor("y", 2)], custom="MyOwnOperator")
    with pytest.raises(UnimplementedError, match="operator MyOwnOperator: it is a custom operator"):
        functions_of(content, "the file")
    content = file_of("LSTM", [tensor("x", 2), tensor("z", 2)], [tensor("y", 2)])
    with pytest.raises(UnimplementedError, match="operator LSTM: it is one step of a layer"):
        functions_of(content, "the file")


# Commands.


def test_commands_take_a_file(tmp_path: Path) -> None:
    path = golden("lite/dense.tflite")
    shown = pinnace("show", path)
    assert shown.code == 0
    assert "serving_default" in shown.out
    ran = pinnace("run", path, "--inputs", "x=np.ones((1,5))")
    assert ran.code == 0, ran.err
    assert "output_0" in ran.out
    assert pinnace("edit", path, tmp_path / "1").code == 0
    assert (tmp_path / "1" / "saved_model.pb").is_file()
    pytest.importorskip("onnx")
    made = pinnace("export", path, tmp_path / "model.onnx")
    assert made.code == 0, made.err


def test_what_is_quantised_is_exported_again(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    made = pinnace("export", golden("lite/conv_int8.tflite"), tmp_path / "model.onnx")
    assert made.code == 0, made.err
