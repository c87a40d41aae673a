"""Layers models: those of tensorflowjs and JavaScript are read, Keras models written."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import tfjs
from pinnace.framework.errors import DataLossError, InvalidArgumentError, UnimplementedError
from support.command_line import pinnace
from support.golden import FOLDER

MODELS = FOLDER / "tfjs"
NAMES = ["layers_convolutions", "layers_recurrent", "layers_javascript"]
L = tf.keras.layers


@pytest.mark.parametrize("name", NAMES)
def test_it_gives_what_the_writer_gave(name: str) -> None:
    told = json.loads((MODELS / name / "answers.txt").read_text())
    model = tfjs.load_layers(MODELS / name)
    xs = [np.array(value, np.float32) for value in told["inputs"].values()]
    found = model(xs if len(xs) > 1 else xs[0], training=False).numpy()
    np.testing.assert_allclose(found, told["outputs"], atol=2e-6)


def mixed() -> Any:
    """Nested layers, with weights of many names."""
    inner = tf.keras.Sequential(
        [tf.keras.Input([6]), L.Dense(5, activation="relu", name="one"), L.Dense(3, name="two")],
        name="inner",
    )
    a, b = tf.keras.Input([7, 4], name="a"), tf.keras.Input([6], name="b")
    y = L.Bidirectional(L.LSTM(3, return_sequences=True, name="run"), name="both")(a)
    y = L.TimeDistributed(L.Dense(4, activation="silu"), name="each")(y)
    y = L.GRU(3, reset_after=False, name="last")(y)
    return tf.keras.Model([a, b], L.Add()([y, inner(b)]))


def pictures() -> Any:
    """An image network."""
    return tf.keras.Sequential(
        [
            tf.keras.Input([8, 8, 3], name="image"),
            L.Conv2D(4, 3, padding="same"),
            L.BatchNormalization(),
            L.LeakyReLU(negative_slope=0.1),
            L.DepthwiseConv2D(3),
            L.MaxPooling2D(),
            L.Conv2DTranspose(2, 2, strides=2),
            L.GlobalAveragePooling2D(),
            L.Dropout(0.5),
            L.Dense(2, activation="softmax"),
        ]
    )


@pytest.mark.parametrize("make", [mixed, pictures])
def test_what_is_written_is_the_model(tmp_path: Path, make: Any) -> None:
    tf.keras.utils.set_random_seed(1)
    model = make()
    report = tfjs.export_layers(model, tmp_path / "m", verify=False)
    assert report.kind == "layers-model"
    content = json.loads((tmp_path / "m" / "model.json").read_text())
    assert content["format"] == "layers-model"
    assert content["modelTopology"]["model_config"]["class_name"] in ("Functional", "Sequential")
    again = tfjs.load_layers(tmp_path / "m")
    xs = [np.random.default_rng(0).standard_normal([2, *one.shape[1:]]) for one in model.inputs]
    xs = [x.astype(np.float32) for x in xs]
    given = xs if len(xs) > 1 else xs[0]
    np.testing.assert_array_equal(model(given).numpy(), again(given).numpy())


def test_the_names_are_those_of_tensorflow_js(tmp_path: Path) -> None:
    tfjs.export_layers(mixed(), tmp_path / "m", verify=False)
    content = json.loads((tmp_path / "m" / "model.json").read_text())
    names = {one["name"] for one in content["weightsManifest"][0]["weights"]}
    assert {
        "both/forward_run/kernel",
        "both/backward_run/bias",
        "each/kernel",
        "last/recurrent_kernel",
        "one/kernel",
        "two/bias",
    } <= names
    (node,) = next(
        one["inbound_nodes"]
        for one in content["modelTopology"]["model_config"]["config"]["layers"]
        if one["class_name"] == "Add"
    )
    assert node == [
        ["last", 0, 0, {}],
        ["inner", 1, 0, {}],
    ]  # the call was made when the model was created


@pytest.mark.parametrize(
    ("layer", "told"),
    [
        (lambda: L.GRU(3, name="g"), "reset_after=True, Keras' default, is not supported"),
        (lambda: L.Conv1D(2, 2, padding="causal"), "padding='causal' is not supported"),
        (lambda: L.Conv1D(4, 2, groups=4), "groups=4 is not supported"),
        (
            lambda: L.Dense(4, activation="hard_sigmoid"),
            "activation 'hard_sigmoid' is not supported",
        ),
        (lambda: L.ReLU(negative_slope=0.5), "negative_slope=0.5 is not supported"),
        (lambda: L.GlobalMaxPooling1D(keepdims=True), "keepdims=True is not supported"),
        (lambda: L.UnitNormalization(), "TensorFlow.js has no such layer"),
        (lambda: L.Dense(4, dtype="float16"), "dtype 'float16' is not supported"),
    ],
)
def test_what_is_not_there_is_refused_by_name(tmp_path: Path, layer: Any, told: str) -> None:
    made = layer()
    model = tf.keras.Sequential([tf.keras.Input([5, 4]), made])
    with pytest.raises(UnimplementedError) as caught:
        tfjs.export_layers(model, tmp_path / "m", verify=False)
    assert told in str(caught.value)
    assert f"{type(made).__name__} (1 node)" in str(caught.value)
    assert repr(made.name) in str(caught.value)
    assert not (tmp_path / "m").exists()


def test_a_saved_model_has_no_layers(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"a \.keras or \.h5 file"):
        tfjs.export_layers(FOLDER / "saved_models" / "keras_mlp" / "model", tmp_path / "m")


def test_the_commands_take_them(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    model = pictures()
    model.save(tmp_path / "m.keras")
    answer = pinnace("export", tmp_path / "m.keras", tmp_path / "layers", "--tfjs-layers")
    assert answer.code == 0, answer.err
    assert "layers-model" in answer.out
    told = json.loads(pinnace("show", tmp_path / "layers", "--json").out)
    assert [one["name"] for one in told["signatures"]] == ["serve", "serving_default"]
    assert pinnace("run", tmp_path / "layers", "--random").code == 0
    assert pinnace("export", tmp_path / "layers", tmp_path / "graph", "--tfjs").code == 0


def test_missing_weights_are_said(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(MODELS / "layers_recurrent", tmp_path / "m"))
    content = json.loads((folder / "model.json").read_text())
    content["weightsManifest"][0]["weights"][0]["name"] = "other/kernel"
    (folder / "model.json").write_text(json.dumps(content))
    with pytest.raises(DataLossError, match="no weights for"):
        tfjs.load_layers(folder)


def test_a_layer_that_nobody_knows(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(MODELS / "layers_convolutions", tmp_path / "m"))
    text = (folder / "model.json").read_text().replace('"MaxPooling2D"', '"MyPooling"')
    (folder / "model.json").write_text(text)
    with pytest.raises(InvalidArgumentError, match="MyPooling"):
        tfjs.load_layers(folder)


def test_a_graph_model_is_none() -> None:
    with pytest.raises(InvalidArgumentError, match="is a graph model"):
        tfjs.load_layers(MODELS / "keras_cnn")
