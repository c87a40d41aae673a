"""`pinnace show` of an ONNX file."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from pinnace.deploy.cli.main import main


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file written by onnx itself: a branch with a body, an open size, a named size."""
    kind = onnx.TensorProto.FLOAT
    double = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y2"])],
        "double",
        [],
        [helper.make_tensor_value_info("y2", kind, None)],
    )
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("If", ["flag"], ["y"], then_branch=double, else_branch=double),
        ],
        "net",
        [
            helper.make_tensor_value_info("x", kind, ["rows", 2]),
            helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", kind, [2, 3]),
        ],
        [helper.make_tensor_value_info("y", kind, None)],
        [onnx.numpy_helper.from_array(np.ones((2, 3), np.float32), "w")],
    )
    model = helper.make_model(graph, producer_name="somebody", producer_version="2")
    onnx.save(model, tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def test_inputs_outputs_and_operators_are_shown(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(file)]) == 0
    told = capsys.readouterr().out
    assert "by somebody 2" in told
    assert "[rows, 2]" in told
    assert "4 nodes of 3 kinds" in told  # including those in both branches
    assert "6 numbers" in told


def test_json_has_what_has_no_value_as_inputs(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "--json", str(file)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["dtype"]) for one in told["inputs"]] == [
        ("x", "FLOAT"),
        ("flag", "BOOL"),
    ]
    assert told["outputs"][0]["shape"] is None
    assert told["ops"] == {"Add": 2, "MatMul": 1, "If": 1}


def test_a_damaged_file_is_one_error(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(file.read_bytes()[:20])
    assert main(["show", str(file)]) != 0
    assert "is damaged" in capsys.readouterr().err


def test_options_of_other_kinds_are_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(file), "--graph", "net"]) != 0
    assert "--graph is for SavedModels" in capsys.readouterr().err
