"""Plots of models, compared with Keras's: boxes, their texts, edges, frames."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path

import pinnace as tf
from support import drawn_models


def test_a_model_has_the_graph_that_keras_makes(tensorflow_python: str, tmp_path: Path) -> None:
    # Pure Python, so Keras's interpreter can import it from here.
    for name in ("pydot", "pyparsing"):
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        (tmp_path / name).symlink_to(Path(found.origin).parent)
    out = tmp_path / "answers.json"
    command = [tensorflow_python, drawn_models.__file__, str(tmp_path), str(out)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    theirs = json.loads(out.read_text())
    ours = drawn_models.answers(tf.keras, tf.keras.utils.model_to_dot)
    assert list(ours) == list(theirs)
    for name, graph in theirs.items():
        assert ours[name] == graph, name
