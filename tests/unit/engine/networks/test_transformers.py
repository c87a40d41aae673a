"""Attention and norms in a network's table agree with the plan, and with formulas.

Tolerances against the plan are those of `test_region`. Against float64: a score is a sum of some
dozen products of float32 numbers below 10, so its error stays below 1e-5, and so does a weight's
relative one; outputs are of the order of 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import agreement
from pinnace.framework import config
from unit.engine.networks.drawn_transformers import DrawnTransformer
from unit.engine.networks.test_region import networks_of

_BOUND = 2e-5


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


def _layers(function: Any, given: list[Any]) -> list[list[str]]:
    """The kinds of layers in each network of a function's plan."""
    concrete = function.get_concrete_function(*map(tf.constant, given))
    plan = concrete.plan
    found = networks_of(plan, [*map(np.asarray, given), *concrete._captured_arrays])
    return [[layer.kind for layer in network.layers] for network in found]


def _called(function: Any, given: list[Any], tier: str) -> Any:
    config.settings.tier = tier  # type: ignore[assignment]
    result = function(*map(tf.constant, given)).numpy()
    config.settings.tier = "compiled"
    return result


@pytest.mark.parametrize("seed", range(150))
def test_drawn_transformers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    drawn = DrawnTransformer(seed)
    wanted = _called(drawn.function, drawn.given, "plan")
    random = np.random.default_rng(0)
    signs = random.choice([-1, 1], drawn.given[0].shape).astype(np.float32)
    moved = [drawn.given[0] * (1 + signs * np.float32(2**-23)), *drawn.given[1:]]
    moved = _called(drawn.function, moved, "plan")
    for _ in range(2):
        found = _called(drawn.function, drawn.given, "compiled")
        assert agreement.difference([wanted], [found], [moved]) is None
    if drawn.variables:
        drawn.variables[0].assign(drawn.variables[0] * 0.5)
        wanted = _called(drawn.function, drawn.given, "plan")
        found = _called(drawn.function, drawn.given, "compiled")
        assert agreement.difference([wanted], [found], [moved]) is None


def test_drawn_transformers_are_tables_with_attention() -> None:
    found = [
        [kind for kinds in _layers(drawn.function, drawn.given) for kind in kinds]
        for drawn in map(DrawnTransformer, range(40))
    ]
    with_attention = sum("ATTENTION" in kinds for kinds in found)
    assert with_attention >= 25
    assert sum("PROGRAM" in kinds for kinds in found) >= 25


def _attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Attention of [B, T, N, H] over [B, S, N, H], in float64."""
    q, k, v = (one.astype(np.float64) for one in (q, k, v))
    scores = np.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(mask, scores, -1e9)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bnts,bsnh->btnh", scores / scores.sum(-1, keepdims=True), v)


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 5, 3, 8), (1, 130, 2, 16), (3, 47, 1, 33)])
def test_attention_is_the_formula(shape: tuple[int, ...]) -> None:
    batch, tokens, heads, depth = shape
    random = np.random.default_rng(tokens)
    weights = random.standard_normal((3, 6, heads, depth)).astype(np.float32)
    x = random.standard_normal((batch, tokens, 6)).astype(np.float32)
    mask = random.random((batch, 1, tokens, tokens)) < 0.6
    mask[..., 0] = True

    @tf.function
    def attend(x: Any, mask: Any) -> Any:
        q, k, v = (tf.einsum("btc,cnh->btnh", x, one) for one in weights)
        scores = tf.einsum("btnh,bsnh->bnts", q, k) * np.float32(1 / np.sqrt(depth))
        scores = tf.nn.softmax(tf.where(mask, scores, tf.constant(-1e9)))
        return tf.einsum("bnts,bsnh->btnh", scores, v) + 0.0

    q, k, v = (np.einsum("btc,cnh->btnh", x.astype(np.float64), one) for one in weights)
    found = _called(attend, [x, mask], "compiled")
    assert ["ATTENTION" in kinds for kinds in _layers(attend, [x, mask])] == [True]
    np.testing.assert_allclose(found, _attention(q, k, v, mask), rtol=0, atol=_BOUND * 4)


@pytest.mark.parametrize("is_fused", [False, True])
def test_layer_norm_is_the_formula(is_fused: bool) -> None:
    random = np.random.default_rng(3)
    x = (random.standard_normal((3, 41, 130)) * 3 + 1).astype(np.float32)
    weights = (random.standard_normal((130, 130)) / 11).astype(np.float32)
    gamma, beta = random.standard_normal((2, 130)).astype(np.float32)

    @tf.function
    def norm(x: Any) -> Any:
        x = tf.matmul(x, weights)
        if is_fused:  # as in Keras 2
            y = tf.raw_ops.FusedBatchNormV3(
                x=tf.reshape(x, [1, -1, 130, 1]),
                scale=tf.fill([3 * 41], 1.0),
                offset=tf.fill([3 * 41], 0.0),
                mean=tf.zeros([0]),
                variance=tf.zeros([0]),
                epsilon=1e-6,
                data_format="NCHW",
            )[0]
            return tf.matmul(tf.reshape(y, tf.shape(x)) * gamma + beta, weights)
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        x = tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-6)
        return tf.matmul(x, weights)

    y = x.astype(np.float64) @ weights
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-6)
    wanted = (y * gamma + beta) @ weights.astype(np.float64)
    assert _layers(norm, [x]) == [["PRODUCT", "PROGRAM", "PRODUCT"]]
    np.testing.assert_allclose(_called(norm, [x], "compiled"), wanted, rtol=0, atol=_BOUND)


@pytest.mark.parametrize("place", ["queries", "mask", "values"])
def test_numbers_that_are_none(place: str) -> None:
    """NaN and infinities occur where the plan has them."""
    random = np.random.default_rng(5)
    weights = random.standard_normal((3, 6, 2, 8)).astype(np.float32)
    x = random.standard_normal((2, 20, 6)).astype(np.float32)
    mask = np.zeros((20, 20), np.float32)
    if place == "queries":
        x[0, 3, 2], x[1, 5, 1] = np.nan, np.inf
    elif place == "mask":
        mask[4, :], mask[5, 6:], mask[7, 2] = -np.inf, -np.inf, np.nan
    else:
        weights[2, 0, 0, 0] = np.inf

    @tf.function
    def attend(x: Any, mask: Any) -> Any:
        q, k, v = (tf.einsum("btc,cnh->btnh", x, one) for one in weights)
        scores = tf.nn.softmax(tf.einsum("btnh,bsnh->bnts", q, k) + mask)
        return tf.einsum("bnts,bsnh->btnh", scores, v) * 2.0

    wanted, found = (_called(attend, [x, mask], tier) for tier in ("plan", "compiled"))
    assert np.array_equal(np.isnan(wanted), np.isnan(found))
    assert np.isnan(wanted).any() or np.isinf(wanted).any()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_steps_that_want_scores_keep_them() -> None:
    """If the scores themselves are a result, they are computed."""
    random = np.random.default_rng(6)
    weights = random.standard_normal((3, 6, 2, 8)).astype(np.float32)
    x = random.standard_normal((2, 9, 6)).astype(np.float32)

    @tf.function
    def attend(x: Any) -> Any:
        q, k, v = (tf.einsum("btc,cnh->btnh", x, one) for one in weights)
        scores = tf.nn.softmax(tf.einsum("btnh,bsnh->bnts", q, k))
        return tf.einsum("bnts,bsnh->btnh", scores, v), scores

    config.settings.tier = "plan"
    wanted = [one.numpy() for one in attend(tf.constant(x))]
    config.settings.tier = "compiled"
    found = [one.numpy() for one in attend(tf.constant(x))]
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=_BOUND)


def test_a_turned_tensor_that_others_take_is_made() -> None:
    random = np.random.default_rng(7)
    weights = random.standard_normal((3, 6, 16)).astype(np.float32)
    x = random.standard_normal((2, 9, 6)).astype(np.float32)

    @tf.function
    def attend(x: Any) -> Any:
        q, k, v = (
            tf.transpose(tf.reshape(tf.matmul(x, one), [2, -1, 2, 8]), [0, 2, 1, 3])
            for one in weights
        )
        y = tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True)), v)
        return y + tf.reverse(q, [1])

    wanted, found = (_called(attend, [x], tier) for tier in ("plan", "compiled"))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=_BOUND * 4)


_LATE = {
    "heads": lambda v: tf.transpose(tf.reshape(v, [2, 9, 3, 4]), [0, 2, 1, 3]),
    "elementwise": lambda v: tf.transpose(tf.reshape(v * v, [2, 9, 3, 4]), [0, 2, 1, 3]),
    "numbers apart": lambda v: tf.transpose(tf.reshape(v, [2, 9, 4, 3]), [0, 3, 1, 2]),
    "others' rows": lambda v: tf.reshape(tf.reshape(v, [2, 9, 3, 4]), [2, 3, 9, 4]),
}


@pytest.mark.parametrize("late", _LATE)
def test_values_that_get_their_heads_after_the_softmax(late: str) -> None:
    """As in BERT's original program, on rows of [batch * tokens]."""
    random = np.random.default_rng(4)
    weights = random.standard_normal((4, 12, 12)).astype(np.float32) / 4
    x = random.standard_normal((2, 9, 12)).astype(np.float32)
    mask = (random.random((2, 9, 9)) < 0.6).astype(np.int32)
    mask[..., 0] = 1

    @tf.function
    def attend(x: Any, mask: Any) -> Any:
        rows = tf.reshape(x, [18, 12])
        q, k, v = (tf.matmul(rows, one) + 0.5 for one in weights[:3])
        q, k = (tf.transpose(tf.reshape(one, [2, 9, 3, 4]), [0, 2, 1, 3]) for one in (q, k))
        scores = tf.matmul(q, k, transpose_b=True) * np.float32(0.5)
        scores += (1.0 - tf.cast(tf.expand_dims(mask, 1), tf.float32)) * -10000.0
        chosen = tf.nn.softmax(scores)
        y = tf.transpose(tf.matmul(chosen, _LATE[late](v)), [0, 2, 1, 3])
        return tf.nn.relu(tf.matmul(tf.reshape(y, [18, 12]), weights[3]))

    kinds = [kind for kinds in _layers(attend, [x, mask]) for kind in kinds]
    assert ("ATTENTION" in kinds) == (late != "elementwise")
    wanted, found = (_called(attend, [x, mask], tier) for tier in ("plan", "compiled"))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=_BOUND)
    if late == "heads":
        rows = x.reshape(18, 12).astype(np.float64)
        q, k, v = ((rows @ one + 0.5).reshape(2, 9, 3, 4) for one in weights[:3])
        y = _attention(q, k, v, mask[:, None] != 0).reshape(18, 12) @ weights[3]
        np.testing.assert_allclose(found, np.maximum(y, 0), rtol=0, atol=_BOUND)


_BETWEEN = {
    "five axes": lambda q: tf.reshape(
        tf.transpose(tf.reshape(q, [2, 9, 3, 1, 4]), [0, 2, 1, 3, 4]), [2, 3, 9, 4]
    ),
    "channels apart": lambda q: tf.transpose(tf.reshape(q, [2, 9, 4, 3]), [0, 3, 1, 2]),
    "a transpose of rows": lambda q: tf.reshape(tf.transpose(q), [2, 3, 9, 4]),
    "two transposes": lambda q: tf.transpose(
        tf.transpose(tf.reshape(q, [2, 9, 3, 4]), [3, 2, 1, 0]), [3, 1, 2, 0]
    ),
}


@pytest.mark.parametrize("after", ["softmax", "tanh"])
@pytest.mark.parametrize("between", _BETWEEN)
def test_steps_that_cannot_be_read_ahead_of_a_softmax_leave_nothing_behind(
    between: str, after: str
) -> None:
    """A second attention on the same rows, between the scores and the weighted sum of the first."""
    weights = np.random.default_rng(4).standard_normal((3, 12, 12)).astype(np.float32) / 4
    random = np.random.default_rng(5)
    x, mask = random.standard_normal((2, 9, 12)).astype(np.float32), random.random((2, 9)) < 0.7

    @tf.function
    def attend(x: Any, mask: Any) -> Any:
        q, k, v = (tf.matmul(tf.reshape(x, [18, 12]), one) for one in weights)
        heads = [tf.reshape(one, [2, 9, 3, 4]) for one in (q, k, v)]
        first, keys, values = (tf.transpose(one, [0, 2, 1, 3]) for one in heads)
        scores = tf.matmul(first * 0.5, keys, transpose_b=True)
        scores = tf.where(tf.reshape(mask, [2, 1, 1, 9]), scores, -1e30)
        other = tf.matmul(_BETWEEN[between](q), keys, transpose_b=True) * 0.4
        mixed = tf.nn.softmax(other) if after == "softmax" else tf.tanh(other)
        return tf.matmul(mixed, values), tf.matmul(tf.nn.softmax(scores), values)

    def called(tier: Any) -> Any:
        config.set_tier(tier)
        return [one.numpy() for one in attend(tf.constant(x), tf.constant(mask))]

    saved = config.get_tier()
    try:
        for one, other in zip(called("compiled"), called("plan"), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=_BOUND)
    finally:
        config.set_tier(saved)


def test_scores_that_no_second_product_takes_are_no_attention() -> None:
    """Found by random graphs: the step after the softmax may have one input."""
    weights = np.random.default_rng(8).standard_normal((2, 6, 2, 8)).astype(np.float32)
    x = np.random.default_rng(9).standard_normal((2, 9, 6)).astype(np.float32)

    @tf.function
    def attend(x: Any) -> Any:
        q, k = (tf.einsum("btc,cnh->btnh", x, one) for one in weights)
        return tf.tanh(tf.nn.softmax(tf.einsum("btnh,bsnh->bnts", q, k)))

    wanted, found = (_called(attend, [x], tier) for tier in ("plan", "compiled"))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=_BOUND)


@pytest.mark.parametrize("scale", [np.inf, 3e38, 1e-38])
def test_extreme_scales_stay_behind_the_sum(scale: float) -> None:
    """Found by random graphs: in the weights they would overflow before the sum."""
    weights = np.random.default_rng(8).uniform(0.1, 1, (40, 64)).astype(np.float32)
    x = np.random.default_rng(9).uniform(-1, 1, (9, 40)).astype(np.float32)

    @tf.function
    def dense(x: Any) -> Any:
        y = tf.matmul(tf.matmul(x, weights) * np.float32(scale), weights.T)
        return tf.matmul(y, weights)

    wanted, found = (_called(dense, [x], tier) for tier in ("plan", "compiled"))
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert np.array_equal(np.isinf(found), np.isinf(wanted))
