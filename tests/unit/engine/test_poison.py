"""Every number of a result was written for it: memory filled with NaN changes no result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.allocation import filled
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.poisoned import PoisonedTiers
from pinnace.framework import config
from pinnace.ops.kernels.poison import fill
from tests.unit.engine.test_tiers import PROGRAMS, normal

if TYPE_CHECKING:
    from collections.abc import Iterator

keras = tf.keras


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    tier = config.settings.tier
    yield
    config.settings.poison = False
    config.settings.tier = tier


def model_of(kind: str) -> tuple[Any, Any]:
    """A model of each kind that has regions, and inputs."""
    layers = keras.layers
    tf.random.set_seed(3)
    if kind == "dense":
        made = [layers.Dense(128, "gelu"), layers.LayerNormalization(), layers.Dense(64, "tanh")]
        return keras.Sequential([keras.Input([96]), *made]), normal(160, 96)
    if kind == "images":
        made = [
            layers.Conv2D(16, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.DepthwiseConv2D(3),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5, "softmax"),
        ]
        return keras.Sequential([keras.Input([16, 16, 3]), *made]), normal(8, 16, 16, 3)
    if kind == "recurrent":
        made = [layers.LSTM(16, return_sequences=True), layers.GRU(8), layers.Dense(3)]
        return keras.Sequential([keras.Input([12, 6]), *made]), normal(5, 12, 6)
    inputs = keras.Input([24, 32])
    attended = layers.MultiHeadAttention(4, 8)(inputs, inputs)
    outputs = layers.LayerNormalization()(attended + inputs)
    return keras.Model(inputs, layers.Dense(32, "swish")(outputs)), normal(6, 24, 32)


MODELS = ["dense", "images", "recurrent", "attention"]


@pytest.mark.parametrize("tier", ["plan", "compiled", "auto"])
@pytest.mark.parametrize("kind", [*PROGRAMS, *MODELS])
def test_answers_are_the_same_in_filled_memory(kind: str, tier: Any) -> None:
    if kind in PROGRAMS:
        program, draw = PROGRAMS[kind]
        given = [tf.constant(one) for one in draw()]
    else:
        model, x = model_of(kind)
        program, given = (lambda x: model(x, training=False)), [tf.constant(x)]
    config.set_tier("plan")
    wanted = tf.function(program)(*given).numpy()
    config.set_tier(tier)
    config.settings.poison = True
    function = tf.function(program)
    assert isinstance(function.get_concrete_function(*given).plan.tiers, PoisonedTiers)
    for _ in range(4):
        # Float32 in another order; NaN would differ from everything.
        np.testing.assert_allclose(function(*given).numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_a_training_step_is_the_same_in_filled_memory() -> None:
    model, x = model_of("images")
    first, y = model.get_weights(), np.arange(8) % 5

    def losses() -> list[float]:
        model.set_weights(first)
        optimizer = keras.optimizers.SGD(0.05)

        @tf.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                found = model(x, training=True)
                loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, found))
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        return [float(step(tf.constant(x))) for _ in range(5)]

    config.set_tier("plan")
    wanted = losses()
    config.settings.poison = True
    np.testing.assert_allclose(losses(), wanted, rtol=1e-5)
    config.set_tier("compiled")
    np.testing.assert_allclose(losses(), wanted, rtol=1e-3)  # sums in another order, five steps


def test_memory_that_a_region_does_not_write_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch finds such faults: a region that leaves its last row unwritten."""
    run = Fused._run

    def short(self: Any, operands: Any, start: int, stop: int, *columns: int) -> None:
        run(self, operands, start, stop - 1, *columns)

    monkeypatch.setattr(Fused, "_run", short)
    program, draw = PROGRAMS["region"]
    given = [tf.constant(one) for one in draw()]
    config.settings.poison = True
    config.set_tier("compiled")
    found = tf.function(program)(*given).numpy()
    assert np.isnan(found[-1]).all()
    assert np.isfinite(found[:-1]).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
def test_arrays_are_made_of_nan_inside_and_not_outside(dtype: str) -> None:
    with filled():
        found = np.empty(1000, dtype)
        zeros = np.zeros(1000, dtype)
    assert np.isnan(found).all()
    assert not zeros.any()
    assert np.sum(np.ones(1000)) == 1000


def test_integers_are_filled_with_a_pattern() -> None:
    array = np.zeros(3, np.int32)
    fill(array)
    assert (array == np.uint32(0xAAAAAAAA).astype(np.int32)).all()
