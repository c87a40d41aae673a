"""The inputs of the comparison: several sizes, and runs that stand for others."""

from typing import Any

import numpy as np
import pytest

from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.verification import checking
from pinnace.deploy.program.sources import find_program
from pinnace.deploy.sampling import samples
from pinnace.deploy.sampling.comparing import Judge
from pinnace.deploy.sampling.reference import reference
from pinnace.deploy.sampling.samples import Run, runs_of
from pinnace.framework import config, dtypes, errors
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from unit.deploy.onnx.networks import classifier, image, op, traced

X = TensorSpec([None, 3], np.float32, name="x")


def shapes(function: Any, spec: TensorSpec) -> list[tuple[int, ...]]:
    """The shapes of the inputs that are drawn."""
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


# A slow row runs alone here, and in a batch there.


def runs(monkeypatch: pytest.MonkeyPatch, function: Any) -> tuple[Any, list[Any]]:
    monkeypatch.setattr(samples, "_DEAR_S", 0.0)
    program = find_program(traced(function, X), "net")
    return program, list(runs_of(program, None))


def test_a_dear_row_is_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = runs(monkeypatch, lambda x: op("Relu", x))
    assert len(found) == 1
    assert [len(found[0].inputs[0]), len(found[0].outputs[0]), len(found[0].wide[0])] == [1, 1, 2]
    np.testing.assert_array_equal(found[0].inputs[0], found[0].wide[0][1:])
    np.testing.assert_array_equal(found[0].outputs[0], np.maximum(found[0].inputs[0], 0))


def test_what_is_not_dear_runs_in_two_sizes() -> None:
    found = list(runs_of(find_program(traced(lambda x: op("Relu", x), X), "net"), None))
    assert [len(run.inputs[0]) for run in found] == [1, 2]
    assert all(run.wide is None for run in found)


def test_rows_that_depend_on_each_other_are_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def net(x: Tensor) -> Any:
        return op("Sub", x, op("Mean", x, np.array([0], np.int32)))

    program, found = runs(monkeypatch, net)
    assert found[0].wide is not None
    # The row alone has another result than in a batch, in both runtimes, so that the export agrees.
    assert not np.any(found[0].outputs[0])
    assert np.any(program.run(found[0].wide)[0])
    assert export(traced(net, X)).compared["drawn"] == 1


def test_outputs_without_rows_are_compared_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = runs(monkeypatch, lambda x: op("Sum", x, np.array([0], np.int32)))
    assert [len(run.inputs[0]) for run in found] == [1, 2]
    assert all(run.wide is None for run in found)


@pytest.mark.parametrize("wrong", ["last", "shape", "fixed"])
def test_what_is_wrong_in_company_is_found(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setattr(samples, "_DEAR_S", 0.0)
    plain = checking.run_session

    def spoiled(session: object, feeds: dict[str, Any], *limit: float) -> list[Any]:
        (result,) = plain(session, feeds, *limit)
        assert len(feeds["image"]) == 2
        if wrong == "shape":
            return [np.concatenate([result, result])]
        if wrong == "fixed":
            return [result[:1]]
        return [result + np.float32(0.5) * np.arange(2, dtype=np.float32)[:, None]]

    monkeypatch.setattr(checking, "run_session", spoiled)
    with pytest.raises(errors.InternalError, match=r"differs by|has shape"):
        export(traced(classifier, image()))


def test_what_weights_lose_beside_large_numbers_is_allowed_and_no_more() -> None:
    """A mask other than 0 and 1 adds thousands to a score, which loses its last digits."""
    weights = Variable(np.linspace(0.5, 2, 4000).astype("f4"))

    def net(mask: Tensor) -> Any:
        large = op("Mul", op("Cast", mask, DstT=dtypes.float32), np.float32(1e3))
        return op("Sub", op("Add", weights.read_value(), large), large)

    program = find_program(traced(net, TensorSpec([], np.int32, name="mask")), "net")
    (name,) = program.outputs
    given = [np.array(1, np.int32)]
    (found,) = program.run(given)
    judge = Judge(program, "the runtime")
    run = Run(given, (found,), kind="drawn")
    judge.look_at(run, {name: found + np.float32(3e-4)})
    with pytest.raises(errors.InternalError, match="differs by"):
        judge.look_at(run, {name: found + np.float32(3e-2)})
    np.testing.assert_array_equal(weights.numpy()[[0, -1]], [0.5, 2])


# Reference.


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
