"""What is compared: inputs of several sizes, and runs that stand for others."""

from typing import Any

import numpy as np
import pytest

from pinnace.deploy.onnx import checking, export, samples
from pinnace.deploy.onnx.reference import reference
from pinnace.deploy.onnx.samples import runs_of
from pinnace.deploy.onnx.sources import find_program
from pinnace.framework import config, errors
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from unit.deploy.onnx.networks import classifier, image, op, traced

X = TensorSpec([None, 3], np.float32, name="x")


def shapes(function: Any, spec: TensorSpec) -> list[tuple[int, ...]]:
    """Of the inputs that are drawn."""
    program = find_program(traced(function, spec), "net")
    return [run.inputs[0].shape for run in runs_of(program, None)]


def test_of_every_unknown_axis_there_are_two_sizes() -> None:
    spec = TensorSpec([None, None, 3], np.float32, name="x")
    found = shapes(lambda x: op("Relu", x), spec)
    assert len({shape[0] for shape in found}) >= 2
    assert len({shape[1] for shape in found}) >= 2


def test_sizes_that_the_model_refuses_are_left_out() -> None:
    def net(x: Tensor) -> Any:
        return op("Reshape", x, np.array([-1, 8], np.int32))  # needs a multiple of 8

    spec = TensorSpec([None, None], np.float32, name="x")
    found = shapes(net, spec)
    assert len(found) >= 2
    assert all(np.prod(shape) % 8 == 0 for shape in found)


def test_known_sizes_are_drawn_twice() -> None:
    found = shapes(lambda x: op("Relu", x), TensorSpec([2, 3], np.float32, name="x"))
    assert found == [(2, 3), (2, 3)]


# A run that takes long stands for its first row.


def runs(monkeypatch: pytest.MonkeyPatch, function: Any) -> tuple[Any, list[Any]]:
    monkeypatch.setattr(samples, "_DEAR_S", 0.0)
    program = find_program(traced(function, X), "net")
    return program, list(runs_of(program, None))


def test_a_dear_run_gives_its_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = runs(monkeypatch, lambda x: op("Relu", x))
    assert [run.is_part for run in found] == [False, True]
    np.testing.assert_array_equal(found[1].inputs[0], found[0].inputs[0][:1])
    np.testing.assert_array_equal(found[1].outputs[0], found[0].outputs[0][:1])


def test_rows_that_depend_on_each_other_are_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def net(x: Tensor) -> Any:
        return op("Sub", x, op("Mean", x, np.array([0], np.int32)))

    _, found = runs(monkeypatch, net)
    assert found[1].is_part
    # The row alone is another result than the row of both; the export finds that, and agrees.
    assert np.any(found[1].outputs[0] != 0)
    assert export(traced(net, X)).batches == 2


def test_a_wrong_row_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_DEAR_S", 0.0)
    plain = checking.run_session

    def wrong_for_one(session: object, feeds: dict[str, Any]) -> list[Any]:
        results = plain(session, feeds)
        return results if len(feeds["image"]) > 1 else [results[0] + np.float32(0.5)]

    monkeypatch.setattr(checking, "run_session", wrong_for_one)
    with pytest.raises(errors.InternalError, match="differs by"):
        export(traced(classifier, image()))


# The reference.


def test_a_reference_leaves_settings_as_they_were() -> None:
    before = config.settings.tier
    with reference(plain=True):
        assert config.settings.tier == "plan"
        with reference(plain=True):
            assert config.settings.tier == "plan"
        assert config.settings.tier == "plan"
    assert config.settings.tier == before
    with reference(plain=False):
        assert config.settings.tier == before
