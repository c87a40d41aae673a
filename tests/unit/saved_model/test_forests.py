"""SavedModels with ydf's forests give TensorFlow's results, and read no other files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.inspection import inspect
from support.changed_models import write_changed
from support.golden import golden

GOLDEN = Path(__file__).parents[2] / "golden" / "forests"
NAMES = ["boosted_number", "boosted_three", "cart_three", "forest_oblique"]


def asked(folder: Path, io: Path) -> tuple[Any, Any]:
    """The signature's output, and TensorFlow's."""
    serve = tf.saved_model.load(folder).signatures["serving_default"]
    with np.load(io) as arrays:
        given = {}
        for name in serve.structured_input_signature[1]:
            value = arrays[f"in/{name}"]
            given[name] = tf.constant(value.astype(object) if value.dtype.kind == "S" else value)
        return serve(**given)["output"].numpy(), arrays["out/output"]


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_tensorflow_also_when_saved_again(name: str, tmp_path: Path) -> None:
    again = tmp_path / "again"
    tf.saved_model.save(tf.saved_model.load(GOLDEN / name / "model"), again)
    for folder in (GOLDEN / name / "model", again):
        y, wanted = asked(folder, golden(f"forests/{name}") / "io.npz")
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)
    report = inspect(GOLDEN / name / "model")
    assert (report.load_error, list(report.unsupported)) == ("", [])


def copied(tmp_path: Path) -> tuple[Path, Path]:
    """A model, and one of its forest's files."""
    folder = tmp_path / "base" / "1"
    shutil.copytree(GOLDEN / "cart_three" / "model", folder)
    (nodes,) = folder.glob("assets/*_nodes-*")
    return folder, nodes


def test_a_link_out_of_the_model_is_not_followed(tmp_path: Path) -> None:
    folder, nodes = copied(tmp_path)
    outside = tmp_path / "outside"
    shutil.move(nodes, outside)
    nodes.symlink_to(outside)
    with pytest.raises(
        tf.errors.PermissionDeniedError, match=r"(?s)is a link to .*outside.*cp -rL"
    ):
        tf.saved_model.load(folder).signatures["serving_default"]
    options = tf.saved_model.LoadOptions(allow_io=True)
    trusted = tf.saved_model.load(folder, options=options)
    assert trusted.signatures["serving_default"]


def test_a_graph_names_no_folder_but_that_of_its_assets(tmp_path: Path) -> None:
    folder, _ = copied(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(folder / "assets", elsewhere)
    path = folder / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    for function in message.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "StaticRegexReplace":
                node.attr["pattern"].s = b"^.*$"
                node.attr["rewrite"].s = f"{elsewhere}/".encode()
    write_changed(path, message)
    with pytest.raises(tf.errors.PermissionDeniedError, match="is a path that a graph made"):
        tf.saved_model.load(folder).signatures["serving_default"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    folder, nodes = copied(tmp_path)
    nodes.unlink()
    with pytest.raises(tf.errors.NotFoundError, match=nodes.name):
        tf.saved_model.load(folder).signatures["serving_default"]
