"""Differences that are a runtime's rounding, and those that are faults."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.program.sources import find_program
from pinnace.deploy.sampling.comparing import Judge
from pinnace.deploy.sampling.samples import Run
from pinnace.framework import errors

W = np.random.default_rng(3).standard_normal((4, 6)).astype(np.float32)


def normalised(x: Any) -> Any:
    """Normalisation over steps: equal rows have no variance, which magnifies rounding 300 times."""
    y = tf.matmul(x, W) + 0.7
    mean = tf.reduce_mean(y, 1, keepdims=True)
    variance = tf.reduce_mean(tf.square(y - mean), 1, keepdims=True)
    return (y - mean) * tf.math.rsqrt(variance + 1e-5)


def judged(x: Any, difference: float, kind: str, body: Any = normalised) -> None:
    spec = tf.TensorSpec([None, 9, 4], tf.float32, "x")
    program = find_program(tf.function(body).get_concrete_function(spec), "net")
    judge = Judge(program, "the runtime")
    (name,) = program.outputs
    drawn = [np.random.default_rng(1).standard_normal((2, 9, 4)).astype(np.float32)]
    judge.look_at(Run(drawn, tuple(program.run(drawn))), {name: program.run(drawn)[0]})
    expected = program.run([x])
    judge.look_at(
        Run([x], tuple(expected), kind=kind), {name: expected[0] + np.float32(difference)}
    )


@pytest.mark.parametrize("number", [0.0, 1.0])
def test_rounding_that_the_model_magnifies_is_allowed_at_corners(number: float) -> None:
    x = np.full((1, 9, 4), number, np.float32)
    judged(x, 2e-4, "zeros")
    with pytest.raises(errors.InternalError, match=r"differs by.*zeros\)\n  Try: sample="):
        judged(x, 0.1, "zeros")


def test_drawn_inputs_move_by_a_unit_each() -> None:
    with pytest.raises(errors.InternalError, match="differs by"):
        judged(np.zeros((1, 9, 4), np.float32), 2e-4, "drawn")


def test_what_is_magnified_beyond_a_share_of_the_output_is_a_fault() -> None:
    def broken(x: Any) -> Any:
        return tf.sign(x) + 0.0 * normalised(x)[..., :4]

    with pytest.raises(errors.InternalError, match=r"differs by 0\.5"):
        judged(np.zeros((1, 9, 4), np.float32), 0.5, "zeros", broken)


def test_zeros_among_numbers_stay_zeros() -> None:
    def counted(x: Any) -> Any:  # how many steps are some
        return tf.reduce_sum(tf.cast(tf.not_equal(x, 0.0), tf.float32), 1) * 1e-3

    x = np.ones((1, 9, 4), np.float32)
    x[:, 4:] = 0
    with pytest.raises(errors.InternalError, match="differs by"):
        judged(x, 2e-5, "padded", counted)


def test_an_infinity_in_another_place_says_what_to_do() -> None:
    with pytest.raises(errors.InternalError, match=r"at other indices.*\n  Try: sample="):
        judged(np.ones((1, 9, 4), np.float32), np.inf, "drawn")
