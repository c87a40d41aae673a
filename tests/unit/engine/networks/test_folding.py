"""Convolutions with few outputs fold several pixels of a row into the channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.engine.networks.folding import filters_of, folding_of, window_of
from pinnace.engine.networks.layers import Window
from pinnace.framework import config
from pinnace.ops.kernels import team
from unit.engine.networks.test_region import arrays_of, networks_of


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


class Drawn:
    """A convolution with few outputs, and optional surrounding steps.

    Args:
        seed: selects sizes, numbers, strides, padding and the epilogue.
    """

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.outputs = int(random.choice([1, 2, 3, 4, 5, 8, 16]))
        self.channels = int(random.choice([1, 3, 8, 17, 32]))
        self.taps = tuple(int(n) for n in random.choice([1, 2, 3, 5, 9], 2))
        self.steps = int(random.choice([1, 1, 1, 2, 3]))
        self.padding = str(random.choice(["SAME", "VALID"]))
        sizes = [int(n) for n in random.choice([9, 12, 16, 24, 30], 2)]
        shape = (int(random.integers(1, 4)), *sizes, self.channels)
        self.x = random.standard_normal(shape).astype(np.float32)
        shape = (*self.taps, self.channels, self.outputs)
        self.filters = (random.standard_normal(shape) / np.prod(shape[:3]) ** 0.5).astype("f")
        self.bias = random.standard_normal(self.outputs).astype(np.float32)
        self.around = str(random.choice(["nothing", "sum", "before", "behind"]))
        self.last = str(random.choice(["nothing", "relu", "relu6", "sigmoid"]))

    def function(self) -> Any:
        @tf.function
        def run(x: Any) -> Any:
            if self.around == "before":
                x = tf.nn.relu(
                    tf.nn.conv2d(x, np.eye(self.channels, dtype="f")[None, None], 1, "SAME")
                )
            y = tf.nn.bias_add(tf.nn.conv2d(x, self.filters, self.steps, self.padding), self.bias)
            if self.around == "sum":
                y = tf.nn.relu(y + tf.nn.conv2d(x, self.filters, self.steps, self.padding))
            if self.around == "behind":  # its windows reach beyond the edge
                y = tf.nn.relu(y)
                y = tf.nn.conv2d(y, np.ones((3, 3, self.outputs, 7), np.float32), 1, "SAME")
            return y if self.last == "nothing" else getattr(tf.nn, self.last)(y)

        return run


@pytest.mark.parametrize("seed", range(60))
def test_results_are_the_plans(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    if seed % 2:
        monkeypatch.setattr(team, "WORTH_PRODUCTS", 1)
        monkeypatch.setattr(team, "WORTH_OFFERING", 1)
        monkeypatch.setattr(team, "size", lambda: 2 + seed % 3)
    drawn = Drawn(seed)
    run = drawn.function()
    config.settings.tier = "plan"
    wanted = run(tf.constant(drawn.x)).numpy()
    config.settings.tier = "compiled"
    for _ in range(2):
        found = run(tf.constant(drawn.x)).numpy()
        # Sums of up to 2592 products in another order, of numbers around 1.
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("seed", range(40))
def test_a_bad_number_is_where_the_plan_has_it(seed: int, number: float) -> None:
    drawn = Drawn(seed)
    drawn.x[0, 2, 3, 0] = number
    run = drawn.function()
    for _ in range(2):
        config.settings.tier = "compiled"
        found = run(tf.constant(drawn.x)).numpy()
        config.settings.tier = "plan"
        wanted = run(tf.constant(drawn.x)).numpy()
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        good = ~np.isnan(wanted)
        np.testing.assert_allclose(found[good], wanted[good], rtol=1e-5, atol=1e-5)


def test_drawn_convolutions_are_of_both_kinds() -> None:
    counts = set()
    for seed in range(60):
        drawn = Drawn(seed)
        plan, arrays = arrays_of(drawn.function(), drawn.x)
        for network in networks_of(plan, arrays):
            counts |= {folding_of(layer, network._memory) for layer in network.layers}
    assert 1 in counts
    assert len(counts) > 3


@given(
    taps=st.integers(1, 5),
    step=st.integers(1, 3),
    count=st.integers(1, 4),
    groups=st.integers(1, 3),
    seed=st.integers(0, 9),
)
def test_the_wide_window_makes_what_the_narrow_ones_make(
    taps: int, step: int, count: int, groups: int, seed: int
) -> None:
    """By the formula, in float64: one row, two channels, three outputs."""
    random = np.random.default_rng(seed)
    filters = random.standard_normal((1, taps, 2, 3))
    length = (groups * count - 1) * step + taps
    row = random.standard_normal((length, 2))

    def made(weights: Any, step: int, windows: int) -> Any:
        width = weights.shape[1]
        cut = [row[n * step : n * step + width] for n in range(windows)]
        return np.array([np.einsum("tc,tco->o", one, weights[0]) for one in cut])

    wanted = made(filters, step, groups * count)
    window = window_of(Window((1, taps), (1, step)), count)
    wide = filters_of(filters, step, count)
    assert wide.shape == (1, window.taps[1], 2, 3 * count)
    found = made(wide, window.steps[1], groups).reshape(wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
