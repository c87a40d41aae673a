"""ExportArchive and TFSMLayer: endpoints of a SavedModel, and layers made from them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
X = np.arange(6, dtype=np.float32).reshape(2, 3) / 4


@pytest.fixture
def model() -> Any:
    """A model that scales by known weights, with dropout while training."""
    layers = [keras.layers.Dense(2, name="scale"), keras.layers.Dropout(0.5, seed=1)]
    made = keras.Sequential([keras.Input((3,)), *layers])
    made.set_weights([np.arange(6, dtype=np.float32).reshape(3, 2), np.float32([1, -1])])
    return made


def expected(x: Any) -> Any:
    return x @ np.arange(6, dtype=np.float32).reshape(3, 2) + np.float32([1, -1])


def test_endpoints_are_attributes_and_signatures(model: Any, tmp_path: Path) -> None:
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = keras.InputSpec(shape=(None, 3), dtype="float32", name="x")
    archive.add_endpoint("plain", lambda x: model.call(x), [spec])
    archive.add_endpoint("twice", lambda x: 2.0 * model(x), [tf.TensorSpec((None, 3))])
    archive.add_variable_collection("first", [model.layers[0].kernel])
    archive.write_out(tmp_path / "out", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "out"))
    np.testing.assert_allclose(loaded.plain(X), expected(X))
    np.testing.assert_allclose(loaded.twice(X), 2 * expected(X))
    assert set(loaded.signatures) == {"plain", "twice", "serving_default"}
    served = loaded.signatures["serving_default"](x=tf.constant(X))
    np.testing.assert_allclose(served["output_0"], expected(X))
    assert [v.shape.as_list() for v in loaded.first] == [[3, 2]]
    assert len(loaded.variables) == len(model.variables)
    assert len(loaded.trainable_variables) == 2


def test_an_endpoint_may_be_serving_default(model: Any, tmp_path: Path) -> None:
    archive = keras.export.ExportArchive()
    spec = [tf.TensorSpec((None, 3))]
    archive.add_endpoint("one", lambda x: model(x), spec)
    archive.add_endpoint("serving_default", lambda x: -model(x), spec)
    archive.write_out(tmp_path / "out", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "out"))
    served = loaded.signatures["serving_default"](tf.constant(X))
    np.testing.assert_allclose(served["output_0"], -expected(X))


def test_tables_are_kept_by_track(tmp_path: Path) -> None:
    keys, values = tf.constant(["a", "b"]), tf.constant([3.0, 5.0])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), 0.0)
    archive = keras.export.ExportArchive()
    archive.track(table)
    archive.add_endpoint("look", lambda x: table.lookup(x), [tf.TensorSpec([None], tf.string)])
    archive.write_out(tmp_path / "out", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "out"))
    np.testing.assert_array_equal(loaded.look(tf.constant(["b", "z", "a"])), [5, 0, 3])


def test_a_function_that_was_called_needs_no_signature(model: Any, tmp_path: Path) -> None:
    @tf.function
    def serve(x: Any) -> Any:
        return {"y": model(x)}

    serve(tf.constant(X))
    archive = keras.export.ExportArchive()
    assert archive.add_endpoint("serve", serve) is serve
    archive.write_out(tmp_path / "out", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "out"))
    np.testing.assert_allclose(loaded.serve(tf.constant(X))["y"], expected(X))


def test_verbose_tells_the_endpoints(
    model: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = keras.export.ExportArchive()
    archive.track_and_add_endpoint("ask", model, [tf.TensorSpec((None, 3))])
    archive.write_out(tmp_path / "out")
    assert "ask" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda a: a.write_out("nowhere"), "no endpoint"),
        (lambda a: a.add_endpoint("x", lambda x: x), "input_signature must be given"),
        (lambda a: a.add_endpoint("x", tf.function(lambda x: x)), "that was called"),
        (lambda a: a.add_endpoint("variables", abs, [tf.TensorSpec((None, 3))]), "taken"),
        (lambda a: a.add_endpoint("x", abs, [keras.InputSpec(ndim=2)]), "shape and dtype"),
        (lambda a: a.track(keras.layers.Dense(1)), "must be built"),
        (lambda a: a.track(3), "must be a Layer"),
        (lambda a: a.add_variable_collection("x", 3), "list, tuple or set"),
        (lambda a: a.add_variable_collection("x", [3]), "must be variables"),
        (lambda _: keras.export.ExportArchive("other"), "format"),
    ],
)
def test_what_cannot_be_exported_says_why(wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong(keras.export.ExportArchive())


def test_an_exported_model_is_a_layer(model: Any, tmp_path: Path) -> None:
    model.export(str(tmp_path / "out"))
    layer = keras.layers.TFSMLayer(str(tmp_path / "out"))
    np.testing.assert_allclose(layer(X), expected(X), rtol=1e-6)
    assert [v.shape.as_list() for v in layer.trainable_weights] == [[3, 2], [2]]
    inputs = keras.Input((3,))
    around = keras.Model(inputs, keras.layers.Dense(1, use_bias=False)(layer(inputs)))
    assert len(around.trainable_weights) == 3
    before = layer.trainable_weights[0].numpy()
    around.compile("sgd", "mse")
    around.fit(X, np.zeros((2, 1), np.float32), verbose=0)
    assert not np.array_equal(layer.trainable_weights[0].numpy(), before)


def test_a_signature_is_a_layer_and_training_has_its_own(model: Any, tmp_path: Path) -> None:
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = [tf.TensorSpec((None, 3), name="x")]
    archive.add_endpoint("still", lambda x: model(x, training=False), spec)
    archive.add_endpoint("moved", lambda x: model(x, training=False) + 100.0, spec)
    archive.write_out(tmp_path / "out", verbose=False)
    layer = keras.layers.TFSMLayer(tmp_path / "out", "still", "moved")
    np.testing.assert_allclose(layer(X), expected(X), rtol=1e-6)
    np.testing.assert_allclose(layer(X, training=True), expected(X) + 100, rtol=1e-6)
    served = keras.layers.TFSMLayer(tmp_path / "out", "serving_default")
    np.testing.assert_allclose(served(tf.constant(X))["output_0"], expected(X), rtol=1e-6)


def test_an_export_for_other_shapes(model: Any, tmp_path: Path) -> None:
    model.export(tmp_path / "out", input_signature=[tf.TensorSpec((2, 3), name="given")])
    loaded = tf.saved_model.load(str(tmp_path / "out"))
    named = loaded.signatures["serve"].structured_input_signature[1]
    assert {name: spec.shape.as_list() for name, spec in named.items()} == {"given": [2, 3]}
    np.testing.assert_allclose(loaded.serve(tf.constant(X)), expected(X), rtol=1e-6)


class Double(keras.Model):  # type: ignore[misc, name-defined]
    """A model with a method `call`."""

    def call(self, inputs: Any) -> Any:
        return inputs * 2.0


class Nested(keras.Model):  # type: ignore[misc, name-defined]
    """A model whose call takes a structure."""

    def call(self, inputs: Any) -> Any:
        first, second = tf.nest.flatten(inputs)
        return {"sum": first + second, "first": first}


def built(model: Any, *inputs: Any) -> Any:
    model(*inputs)
    return model


def with_inputs(arrange: Any, *names: str | None) -> Any:
    inputs = [keras.Input((3,), name=name) for name in names]
    return keras.Model(arrange(inputs), keras.layers.Add()(inputs) if inputs[1:] else inputs[0] * 2)


@pytest.mark.parametrize(
    ("make", "names"),
    # What Keras 3.15 writes.
    [
        (lambda: built(keras.Sequential([keras.layers.Dense(2)]), X), ["keras_tensor"]),
        (lambda: keras.Sequential([keras.Input((3,), name="row"), Double()]), ["row"]),
        (lambda: keras.Sequential([keras.Input(batch_shape=(7, 3)), Double()]), ["keras_tensor"]),
        (lambda: with_inputs(lambda x: x[0], None), ["keras_tensor"]),
        (lambda: with_inputs(list, None, None), ["keras_tensor", "keras_tensor_1"]),
        (lambda: with_inputs(tuple, "z", "a"), ["a", "z"]),
        (lambda: with_inputs(lambda x: {"one": x[0], "two": x[1]}, "p", "q"), ["p", "q"]),
        (lambda: with_inputs(lambda x: [x[0], {"b": [x[1]]}], "p", "q"), ["p", "q"]),
        (lambda: built(Double(), X), ["args_0"]),
        (lambda: built(Nested(), [X, X]), ["args_0", "args_0_1"]),
        (lambda: built(Nested(), {"b": X, "a": X}), ["args_0", "args_0_1"]),
    ],
)
def test_signatures_have_the_names_that_keras_gives(
    make: Any, names: list[str], tmp_path: Path
) -> None:
    keras.utils.clear_session()
    make().export(tmp_path / "out", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "out"))
    assert set(loaded.signatures) == {"serve", "serving_default"}
    for signature in loaded.signatures.values():
        specs = signature.structured_input_signature[1]
        assert sorted(specs) == names
        assert all(spec.shape.as_list() == [None, 3] for spec in specs.values())
        for answer in signature(**{name: tf.constant(X) for name in names}).values():
            assert answer.shape[0] == len(X)


def test_leaves_of_an_argument_are_named_like_placeholders(tmp_path: Path) -> None:
    model = built(Nested(), {"b": X, "a": X})
    plain, named = tf.TensorSpec((None, 3)), tf.TensorSpec((None, 3), name="given")
    model.export(tmp_path / "out", verbose=False, input_signature=[{"a": plain, "b": named}])
    signature = tf.saved_model.load(str(tmp_path / "out")).signatures["serve"]
    assert sorted(signature.structured_input_signature[1]) == ["args_0", "given"]
    served = signature(args_0=tf.constant(X), given=tf.constant(X) + 1)
    np.testing.assert_array_equal(served["first"], X)
    np.testing.assert_array_equal(served["sum"], 2 * X + 1)
    with pytest.raises(TypeError, match="must be a list or tuple"):
        model.export(tmp_path / "other", verbose=False, input_signature=plain)


def test_a_fixed_batch_is_exported_as_any(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input(batch_shape=(7, 3)), keras.layers.Rescaling(2.0)])
    model.export(tmp_path / "out", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "out"))
    np.testing.assert_array_equal(loaded.serve(tf.constant(X)), 2 * X)


def test_a_layer_of_a_folder_is_not_made_of_a_configuration(model: Any, tmp_path: Path) -> None:
    model.export(str(tmp_path / "out"))
    layer = keras.layers.TFSMLayer(str(tmp_path / "out"))
    with pytest.raises(ValueError, match="safe_mode"):
        keras.layers.TFSMLayer.from_config(layer.get_config())
    again = keras.layers.TFSMLayer.from_config(layer.get_config(), safe_mode=False)
    np.testing.assert_allclose(again(X), expected(X), rtol=1e-6)
    with pytest.raises(
        ValueError, match="endpoint 'other' is neither an attribute nor a signature"
    ):
        keras.layers.TFSMLayer(str(tmp_path / "out"), "other")


def test_onnx_takes_a_signature_and_a_version_of_the_operators(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(2)])
    path = tmp_path / "model.onnx"
    spec = keras.InputSpec(name="custom", shape=(3, 10), dtype="float32")
    model.export(path, format="onnx", input_signature=[spec], opset_version=20)
    written = onnx.load(path)
    assert [x.name for x in written.graph.input] == ["custom"]
    assert written.opset_import[0].version == 20
