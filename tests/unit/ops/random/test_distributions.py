"""Gamma, Poisson and binomial numbers: TensorFlow's streams, and the expected moments."""

import json

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError
from support.golden import golden

COUNT = 40_000


def test_streams_go_on_as_those_of_tensorflow() -> None:
    recorded = json.loads(golden("distributions/stateful.json").read_text())
    parameters = recorded["parameters"]
    tf.random.set_seed(recorded["global_seed"])
    for call in recorded["calls"]:
        gamma = tf.random.gamma([5], parameters, seed=call["seed"])
        poisson = tf.random.poisson([5], parameters, seed=call["seed"])
        # The last steps are logarithms and powers from another library.
        np.testing.assert_allclose(gamma, call["gamma"], rtol=1e-6)
        np.testing.assert_array_equal(poisson, call["poisson"])


@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.5, 80.0])
def test_gamma_numbers_have_their_mean_and_variance(alpha: float) -> None:
    drawn = np.asarray(tf.random.stateless_gamma([COUNT], [1, 2], alpha, 2.0, tf.float64))
    # Five standard deviations of the mean, and of the variance of a gamma distribution.
    assert abs(drawn.mean() - alpha / 2) < 5 * np.sqrt(alpha / 4 / COUNT)
    spread = (alpha / 4) * np.sqrt((2 + 6 / alpha) / COUNT)
    assert abs(drawn.var() - alpha / 4) < 5 * spread


def test_poisson_of_a_mean_without_draws_is_what_tensorflow_draws() -> None:
    for dtype in (tf.float32, tf.float64):  # TensorFlow does not return for NaN
        drawn = tf.random.poisson([2], tf.constant([-1.0, -20.0, np.inf, np.nan], dtype), dtype)
        np.testing.assert_array_equal(drawn, [[0, 0, np.inf, np.nan]] * 2)


@pytest.mark.parametrize("rate", [0.1, 9.5, 10.5, 300.0])
def test_poisson_numbers_have_their_mean_and_variance(rate: float) -> None:
    drawn = np.asarray(tf.random.stateless_poisson([COUNT], [3, 4], rate, tf.float64))
    assert abs(drawn.mean() - rate) < 5 * np.sqrt(rate / COUNT)
    assert abs(drawn.var() - rate) < 5 * np.sqrt((rate + 2 * rate * rate) / COUNT)


@pytest.mark.parametrize(("count", "chance"), [(5, 0.3), (40, 0.25), (40, 0.9), (1000, 0.5)])
def test_binomial_numbers_have_their_mean_and_range(count: int, chance: float) -> None:
    drawn = np.asarray(
        tf.random.stateless_binomial([COUNT], [5, 6], float(count), chance, tf.int32)
    )
    variance = count * chance * (1 - chance)
    assert abs(drawn.mean() - count * chance) < 5 * np.sqrt(variance / COUNT)
    assert drawn.min() >= 0
    assert drawn.max() <= count


def test_a_shape_must_end_with_that_of_the_parameters() -> None:
    with pytest.raises(InvalidArgumentError, match="StatelessRandomPoisson: shape must end with"):
        tf.random.stateless_poisson([3, 4], [1, 2], np.ones(3))
