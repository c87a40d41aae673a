"""Files with channels-first inputs: the same outputs for the transposed image."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from pinnace import saved_model
from pinnace.deploy.cli.main import main
from pinnace.deploy.onnx import export
from pinnace.framework.errors import InvalidArgumentError

NETWORK = Path(__file__).parents[3] / "golden" / "saved_models" / "keras_cnn"
CNN = NETWORK / "model"


def concrete(function: Any, *specs: tf.TensorSpec) -> Any:
    return tf.function(function).get_concrete_function(*specs)


def spec(name: str, *sizes: int | None) -> tf.TensorSpec:
    return tf.TensorSpec(list(sizes), tf.float32, name)


def run(report: Any, **feeds: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(report.model.SerializeToString())
    found: list[Any] = session.run(None, feeds)
    return found


def drawn(*sizes: int) -> Any:
    return np.random.default_rng(5).standard_normal(sizes).astype(np.float32)


def test_tensorflows_network_takes_pictures_with_channels_first() -> None:
    """The recorded outputs are TensorFlow's."""
    with np.load(NETWORK / "io.npz") as recorded:
        picture = recorded["001/serving_default/in/image"]
        wanted = recorded["001/serving_default/out/output_0"]
    name = "image"
    plain, turned = export(CNN), export(CNN, channels_first=name)
    n, h, w, c = plain.inputs[name].shape.as_list()
    assert turned.inputs[name].shape.as_list() == [n, c, h, w]
    assert turned.channels_first == (name,)
    (found,) = run(turned, **{name: np.moveaxis(picture, -1, 1)})
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    # ONNX's convolution is channels-first, so that only the input's Transpose is saved.
    assert turned.transposes == plain.transposes - 1


def test_one_transpose_at_the_entrance_where_the_model_wants_them_last() -> None:
    model = concrete(
        lambda x: tf.reduce_sum(x * tf.constant([1.0, 2.0, 3.0]), -1) + x[:, :, :, 0],
        spec("x", None, 4, 5, 3),
    )
    report = export(model, channels_first=["x"])
    assert report.transposes == 1
    x = drawn(2, 4, 5, 3)
    (found,) = run(report, x=np.moveaxis(x, -1, 1))
    np.testing.assert_allclose(found, model(tf.constant(x)).numpy(), rtol=1e-6, atol=1e-6)


def test_only_the_named_inputs_are_turned_and_any_number_of_axes() -> None:
    model = concrete(
        lambda a, b, c: (tf.reduce_max(a, 1) + tf.reduce_mean(b, [1, 2, 3]), c * 2.0),
        spec("a", None, 7, 2),
        spec("b", None, 3, 4, 5, 2),
        spec("c", None, 6, 2),
    )
    report = export(model, channels_first=["b", "a"])
    assert {name: one.shape.as_list() for name, one in report.inputs.items()} == {
        "a": [None, 2, 7],
        "b": [None, 2, 3, 4, 5],
        "c": [None, 6, 2],
    }
    a, b, c = drawn(3, 7, 2), drawn(3, 3, 4, 5, 2), drawn(3, 6, 2)
    found = run(report, a=np.moveaxis(a, -1, 1), b=np.moveaxis(b, -1, 1), c=c)
    for ours, wanted in zip(found, model(a, b, c), strict=True):
        np.testing.assert_allclose(ours, wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_shapes_speak_of_the_model_and_samples_of_the_file() -> None:
    model = concrete(lambda x: tf.nn.relu(x) + 1.0, tf.TensorSpec(None, tf.float32, "x"))
    sample = {"x": drawn(1, 3, 8, 9)}
    report = export(model, channels_first="x", shapes={"x": [None, 8, 9, 3]}, sample=sample)
    assert report.inputs["x"].shape.as_list() == [None, 3, 8, 9]
    assert report.batches == 1


def test_a_model_with_state_keeps_it() -> None:
    total = tf.Variable(1.0, name="total")

    def step(x: Any) -> Any:
        return total.assign_add(tf.reduce_sum(x[..., 0]))

    report = export(concrete(step, spec("x", 2, 3, 2)), channels_first=["x"])
    x = drawn(2, 3, 2)
    (state,) = (name for name in report.inputs if name.startswith("state_in"))
    found = run(report, **{"x": np.moveaxis(x, -1, 1), state: np.array(1, np.float32)})
    np.testing.assert_allclose(found[0], 1 + x[..., 0].sum(), rtol=1e-5)


def test_smaller_forms_are_made_of_it() -> None:
    (name,) = saved_model.load(CNN).signatures["serving_default"].structured_input_signature[1]
    report = export(CNN, channels_first=[name], float16=True)
    assert report.variant is not None
    assert report.inputs[name].shape.as_list()[1] in {1, 3}


@pytest.mark.parametrize(
    ("name", "problem"),
    [("y", "not an input; the inputs are: x"), ("x", r"(?s)float32\[\?, 3\].*Try: shapes=")],
)
def test_what_cannot_be_turned_is_said(name: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem):
        export(concrete(lambda x: x, spec("x", None, 3)), channels_first=[name])


def test_the_command_takes_it_and_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (name,) = saved_model.load(CNN).signatures["serving_default"].structured_input_signature[1]
    report = tmp_path / "report.json"
    arguments = [str(CNN), str(tmp_path / "m.onnx"), "--channels-first", name]
    assert main(["export", *arguments, "--report", str(report)]) == 0
    assert "channels first" in capsys.readouterr().out
    assert json.loads(report.read_text())["channels_first"] == [name]
    assert main(["export", *arguments, "--report", str(tmp_path / "report.md")]) == 0
    assert "Channels come first" in (tmp_path / "report.md").read_text()
