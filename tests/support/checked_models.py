"""Results of `tools/tf_check.py` for a model, for each way to load it with TensorFlow."""

import json
from pathlib import Path
from typing import Any

from architecture.sources import ROOT
from support.loaded_process import run_either

CHECK = ROOT / "tests" / "tools" / "tf_check.py"
RUN = """
import runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def failures(model: Path, arrays: Path, paths: str, python: str) -> dict[str, Any]:
    """Failures by path; empty if TensorFlow loads the model and computes the same results.

    Args:
        model: folder of the model.
        arrays: a file with inputs and expected outputs.
        paths: those of tf_check.py, separated by commas.
        python: the interpreter that has TensorFlow.
    """
    found = {}
    for path in paths.split(","):
        given = (model, "--io", arrays, "--child", path)
        said = run_either(RUN, CHECK, *given, python=python, timeout_s=900)
        (line,) = (line for line in said.splitlines() if line.startswith("TFCHECK "))
        found[path] = json.loads(line.removeprefix("TFCHECK "))
    return {path: answer for path, answer in found.items() if not answer["ok"]}
