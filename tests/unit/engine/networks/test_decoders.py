"""Decoders with caches in a network's table agree with the plan, and with formulas.

Tolerances against the plan are those of `test_region`. Against float64: see `test_transformers`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config
from unit.engine.networks import agreeing
from unit.engine.networks.drawn_decoders import DrawnDecoder
from unit.engine.networks.test_region import networks_of

_BOUND = 2e-5


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


def _networks(function: Any, given: list[Any]) -> list[Any]:
    concrete = function.get_concrete_function(*map(tf.constant, given))
    plan = concrete.plan
    return networks_of(plan, [*map(np.asarray, given), *concrete._captured_arrays])


@pytest.mark.parametrize("seed", range(200))
def test_drawn_decoders(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    agreeing.check(DrawnDecoder(seed))


def test_drawn_decoders_are_one_table_with_attention() -> None:
    found = []
    for drawn in map(DrawnDecoder, range(60)):
        networks = _networks(drawn.function, drawn.given)
        kinds = [layer.kind for network in networks for layer in network.layers]
        found.append((len(networks) == 1, kinds.count("ATTENTION") == drawn.blocks))
    assert sum(is_one for is_one, _ in found) >= 50
    assert sum(has_all for _, has_all in found) >= 50


@pytest.mark.parametrize("queries", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("depth", [1, 7, 32])
def test_few_queries_over_a_cache_are_the_formula(queries: int, depth: int) -> None:
    """Keys are read in place up to some number of queries, and packed above that."""
    random = np.random.default_rng(queries)
    weights = (random.standard_normal((6, 2 * depth)) / 2).astype(np.float32)
    last = random.standard_normal((2 * depth, 3)).astype(np.float32)
    x = random.standard_normal((3, queries, 6)).astype(np.float32)
    cache = random.standard_normal((3, 2, 2, 37, depth)).astype(np.float32)

    @tf.function
    def attend(x: Any, cache: Any) -> Any:
        query = tf.reshape(tf.matmul(x, weights), [3, queries, 2, depth])
        query = tf.transpose(query, [0, 2, 1, 3])
        scores = tf.nn.softmax(tf.matmul(query, cache[:, 0], transpose_b=True) * 0.5)
        found = tf.transpose(tf.matmul(scores, cache[:, 1]), [0, 2, 1, 3])
        return [tf.matmul(tf.reshape(found, [3, queries, 2 * depth]), last)]

    (network,) = _networks(attend, [x, cache])
    assert [layer.kind for layer in network.layers] == ["PRODUCT", "ATTENTION", "PRODUCT"]
    query = (x.astype(np.float64) @ weights).reshape(3, queries, 2, depth)
    scores = np.einsum("bqhd,bhkd->bhqk", query, cache[:, 0].astype(np.float64)) * 0.5
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    wanted = np.einsum("bhqk,bhkd->bqhd", scores, cache[:, 1].astype(np.float64))
    wanted = wanted.reshape(3, queries, 2 * depth) @ last.astype(np.float64)
    (found,) = agreeing.called(attend, [x, cache], "compiled")
    # Sums of up to 64 products: errors grow with the square root of their number.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=_BOUND * 4)


def _blending(more: Any) -> Any:
    """A row written into a cache by a mask, and other users of the result."""
    random = np.random.default_rng(2)
    weights = random.standard_normal((6, 3 * 8)).astype(np.float32)
    last = random.standard_normal((8, 5)).astype(np.float32)

    @tf.function
    def put(x: Any, cache: Any, here: Any) -> Any:
        row = tf.reshape(tf.matmul(x, weights), [4, 3, 1, 8])
        kept = cache[:, 1] * (1 - here) + row * here
        other = tf.matmul(tf.reshape(tf.nn.relu(row), [12, 8]), last)
        return [tf.stack([cache[:, 0], kept], 1), other, *more(kept)]

    x = random.standard_normal((4, 6)).astype(np.float32)
    cache = random.standard_normal((4, 2, 3, 20, 8)).astype(np.float32)
    here = (np.arange(20) == random.integers(0, 20, (4, 1))).astype(np.float32)[:, None, :, None]
    row = (x.astype(np.float64) @ weights).reshape(4, 3, 1, 8)
    wanted = cache.astype(np.float64)
    wanted[:, 1] = np.where(here != 0, row, wanted[:, 1])
    return put, [x, cache, here], wanted


_WANTS = {
    "nothing": lambda _: [],
    "a result": lambda kept: [kept],
    "a step": lambda kept: [tf.cumsum(kept, -1)],
    "the whole": lambda kept: [tf.reverse(tf.stack([kept, kept]), [0])],
}


@pytest.mark.parametrize("wants", _WANTS)
def test_a_row_put_into_a_cache_is_the_formula(wants: str) -> None:
    """Packed values are stored separately if there are other users."""
    put, given, wanted = _blending(_WANTS[wants])
    whole, _, *more = agreeing.called(put, given, "compiled")
    np.testing.assert_allclose(whole, wanted, rtol=0, atol=_BOUND)
    plan = agreeing.called(put, given, "plan")[2:]
    for a, b in zip(more, plan, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=_BOUND * 8)


def test_a_packed_row_is_written_to_its_place() -> None:
    put, given, _ = _blending(_WANTS["nothing"])
    (network,) = _networks(put, given)
    spread = [layer for layer in network.layers if layer.spread is not None]
    assert sorted(layer.kind for layer in spread) == ["COPY", "PROGRAM"]
    assert len({layer.out for layer in spread}) == 1


def test_steps_of_an_earlier_network_are_not_made_again() -> None:
    """A network reads the results of an earlier one, not its inputs."""
    random = np.random.default_rng(3)
    a, b, c, d = random.standard_normal((4, 16, 16)).astype(np.float32) / 4
    x, y = random.standard_normal((2, 5, 16)).astype(np.float32)

    @tf.function
    def run(x: Any, y: Any) -> Any:
        before = tf.tanh(tf.matmul(tf.matmul(x, a), b))[:, :8] * 2.0
        ended = tf.cumsum(before, -1)  # a step that ends a network
        z = tf.matmul(tf.matmul(tf.concat([ended, y[:, 8:]], 1), c), d)
        return [z[:, 8:] * (1 - before) + ended]

    (wanted,), (found,) = (agreeing.called(run, [x, y], tier) for tier in ("plan", "compiled"))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=_BOUND * 4)
