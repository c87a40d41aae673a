"""Dropout: random while training, the same for the same seed, silent otherwise."""

import numpy as np
import pytest

from pinnace.functions.function import function
from pinnace.keras import layers
from pinnace.keras.seeds import SeedGenerator, set_random_seed

X = np.ones((200, 50), np.float32)


def test_a_share_is_dropped_and_the_rest_scaled() -> None:
    y = layers.Dropout(0.3, seed=1)(X, training=True).numpy()
    assert set(np.unique(y)) == {0, np.float32(1 / 0.7)}
    assert abs((y == 0).mean() - 0.3) < 0.02


def test_nothing_is_dropped_when_not_training() -> None:
    assert np.array_equal(layers.Dropout(0.3)(X).numpy(), X)
    assert np.array_equal(layers.Dropout(0.3)(X, training=False).numpy(), X)


def test_rates_at_the_ends() -> None:
    assert np.array_equal(layers.Dropout(0.0)(X, training=True).numpy(), X)
    assert not layers.Dropout(1.0)(X, training=True).numpy().any()


def test_each_call_draws_anew_also_when_traced() -> None:
    layer = layers.Dropout(0.5, seed=3)
    traced = function(lambda x: layer(x, training=True))
    first, second = traced(X).numpy(), traced(X).numpy()
    assert not np.array_equal(first, second)
    layer.seed_generator.state.assign([3, 0])
    assert np.array_equal(layer(X, training=True).numpy(), first)
    assert np.array_equal(traced(X).numpy(), second)


def test_the_mask_is_shared_where_noise_shape_has_one() -> None:
    y = layers.Dropout(0.5, noise_shape=(None, 1), seed=1)(X, training=True).numpy()
    assert (y == y[:, :1]).all()
    assert 0 < (y == 0).mean() < 1


def test_the_global_seed_makes_draws_repeat() -> None:
    def draw() -> list[float]:
        set_random_seed(5)
        return layers.Dropout(0.5)(X, training=True).numpy().ravel().tolist()  # type: ignore[no-any-return]

    assert draw() == draw()


@pytest.mark.parametrize("rate", [-0.1, 1.5])
def test_a_rate_is_from_0_to_1(rate: float) -> None:
    with pytest.raises(ValueError, match="Dropout: Invalid value received for argument `rate`"):
        layers.Dropout(rate)


def test_noise_is_added_and_multiplied() -> None:
    added = layers.GaussianNoise(0.5, seed=1)(X, training=True).numpy() - X
    assert abs(added.mean()) < 0.02
    assert abs(added.std() - 0.5) < 0.02
    factor = layers.GaussianDropout(0.2, seed=1)(X, training=True).numpy()
    assert abs(factor.mean() - 1) < 0.02
    assert abs(factor.std() - 0.5) < 0.02
    assert np.array_equal(layers.GaussianNoise(0.5)(X).numpy(), X)


def test_a_seed_generator_counts_its_draws() -> None:
    generator = SeedGenerator(7)
    assert generator.next().numpy().tolist() == [7, 0]
    assert generator.next().numpy().tolist() == [7, 1]
    assert generator.get_config() == {"seed": 7}
