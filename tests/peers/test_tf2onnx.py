"""Functions that tf2onnx's tests export: the files give TensorFlow's results in ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import pinnace as tf
from peers.guide import hold
from peers.tf2onnx import KINDS, Case, key
from pinnace.deploy.onnx import ExportReport, export
from pinnace.framework.errors import FailedPreconditionError, UnimplementedError
from support.golden import golden
from unit.deploy.onnx.one_op import run_model

CASES = [(kind, name) for kind, cases in KINDS.items() for name in cases]
Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def answers() -> Any:
    return np.load(golden("tf2onnx/answers.npz"))


def exported(case: Case) -> ExportReport:
    """The exported file, without given sample inputs if the exporter finds some itself."""
    names = [f"x{place}" for place in range(len(case.specs))]
    specs = [tf.TensorSpec(*spec, name=name) for name, spec in zip(names, case.specs, strict=True)]
    function = tf.function(lambda *xs: case.function(tf, *xs), specs, autograph=False)
    concrete = function.get_concrete_function()
    try:
        return export(concrete)
    except (FailedPreconditionError, UnimplementedError) as error:
        if "sample=" not in str(error):
            raise
    inputs = [value.name.removesuffix(":0") for value in concrete.inputs]
    return export(concrete, sample=dict(zip(inputs, case.feeds[0], strict=True)))


def same(found: Array, wanted: Array) -> bool:
    return (
        found.shape == wanted.shape
        and found.dtype == wanted.dtype
        and np.allclose(found, wanted, rtol=1e-5, atol=1e-5)
    )


def is_right(kind: str, name: str, answers: Any) -> bool:
    """Whether the file gives TensorFlow's results for every feed."""
    case = KINDS[kind][name]
    report = exported(case)
    return all(
        same(found, answers[key(kind, name, number, place)])
        for number, feed in enumerate(case.feeds)
        for place, found in enumerate(run_model(report, [np.asarray(x) for x in feed]))
    )


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_eager_calls_answer_as_tensorflow_does(kind: str, name: str, answers: Any) -> None:
    case = KINDS[kind][name]
    for number, feed in enumerate(case.feeds):
        found = tf.nest.flatten(case.function(tf, *map(tf.constant, feed)))
        for place, value in enumerate(found):
            assert same(np.asarray(value), answers[key(kind, name, number, place)])


def test_the_files_answer_as_tensorflow_does_and_the_guide_counts_them(answers: Any) -> None:
    lines = ["| what a model computes | cases | right |", "|---|---|---|"]
    wrong = []
    for kind, cases in KINDS.items():
        bad = [name for name in cases if not is_right(kind, name, answers)]
        lines.append(f"| {kind} | {len(cases)} | {len(cases) - len(bad)} |")
        wrong += [f"{kind}: {name}" for name in bad]
    assert not wrong
    hold("tf2onnx.md", "exports", lines)
