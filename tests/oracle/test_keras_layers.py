"""Edge cases of Keras' layers give the same results as in Keras: see `keras_layer_programs`."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

PROGRAMS = Path(__file__).with_name("keras_layer_programs.py")
# float32 operations in another order; float16 keeps three digits.
CLOSE = {"rtol": 2e-5, "atol": 2e-5}
HALF = {"rtol": 2e-3, "atol": 2e-3}


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """Each library's results of every program, in a separate process."""
    return both.outcomes(PROGRAMS, tmp_path_factory, tensorflow_python)


@pytest.mark.parametrize("name", both.names(PROGRAMS))
def test_a_program_gives_what_it_gives_in_keras(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    theirs = outcomes["tensorflow"][name]
    assert not str(theirs).startswith("error: "), theirs
    both.same(
        outcomes["pinnace"][name], theirs, name, **(HALF if name == "large_in_half" else CLOSE)
    )
