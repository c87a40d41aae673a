"""Programs of tests/golden/autodiff give TensorFlow's results."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import pinnace as tf
from tests.golden.autodiff.programs import PROGRAMS
from tests.support.golden import golden

ANSWERS: dict[str, Any] = json.loads(golden("autodiff/answers.json").read_text())


def _check(found: Any, wanted: Any, where: str) -> None:
    """Check equal structure and text; float32 numbers may differ by rounding of some dozen ops."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict), f"{where}: {found} is not {wanted}"
        assert sorted(found) == sorted(wanted), where
        for key, value in wanted.items():
            _check(found[key], value, f"{where} {key}")
    elif isinstance(wanted, list):
        assert isinstance(found, list), f"{where}: {found} is not {wanted}"
        assert len(found) == len(wanted), where
        for index, value in enumerate(wanted):
            _check(found[index], value, f"{where}[{index}]")
    elif isinstance(wanted, float) and not isinstance(found, (bool, str)) and found is not None:
        close = math.isclose(found, wanted, rel_tol=2e-5, abs_tol=2e-5)
        assert close, f"{where}: {found}, {wanted}"
    else:
        assert type(found) is type(wanted), f"{where}: {found}, {wanted}"
        assert found == wanted, f"{where}: {found}, {wanted}"


def test_every_program_has_an_answer() -> None:
    assert sorted(PROGRAMS) == sorted(ANSWERS)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_answers_what_tensorflow_answers(name: str) -> None:
    _check(json.loads(json.dumps(PROGRAMS[name](tf))), ANSWERS[name], name)
