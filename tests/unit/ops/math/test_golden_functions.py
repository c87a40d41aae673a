"""Functions of math and linalg give TensorFlow's values and gradients: tests/golden/math."""

import operator
from typing import Any

import numpy as np
import pytest

import pinnace
from golden.math.calls import CALLS, Call, seed_of
from pinnace.autodiff.tape import GradientTape
from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from support.golden import golden

DIFFERENTIABLE = ("float32", "float64", "complex128")


@pytest.fixture(scope="module")
def recorded() -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    with np.load(golden("math/results.npz"), allow_pickle=False) as file:
        for key in file.files:
            number, name = key.split("/")
            found.setdefault(int(number), {})[name] = file[key]
    return found


def tensor(value: Any) -> Any:
    if isinstance(value, list) and any(isinstance(part, np.ndarray) for part in value):
        return [tensor(part) for part in value]
    return convert_to_tensor(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda n: f"{n}-{CALLS[n].name}")
def test_values_and_gradients_are_those_of_tensorflow(
    number: int, recorded: dict[int, dict[str, Any]]
) -> None:
    call: Call = CALLS[number]
    wanted = recorded[number]
    args = [tensor(value) for value in call.args]
    options = {name: tensor(value) for name, value in call.options.items()}
    with GradientTape(persistent=True) as tape:
        for index in call.sources:
            tape.watch(args[index])
        outputs = structure.flatten(operator.attrgetter(call.name)(pinnace)(*args, **options))
    for n, y in enumerate(outputs):
        check(y, wanted[f"y{n}"])
    ys = [y for y in outputs if y.dtype.name in DIFFERENTIABLE]
    seeds = [convert_to_tensor(seed_of(y.shape).astype(y.dtype.name)) for y in ys]
    for index in call.sources:
        dx = tape.gradient(ys, args[index], seeds)
        assert (dx is None) == (f"d{index}" not in wanted)
        if dx is not None:
            check(dx, wanted[f"d{index}"])


def check(got: Tensor, wanted: Any) -> None:
    assert got.dtype.name == wanted.dtype.name
    assert got.shape == wanted.shape
    if wanted.dtype.kind in "fc":
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-7, atol=1e-9)
    else:
        np.testing.assert_array_equal(np.asarray(got), wanted)
