"""Losses, loss weights and metrics in any structure are weighted and named as in Keras."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

PROGRAMS = Path(__file__).with_name("keras_compile_programs.py")


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """Each library's results of every program, in a separate process."""
    # About 400 models, which take TensorFlow a minute on an idle machine.
    return both.outcomes(PROGRAMS, tmp_path_factory, tensorflow_python, timeout_s=900)


@pytest.mark.parametrize("name", both.names(PROGRAMS))
def test_what_keras_takes_gives_what_it_gives_there(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    theirs, ours = outcomes["tensorflow"][name], outcomes["pinnace"][name]
    taken = [place for place, one in enumerate(theirs) if isinstance(one, dict)]
    assert len(taken) >= 5
    for place in taken:
        both.same(ours[place], theirs[place], f"{name}[{place}]", rtol=1e-5, atol=1e-6)
