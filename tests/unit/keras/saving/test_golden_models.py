"""Whole models that Keras 2 and 3 wrote: the same outputs here, and the same next step."""

import warnings
from pathlib import Path

import pytest

import pinnace as tf
from support.golden import golden
from support.keras_exchange import read
from support.keras_models import case_of

FOLDER = golden("keras_files/keras_3").parent
FILES = sorted(
    path.relative_to(FOLDER).as_posix()
    for folder in ("keras_3", "keras_2")
    for path in golden(f"keras_files/{folder}").iterdir()
    if path.suffix in {".keras", ".h5"}
)


@pytest.mark.parametrize("file", FILES)
def test_it_gives_the_same_outputs_and_trains_on(file: str) -> None:
    path = Path(file)
    with warnings.catch_warnings():
        # A head without a loss has no gradient.
        warnings.filterwarnings("ignore", message=".*the loss does not depend on.*")
        found = read(tf, FOLDER / path.parent, path.stem, path.suffix)
    assert found.keys() >= ({"output", "loss"} if case_of(path.stem).train else {"output"})
    # float32 sums in another order; a squared loss of about 60 has as many digits.
    assert found["output"] < 1e-5
    assert found.get("trained", 0.0) < 1e-5
    assert found.get("loss", 0.0) < 5e-5
