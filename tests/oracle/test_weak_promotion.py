"""`experimental_enable_numpy_behavior` in "all" and "safe": TensorFlow's dtypes, weak or not."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

PROGRAMS = Path(__file__).with_name("weak_programs.py")


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """The results of each library, by library and program."""
    return both.outcomes(PROGRAMS, tmp_path_factory, tensorflow_python)


@pytest.mark.parametrize("name", both.names(PROGRAMS))
def test_a_program_gives_what_it_gives_in_tensorflow(
    name: str, outcomes: dict[str, dict[str, Any]]
) -> None:
    theirs, ours = outcomes["tensorflow"][name], outcomes["pinnace"][name]
    assert theirs.keys() == ours.keys()
    wrong = []
    for call, value in theirs.items():
        try:
            both.same(ours[call], value, call, rtol=1e-3, atol=1e-6)
        except (AssertionError, TypeError, AttributeError):
            wrong.append(f"{call}: {ours[call]}, TensorFlow {value}")
    assert not wrong, f"{len(wrong)} of {len(theirs)}\n" + "\n".join(wrong)
