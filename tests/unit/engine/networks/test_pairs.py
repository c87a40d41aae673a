"""Small products of two tensors, and small transposes, in a network: the plan's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import agreement
from pinnace.engine.tiers import Tiers
from pinnace.framework import config
from unit.engine.networks.test_region import arrays_of, networks_of


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")
    # Networks as small as these could be one kernel each.
    monkeypatch.setattr(Tiers, "_small", lambda *_: None)


class Drawn:
    """Two products with weights, whose results are transposed and multiplied.

    Args:
        seed: selects the program.

    Attributes:
        function: from x to results.
        x: numbers for it.
    """

    def __init__(self, seed: int) -> None:
        self._random = random = np.random.default_rng(seed)
        batch = [int(n) for n in random.integers(1, 4, int(random.integers(0, 3)))]
        rows, self._inner, self._columns, features = (int(n) for n in random.integers(1, 18, 4))
        self._batch, self._rows = batch, rows
        count = int(np.prod(batch, dtype=int))
        self.x = random.standard_normal((count, features)).astype(np.float32)
        sizes = (rows * self._inner, self._inner * self._columns)
        self._weights = [
            tf.Variable(random.standard_normal((features, size)).astype(np.float32) * 0.3)
            for size in sizes
        ]
        self._flips, self._turns = (bool(random.random() < 0.5) for _ in range(2))
        self._by_transposing = bool(random.random() < 0.4)
        order = random.permutation(len(batch) + 2)
        self._order = [int(axis) for axis in order]
        self._last = random.standard_normal((count * rows * self._columns, 3)).astype(np.float32)
        self.function = tf.function(self._run)

    def _run(self, x: Any) -> Any:
        left, right = (tf.nn.relu(x @ weights) - 0.1 for weights in self._weights)
        shapes = [[self._rows, self._inner], [self._inner, self._columns]]
        flips = [self._flips, self._turns]
        parts = [
            tf.reshape(one, [*self._batch, *(shape[::-1] if flip else shape)])
            for one, shape, flip in zip((left, right), shapes, flips, strict=True)
        ]
        if self._by_transposing:
            rank = len(self._batch) + 2
            swapped = [*range(rank - 2), rank - 1, rank - 2]
            parts = [
                tf.transpose(one, swapped) if flip else one
                for one, flip in zip(parts, flips, strict=True)
            ]
            flips = [False, False]
        y = tf.matmul(*parts, transpose_a=flips[0], transpose_b=flips[1])
        y = tf.transpose(y, self._order)
        return tf.nn.relu(tf.reshape(y, [1, -1])) @ self._last


@pytest.mark.parametrize("seed", range(80))
def test_drawn_pairs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    drawn = Drawn(seed)
    config.settings.tier = "plan"
    wanted = drawn.function(tf.constant(drawn.x)).numpy()
    moved = drawn.function(tf.constant(drawn.x * np.float32(1 + 2**-23))).numpy()
    config.settings.tier = "compiled"
    found = drawn.function(tf.constant(drawn.x)).numpy()
    assert agreement.difference([wanted], [found], [moved]) is None


def test_most_of_them_are_one_table() -> None:
    kinds: list[str] = []
    whole = 0
    for seed in range(40):
        drawn = Drawn(seed)
        found = networks_of(*arrays_of(drawn.function, drawn.x))
        kinds += [layer.kind for one in found for layer in one.layers]
        whole += len(found) == 1
    assert kinds.count("PAIRS") >= 32
    assert whole >= 32


def test_large_products_are_left_to_the_plan() -> None:
    weights = np.eye(64, dtype=np.float32)

    @tf.function
    def function(x: Any) -> Any:
        y = x @ weights @ weights
        return tf.matmul(y, y, transpose_b=True) @ weights @ weights

    found = networks_of(*arrays_of(function, np.ones((64, 64), np.float32)))
    assert "PAIRS" not in {layer.kind for one in found for layer in one.layers}
    assert len(found) == 2
