"""Sparse and ragged results of preprocessing layers, and models on such inputs, as in Keras."""

from pathlib import Path
from typing import Any

import pytest

from oracle import both

PROGRAMS = Path(__file__).with_name("keras_sparse_programs.py")
# Float32 sums in another order, over two epochs of training.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}

# Keras returns a sparse tensor with an index outside its shape: that of the mask token.
OUTSIDE = {
    ("masked_lookup", f"{mode}_{form}")
    for mode, form in (
        ("one_hot", "matrix"),
        ("one_hot", "cube"),
        ("multi_hot", "cube"),
        ("count", "cube"),
    )
}
# Keras densifies a sparse tensor with zeros before the lookup, but only when called eagerly.
FILLED = {("integer_lookup", f"{mode}_sparse") for mode in ("int", "one_hot", "multi_hot", "count")}


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, tensorflow_python: str
) -> dict[str, dict[str, Any]]:
    """Each library's results of every program, in a separate process."""
    return both.outcomes(PROGRAMS, tmp_path_factory, tensorflow_python)


def without_errors(ours: Any, theirs: Any, where: str) -> tuple[Any, Any]:
    """Both results without the calls that fail in Keras, and without the deviations above."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        kept = {
            key: without_errors(ours[key], value, where)
            for key, value in theirs.items()
            if value != "error" and (where, key) not in OUTSIDE | FILLED
        }
        return {k: v[0] for k, v in kept.items()}, {k: v[1] for k, v in kept.items()}
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        pairs = [without_errors(x, y, where) for x, y in zip(ours, theirs, strict=True)]
        return [x for x, _ in pairs], [y for _, y in pairs]
    return ours, theirs


@pytest.mark.parametrize("name", both.names(PROGRAMS))
def test_a_program_gives_what_it_gives_in_keras(
    outcomes: dict[str, dict[str, Any]], name: str
) -> None:
    theirs = outcomes["tensorflow"][name]
    assert not str(theirs).startswith("error: "), theirs
    ours, theirs = without_errors(outcomes["pinnace"][name], theirs, name)
    both.same(ours, theirs, name, **CLOSE)


def test_keras_gives_most_of_what_is_compared(outcomes: dict[str, dict[str, Any]]) -> None:
    called = [
        form["eager"]
        for name in ("category", "hashing", "discretization", "string_lookup")
        for form in outcomes["tensorflow"][name].values()
    ]
    assert sum(result != "error" for result in called) > len(called) / 2
