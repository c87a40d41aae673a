"""The entry points: the command line, and tf.lite."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.lite import export
from pinnace.deploy.lite.verification.interpreting import Interpreter
from pinnace.framework.errors import InternalError, InvalidArgumentError, UnimplementedError
from support.command_line import pinnace as command
from unit.deploy.lite.test_models import GOLDEN

pytest.importorskip("ai_edge_litert")

MLP = GOLDEN / "keras_mlp" / "model"


def network() -> tf.keras.Model:
    tf.keras.utils.set_random_seed(1)
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 1)),
            layers.Conv2D(8, 3, use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(max_value=6.0),
            layers.Flatten(),
            layers.Dense(64, activation="gelu"),
            layers.Dense(4, activation="softmax"),
        ]
    )


def test_the_command_writes_a_file_and_a_report(tmp_path: Path) -> None:
    target, report = tmp_path / "m.tflite", tmp_path / "r.json"
    done = command("export", MLP, target, "--report", report)
    assert done.code == 0, done.err
    assert "checked against LiteRT's interpreter" in done.out
    assert target.read_bytes()[4:8] == b"TFL3"
    told = json.loads(report.read_text())
    assert told["op_counts"]["FULLY_CONNECTED"] == 3
    assert told["file_bytes"] == target.stat().st_size


@pytest.mark.parametrize("flag", ["--ort", "--cut-strings", "--external-data"])
def test_flags_of_onnx_are_refused(flag: str, tmp_path: Path) -> None:
    done = command("export", MLP, tmp_path / "m.tflite", flag)
    assert done.code != 0
    assert not list(tmp_path.iterdir())


def test_flags_of_tflite_are_refused_for_onnx(tmp_path: Path) -> None:
    done = command("export", MLP, tmp_path / "m.onnx", "--allow-flex")
    assert done.code != 0


def test_a_keras_model_is_three_operators() -> None:
    content = tf.lite.TFLiteConverter.from_keras_model(network()).convert()
    model = network()
    x = np.random.default_rng(0).random((5, 8, 8, 1), np.float32)
    (name,) = Interpreter(content).signatures()["serving_default"]["inputs"]
    (found,) = Interpreter(content).run({name: x}).values()
    np.testing.assert_allclose(found, model(x), atol=1e-6)


def test_the_converter_has_tensorflows_options() -> None:
    converter = tf.lite.TFLiteConverter.from_keras_model(network())
    whole = len(converter.convert())
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    assert len(converter.convert()) < 0.4 * whole
    converter.target_spec.supported_types = [tf.float16]
    assert len(converter.convert()) < 0.6 * whole
    converter.target_spec.supported_types = []
    rng = np.random.default_rng(0)
    converter.representative_dataset = lambda: (
        [rng.random((1, 8, 8, 1), np.float32)] for _ in range(20)
    )
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.uint8
    interpreter = tf.lite.Interpreter(model_content=converter.convert())
    assert interpreter.get_input_details()[0]["dtype"] == np.int8
    assert interpreter.get_output_details()[0]["dtype"] == np.uint8


WIDE = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8


def examples() -> Iterator[list[np.ndarray]]:
    rng = np.random.default_rng(0)
    return ([rng.random((1, 8, 8, 1), np.float32)] for _ in range(20))


def test_the_converter_writes_activations_of_16_bits() -> None:
    converter = tf.lite.TFLiteConverter.from_keras_model(network())
    converter.target_spec.supported_ops = [WIDE]
    with pytest.raises(InvalidArgumentError, match="needs examples for calibration"):
        converter.convert()
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = examples
    converter.inference_input_type = converter.inference_output_type = tf.int16
    interpreter = tf.lite.Interpreter(model_content=converter.convert())
    (given,), (made,) = interpreter.get_input_details(), interpreter.get_output_details()
    assert given["dtype"] == made["dtype"] == np.int16
    assert given["quantization"][1] == made["quantization"][1] == 0
    types = {one["dtype"] for one in interpreter.get_tensor_details()}
    assert types >= {np.int8, np.int16, np.int64}  # weights, activations, biases
    assert np.float32 not in types


def test_the_converter_leaves_nothing_in_float32_unless_it_may() -> None:
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [tf.keras.Input((8, 8, 1)), layers.Conv2D(2, 3, activation="elu"), layers.Flatten()]
    )
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = examples
    converter.target_spec.supported_ops = [WIDE]
    with pytest.raises(
        UnimplementedError, match=r"computed in 16 bits: ELU: it has no quantised kernel"
    ):
        converter.convert()
    converter.target_spec.supported_ops = [WIDE, tf.lite.OpsSet.TFLITE_BUILTINS]
    assert converter.convert()[4:8] == b"TFL3"


def test_a_function_and_a_folder_are_converted() -> None:
    spec = tf.TensorSpec([None, 3], name="x")
    function = tf.function(lambda x: {"y": tf.nn.relu(x) + 1.0}).get_concrete_function(spec)
    content = tf.lite.TFLiteConverter.from_concrete_functions([function]).convert()
    (found,) = Interpreter(content).run({"x": np.array([[-1, 0, 2]], np.float32)}).values()
    np.testing.assert_array_equal(found, [[1, 1, 3]])
    folder = GOLDEN / "several_signatures" / "model"
    content = tf.lite.TFLiteConverter.from_saved_model(folder, ["a", "b"]).convert()
    assert set(Interpreter(content).signatures()) == {"a", "b"}


def test_what_a_loop_gives_twice_is_copied_without_its_sizes() -> None:
    def turn(i: tf.Tensor, a: tf.Tensor, b: tf.Tensor) -> tuple[tf.Tensor, ...]:
        doubled = a * 2.0 + b
        return i + 1, doubled, doubled

    def loop(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, *_: i < 3, turn, [tf.constant(0), x, x])[1]

    spec = tf.TensorSpec([None, 3], name="x")
    counts = export(tf.function(loop).get_concrete_function(spec)).op_counts
    assert counts == {"ADD": 2, "LESS": 1, "MUL": 1, "RESHAPE": 1, "WHILE": 1}


def test_what_has_no_operator_stays_tensorflows_where_that_is_allowed() -> None:
    spec = tf.TensorSpec([3, 3], name="x")
    function = tf.function(lambda x: tf.linalg.inv(x)).get_concrete_function(spec)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    with pytest.raises(UnimplementedError, match="MatrixInverse"):
        converter.convert()
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS,
        tf.lite.OpsSet.SELECT_TF_OPS,
    ]
    assert b"FlexMatrixInverse" in converter.convert()


def test_two_functions_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="takes one function, got 0"):
        tf.lite.TFLiteConverter.from_concrete_functions([])


def test_damaged_files_are_one_error() -> None:
    content = tf.lite.TFLiteConverter.from_saved_model(MLP, ["serving_default"]).convert()
    with pytest.raises(InternalError, match="does not load"):
        Interpreter(content[:64])


@pytest.mark.parametrize("arguments", [["m.tflite"], ["js", "--tfjs"]])
def test_the_command_line_needs_no_package_of_onnx(arguments: list[str], tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    tf.saved_model.save(model, tmp_path / "model")
    program = (
        "import sys; sys.modules['onnx'] = None\n"
        "from pinnace.deploy.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "export", "model", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / arguments[0]).exists()
