"""Layers on volumes as rows of a network's table, against their formulas in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import drop_plan
from pinnace.framework import config
from pinnace.ops.kernels import team
from unit.engine.networks import volume_formulas as formulas
from unit.engine.networks.test_region import arrays_of, networks_of
from unit.engine.networks.volume_formulas import Windows


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


class Drawn:
    """A convolution of volumes with a bias and a rectifier, pooling, and a second convolution."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        sizes = tuple(int(n) for n in random.integers(1, 10, 3))
        channels = int(random.choice([1, 2, 5, 17]))
        shape = (int(random.integers(1, 4)), *sizes, channels)
        self.x = random.standard_normal(shape).astype(np.float32)
        outputs = int(random.choice([1, 8, 16, 33, 70]))
        self.first = self._windows(random, sizes)
        self.filters = self._weights(random, *self.first.taps, channels, outputs)
        self.bias = self._weights(random, outputs)
        sizes = formulas.convolved(self.x, self.filters, self.first).shape[1:4]
        self.pool = self._windows(random, sizes, gaps=False)
        self.is_largest = bool(random.integers(2))
        pooled = formulas.largest(np.zeros((1, *sizes, 1)), self.pool)
        self.second = self._windows(random, pooled.shape[1:4])
        self.others = self._weights(random, *self.second.taps, outputs, 7)
        self.ends_in_mean = bool(random.integers(2))

    @staticmethod
    def _weights(random: Any, *shape: int) -> Any:
        return (random.standard_normal(shape) / 3).astype(np.float32)

    @staticmethod
    def _windows(random: Any, sizes: Any, *, gaps: bool = True) -> Windows:
        padding = str(random.choice(["SAME", "VALID"]))
        steps = tuple(int(n) for n in random.integers(1, 4, 3))
        apart = (1, 1, 1)
        if gaps and random.random() < 0.4:
            steps, apart = (1, 1, 1), tuple(int(n) for n in random.integers(1, 3, 3))  # type: ignore[assignment]
        taps = [int(random.choice([1, 2, 3, 5])) for _ in range(3)]
        # Windows that fit, and none of which reads only padding.
        taps = [
            tap if (tap - 1) * gap < size else 1
            for tap, gap, size in zip(taps, apart, sizes, strict=True)
        ]
        return Windows(tuple(taps), steps, padding, apart)  # type: ignore[arg-type]

    def function(self) -> Any:
        return tf.function(self._run)

    def _run(self, x: Any) -> Any:
        x = tf.nn.relu(tf.nn.bias_add(self._conv(x, self.filters, self.first), self.bias))
        pool = tf.nn.max_pool3d if self.is_largest else tf.nn.avg_pool3d
        x = pool(x, self.pool.taps, self.pool.steps, self.pool.padding)
        x = self._conv(x * 0.5 + 0.25, self.others, self.second)
        return tf.reduce_mean(x, [1, 2, 3]) if self.ends_in_mean else x

    @staticmethod
    def _conv(x: Any, filters: Any, windows: Windows) -> Any:
        around = [[1, *numbers, 1] for numbers in (windows.steps, windows.gaps)]
        return tf.nn.conv3d(x, filters, around[0], windows.padding, dilations=around[1])

    def wanted(self) -> Any:
        """The result by the formulas, and the largest number of which it is a mean."""
        x = np.maximum(formulas.convolved(self.x, self.filters, self.first) + self.bias, 0)
        x = formulas.largest(x, self.pool) if self.is_largest else formulas.mean(x, self.pool)
        x = formulas.convolved(x * 0.5 + 0.25, self.others, self.second)
        size = np.abs(x).max()
        return (x.mean((1, 2, 3)) if self.ends_in_mean else x), size


@pytest.mark.parametrize("seed", range(80))
def test_drawn_layers_give_what_the_formulas_give(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    drawn = Drawn(seed)
    wanted, size = drawn.wanted()
    function = drawn.function()
    for _ in range(2):
        found = function(tf.constant(drawn.x)).numpy()
        np.testing.assert_allclose(found, wanted, rtol=0, atol=3e-6 * max(1, size))


def test_drawn_layers_are_one_table() -> None:
    for seed in range(30):
        drawn = Drawn(seed)
        plan, arrays = arrays_of(drawn.function(), drawn.x)
        (network,) = networks_of(plan, arrays)
        assert not {"CONV3D", "MAXPOOL3D"} & {
            step.node.op.name.upper()
            for place, step in enumerate(plan.steps)
            if place not in network.cluster.members
        }


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("seed", [3, 11, 17, 21])
def test_threads_and_neighbours_give_the_same_bits(
    seed: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Drawn(seed)
    x = np.repeat(drawn.x, 2, 0)
    x[1::2] = np.nan
    function = drawn.function()
    alone = function(tf.constant(drawn.x)).numpy()
    drop_plan(function.get_concrete_function(tf.constant(drawn.x)).graph)
    monkeypatch.setattr(team, "WORTH_PRODUCTS", 1)
    monkeypatch.setattr(team, "WORTH_OFFERING", 1)
    monkeypatch.setattr(team, "size", lambda: threads)
    np.testing.assert_array_equal(function(tf.constant(drawn.x)).numpy(), alone)
    np.testing.assert_array_equal(function(tf.constant(x)).numpy()[::2], alone)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("seed", range(6))
def test_a_bad_number_is_where_the_plan_has_it(seed: int, number: float) -> None:
    drawn = Drawn(100 + seed)
    drawn.x[0, -1, 0, -1, 0] = number
    function = drawn.function()
    found = function(tf.constant(drawn.x)).numpy()
    config.settings.tier = "plan"
    wanted = function(tf.constant(drawn.x)).numpy()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))


def test_windows_between_slices_are_left_to_the_plan() -> None:
    x = np.ones((1, 1, 4, 4, 2), np.float32)
    filters = np.ones((2, 2, 2, 2, 3), np.float32)

    @tf.function
    def run(x: Any) -> Any:
        return tf.nn.conv3d(x, filters, [1] * 5, "SAME", dilations=[1, 2, 1, 1, 1]) + 1.0

    plan, arrays = arrays_of(run, x)
    assert not networks_of(plan, arrays)
    np.testing.assert_array_equal(run(tf.constant(x)).numpy(), np.ones((1, 1, 4, 4, 3)))
