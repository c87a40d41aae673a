"""An ONNX model's weights are beside it: other files that it names are not read."""

from pathlib import Path

import numpy as np
import pytest

from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.serving.models.loading import load_model

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
SIZE = 1024
X = np.arange(SIZE, dtype=np.float32)


def save(folder: Path, location: str, *, nested: bool = False) -> Path:
    """x + weights, which are at the given location; in the branches of an If, if nested."""
    value = onnx.helper.make_tensor_value_info
    weights = onnx.TensorProto(name="w", data_type=1, dims=[SIZE], data_location=1)
    weights.external_data.add(key="location", value=location)
    x, y = value("x", 1, [SIZE]), value("y", 1, [SIZE])
    add = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    if nested:
        graph = onnx.helper.make_graph([add], "b", [], [y], [weights])
        true = onnx.helper.make_tensor("c", onnx.TensorProto.BOOL, [], [True])
        node = onnx.helper.make_node("If", ["c"], ["y"], then_branch=graph, else_branch=graph)
        graph = onnx.helper.make_graph([node], "g", [x], [y], [true])
    else:
        graph = onnx.helper.make_graph([add], "g", [x], [y], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def secret(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    X.tofile(path)


def test_weights_beside_the_model_are_read(tmp_path: Path) -> None:
    path = save(tmp_path / "1", "model.onnx.data")
    secret(tmp_path / "1" / "model.onnx.data")
    for where in (path, path.parent):
        signature = load_model(where).signatures["serving_default"]
        np.testing.assert_array_equal(signature.run_arrays({"x": X})["y"], X * 2)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("how", ["above", "absolute", "link", "linked folder"])
def test_weights_elsewhere_are_refused(tmp_path: Path, how: str, nested: bool) -> None:
    secret(tmp_path / "secret" / "numbers")
    locations = {
        "above": "../secret/numbers",
        "absolute": str(tmp_path / "secret" / "numbers"),
        "link": "numbers",
        "linked folder": "there/numbers",
    }
    path = save(tmp_path / "1", locations[how], nested=nested)
    (tmp_path / "1" / "numbers").symlink_to(tmp_path / "secret" / "numbers")
    (tmp_path / "1" / "there").symlink_to(tmp_path / "secret")
    for where in (path, path.parent):
        with pytest.raises(FailedPreconditionError, match="outside of its folder"):
            load_model(where)


def test_what_is_no_onnx_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\xff" * 100)
    with pytest.raises(InvalidArgumentError, match=r"model\.onnx"):
        load_model(path)
