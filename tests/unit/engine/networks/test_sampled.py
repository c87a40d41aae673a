"""Crops, resizing and normalization of images, as rows of the table of the following network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.networks.fields import GATE
from pinnace.framework import config
from pinnace.ops.kernels import team
from unit.engine.networks import volume_formulas as formulas
from unit.engine.networks.test_region import arrays_of, networks_of

_SAME = formulas.Windows((1, 3, 3), (1, 1, 1), "SAME")


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


def convolved(x: Any, filters: Any) -> Any:
    """The convolution by the formula, with images as volumes of one slice."""
    return formulas.convolved(x[:, None], filters[None], _SAME)[:, 0]


def resized(x: Any, height: int, width: int, method: str) -> Any:
    """Half-pixel centres in float64: the nearest pixel, or linear interpolation, axis by axis."""
    for axis, size in ((1, height), (2, width)):
        given = x.shape[axis]
        at = (np.arange(size) + 0.5) * given / size
        if method == "nearest":
            x = np.take(x, np.clip(np.floor(at).astype(int), 0, given - 1), axis)
            continue
        at = np.clip(at - 0.5, 0, given - 1)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if a == axis else 1 for a in range(4)])
        above = np.take(x, np.minimum(low + 1, given - 1), axis)
        x = np.take(x, low, axis) * (1 - part) + above * part
    return x


class Drawn:
    """An optional crop and resizing, a scale for each channel, two convolutions."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        channels = int(random.choice([1, 3, 5, 16, 33]))
        sizes = [int(n) for n in random.integers(6, 24, 2)]
        self.x = random.standard_normal((int(random.integers(1, 4)), *sizes, channels))
        self.x = self.x.astype(np.float32)
        self.cut = [
            slice(int(random.integers(0, 3)), size - int(random.integers(0, 3))) for size in sizes
        ]
        self.crops, self.resizes = random.random(2) < 0.7
        self.size = [int(n) for n in random.integers(1, 40, 2)]
        self.method = str(random.choice(["bilinear", "nearest"]))
        self.mean = random.standard_normal(channels).astype(np.float32)
        self.deviation = random.uniform(0.5, 2, channels).astype(np.float32)
        self.is_captured = bool(random.integers(2))
        self.first, self.second = (
            (random.standard_normal(shape) / 3).astype(np.float32)
            for shape in ((3, 3, channels, 12), (3, 3, 12, 7))
        )

    def function(self) -> Any:
        # Tensors that a graph captures are not its constants.
        give = tf.constant if self.is_captured else np.asarray
        mean, deviation = give(self.mean), give(self.deviation)

        @tf.function
        def run(x: Any) -> Any:
            if self.crops:
                x = x[:, self.cut[0], self.cut[1]]
            if self.resizes:
                x = tf.image.resize(x, self.size, self.method)
            x = (x * (1 / 2) + 1 - mean) / deviation
            x = tf.nn.conv2d(x, self.first, 1, "SAME")
            return tf.nn.conv2d(x * (tf.nn.relu6(x + 3) / 6), self.second, 1, "SAME")

        return run

    def wanted(self) -> Any:
        x = self.x.astype(np.float64)
        if self.crops:
            x = x[:, self.cut[0], self.cut[1]]
        if self.resizes:
            x = resized(x, *self.size, self.method)
        x = convolved((x * 0.5 + 1 - self.mean) / self.deviation, self.first)
        return convolved(x * np.clip(x + 3, 0, 6) / 6, self.second)


@pytest.mark.parametrize("seed", range(60))
def test_drawn_images_give_what_the_formulas_give(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    if seed % 2:
        monkeypatch.setattr(team, "WORTH_PRODUCTS", 1)
        monkeypatch.setattr(team, "WORTH_OFFERING", 1)
        monkeypatch.setattr(team, "size", lambda: 2 + seed % 3)
    drawn = Drawn(seed)
    wanted = drawn.wanted()
    function = drawn.function()
    for _ in range(2):
        found = function(tf.constant(drawn.x)).numpy()
        np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-6 * np.abs(wanted).max())


def test_all_of_it_is_one_table() -> None:
    for seed in range(20):
        drawn = Drawn(seed)
        plan, arrays = arrays_of(drawn.function(), drawn.x)
        (network,) = networks_of(plan, arrays)
        kinds = [layer.kind for layer in network.layers]
        assert kinds.count("RESIZE") == int(drawn.resizes)
        assert kinds.count("PRODUCT") == 2
        # Steps after a convolution are its epilogue.
        assert kinds.count("PROGRAM") == 1
        assert any(layer.mode & GATE for layer in network.layers)
        # A crop of images is resized in place.
        assert "COPY" not in kinds or not drawn.resizes


@pytest.mark.parametrize("seed", range(6))
def test_an_image_does_not_depend_on_its_neighbours(seed: int) -> None:
    drawn = Drawn(200 + seed)
    function = drawn.function()
    alone = function(tf.constant(drawn.x)).numpy()
    both = np.repeat(drawn.x, 2, 0)
    both[1::2] = np.nan
    np.testing.assert_array_equal(function(tf.constant(both)).numpy()[::2], alone)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("seed", range(5))
def test_a_bad_number_is_where_the_plan_has_it(seed: int, number: float) -> None:
    drawn = Drawn(300 + seed)
    drawn.x[0, 3, 3, 0] = number
    function = drawn.function()
    found = function(tf.constant(drawn.x)).numpy()
    config.settings.tier = "plan"
    wanted = function(tf.constant(drawn.x)).numpy()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))


@pytest.mark.parametrize("number", [0.0, np.inf, np.nan, 1e-30, 3e38])
def test_divisors_without_an_inverse_divide(number: float) -> None:
    x = np.random.default_rng(0).standard_normal((2, 9, 9, 8)).astype(np.float32)
    filters = np.random.default_rng(1).standard_normal((3, 3, 8, 8)).astype(np.float32)
    divisor = np.full(8, 2, np.float32)
    divisor[3] = number

    @tf.function
    def run(x: Any) -> Any:
        x = tf.nn.conv2d(x, filters, 1, "SAME")
        return tf.tanh(x) / divisor + tf.nn.conv2d(x, filters, 1, "SAME") * 0.0

    found = run(tf.constant(x)).numpy()
    config.settings.tier = "plan"
    np.testing.assert_allclose(found, run(tf.constant(x)).numpy(), rtol=1e-3, atol=1e-6)


def test_parts_that_are_no_images_are_left_to_the_plan() -> None:
    x = np.random.default_rng(0).standard_normal((4, 9, 9, 8)).astype(np.float32)
    filters = np.random.default_rng(1).standard_normal((3, 3, 8, 8)).astype(np.float32)

    @tf.function
    def run(x: Any) -> Any:
        x = tf.nn.conv2d(tf.nn.conv2d(x, filters, 1, "SAME"), filters, 1, "SAME")
        return x[:, ::2], x[1:], x[..., 2:], x[:, 3], x[:, ::-1], x[:, 1:-2, 2:]

    found = run(tf.constant(x))
    config.settings.tier = "plan"
    for one, wanted in zip(found, run(tf.constant(x)), strict=True):
        np.testing.assert_allclose(one.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-4)
