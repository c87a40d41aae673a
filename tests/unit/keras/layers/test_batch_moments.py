"""Batch statistics: of unmasked elements, and over all replicas of a strategy."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

layers = tf.keras.layers
RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3)).astype(np.float32)
PAST = RNG.normal(size=(4, 5, 3)).astype(np.float32)


def test_a_mask_leaves_its_part_of_the_statistics() -> None:
    mask = RNG.integers(0, 2, (4, 5)) > 0
    layer = layers.BatchNormalization(momentum=0.0, epsilon=0.25)
    y = layer(PAST, training=True, mask=tf.constant(mask))
    kept = PAST[mask].astype(np.float64)
    mean, variance = kept.mean(0), kept.var(0)
    np.testing.assert_allclose(y, (PAST - mean) / np.sqrt(variance + 0.25), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.moving_mean, mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.moving_variance, variance, rtol=1e-4, atol=1e-6)


def test_a_mask_of_other_steps_is_refused() -> None:
    layer = layers.BatchNormalization()
    with pytest.raises(ValueError, match=r"mask must have one axis less than the input"):
        layer(PAST, training=True, mask=tf.ones([4], tf.bool))


def of_two_replicas(step: Any) -> Any:
    """The results of each replica for its half of the rows."""
    strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
    with strategy.scope():
        run = step()
    halves = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(np.split(X, 2)[context.replica_id_in_sync_group])
    )
    found = strategy.run(run, args=(halves,))
    return [np.asarray(one) for one in strategy.experimental_local_results(found)]


@pytest.mark.parametrize("synchronized", [True, False])
def test_replicas_normalise_together_if_they_are_asked_to(synchronized: bool) -> None:
    def step() -> Any:
        layer = layers.BatchNormalization(synchronized=synchronized, epsilon=0.25)
        layer.build((None, 3))
        return lambda x: layer(x, training=True)

    found = np.concatenate(of_two_replicas(step))
    parts = [X] if synchronized else np.split(X, 2)
    wanted = [(part - part.mean(0)) / np.sqrt(part.var(0) + 0.25) for part in parts]
    np.testing.assert_allclose(found, np.concatenate(wanted), rtol=1e-4, atol=1e-5)


def test_moments_are_those_of_all_replicas() -> None:
    def step() -> Any:
        return lambda x: tf.stack(tf.keras.ops.moments(x, axes=[0], synchronized=True))

    for found in of_two_replicas(step):
        np.testing.assert_allclose(found, [X.mean(0), X.var(0)], rtol=1e-4, atol=1e-6)
