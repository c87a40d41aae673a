"""Moving averages against their defining recurrence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf

if TYPE_CHECKING:
    from pathlib import Path

VALUES = st.lists(st.floats(-4, 4), min_size=2, max_size=8)


@given(values=VALUES, decay=st.floats(0.0, 1.0))
def test_a_shadow_follows_the_recurrence(values: list[float], decay: float) -> None:
    variable = tf.Variable(values[0], dtype=tf.float64)
    average = tf.train.ExponentialMovingAverage(decay)
    assert average.average(variable) is None
    expected = values[0]
    for value in values:
        variable.assign(value)
        average.apply([variable])
        expected = decay * expected + (1 - decay) * value
    # Each of at most 8 steps rounds values below 4 a few times.
    np.testing.assert_allclose(average.average(variable).numpy(), expected, atol=1e-13)


@given(values=VALUES)
def test_a_count_of_steps_lets_early_averages_follow(values: list[float]) -> None:
    variable = tf.Variable(values[0], dtype=tf.float64)
    step = tf.Variable(0)
    average = tf.train.ExponentialMovingAverage(0.5, num_updates=step)
    expected = values[0]
    for count, value in enumerate(values):
        variable.assign(value)
        step.assign(count)
        average.apply([variable])
        decay = min(0.5, (1 + count) / (10 + count))
        expected = decay * expected + (1 - decay) * value
    np.testing.assert_allclose(average.average(variable).numpy(), expected, atol=1e-13)


def test_a_shadow_that_began_at_zero_is_corrected_for_it() -> None:
    variable = tf.Variable(3.0)
    average = tf.train.ExponentialMovingAverage(0.9, zero_debias=True)
    for _ in range(4):
        average.apply([variable])
        np.testing.assert_allclose(average.average(variable).numpy(), 3.0, rtol=1e-6)


def test_it_moves_in_a_function_and_is_in_checkpoints(tmp_path: Path) -> None:
    variable = tf.Variable([1.0, 2.0], name="w")
    average = tf.train.ExponentialMovingAverage(0.5)

    @tf.function
    def step() -> Any:
        variable.assign_add([1.0, 1.0])
        average.apply([variable])

    step()
    step()
    # The shadow starts at the value at the time of tracing, as in TensorFlow.
    np.testing.assert_allclose(average.average(variable).numpy(), [2.25, 3.25])
    assert average.average_name(variable) == "w/ExponentialMovingAverage"
    assert average.variables_to_restore() == {"w/ExponentialMovingAverage": variable}
    path = tf.train.Checkpoint(average=average).save(tmp_path / "at")
    average.average(variable).assign([0.0, 0.0])
    tf.train.Checkpoint(average=average).restore(path).assert_existing_objects_matched()
    np.testing.assert_allclose(average.average(variable).numpy(), [2.25, 3.25])


def test_only_floating_variables_have_averages() -> None:
    average = tf.train.ExponentialMovingAverage(0.5)
    with pytest.raises(ValueError, match=r"var_list must hold variables.*\n.*trainable_variables"):
        average.apply()
    with pytest.raises(TypeError, match="floating variables"):
        average.apply([tf.Variable(1)])
    with pytest.raises(TypeError, match="floating variables"):
        average.apply([tf.constant(1.0)])  # type: ignore[list-item]
