"""Layers that change images draw what Keras draws from the same seeds, and do the same with it."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

PROGRAMS = Path(__file__).with_name("keras_augmentation_programs.py")
# Sums of float32 products in another order, of values up to 255.
CLOSE = {"rtol": 2e-5, "atol": 2e-3}


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
