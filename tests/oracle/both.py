"""Programs that run with TensorFlow and with pinnace, each in its own process, compared as JSON.

A file of programs has a dict `PROGRAMS`, is run as `python FILE tensorflow|pinnace FOLDER`, and
prints what each program gave as its last line.
"""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from support.fresh_process import run_fresh

RUN = """
import runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[3])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def names(programs: Path) -> list[str]:
    """The programs' names, without running them: TensorFlow is not here."""
    for node in ast.parse(programs.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PROGRAMS":
            return [key.value for key in node.value.keys]  # type: ignore[attr-defined]
    raise AssertionError(f"{programs.name} has no PROGRAMS")


def outcomes(
    programs: Path, folders: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """What each library gives, by library and program."""
    found = {}
    for library, python in (("tensorflow", tensorflow_python), ("pinnace", None)):
        folder = folders.mktemp(library)
        chosen = {} if python is None else {"python": python}
        done = run_fresh(RUN, str(programs), library, folder, str(programs.parent), **chosen)
        found[library] = json.loads(done.strip().splitlines()[-1])
    return found
