"""Strategies beside TensorFlow's: values, variables, datasets and training, number by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.fresh_process import run_fresh

PROGRAMS = Path(__file__).parent / "strategies"
# Cases that TensorFlow refuses with another class of error.
OTHERWISE = {"reduce of unequal shapes", "gather of scalars"}


def found_by(library: str, program: str, *arguments: str, python: str | None = None) -> Any:
    code = (PROGRAMS / f"{program}.py").read_text()
    options: Any = {} if python is None else {"python": python}
    return json.loads(run_fresh(code, library, *arguments, **options).splitlines()[-1])


def assert_same(ours: Any, theirs: Any, where: str, rtol: float) -> None:
    """The same structures of numbers; texts are the same."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict), (where, ours, theirs)
        assert sorted(ours) == sorted(theirs), where
        for key, one in theirs.items():
            assert_same(ours[key], one, f"{where}: {key}", rtol)
    elif isinstance(theirs, list) and any(isinstance(one, (dict, list)) for one in theirs):
        assert len(ours) == len(theirs), (where, ours, theirs)
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{where}[{number}]", rtol)
    elif isinstance(theirs, (str, bool, type(None))) or (
        isinstance(theirs, list) and not all(isinstance(one, (int, float)) for one in theirs)
    ):
        assert ours == theirs, where
    else:
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol, err_msg=where)


@pytest.mark.parametrize("count", ["2", "4"])
@pytest.mark.parametrize("program", ["values", "datasets"])
def test_replicas_do_what_tensorflows_do(program: str, count: str, tensorflow_python: str) -> None:
    ours = found_by("pinnace", program, count)
    theirs = found_by("tensorflow", program, count, python=tensorflow_python)
    assert sorted(ours) == sorted(theirs)
    assert len(theirs) > 50
    for name in theirs:
        if name in OTHERWISE:
            assert str(ours[name]).startswith("raises ")
            assert str(theirs[name]).startswith("raises ")
        else:
            assert_same(ours[name], theirs[name], name, 1e-6)


def test_training_gives_what_keras_gives(tensorflow_python: str) -> None:
    ours = found_by("pinnace", "fit")
    theirs = found_by("tensorflow", "fit", python=tensorflow_python)
    # Three epochs of steps in another order of additions.
    assert_same(ours, theirs, "fit", 2e-5)
