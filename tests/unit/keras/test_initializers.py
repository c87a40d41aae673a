"""Initializers: distributions, fans, seeds."""

import math

import numpy as np
import pytest

from pinnace.keras import initializers
from pinnace.keras.initializers import compute_fans
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object
from pinnace.keras.seeds import SeedGenerator, set_random_seed

SHAPE = (200, 300)
RANDOM = [
    (initializers.RandomNormal(1.0, 2.0, seed=1), 1.0, 2.0),
    (initializers.RandomUniform(-1.0, 3.0, seed=1), 1.0, 4 / math.sqrt(12)),
    (initializers.TruncatedNormal(1.0, 2.0, seed=1), 1.0, 2 * 0.87962566),
    (initializers.GlorotUniform(seed=1), 0.0, math.sqrt(1 / 250)),
    (initializers.GlorotNormal(seed=1), 0.0, math.sqrt(1 / 250)),
    (initializers.HeNormal(seed=1), 0.0, math.sqrt(2 / 200)),
    (initializers.HeUniform(seed=1), 0.0, math.sqrt(2 / 200)),
    (initializers.LecunNormal(seed=1), 0.0, math.sqrt(1 / 200)),
    (initializers.LecunUniform(seed=1), 0.0, math.sqrt(1 / 200)),
    (
        initializers.VarianceScaling(3.0, "fan_out", "untruncated_normal", seed=1),
        0.0,
        math.sqrt(3 / 300),
    ),
]


@pytest.mark.parametrize(("make", "mean", "deviation"), RANDOM, ids=lambda v: type(v).__name__)
def test_random_values_have_the_right_moments(
    make: initializers.Initializer, mean: float, deviation: float
) -> None:
    value = make(SHAPE).numpy()
    assert value.dtype == np.float32
    assert abs(value.mean() - mean) < 0.02 * deviation
    assert abs(value.std() / deviation - 1) < 0.01
    assert np.array_equal(make(SHAPE).numpy(), value), "the same object gives the same values"


@pytest.mark.parametrize("make", [make for make, _, _ in RANDOM], ids=lambda v: type(v).__name__)
def test_they_are_made_again_from_their_configuration(make: initializers.Initializer) -> None:
    again = deserialize_keras_object(serialize_keras_object(make))
    assert again == make
    assert np.array_equal(again((3, 4)).numpy(), make((3, 4)).numpy())


def test_truncated_values_stay_within_two_deviations() -> None:
    value = initializers.TruncatedNormal(0.0, 1.0, seed=3)(SHAPE).numpy()
    assert np.abs(value).max() <= 2


def test_constants() -> None:
    assert initializers.Zeros()((2, 2)).numpy().tolist() == [[0, 0], [0, 0]]
    assert initializers.Ones()((2,), dtype="int32").numpy().tolist() == [1, 1]
    assert initializers.Constant([1, 2])((2, 2)).numpy().tolist() == [[1, 2], [1, 2]]
    assert initializers.Identity(2.0)((2, 3)).numpy().tolist() == [[2, 0, 0], [0, 2, 0]]
    assert initializers.get(0.5)((1,)).numpy().tolist() == [0.5]
    assert initializers.get(lambda shape, dtype=None: np.ones(shape, dtype.numpy)) is not None
    with pytest.raises(ValueError, match=r"Identity: shape must have two axes, got \[2\]"):
        initializers.Identity()((2,))


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (2, 3, 5)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    value = initializers.Orthogonal(gain=2.0, seed=1)(shape, "float64").numpy()
    matrix = value.reshape(-1, shape[-1])
    small = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(small @ small.T, 4 * np.eye(len(small)), atol=1e-10)


@pytest.mark.parametrize(
    ("shape", "fans"),
    [((), (1, 1)), ((3,), (3, 3)), ((3, 4), (3, 4)), ((2, 5, 3, 4), (30, 40))],
)
def test_fans(shape: tuple[int, ...], fans: tuple[int, int]) -> None:
    assert compute_fans(shape) == fans


def test_a_seed_generator_gives_other_values_each_time() -> None:
    make = initializers.RandomNormal(seed=SeedGenerator(3))
    assert not np.array_equal(make((4,)).numpy(), make((4,)).numpy())


def test_without_a_seed_the_global_one_decides() -> None:
    set_random_seed(9)
    first = initializers.GlorotUniform()((3, 3)).numpy()
    other = initializers.GlorotUniform()((3, 3)).numpy()
    set_random_seed(9)
    assert np.array_equal(initializers.GlorotUniform()((3, 3)).numpy(), first)
    assert not np.array_equal(first, other)
    with pytest.raises(ValueError, match=r"seed must be an int from 0 to 2\*\*32 - 1, got -1"):
        set_random_seed(-1)


@pytest.mark.parametrize("name", ["he_normal", "HeNormal", "zeros", "glorot_uniform", "orthogonal"])
def test_names_stand_for_initializers(name: str) -> None:
    assert initializers.get(name)((2, 2)).shape == (2, 2)


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ValueError, match=r"initializer: name must be one of .*, got 'he_norml'"):
        initializers.get("he_norml")
    with pytest.raises(ValueError, match="mode must be fan_in, fan_out or fan_avg, got 'fan'"):
        initializers.VarianceScaling(mode="fan")
    with pytest.raises(ValueError, match="seed must be an int, a SeedGenerator or None, got 'x'"):
        initializers.RandomNormal(seed="x")  # type: ignore[arg-type]  # the error is tested


def test_listed_constants_fill_a_shape_with_as_many_elements() -> None:
    made = initializers.Constant([0, 1, 2, 3, 4, 5])
    assert made([2, 3]).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert made([3, 2], "int32").numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert initializers.Constant([1, 2])([3, 2]).numpy().tolist() == [[1, 2]] * 3
    with pytest.raises(ValueError, match="broadcast"):
        made([2, 4])
