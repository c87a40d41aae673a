"""`export` to TensorFlow.js: the files give the same results, and refusals name the op."""

import base64
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import tfjs
from pinnace.deploy.tfjs.facts import known_ops
from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from support.command_line import pinnace
from support.golden import FOLDER

MODELS = FOLDER / "saved_models"
WHOLE = [
    ("keras_cnn", "serving_default"),
    ("keras_separable", "serving_default"),
    ("keras_mlp", "serving_default"),
    ("keras_lstm", "serving_default"),
    ("keras_gru", "serving_default"),
    ("keras_transformer", "serving_default"),
    ("multi_io", "serving_default"),
    ("several_signatures", "b"),
    ("autograph_flow", "branches"),
    ("v1_loops", "serving_default"),
    ("v1_recurrent", "serving_default"),
]


def content_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "model.json").read_text())
    return found


def nodes_of(content: dict[str, Any]) -> list[dict[str, Any]]:
    topology = content["modelTopology"]
    functions = topology.get("library", {}).get("function", [])
    return [*topology["node"], *(node for one in functions for node in one["nodeDef"])]


def drawn(specs: Any, rows: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    found = {}
    for name, spec in specs.items():
        shape = [rows if n is None else n for n in spec.shape]
        values = rng.standard_normal(shape) if spec.dtype.is_floating else rng.integers(0, 3, shape)
        found[name] = values.astype(spec.dtype.numpy)
    return found


@pytest.mark.parametrize(("name", "signature"), WHOLE)
def test_what_is_written_is_the_model(tmp_path: Path, name: str, signature: str) -> None:
    source = MODELS / name / "model"
    report = tfjs.export(source, tmp_path / "m", signature, verify=False)
    model = tf.saved_model.load(str(source)).signatures[signature]
    again = tfjs.load(tmp_path / "m")
    assert set(report.op_counts) <= set(known_ops())
    for rows in (1, 3):
        feeds = drawn(model.array_inputs, rows)
        wanted = model.run_arrays(feeds)
        found = again.run_arrays(feeds)
        assert set(found) == set(wanted)
        for key, value in wanted.items():
            assert found[key].dtype == value.dtype
            np.testing.assert_allclose(found[key], value, atol=3e-6, rtol=1e-5, err_msg=key)


def test_the_file_says_what_tensorflow_js_asks_for(tmp_path: Path) -> None:
    tfjs.export(MODELS / "keras_cnn" / "model", tmp_path / "m", verify=False)
    content = content_of(tmp_path / "m")
    assert content["format"] == "graph-model"
    assert content["generatedBy"] == "2.21.0"
    assert content["convertedBy"].startswith("pinnace ")
    assert content["signature"]["inputs"]["image"] == {
        "name": "image:0",
        "dtype": "DT_FLOAT",
        "tensorShape": {"dim": [{"size": str(n)} for n in (-1, 16, 16, 3)]},
    }
    assert content["signature"]["outputs"]["output_0"]["name"] == "output_0:0"
    assert set(content["modelTopology"]["versions"]) == {"producer", "minConsumer"}
    consts = [node for node in nodes_of(content) if node["op"] == "Const"]
    entries = content["weightsManifest"][0]["weights"]
    assert {node["name"] for node in consts} == {one["name"] for one in entries}
    assert all(set(node["attr"]["value"]["tensor"]) <= {"dtype", "tensorShape"} for node in consts)


def test_layers_become_fused_ops(tmp_path: Path) -> None:
    report = tfjs.export(MODELS / "keras_cnn" / "model", tmp_path / "m", verify=False)
    assert report.op_counts["_FusedConv2D"] == 2
    assert report.op_counts["_FusedMatMul"] == 1
    assert not {"Conv2D", "BiasAdd", "FusedBatchNormV3", "Rsqrt"} & set(report.op_counts)


def test_weights_are_in_files_of_the_size_that_is_asked_for(tmp_path: Path) -> None:
    source = MODELS / "keras_cnn" / "model"
    report = tfjs.export(source, tmp_path / "m", verify=False, shard_bytes=1024)
    shards = list((tmp_path / "m").glob("*.bin"))
    count = -(-report.weight_bytes // 1024)
    assert {one.name for one in shards} == {
        f"group1-shard{number + 1}of{count}.bin" for number in range(count)
    }
    sizes = sorted(one.stat().st_size for one in shards)
    assert sizes[1:] == [1024] * (count - 1)
    assert sum(sizes) == report.weight_bytes
    assert set(report.files) == {"model.json", *(one.name for one in shards)}
    tfjs.load(tmp_path / "m")


@pytest.mark.parametrize(("kind", "part"), [("float16", 2e-3), ("uint16", 1e-4), ("uint8", 2e-2)])
def test_quantised_weights(tmp_path: Path, kind: Any, part: float) -> None:
    source = MODELS / "keras_cnn" / "model"
    whole = tfjs.export(source, tmp_path / "whole", verify=False)
    report = tfjs.export(source, tmp_path / "m", verify=False, quantize=kind)
    assert report.weight_bytes < whole.weight_bytes * (0.3 if kind == "uint8" else 0.55)
    entries = content_of(tmp_path / "m")["weightsManifest"][0]["weights"]
    stored = [one for one in entries if one["dtype"] == "float32"]
    assert stored
    for one in stored:
        told = one["quantization"]
        assert told["dtype"] == kind
        assert told["original_dtype"] == "float32"
        assert ("scale" in told and "min" in told) == (kind != "float16")
    assert all("quantization" not in one for one in entries if one["dtype"] == "int32")
    model = tf.saved_model.load(str(source)).signatures["serving_default"]
    feeds = drawn(model.array_inputs)
    (wanted,) = model.run_arrays(feeds).values()
    (found,) = tfjs.load(tmp_path / "m").run_arrays(feeds).values()
    gap = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
    assert 0 < gap < part


@pytest.mark.parametrize(
    "values",
    [
        [-1.0, 0.0, 0.5],
        [0.25, 0.25],
        [3.0, 4.0, 7.5],
        [-2.0, -1.0],
        [0.0, 1e-30],
        [-1e30, 1e30],
    ],
)
@pytest.mark.parametrize("kind", ["uint8", "uint16"])
def test_numbers_come_back_within_a_step(values: list[float], kind: Any) -> None:
    from pinnace.deploy.tfjs.files.weights import quantized

    given = np.array(values, np.float32)
    numbers, least, scale = quantized(given, kind)
    again = numbers.astype(np.float64) * scale + least
    # Half of the error is rounding, half the shift that makes zero exact.
    assert np.max(np.abs(again - given)) <= scale * 1.01 + 1e-38
    if min(values) <= 0 <= max(values):
        assert abs(-least / scale - round(-least / scale)) < 1e-6  # padding with zeros is exact


def test_float16_keeps_what_is_beyond_it(tmp_path: Path) -> None:
    weight = tf.constant([1e6, 1.0])
    f = tf.function(lambda x: x * weight, input_signature=[tf.TensorSpec([2], name="x")])
    tfjs.export(f.get_concrete_function(), tmp_path / "m", verify=False, quantize="float16")
    found = tfjs.load(tmp_path / "m").run_arrays({"x": np.ones(2, np.float32)})
    np.testing.assert_array_equal(next(iter(found.values())), [1e6, 1.0])


def test_strings_and_tables_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnimplementedError) as caught:
        tfjs.export(MODELS / "lookup_assets" / "model", tmp_path / "m", verify=False)
    told = str(caught.value)
    assert "cannot be written in TensorFlow.js" in told
    assert "LookupTableFindV2 (3 nodes): needs a table" in told
    assert "StringLength" in told
    assert "node 'StatefulPartitionedCall/" in told
    assert not (tmp_path / "m").exists()


def test_a_refusal_names_the_line_that_called_the_op(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([3], name="x")])
    def f(x: Any) -> Any:
        return tf.math.lgamma(x)  # this line

    with pytest.raises(UnimplementedError, match=r"Lgamma.*no op for it\n.*test_exporting\.py:"):
        tfjs.export(f.get_concrete_function(), tmp_path / "m", verify=False)


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (lambda x: tf.cast(x, tf.uint8), "to uint8, which TensorFlow.js does not have"),
        (lambda x: tf.random.normal([4]) + x, "allow_random=True"),
        (lambda x: tf.cast(x, tf.int64) + (1 << 40), "has 1099511627776, beyond int32"),
        (lambda x: tf.image.resize(x[None, :, None, None], [2, 2], "bicubic"), "ResizeBicubic"),
        (lambda x: tf.strings.as_string(x), "processes strings"),
        (lambda x: tf.quantization.fake_quant_with_min_max_vars(x, 0.0, 1.0), "leaves out"),
    ],
)
def test_what_would_be_another_number_is_refused(tmp_path: Path, program: Any, told: str) -> None:
    f = tf.function(program, input_signature=[tf.TensorSpec([4], name="x")])
    with pytest.raises(UnimplementedError) as caught:
        tfjs.export(f.get_concrete_function(), tmp_path / "m", verify=False)
    assert told in str(caught.value)


def test_random_numbers_are_written_where_they_may_be(tmp_path: Path) -> None:
    f = tf.function(
        lambda x: {"noise": tf.random.normal([2]) + x, "x": x},
        input_signature=[tf.TensorSpec([2], name="x")],
    )
    report = tfjs.export(f.get_concrete_function(), tmp_path / "m", verify=False, allow_random=True)
    assert report.drawn == ("output_0",)


def test_ids_of_64_bits_stay_so_in_the_signature(tmp_path: Path) -> None:
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))
    f = tf.function(
        lambda ids: tf.gather(table, ids),
        input_signature=[tf.TensorSpec([None], tf.int64, name="ids")],
    )
    report = tfjs.export(f.get_concrete_function(), tmp_path / "m", verify=False)
    assert report.dtypes["int64 -> int32"] >= 1
    assert any("int64 -> int32" in line for line in report.lines())
    again = tfjs.load(tmp_path / "m")
    assert again.array_inputs["ids"].dtype is tf.int64
    (found,) = again.run_arrays({"ids": np.array([2, 0])}).values()
    np.testing.assert_array_equal(found, [[6, 7, 8], [0, 1, 2]])


def test_a_branch_that_returns_a_weight_returns_a_copy(tmp_path: Path) -> None:
    # TensorFlow.js disposes of the results of a loop's functions, including weights.
    tfjs.export(MODELS / "autograph_flow" / "model", tmp_path / "m", "loops", verify=False)
    library = content_of(tmp_path / "m")["modelTopology"]["library"]["function"]
    used = {
        node["attr"][which]["func"]["name"]
        for node in nodes_of(content_of(tmp_path / "m"))
        for which in ("then_branch", "else_branch")
        if which in node.get("attr", {})
    }
    assert used
    for function in library:
        ops = {node["name"]: node["op"] for node in function["nodeDef"]}
        assert isinstance(function["signature"]["inputArg"], list)  # iterated over unchecked
        for text in function["ret"].values():
            op = ops.get(text.partition(":")[0], "argument")
            assert op != "Const"
            assert op != "argument" or function["signature"]["name"] not in used


def test_a_list_keeps_what_a_loop_writes(tmp_path: Path) -> None:
    # TensorFlow.js disposes of values that a function computes and does not return.
    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def squares(x: Any) -> Any:
        return tf.map_fn(lambda one: one * one, x)

    tfjs.export(squares.get_concrete_function(), tmp_path / "m", verify=False)
    library = content_of(tmp_path / "m")["modelTopology"]["library"]["function"]
    body = next(
        one for one in library if any(n["op"] == "TensorListSetItem" for n in one["nodeDef"])
    )
    written = next(n for n in body["nodeDef"] if n["op"] == "TensorListSetItem")["input"][2]
    assert written in body["ret"].values()
    (found,) = tfjs.load(tmp_path / "m").run_arrays({"x": np.float32([1, 2, 3])}).values()
    np.testing.assert_array_equal(found, [1, 4, 9])


def test_leaky_slopes_are_kept_in_fused_ops(tmp_path: Path) -> None:
    for slope in (0.2, 0.3):
        kernel = tf.constant(np.random.default_rng(0).standard_normal([3, 4]), tf.float32)
        f = tf.function(
            lambda x, k=kernel, s=slope: tf.nn.leaky_relu(tf.nn.bias_add(x @ k, tf.ones([4])), s),
            input_signature=[tf.TensorSpec([None, 3], name="x")],
        )
        tfjs.export(f.get_concrete_function(), tmp_path / "m", verify=False)
        (node,) = [n for n in nodes_of(content_of(tmp_path / "m")) if n["op"] == "_FusedMatMul"]
        assert node["attr"]["leakyrelu_alpha"]["f"] == pytest.approx(slope)
        names = [base64.b64decode(one) for one in node["attr"]["fused_ops"]["list"]["s"]]
        assert names == [b"BiasAdd", b"LeakyRelu"]


def test_what_a_folder_held_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "m"
    tfjs.export(MODELS / "keras_cnn" / "model", target, verify=False, shard_bytes=1024)
    tfjs.export(MODELS / "keras_mlp" / "model", target, verify=False)
    assert sorted(one.name for one in target.iterdir()) == ["group1-shard1of1.bin", "model.json"]
    assert [one.name for one in tmp_path.iterdir()] == ["m"]


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years")
    with pytest.raises(FailedPreconditionError, match=r"holds thesis\.txt"):
        tfjs.export(MODELS / "keras_mlp" / "model", tmp_path, verify=False)
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"quantize": "int4"}, InvalidArgumentError, "quantize must be one of float16"),
        ({"shard_bytes": 10}, InvalidArgumentError, "at least 1024"),
        ({"runtime": "/nowhere"}, NotFoundError, "npm install"),
        ({"report": "x.txt"}, InvalidArgumentError, r"must end in \.json or \.md"),
    ],
)
def test_wrong_options(tmp_path: Path, options: Any, kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        tfjs.export(MODELS / "keras_mlp" / "model", tmp_path / "m", **options)


def test_that_nothing_was_verified_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    with caplog.at_level(logging.WARNING, "pinnace"):
        report = tfjs.export(MODELS / "keras_mlp" / "model", tmp_path / "m")
    assert not report.verified
    assert [record.message for record in caplog.records].count(f"export: {report.lines()[1]}") == 1
    assert "not verified: Node with @tensorflow/tfjs was not found" in report.lines()[1]


def test_the_command_writes_a_report(tmp_path: Path) -> None:
    source, target = MODELS / "keras_mlp" / "model", tmp_path / "m"
    place = tmp_path / "report.json"
    answer = pinnace(
        "export", source, target, "--tfjs", "--quantize", "uint8", "--report", place,
        "--structured-outputs",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert "weights as uint8" in answer.out
    assert json.loads(place.read_text())["quantize"] == "uint8"
    metadata = content_of(target)["userDefinedMetadata"]
    assert metadata["structuredOutputKeys"] == ["output_0"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--tfjs", "--opset", "19"), "--opset is for ONNX files"),
        (("--tfjs", "--int8"), "--int8 is for ONNX files"),
        (("--quantize", "uint8"), "belong to --tfjs"),
    ],
)
def test_options_of_another_format_are_refused(
    tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    answer = pinnace("export", MODELS / "keras_mlp" / "model", tmp_path / "m.onnx", *arguments)
    assert answer.code != 0
    assert told in answer.err
