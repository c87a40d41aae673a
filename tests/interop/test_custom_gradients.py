"""Custom gradients pass through SavedModels between both libraries, in both directions."""

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.loaded_process import run_either

PROGRAM = Path(__file__).with_name("gradient_models.py")
MODELS = [
    node.name for node in ast.parse(PROGRAM.read_text()).body if isinstance(node, ast.ClassDef)
]
RUN = """
import runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
# The library that wrote the file, and the one that reads it.
PAIRS = [
    ("tensorflow", "pinnace"),
    ("pinnace", "pinnace"),
    ("pinnace", "tensorflow"),
    ("saved again", "pinnace"),
    ("saved again", "tensorflow"),
]
Outcomes = Mapping[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str) -> Outcomes:
    """The results of each library for the files of each, by writer and reader."""
    folder = tmp_path_factory.mktemp("gradients")
    pythons: dict[str, dict[str, Any]] = {
        "tensorflow": {"python": tensorflow_python},
        "pinnace": {},
    }

    def run(library: str, *arguments: str) -> dict[str, Any]:
        done = run_either(RUN, PROGRAM, library, *arguments, **pythons[library])
        found: dict[str, Any] = json.loads(done.strip().splitlines()[-1])
        return found

    theirs, ours, again = (str(folder / name) for name in ("tensorflow", "pinnace", "again"))
    run("tensorflow", "write", theirs)
    run("pinnace", "write", ours)
    run("pinnace", "again", theirs, again)
    places = {"tensorflow": theirs, "pinnace": ours, "saved again": again}
    pairs = [("tensorflow", "tensorflow"), *PAIRS]
    found = {(writer, reader): run(reader, "read", places[writer]) for writer, reader in pairs}
    for writer, reader in (("tensorflow", "tensorflow"), ("tensorflow", "pinnace")):
        place = str(folder / "without")
        run(writer, "without", place)
        found[f"{writer} without", reader] = run(reader, "read", place)
    run("pinnace", "without", place)
    found["pinnace without", "pinnace"] = run("pinnace", "read", place)
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pair", PAIRS, ids=" to ".join)
def test_gradients_are_those_of_tensorflow(
    outcomes: Outcomes, name: str, pair: tuple[str, str]
) -> None:
    theirs = outcomes["tensorflow", "tensorflow"][name]
    ours = outcomes[pair][name]
    assert not isinstance(theirs, str), theirs
    assert not isinstance(ours, str), ours
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        if value is None:
            assert ours[key] is None, key
        else:
            # A few roundings in float32.
            np.testing.assert_allclose(ours[key], value, rtol=1e-5, atol=1e-6, err_msg=key)


@pytest.mark.parametrize(
    ("writer", "name"),
    [("tensorflow without", name) for name in MODELS]
    # Here silu consists of ops that have gradients.
    + [("pinnace without", name) for name in MODELS if name != "Swish"],
)
def test_a_gradient_that_was_not_saved_is_an_error(
    outcomes: Outcomes, writer: str, name: str
) -> None:
    theirs = outcomes["tensorflow without", "tensorflow"][name]
    ours = outcomes[writer, "pinnace"][name]
    assert str(theirs).startswith("LookupError: No gradient defined for operation"), theirs
    assert str(ours).startswith("LookupError: No gradient defined for operation"), ours
