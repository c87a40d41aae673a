"""Models of version 1 that `tests/interop/v1_writing.py` wrote: loading them, and their results."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pinnace import saved_model
from support.recorded import largest_difference


def load_v1(folder: Path) -> Any:
    """The model of one program's folder; a frozen graph as a model with one signature."""
    about = json.loads((folder / "about.json").read_text())
    if about["kind"] == "saved_model":
        return saved_model.load(folder / "model", tags=about["tags"])
    path = folder / about["file"]
    function = saved_model.load_frozen_graph(path, about["inputs"], about["outputs"])
    return SimpleNamespace(signatures={"serving_default": function})


def answers_of(folder: Path) -> float:
    """The differences of its results from TensorFlow's."""
    return largest_difference(load_v1(folder), folder / "io.npz")
