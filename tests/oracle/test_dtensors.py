"""Tensors with layouts have the values, the parts and the layouts that they have in TensorFlow."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

FILE = Path(__file__).with_name("dtensor_programs.py")


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """Every program run by each library in a process of its own."""
    return both.outcomes(FILE, tmp_path_factory, tensorflow_python)


@pytest.mark.parametrize("name", both.names(FILE))
def test_a_program_gives_what_it_gives_in_tensorflow(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    theirs, ours = outcomes["tensorflow"][name], outcomes["pinnace"][name]
    assert not str(theirs).startswith("error"), theirs
    assert not str(ours).startswith("error"), ours
    both.same(ours, theirs, name, rtol=2e-6, atol=1e-6)
