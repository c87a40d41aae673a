"""A batch processed in blocks gives the plan's results, however it is divided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.networks import blocks, finding
from pinnace.framework import config
from pinnace.ops.kernels import team
from unit.engine.networks.drawn import Drawn
from unit.engine.networks.test_region import _settings as _settings
from unit.engine.networks.test_region import arrays_of, check, networks_of

if TYPE_CHECKING:
    from pinnace.engine.networks.reading import Reader


def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use blocks wherever possible."""
    monkeypatch.setattr(blocks, "_CACHE", 0)
    monkeypatch.setattr(blocks, "_CACHED_WEIGHTS", 1 << 40)
    monkeypatch.setattr(blocks, "_WORTH_BYTES", 0)
    monkeypatch.setattr(blocks, "_LEFT", 1.0)


@pytest.mark.parametrize("seed", range(60))
def test_drawn_networks_in_blocks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    cut(monkeypatch)
    drawn = Drawn(seed, times=2 + seed % 5)
    check(drawn, drawn.x)


def test_most_drawn_networks_can_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    cut(monkeypatch)
    found = 0
    for seed in range(40):
        drawn = Drawn(seed, times=4)
        plan, arrays = arrays_of(drawn.function, drawn.x)
        found += any(network.blocks > 1 for network in networks_of(plan, arrays))
    assert found >= 25


def split(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Split networks at one of the possible positions."""

    def place(reader: Reader, threads: int) -> int | None:
        del threads
        layers = sorted(reader.layers, key=lambda one: one.place)
        ends = [count for count in blocks._ends(reader, layers) if count < len(layers)]
        return layers[ends[seed % len(ends)] - 1].place + 1 if ends else None

    monkeypatch.setattr(finding, "split_of", place)
    monkeypatch.setattr(finding, "_is_worth_it", lambda reader: bool(reader.layers))


@pytest.mark.parametrize("seed", range(60))
def test_drawn_networks_in_two_parts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    if seed % 2:
        cut(monkeypatch)
    split(monkeypatch, seed)
    drawn = Drawn(100 + seed, times=2 + seed % 5)
    check(drawn, drawn.x)


def test_many_drawn_networks_can_be_split(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(map(networks_in, range(30)))
    split(monkeypatch, 0)
    parts = map(networks_in, range(30))
    assert sum(after > before for after, before in zip(parts, whole, strict=True)) >= 8


def networks_in(seed: int) -> int:
    """The number of networks that a random one becomes."""
    drawn = Drawn(seed, times=4)
    plan, arrays = arrays_of(drawn.function, drawn.x)
    return len(networks_of(plan, arrays))


def test_layers_with_most_of_the_weights_are_walked_together() -> None:
    """As in image classifiers: large images first, then many channels."""
    images = tf.keras.Input((112, 112, 3))
    x = images
    for _ in range(3):
        x = tf.keras.layers.Conv2D(64, 3, activation="relu", padding="same")(x)
    x = tf.keras.layers.MaxPooling2D(16)(x)
    for _ in range(4):
        y = tf.keras.layers.Conv2D(1024, 3, activation="relu", padding="same")(x)
        x = y if x.shape[-1] != 1024 else tf.keras.layers.Add()([x, y])
    network = tf.keras.Model(images, x)
    first, second = blocks_for(network, np.zeros((16, 112, 112, 3), np.float32))
    assert first > 1
    assert second == 1
    assert blocks_for(network, np.zeros((1, 112, 112, 3), np.float32)) == [1]


def model(side: int) -> Any:
    images = tf.keras.Input((side, side, 3))
    x = tf.keras.layers.Conv2D(64, 3, activation="relu", padding="same")(images)
    x = tf.keras.layers.Conv2D(64, 3, activation="relu", padding="same")(x)
    return tf.keras.Model(images, tf.keras.layers.GlobalAveragePooling2D()(x))


def blocks_for(network: Any, x: Any) -> list[int]:
    function = tf.function(lambda given: network(given, training=False))
    plan, arrays = arrays_of(function, x)
    return [one.blocks for one in networks_of(plan, arrays)]


def test_blocks_are_for_batches_that_do_not_fit_into_the_cache() -> None:
    # 64 channels of 112 x 112 are 3.2 MB an image; of 16 x 16, 65 KB.
    large, small = model(112), model(16)
    (found,) = blocks_for(large, np.zeros((16, 112, 112, 3), np.float32))
    assert found >= max(2, team.size())
    assert 16 % found == 0
    assert blocks_for(small, np.zeros((16, 16, 16, 3), np.float32)) == [1]
    assert blocks_for(large, np.zeros((1, 112, 112, 3), np.float32)) == [1]


def test_values_that_share_no_first_axis_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    cut(monkeypatch)
    filters = tf.constant(np.ones((3, 3, 4, 4), np.float32))

    @tf.function
    def mixed(x: Any) -> Any:
        y = tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME"))
        y = tf.reshape(y, (2, -1, 5, 4))
        return tf.nn.conv2d(y, filters, 1, "SAME")

    x = np.random.default_rng(0).standard_normal((4, 5, 5, 4)).astype(np.float32)
    plan, arrays = arrays_of(mixed, x)
    assert all(network.blocks == 1 for network in networks_of(plan, arrays))


@pytest.mark.parametrize("seed", range(12))
def test_values_of_channels_that_all_images_share_are_in_every_block(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where images are normalised with a mean and a variance that are inputs or variables."""
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    cut(monkeypatch)
    random = np.random.default_rng(seed)
    side, channels, images = (int(n) for n in random.integers(3, 9, 3))
    images += images % 2
    filters = random.standard_normal((3, 3, channels, 5)).astype(np.float32)
    last = random.standard_normal((1, 1, 5, 4)).astype(np.float32)
    front = [(), (1,), (1, 1), (1, 1, 1)][seed % 4]

    @tf.function
    def normalised(x: Any, mean: Any, variance: Any) -> Any:
        deviation = tf.maximum(tf.sqrt(variance), 1e-7)
        y = tf.nn.conv2d((x - mean) / deviation, filters, 1, "SAME")
        y = tf.nn.conv2d(tf.nn.relu(y), last, 1, "SAME")
        if seed % 2:
            return tf.reduce_mean(y, (1, 2))
        return y, deviation

    x = random.standard_normal((images, side, side, channels)).astype(np.float32)
    mean = random.standard_normal((*front, channels)).astype(np.float32)
    variance = random.uniform(0.5, 2, (*front, channels)).astype(np.float32)
    plan, arrays = arrays_of(normalised, x, mean, variance)
    assert [network.blocks > 1 for network in networks_of(plan, arrays)] == [True]
    found = tf.nest.flatten(normalised(*map(tf.constant, (x, mean, variance))))
    deviation = np.sqrt(variance.astype(np.float64))
    config.settings.tier = "plan"
    wanted = tf.nest.flatten(normalised(*map(tf.constant, (x, mean, variance))))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    if not seed % 2:
        np.testing.assert_allclose(found[1], deviation, rtol=1e-6)
