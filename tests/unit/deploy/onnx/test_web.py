"""The page: its files, its description, and its refusals. `make edge` visits it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.deploy.page.contents import tensor_json
from pinnace.deploy.page.runtimes import ONNX, find_runtime
from pinnace.framework.errors import InvalidArgumentError, NotFoundError, UnimplementedError

PAGE = Path(__file__).parents[4] / "deploy" / "page" / "files"
RUNTIME = list(ONNX.files[0].names.values())


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """An npm package's folder with dummy files: only `make edge` runs them."""
    dist = tmp_path / "node_modules" / "onnxruntime-web" / "dist"
    dist.mkdir(parents=True)
    for name in RUNTIME:
        (dist / name).write_bytes(name.encode())
    return dist


@tf.function(
    input_signature=[
        tf.TensorSpec([None, 3], tf.float32, name="x"),
        tf.TensorSpec([None], tf.int64, name="n"),
    ]
)
def program(x: tf.Tensor, n: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": tf.nn.softmax(x), "m": n * 2, "b": n > 3}


def test_the_folder_has_all_of_it(tmp_path: Path, runtime: Path) -> None:
    folder = tmp_path / "page"
    report = export(
        program.get_concrete_function(), tmp_path / "m.onnx", web=folder, web_runtime=runtime
    )
    assert (folder / "model.onnx").read_bytes() == (tmp_path / "m.onnx").read_bytes()
    for name in RUNTIME:
        assert (folder / "ort" / name).read_bytes() == name.encode()
    described = json.loads((folder / "page.json").read_text())
    assert [one["name"] for one in described["inputs"]] == list(report.inputs)
    assert [one["name"] for one in described["outputs"]] == list(report.outputs)
    assert described["inputs"][0] == {"name": "x", "dtype": "float32", "shape": [None, 3]}
    assert described["cases"]
    for case in described["cases"]:
        x, y = (
            np.array(one["data"]).reshape(one["shape"])
            for one in (case["inputs"]["x"], case["outputs"][list(report.outputs)[-1]])
        )
        exponents = np.exp(x - x.max(-1, keepdims=True))
        wanted = exponents / exponents.sum(-1, keepdims=True)
        np.testing.assert_allclose(y, wanted, rtol=1e-5)


class Links(HTMLParser):
    """The files that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        self.found += [value or "" for name, value in attrs if name in ("src", "href")]


def test_it_loads_only_its_own_files() -> None:
    links = Links()
    links.feed((PAGE / "index.html").read_text())
    local = [link for link in links.found if not link.startswith("data:")]
    assert local
    assert all((PAGE / link).is_file() for link in local)
    for file in PAGE.iterdir():
        assert not re.search(r"https?://|//cdn", file.read_text()), file.name


def test_other_files_of_the_folder_stay(tmp_path: Path, runtime: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    export(program.get_concrete_function(), web=folder, web_runtime=runtime)
    assert (folder / "mine.txt").read_text() == "mine"
    assert (folder / "index.html").is_file()


def test_where_the_runtime_is_looked_for(
    tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    for given in (runtime, runtime.parent, runtime.parents[1], tmp_path):
        assert find_runtime(ONNX, given).packages["onnxruntime-web"] == runtime.parent
    monkeypatch.chdir(inner)
    assert find_runtime(ONNX, None).packages["onnxruntime-web"] == runtime.parent
    (runtime / RUNTIME[1]).unlink()
    with pytest.raises(NotFoundError, match="npm install onnxruntime-web"):
        find_runtime(ONNX, tmp_path)


def test_without_the_runtime_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="onnxruntime-web was not found in"):
        export(
            program.get_concrete_function(),
            tmp_path / "m.onnx",
            web=tmp_path / "page",
            web_runtime=tmp_path,
        )
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_way(tmp_path: Path, runtime: Path) -> None:
    (tmp_path / "page").write_text("")
    with pytest.raises(InvalidArgumentError, match="is a file"):
        export(program.get_concrete_function(), web=tmp_path / "page", web_runtime=runtime)


def test_labels_and_a_normalization_are_in_it(tmp_path: Path, runtime: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([1, 4, 4, 3], tf.float32, name="x")])
    def colours(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.reduce_mean(x, [1, 2])}

    file = tmp_path / "labels.txt"
    file.write_text("red\ngrün\nblue\n", encoding="utf-8")
    export(
        colours.get_concrete_function(),
        web=tmp_path / "page",
        web_runtime=runtime,
        labels=file,
        normalization=((10.0, 20.0, 30.0), (2.0,)),
    )
    described = json.loads((tmp_path / "page" / "page.json").read_text())
    assert described["outputs"][0]["labels"] == ["red", "grün", "blue"]
    assert described["inputs"][0]["pixels"] == {"mean": [10.0, 20.0, 30.0], "std": [2.0]}


def test_labels_without_a_page(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="labels and normalization need a page"):
        export(program.get_concrete_function(), tmp_path / "m.onnx", labels=["a", "b", "c"])


def test_dtypes_that_javascript_lacks(tmp_path: Path, runtime: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([2], tf.bfloat16, name="x")])
    def narrow(x: tf.Tensor) -> tf.Tensor:
        return tf.cast(x, tf.float32)

    with pytest.raises(UnimplementedError, match="input 'x' is bfloat16"):
        export(narrow.get_concrete_function(), web=tmp_path / "page", web_runtime=runtime)


@pytest.mark.parametrize(
    ("array", "data"),
    [
        (np.array([np.nan, np.inf, -np.inf, 0.5], "f"), ["NaN", "Infinity", "-Infinity", 0.5]),
        (np.array([2**63 - 1, -(2**63)]), ["9223372036854775807", "-9223372036854775808"]),
        (np.array([True, False]), [1, 0]),
        (np.array([b"a", "ü"], object), ["a", "ü"]),
    ],
)
def test_tensors_as_javascript_reads_them(array: Any, data: list[Any]) -> None:
    found = tensor_json(array)
    assert found["data"] == data
    assert found["shape"] == list(array.shape)
    json.dumps(found, allow_nan=False)
