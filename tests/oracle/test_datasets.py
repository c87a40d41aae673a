"""Pipelines give the elements, specs and cardinalities that TensorFlow's give."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from support.fresh_process import run_fresh

PROGRAMS = Path(__file__).with_name("dataset_programs.py")


def names() -> list[str]:
    """The programs' names, without running them: TensorFlow is not here."""
    for node in ast.parse(PROGRAMS.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PROGRAMS":
            return [key.value for key in node.value.keys]  # type: ignore[attr-defined]
    raise AssertionError("dataset_programs.py has no PROGRAMS")


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """Every program run by each library in a process of its own."""
    found = {}
    for library, python in (("tensorflow", tensorflow_python), ("pinnace", None)):
        folder = tmp_path_factory.mktemp(library)
        chosen = {} if python is None else {"python": python}
        done = run_fresh(RUN, str(PROGRAMS), library, folder, **chosen)
        found[library] = json.loads(done.strip().splitlines()[-1])
    return found


RUN = """
import runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("name", names())
def test_a_pipeline_gives_what_tensorflows_gives(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    theirs, ours = outcomes["tensorflow"][name], outcomes["pinnace"][name]
    assert ours == theirs
