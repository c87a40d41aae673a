"""Public functions give TensorFlow's values and gradients: tests/golden/functions."""

import importlib
import operator
from functools import cache
from typing import Any

import numpy as np
import pytest

import pinnace
from golden.functions.calls import Call, results, tensor
from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from support.each import holds_for_each
from support.golden import FOLDER, golden

SUBJECTS = sorted(file.stem for file in (FOLDER / "functions").glob("*.npz"))


def flat(value: Any) -> list[Any]:
    return structure.flatten(value, expand_composites=True)


@cache
def recorded(subject: str) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    with np.load(golden(f"functions/{subject}.npz"), allow_pickle=False) as file:
        for key in file.files:
            number, name = key.split("/")
            found.setdefault(int(number), {})[name] = file[key]
    return found


def calls(subject: str) -> list[tuple[int, Call]]:
    return list(enumerate(importlib.import_module(f"golden.functions.{subject}").CALLS))


def named(case: tuple[int, Call]) -> str:
    return f"{case[0]}-{case[1].name}"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_values_and_gradients_are_those_of_tensorflow(subject: str) -> None:
    wanted = recorded(subject)
    holds_for_each(calls(subject), lambda case: recorded_again(wanted[case[0]], case[1]), named)


def recorded_again(wanted: dict[str, Any], call: Call) -> None:
    pinnace.random.set_seed(None)  # no seed was set there; another test may have set one here
    found = results(call, pinnace, convert_to_tensor, flat)
    assert found.keys() == wanted.keys()
    for name, right in wanted.items():
        check(call, name, found[name], right)


def check(call: Call, name: str, got: Any, right: Any) -> None:
    if right.dtype.kind in "SO":
        assert got.shape == right.shape
        assert got.astype("S").tolist() == right.astype("S").tolist()
        return
    assert got.dtype == right.dtype, name
    assert got.shape == right.shape, name
    if right.dtype.kind in "fc" or call.atol >= 1:
        left, right = (x.astype(np.int64) if x.dtype.kind in "iu" else x for x in (got, right))
        np.testing.assert_allclose(left, right, rtol=call.rtol, atol=call.atol, err_msg=name)
    else:
        np.testing.assert_array_equal(got, right, err_msg=name)


# They need the number of values that they transform, and their errors say so; confusion_matrix
# drops an axis of size 1 if its size is known.
SIZED = {
    "linalg.lstsq",
    "math.confusion_matrix",
    "signal.dct",
    "signal.idct",
    "signal.inverse_mdct",
    "signal.mfccs_from_log_mel_spectrograms",
}


# Draws from a continuing stream differ each time.
DRAWN = ("gram_candidate_sampler", "uniform_candidate_sampler")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_functions_of_unknown_sizes_give_the_same(subject: str) -> None:
    cases = [
        (number, call)
        for number, call in calls(subject)
        if call.name not in SIZED and not call.name.endswith(DRAWN)
    ]
    holds_for_each(cases, lambda case: the_same_of_unknown_sizes(case[1]), named)


def the_same_of_unknown_sizes(call: Call) -> None:
    args = [tensor(value, pinnace, convert_to_tensor) for value in call.args]
    options = {
        name: tensor(value, pinnace, convert_to_tensor) for name, value in call.options.items()
    }
    places = [index for index, value in enumerate(args) if isinstance(value, Tensor)]
    public = operator.attrgetter(call.name)(pinnace)

    def body(*tensors: Tensor) -> list[Tensor]:
        given = dict(zip(places, tensors, strict=True))
        full = [given.get(index, value) for index, value in enumerate(args)]
        return flat(public(*full, **options))

    chosen = [args[index] for index in places]
    unknown = [pinnace.TensorSpec([None] * x.shape.rank, x.dtype) for x in chosen]
    traced = pinnace.function(body, input_signature=unknown)
    for got, right in zip(traced(*chosen), body(*chosen), strict=True):
        check(call, call.name, np.asarray(got), np.asarray(right))
