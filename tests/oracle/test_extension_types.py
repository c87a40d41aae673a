"""Extension types, and functions registered for them, give the same results as in TensorFlow."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

FILES = [Path(__file__).with_name(f"{name}_programs.py") for name in ("extension", "dispatch")]
Outcomes = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str) -> Outcomes:
    """Every program run by each library in a separate process, by file."""
    return {file.name: both.outcomes(file, tmp_path_factory, tensorflow_python) for file in FILES}


@pytest.mark.parametrize(
    ("file", "name"), [(file.name, name) for file in FILES for name in both.names(file)]
)
def test_a_program_gives_what_it_gives_in_tensorflow(
    outcomes: Outcomes, file: str, name: str
) -> None:
    theirs, ours = outcomes[file]["tensorflow"][name], outcomes[file]["pinnace"][name]
    assert not str(theirs).startswith("error"), theirs
    assert ours == theirs
