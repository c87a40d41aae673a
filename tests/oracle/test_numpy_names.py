"""`tf.experimental.numpy` gives TensorFlow's numbers, dtypes and errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import both

PROGRAMS = Path(__file__).with_name("numpy_programs.py")
# Permitted error of another order of steps, in units of the dtype's epsilon.
UNITS = 32
EPSILON = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "complex64": 2.0**-24}
# Tables of functions and dtypes, where TensorFlow lacks kernels that exist here; elsewhere, calls
# that it refuses are refused.
TABLES = {"operators", "unary", "pairs", "shapes_of_pairs", "reductions", "traced"}


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
    assert any(value != "error" for value in theirs.values())
    wrong = [
        f"{call}: {problem}"
        for call, value in theirs.items()
        if not (name in TABLES and value == "error")
        for problem in problems(ours[call], value, _unit(call))
    ]
    assert not wrong, f"{len(wrong)} of {len(theirs)}\n" + "\n".join(wrong[:400])


def _unit(call: str) -> float:
    """A tolerance: that of the least precise dtype in a call, which it computes with."""
    return max((unit for dtype, unit in EPSILON.items() if dtype in call), default=0.0)


def problems(ours: Any, theirs: Any, unit: float) -> list[str]:
    """How two outcomes differ."""
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        return [p for a, b in zip(ours, theirs, strict=True) for p in problems(a, b, unit)]
    if not (isinstance(theirs, dict) and isinstance(ours, dict)):
        return [] if ours == theirs else [f"{_short(ours)}, TensorFlow {_short(theirs)}"]
    alike = ours["dtype"] == theirs["dtype"] and ours["shape"] == theirs["shape"]
    if alike and theirs["dtype"].startswith(("float", "bfloat", "complex")):
        close = UNITS * max(unit, EPSILON.get(theirs["dtype"], 2.0**-53))
        a, b = _numbers(ours), _numbers(theirs)
        alike = np.allclose(a, b, rtol=close, atol=close, equal_nan=True)
    elif alike:
        alike = ours["values"] == theirs["values"]
    return [] if alike else [f"{_short(ours)}, TensorFlow {_short(theirs)}"]


def _numbers(outcome: Any) -> Any:
    """The values; for non-finite complex ones no standard specifies which parts are NaN."""
    values = np.array(outcome["values"], np.float64)
    if not outcome["dtype"].startswith("complex"):
        return values
    whole = values.reshape(-1, 2).view(np.complex128)
    return np.where(np.isfinite(whole), whole, np.nan)


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['dtype']}{value['shape']} {str(value['values'])[:80]}"
    return str(value)[:120]
