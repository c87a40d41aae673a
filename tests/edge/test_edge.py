"""The same results in Python, Node, WebAssembly and a browser, from .onnx and .ort files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edge.runtimes import MODELS, record, run_node
from pinnace.deploy.onnx.verification.checking import open_session, run_session

if TYPE_CHECKING:
    from edge.runtimes import Edge

FORMS = ("onnx", "ort")
every_model = pytest.mark.parametrize("model", MODELS)
every_form = pytest.mark.parametrize("form", FORMS)


def column(runtime: str, form: str) -> str:
    return runtime if form == "onnx" else f"{runtime}.ort"


def array(tensor: dict[str, Any]) -> Any:
    kind = object if tensor["dtype"] == "string" else tensor["dtype"]
    return np.array(tensor["data"], kind).reshape(tensor["shape"])


@every_model
@every_form
def test_python_agrees(edge: Edge, model: str, form: str) -> None:
    page = json.loads((edge.pages / f"{model}-onnx" / "page.json").read_text())
    session = open_session(edge.model(model, form).read_bytes())
    names = [one["name"] for one in page["outputs"]]
    worst = 0.0
    for case in page["cases"]:
        feeds = {name: array(tensor) for name, tensor in case["inputs"].items()}
        for name, got in zip(names, run_session(session, feeds), strict=True):
            wanted = array(case["outputs"][name])
            assert got.dtype == wanted.dtype
            assert got.shape == wanted.shape
            if wanted.dtype.kind in "Ob":
                np.testing.assert_array_equal(got, wanted)
                continue
            size = np.max(np.abs(wanted), initial=0) or 1
            worst = max(worst, float(np.max(np.abs(got - wanted), initial=0) / size))
    ok = bool(page["cases"]) and worst <= page["tolerance"]
    record(model, column("python", form), {"ok": ok, "relative": worst})
    assert ok, worst


@every_model
@every_form
@pytest.mark.parametrize("kind", ["native", "wasm"])
def test_node_agrees(edge: Edge, model: str, form: str, kind: str) -> None:
    found = run_node(
        "run_node.mjs", kind, edge.model(model, form), edge.pages / f"{model}-onnx", edge.modules
    )
    record(model, column({"native": "node", "wasm": "wasm"}[kind], form), found)
    assert found["ok"], found["wrong"]


@every_model
@every_form
def test_a_browser_agrees(visited: dict[str, dict[str, Any]], model: str, form: str) -> None:
    found = visited[f"{model}-{form}"]
    record(model, column("browser", form), found)
    assert found["ok"], found["wrong"]
    assert found["shown"], "the button shows no outputs"
    assert not found["errors"]


@every_model
def test_a_page_needs_no_other_host(visited: dict[str, dict[str, Any]], model: str) -> None:
    assert visited[f"{model}-onnx"]["foreign"] == []


def test_a_wrong_output_is_found(edge: Edge, tmp_path: Any) -> None:
    for name in ("tensors.js", "runtime.js", "package.json", "page.json"):
        (tmp_path / name).write_bytes((edge.pages / "digits-onnx" / name).read_bytes())
    page = json.loads((tmp_path / "page.json").read_text())
    page["cases"][0]["outputs"]["output_0"]["data"][3] += 0.01
    (tmp_path / "page.json").write_text(json.dumps(page))
    found = run_node("run_node.mjs", "native", edge.model("digits", "onnx"), tmp_path, edge.modules)
    assert not found["ok"]
