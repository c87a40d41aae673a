"""Reductions over inner axes, and concatenations along any axis, give the plan's results."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import agreement
from pinnace.framework import config
from unit.engine.networks.test_pairs import _settings as _settings
from unit.engine.networks.test_region import arrays_of, networks_of

REDUCTIONS = [tf.reduce_mean, tf.reduce_sum, tf.reduce_max]


class Drawn:
    """A product, some of whose results are reduced, concatenated and multiplied again.

    Args:
        seed: selects the program.

    Attributes:
        function: from x to results.
        x: numbers for it.
    """

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        rank = int(random.integers(3, 6))
        shape = [int(n) for n in random.integers(1, 7, rank)]
        self.x = random.standard_normal(shape).astype(np.float32)
        self._width = int(random.integers(1, 70))
        self._weights = [random.standard_normal((shape[-1], self._width)) for _ in range(3)]
        first = int(random.integers(1, rank - 1))
        self._axes = list(range(first, int(random.integers(first + 1, rank))))
        self._keep = bool(random.random() < 0.5)
        self._reductions = [REDUCTIONS[int(n)] for n in random.integers(0, 3, 3)]
        self._stacks = bool(random.random() < 0.5)
        left = rank if self._keep else rank - len(self._axes)
        self._join = int(random.integers(0, left + self._stacks))
        self._negative = bool(random.random() < 0.5)
        self._last = tf.Variable(random.standard_normal((64, 5)).astype(np.float32))
        self.function = tf.function(self._run)

    def _run(self, x: Any) -> Any:
        found = []
        for weights, reduction in zip(self._weights, self._reductions, strict=True):
            y = tf.reshape(x, [-1, x.shape[-1]]) @ weights.astype(np.float32)
            y = tf.nn.relu(tf.reshape(y, [*x.shape[:-1], self._width]) - 0.5)
            axes = [axis - len(x.shape) for axis in self._axes] if self._negative else self._axes
            found.append(reduction(y, axes, keepdims=self._keep))
        z = tf.stack(found, self._join) if self._stacks else tf.concat(found, self._join)
        z = tf.reshape(z, [-1, z.shape[-1]])
        return z @ self._last[: z.shape[-1]] if z.shape[-1] <= 64 else z * 2.0


def _both(function: Any, x: Any) -> tuple[Any, Any]:
    config.settings.tier = "plan"
    wanted = function(tf.constant(x)).numpy()
    config.settings.tier = "compiled"
    return wanted, function(tf.constant(x)).numpy()


@pytest.mark.parametrize("seed", range(80))
def test_drawn_reductions_and_joins(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    drawn = Drawn(seed)
    wanted, found = _both(drawn.function, drawn.x)
    assert agreement.difference([wanted], [found]) is None


def test_most_of_them_are_one_table() -> None:
    kinds: set[str] = set()
    whole = 0
    for seed in range(40):
        drawn = Drawn(seed)
        found = networks_of(*arrays_of(drawn.function, drawn.x))
        kinds.update(layer.kind for one in found for layer in one.layers)
        whole += len(found) == 1
    assert {"MEAN", "COPY"} <= kinds
    assert whole >= 36


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_numbers_that_are_none_are_reduced_alike(reduction: Any) -> None:
    weights = np.eye(6, dtype=np.float32)

    @tf.function
    def function(x: Any) -> Any:
        y = tf.reshape(tf.reshape(x, [-1, 6]) @ weights, x.shape)
        return tf.nn.relu6(reduction(y, 1) @ weights - 1.0) @ weights

    @tf.function
    def reduced(x: Any) -> Any:
        y = tf.reshape(tf.reshape(x, [-1, 6]) @ weights @ weights, x.shape)
        return reduction(y, 1)

    for value, place in itertools.product([np.nan, np.inf, -np.inf, -0.0], range(3)):
        x = np.full((2, 5, 6), -2, np.float32)
        x[place % 2, 2 * place, :] = value
        for one in (function, reduced):
            wanted, found = _both(one, x)
            np.testing.assert_array_equal(wanted, found)


@pytest.mark.parametrize("batch", [4, 8])
def test_a_batch_in_blocks_is_reduced_and_joined_alike(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pinnace.engine.networks import blocks

    monkeypatch.setattr(blocks, "_WORTH_BYTES", 0)
    monkeypatch.setattr(blocks, "_CACHE", 1 << 13)
    random = np.random.default_rng(batch)
    filters = random.standard_normal((3, 3, 4, 8)).astype(np.float32)
    weights = random.standard_normal((8, 3)).astype(np.float32)

    @tf.function
    def function(x: Any) -> Any:
        y = tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME"))
        most = tf.reduce_max(y, [1, 2])
        less = tf.reduce_sum(y, [1, 2]) * 0.01
        return tf.reshape(tf.stack([most, less, most], 1), [-1, 24]) @ np.tile(weights, (3, 1))

    x = random.standard_normal((batch, 9, 7, 4)).astype(np.float32)
    assert [one.blocks > 1 for one in networks_of(*arrays_of(function, x))] == [True]
    wanted, found = _both(function, x)
    assert agreement.difference([wanted], [found]) is None
