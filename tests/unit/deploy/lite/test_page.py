"""The page of a .tflite file: its files, its description, and its refusals.

`make edge` visits it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import lite
from pinnace.deploy.lite.verification.interpreting import Interpreter
from pinnace.deploy.page.runtimes import LITE, find_runtime
from pinnace.framework.errors import (
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from support.command_line import pinnace

if TYPE_CHECKING:
    from pathlib import Path

layers = tf.keras.layers
LABELS = ["cat", "dog", "bird"]


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """npm's folder with dummy files: only `make edge` runs them."""
    folder = tmp_path / "node_modules"
    for files in LITE.files:
        for name in files.names:
            place = folder / files.package / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"// {name}")
    core = folder / "@litertjs" / "core"
    (core / "dist" / "index.js").write_text('import { a } from "@litertjs/wasm-utils";\n')
    (core / "package.json").write_text('{"version": "9.8.7"}')
    return folder


@pytest.fixture(scope="module")
def model() -> Any:
    tf.keras.utils.set_random_seed(1)
    return tf.keras.Sequential(
        [
            tf.keras.Input([8, 8, 3], name="image"),
            layers.Rescaling(1 / 255),
            layers.Conv2D(4, 3),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="softmax"),
        ]
    )


def page_in(folder: Path) -> Any:
    return json.loads((folder / "page.json").read_text())


def test_the_folder_has_all_of_it(model: Any, tmp_path: Path, modules: Path) -> None:
    folder = tmp_path / "page"
    lite.export(model, web=folder, web_runtime=modules, labels=LABELS)
    names = {x.relative_to(folder).as_posix() for x in folder.rglob("*") if x.is_file()}
    assert {"index.html", "runtime.js", "model.tflite", "litert/wasm-utils.js"} <= names
    # Browsers do not resolve names of packages.
    assert 'from "./wasm-utils.js"' in (folder / "litert" / "litert.js").read_text()
    described = page_in(folder)
    assert described["version"] == "9.8.7"
    assert described["signature"] == "serving_default"
    assert described["outputs"][0]["labels"] == LABELS
    assert described["inputs"] == [
        {
            "name": "image",
            "dtype": "float32",
            "shape": [1, 8, 8, 3],
            "pixels": {"mean": [0.0], "std": [1.0]},
        }
    ]


def test_its_file_has_the_sizes_of_the_examples(model: Any, tmp_path: Path, modules: Path) -> None:
    folder = tmp_path / "page"
    lite.export(model, tmp_path / "m.tflite", web=folder, web_runtime=modules)
    (case,) = page_in(folder)["cases"]
    given, wanted = (
        np.array(one["data"], np.float32).reshape(one["shape"])
        for one in (case["inputs"]["image"], case["outputs"]["output_0"])
    )
    found = Interpreter((folder / "model.tflite").read_bytes()).run({"image": given})
    np.testing.assert_allclose(found["output_0"], wanted, atol=1e-6)
    inner = tf.lite.Interpreter(model_path=str(folder / "model.tflite"))
    (one,) = inner.get_input_details()
    assert list(one["shape_signature"]) == [1, 8, 8, 3]
    whole = tf.lite.Interpreter(model_path=str(tmp_path / "m.tflite"))
    assert list(whole.get_input_details()[0]["shape_signature"]) == [-1, 8, 8, 3]


def test_a_sample_is_what_it_shows(model: Any, tmp_path: Path, modules: Path) -> None:
    sample = {"image": np.full((2, 8, 8, 3), 7, np.float32)}
    lite.export(model, web=tmp_path / "page", web_runtime=modules, sample=sample)
    described = page_in(tmp_path / "page")
    assert described["inputs"][0]["shape"] == [2, 8, 8, 3]
    assert set(described["cases"][0]["inputs"]["image"]["data"]) == {7.0}


def test_whole_numbers_have_their_scale(model: Any, tmp_path: Path, modules: Path) -> None:
    rows = {"image": np.random.default_rng(0).random((20, 8, 8, 3), np.float32) * 255}
    lite.export(
        model,
        web=tmp_path / "page",
        web_runtime=modules,
        int8_static=rows,
        input_type="uint8",
        output_type="uint8",
    )
    described = page_in(tmp_path / "page")
    (image,), (scores,) = described["inputs"], described["outputs"]
    assert image["dtype"] == "uint8"
    assert 0.9 < image["scale"] < 1.1
    assert scores["steps"] == 1
    assert sum(described["cases"][0]["outputs"]["output_0"]["data"]) == pytest.approx(256, abs=4)


def test_what_litert_js_has_no_tensors_of(tmp_path: Path, modules: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([2, 3], name="x")])
    def best(x: tf.Tensor) -> tf.Tensor:
        return tf.argmax(x, -1)

    with pytest.raises(UnimplementedError, match=r"'output_0' is int64, which LiteRT\.js has no"):
        lite.export(
            best.get_concrete_function(),
            tmp_path / "m.tflite",
            web=tmp_path / "page",
            web_runtime=modules,
        )
    assert not (tmp_path / "m.tflite").exists()
    assert not (tmp_path / "page").exists()


def test_tensorflows_own_ops(tmp_path: Path, modules: Path) -> None:
    inverse = tf.function(tf.linalg.inv).get_concrete_function(tf.TensorSpec([2, 2], name="x"))
    with pytest.raises(UnimplementedError, match=r"LiteRT\.js has no TensorFlow ops"):
        lite.export(inverse, web=tmp_path / "page", web_runtime=modules, allow_flex=True)


def test_without_the_runtime_nothing_is_written(model: Any, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="npm install @litertjs/core @litertjs/wasm-utils"):
        lite.export(model, tmp_path / "m.tflite", web=tmp_path / "page", web_runtime=tmp_path)
    assert not list(tmp_path.iterdir())


def test_another_version_of_the_package(model: Any, tmp_path: Path, modules: Path) -> None:
    (modules / "@litertjs" / "core" / "dist" / "index.js").write_text("import 'x';")
    with pytest.raises(InternalError, match="this version is not supported"):
        lite.export(model, web=tmp_path / "page", web_runtime=modules)


def test_where_the_runtime_is_looked_for(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = modules / "@litertjs" / "core"
    inner = modules.parent / "a" / "b"
    inner.mkdir(parents=True)
    for given in (core, modules, modules.parent):
        assert find_runtime(LITE, given).packages["@litertjs/core"] == core
    monkeypatch.chdir(inner)
    assert find_runtime(LITE, None).packages["@litertjs/core"] == core


def test_a_file_in_the_way(model: Any, tmp_path: Path, modules: Path) -> None:
    (tmp_path / "page").write_text("")
    with pytest.raises(InvalidArgumentError, match="is a file"):
        lite.export(model, web=tmp_path / "page", web_runtime=modules)


def test_at_the_command_line(model: Any, tmp_path: Path, modules: Path) -> None:
    tf.saved_model.save(model, tmp_path / "model")
    (tmp_path / "model" / "labels.txt").write_text("\n".join(LABELS))
    out = tmp_path / "m.tflite"
    done = pinnace("export", tmp_path / "model", out, "--page", "--web-runtime", modules)
    assert done.code == 0, done.err
    assert f"{tmp_path / 'm.page'}: a page; look at it with" in done.out
    assert page_in(tmp_path / "m.page")["outputs"][0]["labels"] == LABELS
