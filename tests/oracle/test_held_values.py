"""Lists and bundles as ops do what they do in TensorFlow."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

PROGRAMS = Path(__file__).with_name("held_value_programs.py")
# Sums of products may be in another order.
CLOSE = {"rtol": 2e-6, "atol": 2e-6}


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """Every program run by each library in a process of its own."""
    return both.outcomes(PROGRAMS, tmp_path_factory, tensorflow_python)


@pytest.mark.parametrize("name", both.names(PROGRAMS))
def test_held_values_are_what_they_are_in_tensorflow(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    theirs = outcomes["tensorflow"][name]
    assert not str(theirs).startswith("error: "), theirs
    both.same(outcomes["pinnace"][name], theirs, name, **CLOSE)
