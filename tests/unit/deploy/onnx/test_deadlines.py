"""Models run on random inputs with a time limit, since a loop may not end."""

import threading
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.verification import time_limit
from pinnace.deploy.program import deadlines
from pinnace.framework import errors
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.networks import traced

N = TensorSpec([], np.int32, name="n")


def halved(n: Any) -> Any:
    """A loop that ends for even numbers only."""
    return tf.while_loop(lambda m: tf.not_equal(m % 2, 0), lambda m: [m + 2], [n])[0]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinnace.deploy.sampling.samples.FIRST_S", 0.05)


def test_inputs_that_let_the_model_run_on_are_passed_over() -> None:
    report = export(traced(halved, N), verify_timeout_s=2.0)
    assert report.batches >= 1


def test_a_model_that_never_ends_is_told_and_not_waited_for() -> None:
    def never(n: Any) -> Any:
        return tf.while_loop(lambda m: m < 1000, lambda m: [m * 1], [n])[0]

    with pytest.raises(errors.FailedPreconditionError, match=r"were found within 0\.2 s"):
        export(traced(never, N), verify_timeout_s=0.2)
    with pytest.raises(errors.DeadlineExceededError, match="a sample that takes less"):
        export(traced(never, N), verify_timeout_s=0.2, sample={"n": 3})


def test_onnx_runtime_is_ended_too() -> None:
    import onnxruntime

    found = export(traced(halved, N), sample={"n": 2})
    session = onnxruntime.InferenceSession(
        found.model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    with pytest.raises(errors.DeadlineExceededError, match=r"did not finish within 0\.2 s"):
        time_limit.run_within(session, {name: np.array(3, np.int32)}, 0.2)
    (answer,) = time_limit.run_within(session, {name: np.array(4, np.int32)}, 10.0)
    assert answer == 4


def test_no_timer_is_left_behind() -> None:
    before = threading.active_count()
    with deadlines.ended_after(1000.0):
        pass
    assert threading.active_count() <= before + 1  # a cancelled one may be ending


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), "3"])
def test_a_limit_is_a_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="verify_timeout_s"):
        export(traced(halved, N), verify_timeout_s=seconds)
