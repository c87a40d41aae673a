"""`keras.random`: moments and ranges of draws, repeated seeds, advancing generators."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import random, utils_namespace

MANY = (200, 200)
# The distribution, its mean, its standard deviation, its bounds.
DRAWS: dict[str, tuple[Callable[..., Any], float, float, float, float]] = {
    "normal": (lambda **k: random.normal(MANY, 1.0, 2.0, **k), 1, 2, -np.inf, np.inf),
    # Truncation at two deviations leaves 0.8796 of the standard deviation.
    "truncated_normal": (
        *(lambda **k: random.truncated_normal(MANY, 1.0, 2.0, **k), 1, 2 * 0.87963, -3, 5),
    ),
    "uniform": (lambda **k: random.uniform(MANY, -1.0, 3.0, **k), 1, 4 / 12**0.5, -1, 3),
    "randint": (lambda **k: random.randint(MANY, 2, 12, **k), 6.5, (99 / 12) ** 0.5, 2, 11),
    "gamma": (lambda **k: random.gamma(MANY, 3.0, **k), 3, 3**0.5, 0, np.inf),
    "beta": (lambda **k: random.beta(MANY, 2.0, 3.0, **k), 0.4, 0.2, 0, 1),
    "binomial": (lambda **k: random.binomial(MANY, 10.0, 0.3, **k), 3, 2.1**0.5, 0, 10),
    "categorical": (
        *(
            lambda **k: random.categorical(np.log([[0.2, 0.3, 0.5]]), 40000, **k),
            1.3,
            0.61**0.5,
            0,
            2,
        ),
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_the_moments_of_their_distribution(name: str) -> None:
    draw, mean, spread, low, high = DRAWS[name]
    drawn = np.asarray(draw(seed=7)).astype(np.float64)
    # Five standard errors of 40,000 draws.
    assert abs(drawn.mean() - mean) < 5 * spread / 200
    assert abs(drawn.std() - spread) < 0.03 * spread
    assert low <= drawn.min()
    assert drawn.max() <= high


@pytest.mark.parametrize("name", DRAWS)
def test_a_number_repeats_and_a_generator_goes_on(name: str) -> None:
    draw = DRAWS[name][0]
    one, again, other = (np.asarray(draw(seed=seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    generator = random.SeedGenerator(3)
    first, second = (np.asarray(draw(seed=generator)) for _ in range(2))
    np.testing.assert_array_equal(first, one)
    assert (first != second).any()


def test_draws_without_a_seed_differ_and_repeat_from_the_global_one() -> None:
    drawn = tf.function(lambda: random.normal((4,)))
    utils_namespace.set_random_seed(5)
    first, second = np.asarray(drawn()), np.asarray(drawn())
    assert (first != second).any()
    utils_namespace.set_random_seed(5)
    np.testing.assert_array_equal(drawn(), first)


def test_draws_without_a_seed_are_those_of_keras() -> None:
    for _ in range(2):  # the second time there is a generator
        utils_namespace.set_random_seed(5)
        # TensorFlow's Keras 3.15.
        np.testing.assert_allclose(random.uniform((2,)), [0.7411314, 0.7106684], rtol=1e-6)
        np.testing.assert_allclose(random.normal((2,)), [0.5465867, -1.4396245], rtol=1e-6)


@pytest.mark.parametrize("is_traced", [False, True])
def test_what_is_created_before_a_draw_has_keras_seeds(is_traced: bool) -> None:
    for _ in range(2):
        draw = tf.function(random.uniform) if is_traced else random.uniform
        utils_namespace.set_random_seed(5)
        python = Random(5)
        for _ in range(2):
            seed, count = random.SeedGenerator().state.numpy()
            assert (seed, count) == (python.randint(1, 10**9), 0)
        third = random.uniform((1,), seed=python.randint(1, 10**9))
        np.testing.assert_array_equal(draw((1,)), third)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64"])
def test_draws_have_the_dtype_that_is_asked_for(kind: str) -> None:
    for name in ("normal", "truncated_normal", "uniform"):
        assert getattr(random, name)((3,), dtype=kind, seed=1).dtype.name == kind
    assert random.gamma((3,), 2.0, dtype=kind, seed=1).dtype.name == kind
    assert random.beta((3,), 2.0, 2.0, dtype=kind, seed=1).dtype.name == kind


def test_dropout_scales_what_it_leaves() -> None:
    dropped = np.asarray(random.dropout(np.ones((100, 100), "float32"), 0.25, seed=2))
    np.testing.assert_allclose(np.unique(dropped), [0, 4 / 3], rtol=1e-6)
    assert abs((dropped == 0).mean() - 0.25) < 0.03
    rows = np.asarray(random.dropout(np.ones((50, 4), "float32"), 0.5, (None, 1), seed=2))
    assert (rows == rows[:, :1]).all()


def test_shuffling_keeps_the_slices() -> None:
    x = np.arange(60).reshape(20, 3)
    for axis in (0, 1):
        shuffled = np.asarray(random.shuffle(x, axis, seed=1))
        np.testing.assert_array_equal(np.sort(shuffled, axis), x)
    assert (np.asarray(random.shuffle(x, seed=1)) != x).any()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: random.normal((2,), dtype="int32"),
            "a floating point `dtype`",
        ),
        (lambda: random.randint((2,), 0, 2, "float32"), "requires an integer `dtype`"),
        (lambda: random.uniform((2,), seed="one"), "must be an int, a SeedGenerator or None"),
        (lambda: random.categorical([1.0], 2), r"\[batch, classes\]"),
        (lambda: random.dropout([1.0], -1), "from 0 to 1, got -1"),
    ],
)
def test_what_is_wrong_is_told(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()
