"""Programs that run with TensorFlow and with pinnace, each in its own process, compared as JSON.

A file of programs has a dict `PROGRAMS`, is run as `python FILE tensorflow|pinnace FOLDER`, and
prints the result of each program as its last line.
"""

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.loaded_process import run_either

RUN = """
import runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[3])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def names(programs: Path) -> list[str]:
    """The programs' names, without running them, since TensorFlow is not installed here."""
    for node in ast.parse(programs.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PROGRAMS":
            return [key.value for key in node.value.keys]  # type: ignore[attr-defined]
    raise AssertionError(f"{programs.name} has no PROGRAMS")


def outcomes(
    programs: Path,
    folders: pytest.TempPathFactory,
    tensorflow_python: str,
    *,
    timeout_s: float = 300.0,
) -> dict[str, dict[str, Any]]:
    """The results of each library, by library and program."""
    found = {}
    for library, python in (("tensorflow", tensorflow_python), ("pinnace", None)):
        folder = folders.mktemp(library)
        chosen = {} if python is None else {"python": python}
        done = run_either(
            RUN, str(programs), library, folder, str(programs.parent), timeout_s=timeout_s, **chosen
        )
        found[library] = json.loads(done.strip().splitlines()[-1])
    return found


def same(ours: Any, theirs: Any, where: str, *, rtol: float, atol: float) -> None:
    """Assert that two outcomes have one structure, close floats, and equal other values.

    Args:
        ours: pinnace's outcome.
        theirs: TensorFlow's outcome.
        where: location, for messages.
        rtol: relative tolerance of floats.
        atol: absolute tolerance of floats.
    """
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key, value in theirs.items():
            same(ours[key], value, f"{where}.{key}", rtol=rtol, atol=atol)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for index, value in enumerate(theirs):
            same(ours[index], value, f"{where}[{index}]", rtol=rtol, atol=atol)
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=where)
    else:
        assert ours == theirs, where
