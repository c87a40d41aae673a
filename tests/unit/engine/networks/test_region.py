"""A network's table gives the plan's results.

Both compute in float32, in another order and with scales folded into weights: results are compared
as in a plan's check (`engine.agreement`: 512 ulps of the largest number of a row, or 64 times what
one ulp of the input moves).
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import agreement
from pinnace.engine.build import drop_plan
from pinnace.engine.codegen.regions import fuse
from pinnace.engine.networks.region import Network
from pinnace.framework import config
from pinnace.ops.kernels import team
from support.winograd import every_small_convolution_by_tiles
from unit.engine.networks.drawn import Drawn


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")
    # Time spent here must not make other tests' plans hot.


def arrays_of(function: Any, *xs: Any) -> tuple[Any, list[Any]]:
    """The plan of a function for tensors, and the plan's arguments."""
    concrete = function.get_concrete_function(*map(tf.constant, xs))
    plan = concrete.plan
    return plan, [*map(np.asarray, xs), *concrete._captured_arrays]


def networks_of(plan: Any, arrays: list[Any]) -> list[Network]:
    layout = plan.tiers.layout_for(arrays, anyway=True)
    steady = [value for value in plan.graph.inputs if value.handle is not None]
    regions = fuse(
        plan.steps, layout.known, plan.graph.outputs, settled=layout.settled, steady=steady
    )
    return [one for one in regions.values() if isinstance(one, Network)]


def check(drawn: Drawn, x: Any) -> None:
    config.settings.tier = "plan"
    wanted = drawn.function(tf.constant(x)).numpy()
    random = np.random.default_rng(0)
    moved = x * (1 + random.choice([-1, 1], x.shape).astype(np.float32) * np.float32(2**-23))
    moved = drawn.function(tf.constant(moved)).numpy()
    config.settings.tier = "compiled"
    for _ in range(2):
        found = drawn.function(tf.constant(x)).numpy()
        assert agreement.difference([wanted], [found], [moved]) is None


@pytest.mark.parametrize("seed", range(150))
def test_drawn_networks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    if seed % 2:
        every_small_convolution_by_tiles(monkeypatch)
    drawn = Drawn(seed)
    check(drawn, drawn.x)


def test_most_drawn_networks_are_one_table() -> None:
    whole = 0
    for seed in range(40):
        drawn = Drawn(seed)
        plan, arrays = arrays_of(drawn.function, drawn.x)
        whole += len(networks_of(plan, arrays)) == 1
    assert whole >= 30


@pytest.mark.parametrize("seed", range(12))
def test_numbers_that_are_none(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        every_small_convolution_by_tiles(monkeypatch)
    drawn = Drawn(1000 + seed)
    x = drawn.x.copy()
    flat = x.reshape(-1)
    places = np.random.default_rng(seed).integers(0, flat.size, 6)
    flat[places] = [np.nan, np.inf, -np.inf, 1e-42, -0.0, 3e38]
    config.settings.tier = "plan"
    wanted = drawn.function(tf.constant(x)).numpy()
    config.settings.tier = "compiled"
    found = drawn.function(tf.constant(x)).numpy()
    # A scale in the weights overflows at other numbers than one after the sum: NaN and infinities
    # may only occur where the plan has one of them.
    assert np.array_equal(np.isfinite(wanted), np.isfinite(found))


def test_an_assignment_is_seen() -> None:
    drawn = next(one for one in map(Drawn, range(100)) if one.variables)
    check(drawn, drawn.x)
    for variable in drawn.variables:
        variable.assign(variable * 0.5 + 0.1)
    check(drawn, drawn.x)


def _whole() -> tuple[Drawn, Any, list[Any], Network]:
    """A random network whose plan is one table, except for the steps after it."""
    for seed in range(20):
        drawn = Drawn(seed)
        plan, arrays = arrays_of(drawn.function, drawn.x)
        found = networks_of(plan, arrays)
        if len(found) == 1 and plan.graph.inputs[0] in found[0].cluster.inputs:
            return drawn, plan, arrays, found[0]
    raise AssertionError("no drawn network is one table")


@pytest.mark.parametrize("layout", ["reversed", "transposed", "unaligned"])
def test_tensors_that_lie_otherwise(layout: str) -> None:
    drawn, plan, arrays, network = _whole()
    x = drawn.x
    if layout == "reversed":
        x = np.ascontiguousarray(x[::-1])[::-1]
    elif layout == "transposed":
        x = np.ascontiguousarray(x.transpose(3, 1, 2, 0)).transpose(3, 1, 2, 0)
    else:
        room = np.empty(x.nbytes + 1, np.uint8)
        x = room[1:].view(np.float32).reshape(x.shape)
        x[...] = drawn.x
    given = dict(zip(plan.graph.inputs, arrays, strict=True))
    wanted = network([given[value] for value in network.cluster.inputs], [None])
    given[plan.graph.inputs[0]] = x
    found = network([given[value] for value in network.cluster.inputs], [None])
    assert all(np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))


def test_threads_that_call_one_network() -> None:
    drawn = Drawn(5)
    others = [np.roll(drawn.x, shift, axis=1) for shift in range(4)]
    wanted = [drawn.function(tf.constant(x)).numpy() for x in others]
    problems: list[str] = []

    def call(which: int) -> None:
        for _ in range(40):
            found = drawn.function(tf.constant(others[which])).numpy()
            if not np.array_equal(found, wanted[which]):
                problems.append(f"call {which}")

    threads = [threading.Thread(target=call, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_shared_pieces_give_the_same() -> None:
    for seed in range(8):
        drawn = Drawn(seed)
        alone = drawn.function(tf.constant(drawn.x)).numpy()
        plan, _ = arrays_of(drawn.function, drawn.x)
        drop_plan(plan.graph)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(team, "WORTH_PRODUCTS", 1)
            shared = drawn.function(tf.constant(drawn.x)).numpy()
        assert agreement.difference([alone], [shared]) is None


@pytest.mark.parametrize("kind", ["nothing", "assertion", "loop", "assignment", "Python", "nested"])
def test_weights_that_a_plan_may_change_are_not_packed(kind: str) -> None:
    weights = tf.Variable(np.ones((3, 3, 4, 4), np.float32) / 36)
    x = np.random.default_rng(0).standard_normal((1, 9, 9, 4)).astype(np.float32)

    def again(i: Any, y: Any) -> Any:
        if kind == "nested":
            weights.assign(weights * 1.25)
        return i + 1, y * 0.5

    @tf.function
    def run(x: Any) -> Any:
        if kind == "assertion":
            tf.debugging.assert_less(tf.reduce_max(x), 1e6)
        for _ in range(3):
            x = tf.nn.conv2d(x, weights, 1, "SAME")
            if kind == "assignment":
                weights.assign(weights * 1.5)
            elif kind == "Python":
                tf.py_function(lambda: weights.assign(weights * 2.0), [], [])
        if kind in {"loop", "nested"}:
            _, x = tf.while_loop(lambda i, _: i < 3, again, [tf.constant(0), x])
            x = tf.nn.conv2d(x, weights, 1, "SAME")
        return x

    plan, arrays = arrays_of(run, x)
    assert bool(networks_of(plan, arrays)) == (kind in {"nothing", "assertion", "loop"})
    config.settings.tier = "plan"
    wanted = run(tf.constant(x)).numpy()
    weights.assign(np.ones((3, 3, 4, 4), np.float32) / 36)
    config.settings.tier = "compiled"
    found = run(tf.constant(x)).numpy()
    assert agreement.difference([wanted], [found]) is None


def test_zeros_that_another_network_reads_are_written() -> None:
    filters = np.random.default_rng(0).standard_normal((3, 3, 8, 8)).astype(np.float32) / 9
    x = np.random.default_rng(1).standard_normal((2, 7, 6, 8)).astype(np.float32)

    @tf.function
    def run(x: Any) -> Any:
        x = tf.nn.conv2d(tf.nn.conv2d(x, filters, 1, "SAME"), filters, 1, "SAME")
        # Max pooling treats the zeros as data, so this padding stays a separate step.
        padded = tf.pad(x, [[0, 0], [2, 1], [0, 3], [0, 0]])
        a = tf.nn.max_pool2d(padded, 3, 1, "VALID")
        b = tf.reverse(tf.nn.conv2d(x, filters, 1, "SAME"), [1])  # which is in no network
        c = tf.nn.max_pool2d(padded, 2, 2, "VALID")
        c = tf.nn.conv2d(tf.nn.conv2d(c, filters, 1, "SAME"), filters, 1, "SAME")
        return a, b, c

    plan, arrays = arrays_of(run, x)
    assert len(networks_of(plan, arrays)) >= 2
    config.settings.tier = "plan"
    wanted = [one.numpy() for one in run(tf.constant(x))]
    config.settings.tier = "compiled"
    for _ in range(2):
        found = [one.numpy() for one in run(tf.constant(x))]
        assert agreement.difference(wanted, found) is None
