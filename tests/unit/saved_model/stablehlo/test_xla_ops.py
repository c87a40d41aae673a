"""TensorFlow's ops `Xla*` give TensorFlow's results, also when saved again, and in ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from pinnace.deploy import onnx
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.inspection import inspect
from support.changed_models import write_changed
from support.golden import golden

FOLDER = Path(__file__).parents[3] / "golden" / "xla_ops"
# Signatures that cannot become ONNX, with the reason in the error.
REFUSED = {
    "decomposed": "ONNX has no factorization",
    "small": "Bitcast",
    "sorts": "Bitcast",
}


def cases() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    with np.load(golden("xla_ops/io.npz")) as arrays:
        for key, value in arrays.items():
            signature, side, name = key.split("/")
            found.setdefault(signature, ({}, {}))[side == "out"][name] = value
    return found


def check(found: Any, wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        y = np.asarray(found[key])
        assert y.dtype == value.dtype, key
        np.testing.assert_allclose(y, value, rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", cases())
def test_answers_are_those_of_tensorflow(name: str, tmp_path: Path) -> None:
    given, wanted = cases()[name]
    loaded = tf.saved_model.load(golden("xla_ops/model"))
    tf.saved_model.save(loaded, tmp_path / "again", signatures=dict(loaded.signatures))
    for model in (loaded, tf.saved_model.load(tmp_path / "again")):
        feeds = {key: tf.constant(value) for key, value in given.items()}
        found = model.signatures[name](**feeds)
        check({key: value.numpy() for key, value in found.items()}, wanted)


@pytest.mark.parametrize("name", cases())
def test_an_exported_file_answers_likewise(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    if name in REFUSED:
        with pytest.raises(tf.errors.OpError, match=REFUSED[name]):
            onnx.export(golden("xla_ops/model"), path, signature=name)
        return
    onnx.export(golden("xla_ops/model"), path, signature=name)
    given, wanted = cases()[name]
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    check(dict(zip(names, session.run(None, given), strict=True)), wanted)


def test_nothing_of_it_is_unsupported() -> None:
    report = inspect(golden("xla_ops/model"))
    assert (report.load_error, list(report.unsupported)) == ("", [])


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("XlaDot", "dimension_numbers is damaged"),
        ("XlaPad", "must be a constant"),
        ("XlaReduce", r"node 'XlaReduce' \(XlaReduce\)"),
        ("XlaConv", "must be a constant"),
    ],
)
def test_what_cannot_be_is_told_with_the_node(op: str, message: str, tmp_path: Path) -> None:
    path = golden("xla_ops/model") / "saved_model.pb"
    model = SavedModel.FromString(path.read_bytes())
    library = model.meta_graphs[0].graph_def.library
    for function in library.function:
        for node in function.node_def:
            if node.op == op:
                spoil(node, library)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "variables").symlink_to(golden("xla_ops/model") / "variables")
    write_changed(folder / "saved_model.pb", model.SerializeToString())
    with pytest.raises(tf.errors.OpError, match=message):
        used(folder)


def spoil(node: Any, library: Any) -> None:
    """Make a node invalid."""
    if node.op == "XlaDot":
        node.attr["dimension_numbers"].s = b"\x0a\x7f"
    elif node.op == "XlaPad":
        node.input[2] = node.input[1]
    elif node.op == "XlaConv":
        node.input[2] = "x0"
    else:
        name = node.attr["reducer"].func.name
        (body,) = (one for one in library.function if one.signature.name == name)
        for inner in body.node_def:
            inner.op = "L2Loss" if inner.op == "AddV2" else inner.op


def used(folder: Path) -> None:
    """Load a model and run all its signatures."""
    loaded = tf.saved_model.load(folder)
    for name, (given, _) in cases().items():
        loaded.signatures[name](**{key: tf.constant(value) for key, value in given.items()})
