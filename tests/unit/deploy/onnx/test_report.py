"""Reports: the file, the runtimes that accept it, or the reasons of a refusal."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.verification.compatibility import verdicts
from pinnace.framework import errors
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.networks import classifier, image, op, traced

X = TensorSpec([None, 3], np.float32, name="x")


def unwritable(x: Any) -> Any:
    first = op("Ndtri", op("MatMul", x, x, transpose_a=True))
    return op("NextAfter", first, first)


def told(report: Path, **options: Any) -> dict[str, Any]:
    """The JSON of an export of the classifier."""
    export(traced(classifier, image()), report=report, **options)
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def test_a_report_says_what_the_file_says(tmp_path: Path) -> None:
    found = told(tmp_path / "report.json", path=tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    assert found["status"] == "exported"
    assert [one["node"] for one in found["nodes"]] == [node.name for node in model.graph.node]
    assert [one["op"] for one in found["nodes"]] == [node.op_type for node in model.graph.node]
    assert found["file_bytes"] == (tmp_path / "m.onnx").stat().st_size
    weights = sum(onnx.numpy_helper.to_array(t).nbytes for t in model.graph.initializer)
    assert found["weight_bytes"] == weights
    assert set(found["differences"]) == {value.name for value in model.graph.output}


def test_a_node_leads_to_the_line_that_made_it(tmp_path: Path) -> None:
    found = told(tmp_path / "report.json")
    convolutions = [one for one in found["nodes"] if one["op"] == "Conv"]
    assert len(convolutions) == 2
    for one in convolutions:
        assert "networks.py:" in one["called_at"]
        assert one["made_for"]


def test_what_was_fused_is_told(tmp_path: Path) -> None:
    improved = told(tmp_path / "report.json")["improved"]
    # One BatchNormalization and two biases went into two convolutions, one into a product.
    assert improved["before"]["BatchNormalization"] == 1
    assert "BatchNormalization" not in improved["after"]
    assert improved["before"]["MatMul"] == improved["after"]["Gemm"] == 1


def test_people_get_the_same_in_markdown(tmp_path: Path) -> None:
    export(traced(classifier, image()), report=tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    for heading in ("Inputs and outputs", "Differences", "Runtimes", "Operators", "Nodes"):
        assert f"## {heading}" in text
    assert "| Conv | 2 |" in text
    assert "| Conv2D | 2 |" in text


@pytest.mark.parametrize("form", ["json", "md"])
def test_a_refusal_is_reported_with_every_op_node_and_line(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"report.{form}"
    with pytest.raises(errors.UnimplementedError):
        export(traced(unwritable, X), tmp_path / "m.onnx", report=path)
    assert not (tmp_path / "m.onnx").exists()
    text = path.read_text()
    if form == "md":
        assert "# Not exported" in text
        assert "| NextAfter |" in text
        return
    found = json.loads(text)
    assert found["status"] == "refused"
    assert [one["op"] for one in found["unconvertible"]] == ["Ndtri", "NextAfter"]
    for one in found["unconvertible"]:
        (node,) = one["nodes"]
        assert one["reason"]
        assert node["node"]
        assert ".py:" in node["called_at"]


def test_another_failure_is_reported_too(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with pytest.raises(errors.NotFoundError):
        export(tmp_path / "nothing", report=path)
    found = json.loads(path.read_text())
    assert found["status"] == "failed"
    assert found["error"] == "MissingFileError"
    assert found["unconvertible"] == []


def test_a_report_in_another_form_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"must end in \.json or \.md"):
        told(tmp_path / "report.txt")
    with pytest.raises(errors.NotFoundError, match=r"folder of report .* does not exist"):
        told(tmp_path / "missing" / "report.md")


# Runtimes.


def model_of(
    kinds: str, dtype: int = TensorProto.FLOAT, opset: int = 18, ir_version: int = 8, **shape: Any
) -> onnx.ModelProto:
    """A chain of operators, of which only names and types matter."""
    nodes = [
        helper.make_node(kind, [f"v{i}"], [f"v{i + 1}"]) for i, kind in enumerate(kinds.split())
    ]
    sizes = shape.get("sizes", [2, 3])
    first = helper.make_tensor_value_info("v0", dtype, sizes)
    last = helper.make_tensor_value_info(f"v{len(nodes)}", dtype, sizes)
    graph = helper.make_graph(nodes, "g", [first], [last])
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version
    )


def answers(model: onnx.ModelProto, size: int = 1000, aside: bool = False) -> dict[str, str]:
    return {one.runtime: one.answer for one in verdicts(model, size, is_aside=aside)}


def answer(found: dict[str, str], name: str) -> str:
    (one,) = [value for key, value in found.items() if name in key]
    return one


def test_a_plain_file_is_taken_everywhere() -> None:
    assert set(answers(model_of("Relu Tanh")).values()) == {"accepts"}


# Highest opset and IR version that each accepted, of one-node models.
@pytest.mark.parametrize(
    ("runtime", "opset", "ir_version"),
    [
        ("onnxruntime 1.19", 21, 10),
        ("onnxruntime 1.21", 22, 10),
        ("onnxruntime 1.23", 23, 11),
        ("onnxruntime 1.24", 25, 13),
        ("onnxruntime 1.26", 26, 13),
        ("onnxruntime 1.32", 28, 14),
        ("react-native", 25, 13),
    ],
)
def test_versions_have_limits(runtime: str, opset: int, ir_version: int) -> None:
    assert answer(answers(model_of("Relu", opset=opset)), runtime) == "accepts"
    assert answer(answers(model_of("Relu", ir_version=ir_version)), runtime) == "accepts"
    for model in (model_of("Relu", opset=opset + 1), model_of("Relu", ir_version=ir_version + 1)):
        (one,) = [v for v in verdicts(model, 1, is_aside=False) if runtime in v.runtime]
        assert one.answer == "refuses"
        assert one.changes


def test_the_build_for_gpus_has_no_float64() -> None:
    found = answers(model_of("Relu", TensorProto.DOUBLE))
    assert answer(found, "WebGPU") == "refuses"
    assert answer(found, "WebAssembly") == "accepts"


def test_what_a_gpu_does_not_compute_is_counted() -> None:
    (one,) = [
        v for v in verdicts(model_of("Sign Relu Sign"), 1, is_aside=False) if "WebGPU" in v.runtime
    ]
    assert one.answer == "partly"
    assert "Sign (2)" in one.reasons[0]


def test_javascript_has_no_bfloat16() -> None:
    found = answers(model_of("Identity", TensorProto.BFLOAT16))
    assert answer(found, "onnxruntime-node") == "refuses"
    assert answer(found, "onnxruntime 1.26") == "accepts"


def test_a_browser_has_so_much_memory() -> None:
    assert answer(answers(model_of("Relu"), 1_600_000_000), "WebAssembly") == "refuses"


def test_webnn_wants_every_size() -> None:
    found = answers(model_of("Relu", sizes=["batch", 3]))
    assert answer(found, "WebNN") == "refuses"
    assert answer(found, "CoreML") == "partly"


def test_loops_stay_on_the_processor() -> None:
    found = answers(model_of("Loop"))
    assert answer(found, "CoreML") == "partly"
    assert answer(found, "WebGPU") == "partly"


def test_bodies_are_looked_into() -> None:
    body = model_of("STFT").graph
    node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    graph = helper.make_graph([node], "g", [], [])
    assert answer(answers(helper.make_model(graph, ir_version=8)), "WebAssembly") == "refuses"


def test_a_page_must_hand_over_the_weights_file() -> None:
    found = answers(model_of("Relu"), aside=True)
    assert answer(found, "WebAssembly") == "partly"
    assert answer(found, "onnxruntime-node") == "accepts"


def test_what_the_installed_runtime_takes_is_in_the_table() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    opset, ir_version = {"1.31": (26, 13), "1.32": (28, 14)}.get(
        onnxruntime.__version__[:4], (0, 0)
    )
    if not opset:
        pytest.skip("the table was measured with 1.31 and 1.32")
    found = answers(model_of("Relu", opset=opset, ir_version=ir_version))
    names = [name for name, told in found.items() if told == "accepts"]
    assert any(onnxruntime.__version__[:4] in name for name in names), names
    model = model_of("Relu", opset=opset, ir_version=ir_version)
    onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for newer in (model_of("Relu", opset=opset + 1), model_of("Relu", ir_version=ir_version + 1)):
        with pytest.raises(Exception, match=r"opset|IR version|ir_version"):
            onnxruntime.InferenceSession(
                newer.SerializeToString(), providers=["CPUExecutionProvider"]
            )
