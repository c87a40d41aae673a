"""Scaled channels of images, as in squeeze-and-excite blocks: rows of a program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.networks import fields
from pinnace.framework import config
from pinnace.ops.kernels import team
from unit.engine.networks.test_region import arrays_of, networks_of


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


class Drawn:
    """A convolution, its mean as a scale for each channel, and another convolution.

    Args:
        seed: selects sizes, numbers, the order of operands, and other steps on the images.

    Attributes:
        x: images.
        width: number of scaled channels.
        is_alone: whether nothing else is done.
    """

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.width = int(random.choice([1, 7, 31, 32, 33, 64, 100, 300]))
        sizes = [int(n) for n in random.integers(2, 15, 2)]
        self.x = random.standard_normal((int(random.integers(1, 5)), *sizes, 3))
        self.x = self.x.astype(np.float32)
        self.first, self.inside, self.last = (
            (random.standard_normal(shape) / 3).astype(np.float32)
            for shape in (
                (1, 1, 3, self.width),
                (1, 1, self.width, self.width),
                (*random.choice([1, 3], 2), self.width, 4),
            )
        )
        self.is_swapped, self.is_alone = (bool(n) for n in random.integers(0, 2, 2))

    def function(self) -> Any:
        @tf.function
        def run(x: Any) -> Any:
            y = tf.nn.conv2d(x, self.first, 1, "SAME")
            scale = tf.reduce_mean(y, [1, 2], keepdims=True)
            scale = tf.sigmoid(tf.nn.conv2d(scale, self.inside, 1, "SAME"))
            z = scale * y if self.is_swapped else y * scale
            if not self.is_alone:
                z = tf.abs(z) - 0.5
            return tf.nn.conv2d(z, self.last, 1, "SAME")

        return run


@pytest.mark.parametrize("seed", range(40))
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
        np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-6 * np.abs(wanted).max())


def test_wide_rows_are_scaled_where_they_lie() -> None:
    seen = set()
    for seed in range(40):
        drawn = Drawn(seed)
        plan, arrays = arrays_of(drawn.function(), drawn.x)
        (network,) = networks_of(plan, arrays)
        network(arrays, [None])
        assert network._form is not None
        what = [int(line[0]) for line in network._form.table.programs]
        is_wide = drawn.width >= 32
        assert (fields.OPERATION["MULTIPLY_ROWS"] in what) == is_wide
        assert (fields.OPERATION["SPREAD"] in what) != is_wide
        seen.add((is_wide, drawn.is_alone))
        if is_wide and drawn.is_alone:
            assert len(what) == 1
    assert len(seen) == 4
