"""The page in the folder of a TensorFlow.js model; `make edge` visits it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import tfjs
from pinnace.deploy.page.runtimes import TFJS
from pinnace.framework.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from support.command_line import pinnace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """npm's folder with dummy files: only `make edge` runs them."""
    folder = tmp_path / "node_modules"
    for files in (*TFJS.files, *TFJS.extra):
        for name in files.names:
            place = folder / files.package / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"// {name}")
    return folder


@tf.function(
    input_signature=[
        tf.TensorSpec([None, 3], tf.float64, name="x"),
        tf.TensorSpec([None], tf.int64, name="n"),
    ]
)
def program(x: tf.Tensor, n: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": tf.nn.softmax(x), "m": n * 2, "b": n > 3}


def page_in(folder: Path) -> Any:
    return json.loads((folder / "page.json").read_text())


def export(model: Any, folder: Path, modules: Path, **options: Any) -> Any:
    return tfjs.export(model, folder, page=True, runtime=modules.parent, verify=False, **options)


def test_the_folder_has_all_of_it(tmp_path: Path, modules: Path) -> None:
    folder = tmp_path / "web"
    report = export(program.get_concrete_function(), folder, modules, labels=["a", "b", "c"])
    assert {"index.html", "page.json", "model.json", "tfjs"} <= set(report.files)
    assert (folder / "tfjs" / "tf-backend-wasm.es2017.min.js").is_file()
    described = page_in(folder)
    assert described["model"] == "model.json"
    assert described["backends"] == ["wasm", "cpu"]
    # TensorFlow.js has int32 only.
    assert [one["dtype"] for one in described["inputs"]] == ["float32", "int32"]
    outputs = {one["name"]: one for one in described["outputs"]}
    kinds = {name: one["dtype"] for name, one in outputs.items()}
    assert sorted(kinds.values()) == ["bool", "float32", "int32"]
    (labelled,) = [one for one in described["outputs"] if "labels" in one]
    assert labelled["labels"] == ["a", "b", "c"]
    for case in described["cases"]:
        assert case["inputs"]["n"]["dtype"] == "int32"


def test_it_is_replaced_with_the_model(tmp_path: Path, modules: Path) -> None:
    export(program.get_concrete_function(), tmp_path / "web", modules)
    tfjs.export(program.get_concrete_function(), tmp_path / "web", verify=False)
    assert not (tmp_path / "web" / "index.html").exists()


def test_without_the_other_backend(tmp_path: Path, modules: Path) -> None:
    place = modules / "@tensorflow" / "tfjs-backend-wasm" / "dist"
    (place / "tfjs-backend-wasm.wasm").unlink()
    export(program.get_concrete_function(), tmp_path / "web", modules)
    assert page_in(tmp_path / "web")["backends"] == ["cpu"]


def test_quantised_weights_are_what_it_compares_with(tmp_path: Path, modules: Path) -> None:
    weights = tf.Variable(np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(4, 3) ** 2)

    @tf.function(input_signature=[tf.TensorSpec([2, 4], name="x")])
    def dense(x: tf.Tensor) -> tf.Tensor:
        return x @ weights

    concrete = dense.get_concrete_function()
    export(concrete, tmp_path / "web", modules, quantize="uint8")
    (case, *_) = page_in(tmp_path / "web")["cases"]
    x, y = (
        np.array(one["data"], np.float32).reshape(one["shape"])
        for one in (case["inputs"]["x"], next(iter(case["outputs"].values())))
    )
    kept = next(iter(tfjs.load(tmp_path / "web")(x=tf.constant(x)).values()))
    np.testing.assert_allclose(y, kept, rtol=1e-6)
    assert np.abs(y - x @ weights.numpy()).max() > 1e-5


def layers_model() -> Any:
    tf.keras.utils.set_random_seed(4)
    layers = tf.keras.layers
    image = tf.keras.Input([4, 4, 3], name="image")
    words = tf.keras.Input([5], name="words", dtype="int32")
    x = layers.GlobalAveragePooling2D()(layers.Rescaling(1 / 127.5, offset=-1)(image))
    y = layers.GlobalAveragePooling1D()(layers.Embedding(9, 3)(words))
    both = [layers.Dense(3, activation="softmax")(x), layers.Dense(2)(y)]
    return tf.keras.Model([image, words], both, name="mixed")


def arrays_of(tensors: Any) -> list[Any]:
    return [np.array(one["data"], one["dtype"]).reshape(one["shape"]) for one in tensors.values()]


@pytest.mark.parametrize("kind", [None, "uint8"])
def test_layers_have_one_too(tmp_path: Path, modules: Path, kind: Any) -> None:
    model, folder = layers_model(), tmp_path / "web"
    options: dict[str, Any] = {"labels": ["a", "b", "c"], "quantize": kind}
    told = tfjs.export_layers(
        model, folder, page=True, runtime=modules.parent, verify=False, **options
    )
    assert {"index.html", "page.json", "model.json", "tfjs"} <= set(told.files)
    described = page_in(folder)
    assert (described["title"], described["layers"]) == ("mixed", True)
    assert described["about"] == "layers model" + ("" if kind is None else ", uint8 weights")
    # JavaScript returns them in this order, without names.
    assert [(one["name"], one["dtype"]) for one in described["inputs"]] == [
        ("image", "float32"),
        ("words", "int32"),
    ]
    assert described["inputs"][0]["pixels"] == {"mean": [0.0], "std": [1.0]}
    assert [one.get("labels") for one in described["outputs"]] == [["a", "b", "c"], None]
    read = tfjs.load_layers(folder)
    assert described["cases"]
    for case in described["cases"]:
        wanted = read(arrays_of(case["inputs"]))
        for x, y in zip(wanted, arrays_of(case["outputs"]), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_layers_without_a_page_take_no_labels(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="labels and normalization need a page"):
        tfjs.export_layers(layers_model(), tmp_path / "web", labels=["a"], verify=False)


def test_layers_at_the_command_line(
    tmp_path: Path, modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(modules.parent)  # searched here; an invalid package does not run
    layers_model().save(tmp_path / "m.keras")
    (tmp_path / "names").write_text("a\nb\nc\n")
    options = ["--tfjs-layers", "--page", "--labels", str(tmp_path / "names")]
    options += ["--normalization", "image=0:255"]
    done = pinnace("export", tmp_path / "m.keras", tmp_path / "web", *options)
    assert done.code == 0, done.err
    assert f"python -m http.server -d {tmp_path / 'web'}" in done.out
    described = page_in(tmp_path / "web")
    assert described["inputs"][0]["pixels"] == {"mean": [0.0], "std": [255.0]}
    assert described["outputs"][0]["labels"] == ["a", "b", "c"]


def test_what_it_refuses(tmp_path: Path, modules: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([2], tf.complex64, name="x")])
    def waves(x: tf.Tensor) -> tf.Tensor:
        return tf.abs(x)

    with pytest.raises(UnimplementedError, match=r"'x' is complex64, which TensorFlow\.js has no"):
        export(waves.get_concrete_function(), tmp_path / "web", modules)
    with pytest.raises(NotFoundError, match="npm install @tensorflow/tfjs"):
        export(program.get_concrete_function(), tmp_path / "web", tmp_path / "none" / "x")
    with pytest.raises(InvalidArgumentError, match="labels and normalization need a page"):
        tfjs.export(program.get_concrete_function(), tmp_path / "web", labels=["a"], verify=False)

    @tf.function(input_signature=[tf.TensorSpec([2], name="x")])
    def noise(x: tf.Tensor) -> tf.Tensor:
        return x + tf.random.normal([2])

    with pytest.raises(InvalidArgumentError, match="are drawn anew in each run"):
        export(noise.get_concrete_function(), tmp_path / "web", modules, allow_random=True)
    assert not (tmp_path / "web").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tfjs-layers", "--structured-outputs"], "is for graph models, not --tfjs-layers"),
        (["--tfjs", "--vocabulary", "x"], "--vocabulary is for .tflite files, not for --tfjs"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: list[str], told: str) -> None:
    tf.saved_model.save(tf.Module(), tmp_path / "m")
    answer = pinnace("export", tmp_path / "m", tmp_path / "web", *options)
    assert answer.code == 1
    assert told in answer.err
