"""What programs written by others do with `keras` gives what it gives in Keras."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

PROGRAMS = Path(__file__).with_name("keras_example_programs.py")
# Ten float32 operations in another order; draws go through logarithms and roots.
CLOSE = {"rtol": 2e-5, "atol": 2e-5}


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """Every program run by each library in a process of its own."""
    return both.outcomes(PROGRAMS, tmp_path_factory, tensorflow_python)


@pytest.mark.parametrize("name", both.names(PROGRAMS))
def test_a_program_gives_what_it_gives_in_keras(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    theirs = outcomes["tensorflow"][name]
    assert not str(theirs).startswith("error: "), theirs
    both.same(outcomes["pinnace"][name], theirs, name, **CLOSE)
