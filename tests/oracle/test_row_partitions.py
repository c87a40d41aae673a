"""Rows without values tell what they tell in TensorFlow."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

PROGRAMS = Path(__file__).with_name("row_partition_programs.py")
# Integers.
CLOSE = {"rtol": 0, "atol": 0}


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """Every program run by each library in a process of its own."""
    return both.outcomes(PROGRAMS, tmp_path_factory, tensorflow_python)


@pytest.mark.parametrize("name", both.names(PROGRAMS))
def test_row_partitions_are_what_they_are_in_tensorflow(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    theirs = outcomes["tensorflow"][name]
    assert not str(theirs).startswith("error: "), theirs
    both.same(outcomes["pinnace"][name], theirs, name, **CLOSE)
