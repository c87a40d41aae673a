"""Convolutions of a network by Winograd's tiles: threads, adjacent images, NaN and infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import agreement
from pinnace.engine.build import drop_plan
from pinnace.engine.codegen.regions import fuse
from pinnace.engine.networks.fields import KIND, PLACE
from pinnace.engine.networks.region import Network
from pinnace.framework import config
from pinnace.ops.kernels import team
from support.winograd import every_small_convolution_by_tiles


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")
    every_small_convolution_by_tiles(monkeypatch)


def residual_block(seed: int, channels: int, inner: int) -> Any:
    """Two convolutions with epilogues and a shortcut, and one with negative padding."""
    random = np.random.default_rng(seed)
    filters = [
        random.standard_normal(shape).astype(np.float32) / 9
        for shape in [(3, 3, channels, inner), (3, 3, inner, channels), (3, 3, channels, 40)]
    ]
    bias = random.standard_normal(inner).astype(np.float32)

    @tf.function
    def run(x: Any) -> Any:
        y = tf.nn.relu(tf.nn.conv2d(x, filters[0], 1, "SAME") + bias)
        y = tf.nn.relu(tf.nn.conv2d(y, filters[1], 1, "SAME") + x)
        return tf.nn.relu6(tf.nn.conv2d(y, filters[2], 1, "VALID"))

    return run


def images(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def kinds_of(run: Any, x: Any) -> list[int]:
    """The kinds of rows in the table of a function."""
    concrete = run.get_concrete_function(tf.constant(x))
    plan = concrete.plan
    layout = plan.tiers.layout_for([np.asarray(x), *concrete._captured_arrays], anyway=True)
    regions = fuse(plan.steps, layout.known, plan.graph.outputs, settled=layout.settled, steady=[])
    (network,) = (one for one in regions.values() if isinstance(one, Network))
    network([np.asarray(x)], [None])
    form = network._form
    assert form is not None
    return [int(row[PLACE["KIND"]]) for row in form.table.rows]


@pytest.mark.parametrize("seed", range(6))
def test_results_are_the_plans(seed: int) -> None:
    sizes = [(1, 9, 8), (3, 3, 3), (2, 31, 20), (5, 4, 6), (1, 3, 7), (2, 17, 64)][seed]
    x = images(seed, *sizes, 17 + 16 * (seed % 2))
    run = residual_block(seed, x.shape[-1], 24 + seed)
    assert KIND["WINOGRAD"] in kinds_of(run, x)
    config.settings.tier = "plan"
    wanted = run(tf.constant(x)).numpy()
    config.settings.tier = "compiled"
    for _ in range(2):
        assert agreement.difference([wanted], [run(tf.constant(x)).numpy()]) is None


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_any_number_of_threads_gives_the_same_bits(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = images(0, 3, 21, 14, 32)
    run = residual_block(0, 32, 130)
    alone = run(tf.constant(x)).numpy()
    drop_plan(run.get_concrete_function(tf.constant(x)).graph)
    monkeypatch.setattr(team, "WORTH_PRODUCTS", 1)
    monkeypatch.setattr(team, "WORTH_OFFERING", 1)
    monkeypatch.setattr(team, "size", lambda: threads)
    np.testing.assert_array_equal(run(tf.constant(x)).numpy(), alone)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
def test_a_bad_number_stays_where_direct_sums_leave_it(number: float) -> None:
    x = images(1, 3, 12, 11, 20)
    run = residual_block(1, 20, 32)
    clean = run(tf.constant(x)).numpy()
    x[1, 5, 6, 3] = number
    found = run(tf.constant(x)).numpy()
    config.settings.tier = "plan"
    wanted = run(tf.constant(x)).numpy()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    np.testing.assert_array_equal(found[[0, 2]], clean[[0, 2]])
