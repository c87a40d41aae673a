"""Steps between those of one layer, which use or produce values of the network.

A layer runs steps earlier than their order: attention up to its second product, norms and programs
to their end. Steps in between may be in the network, or be steps of the plan that need values
before the network has run, such as position codes of vision transformers. Tolerances are those of
`test_region`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config
from unit.engine.networks import agreeing
from unit.engine.networks.test_region import networks_of

TOKENS, WIDTH = 6, 32
_random = np.random.default_rng(5)
W = [(_random.standard_normal((WIDTH, WIDTH)) / 6).astype(np.float32) for _ in range(6)]
NARROW = (_random.standard_normal((WIDTH, TOKENS)) / 6).astype(np.float32)
PLACES = np.array([3, 1, 0, 5, 2, 4])
Between = Callable[[Any, Any], Any]


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


@dataclass
class Program:
    """A function and its arguments."""

    function: Any
    given: list[Any]


# The step in between, [tokens, tokens]: from rows [tokens, width] from outside, and the network's
# values [batch, tokens, width].


def product_gathered(rows: Any, made: Any) -> Any:
    """FasterViT: a product of an argument with weights, of which another step gathers rows."""
    del made
    return tf.gather(tf.matmul(rows, NARROW), PLACES)


def deep_product_gathered(rows: Any, made: Any) -> Any:
    del made
    return tf.gather(tf.matmul(tf.nn.relu(tf.matmul(rows, W[4])), NARROW), PLACES)


def turned_lookup(rows: Any, made: Any) -> Any:
    del made
    places = tf.cast(tf.abs(rows[:, 0]), tf.int32)
    return tf.transpose(tf.gather(W[4][:, :TOKENS], places), [1, 0])


def turned(rows: Any, made: Any) -> Any:
    del made
    return tf.transpose(tf.gather(rows, PLACES)[:, :TOKENS], [1, 0])


def turned_product(rows: Any, made: Any) -> Any:
    del made
    return tf.transpose(tf.matmul(rows, NARROW), [1, 0])


def sliced_product(rows: Any, made: Any) -> Any:
    """As in EfficientFormer: a mask that is a slice of another value of the network."""
    del made
    return tf.matmul(rows, W[4])[:, 3 : 3 + TOKENS]


def product(rows: Any, made: Any) -> Any:
    del made
    return tf.matmul(rows, NARROW)


def sums_of_product(rows: Any, made: Any) -> Any:
    del made
    return tf.cumsum(tf.matmul(rows, NARROW), axis=1)


def turned_of_made(rows: Any, made: Any) -> Any:
    del rows
    return tf.transpose(made[0, :, :TOKENS], [1, 0])


def sums_of_made(rows: Any, made: Any) -> Any:
    del rows
    return tf.cumsum(made[0, :, :TOKENS], axis=1)


def product_of_made(rows: Any, made: Any) -> Any:
    del rows
    return tf.reverse(tf.matmul(made[0], NARROW), [0])


SIDES: list[Between] = [
    product_gathered,
    deep_product_gathered,
    turned_lookup,
    turned,
    turned_product,
    sliced_product,
    product,
    sums_of_product,
    turned_of_made,
    sums_of_made,
    product_of_made,
]


def _attention(x: Any, rows: Any, side: Between, *, masks: bool) -> Any:
    made = tf.matmul(x, W[0])
    q, k, v = (tf.reshape(tf.matmul(made, w), [-1, TOKENS, 4, 8]) for w in W[1:4])
    scores = tf.einsum("bqhd,bkhd->bhqk", q, k) * 0.35
    bias = side(rows, made)
    weights = tf.nn.softmax(scores + bias if masks else scores)
    found = tf.reshape(tf.einsum("bhqk,bkhd->bqhd", weights, v), [-1, TOKENS, WIDTH])
    return tf.matmul(found, W[5]), bias


def _norm(x: Any, rows: Any, side: Between) -> Any:
    made = tf.matmul(x, W[0])
    mean = tf.reduce_mean(made, axis=-1, keepdims=True)
    bias = side(rows, made)
    apart = made - mean
    variance = tf.reduce_mean(apart * apart, axis=-1, keepdims=True)
    return tf.matmul(apart / tf.sqrt(variance + 1e-3), W[1]), bias


def _program(x: Any, rows: Any, side: Between) -> Any:
    made = tf.matmul(x, W[0])
    other = tf.matmul(x, W[2])[:1]  # broadcast to all images
    scaled = made * other
    bias = side(rows, made)
    return tf.matmul(tf.tanh(scaled + other), W[1]), bias


HOSTS: dict[str, Callable[[Any, Any, Between], Any]] = {
    "mask": lambda x, rows, side: _attention(x, rows, side, masks=True),
    "attention": lambda x, rows, side: _attention(x, rows, side, masks=False),
    "norm": _norm,
    "program": _program,
}


def _made(host: str, side: Between, batch: int) -> Program:
    @tf.function
    def function(x: Any, rows: Any) -> Any:
        result, bias = HOSTS[host](x, rows, side)
        return result, bias * 2.0 + 1.0

    random = np.random.default_rng(batch)
    x = random.standard_normal((batch, TOKENS, WIDTH)).astype(np.float32)
    return Program(function, [x, random.standard_normal((TOKENS, WIDTH)).astype(np.float32)])


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("host", HOSTS)
def test_steps_between(host: str, side: Between, batch: int) -> None:
    agreeing.check(_made(host, side, batch))


@pytest.mark.parametrize("side", SIDES[:8])
@pytest.mark.parametrize("host", ["mask", "attention"])
def test_attention_stays_one_layer(host: str, side: Between) -> None:
    program = _made(host, side, 2)
    concrete = program.function.get_concrete_function(*map(tf.constant, program.given))
    given = [*map(np.asarray, program.given), *concrete._captured_arrays]
    found = networks_of(concrete.plan, given)
    assert [layer.kind for one in found for layer in one.layers].count("ATTENTION") == 1
