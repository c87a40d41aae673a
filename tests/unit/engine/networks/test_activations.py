"""Activations in a product's tiles: which ones, for all kinds of products, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import special

import pinnace as tf
from pinnace.engine.networks import fields
from pinnace.framework import config
from pinnace.ops.kernels import team
from support.winograd import every_small_convolution_by_tiles
from unit.engine.networks.test_region import arrays_of, networks_of

if TYPE_CHECKING:
    from collections.abc import Callable


def gelu(x: Any) -> Any:
    return x * special.ndtr(x)


def gelu_by_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# A program's expression, its function in float64, and the bit of the tile's mode.
ACTIVATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], int]] = {
    "silu": (tf.nn.silu, lambda x: x * special.expit(x), fields.SILU),
    "swapped": (lambda x: tf.sigmoid(x) * x, lambda x: x * special.expit(x), fields.SILU),
    "beta": (lambda x: x * tf.sigmoid(1.0 * x), lambda x: x * special.expit(x), fields.SILU),
    "sigmoid": (tf.sigmoid, special.expit, fields.SIGMOID),
    "tanh": (tf.tanh, np.tanh, fields.TANH),
    "hard": (
        lambda x: x * (tf.nn.relu6(x + 3.0) / 6.0),
        lambda x: x * np.clip(x + 3, 0, 6) / 6,
        fields.GATE,
    ),
    **{
        f"gelu, {name}": (written, gelu, fields.GELU)
        for name, written in {
            "tf.nn": lambda x: tf.nn.gelu(x),
            "keras": lambda x: tf.keras.activations.gelu(x),
            "keras.ops": lambda x: tf.keras.ops.gelu(x, approximate=False),
            "layer": lambda x: tf.keras.layers.Activation("gelu")(x),
            "encoder": lambda x: x * (0.5 * (1.0 + tf.math.erf(x / np.float32(np.sqrt(2))))),
            "original": lambda x: 0.5 * x * (1.0 + tf.math.erf(x * np.float32(np.sqrt(0.5)))),
        }.items()
    },
    **{
        f"gelu by tanh, {name}": (written, gelu_by_tanh, fields.GELU_BY_TANH)
        for name, written in {
            "tf.nn": lambda x: tf.nn.gelu(x, approximate=True),
            "keras": lambda x: tf.keras.activations.gelu(x, approximate=True),
            "keras.ops": lambda x: tf.keras.ops.gelu(x),
            "power": lambda x: (
                x * (0.5 * (1.0 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3)))))
            ),
            "root": lambda x: (
                0.5 * x * (1.0 + tf.tanh(tf.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3.0))))
            ),
        }.items()
    },
}
# Programs with the instructions of an activation, but other operands.
LOOKALIKES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "twice": (
        lambda x: x * (tf.nn.relu6(x + x) / 6.0),
        lambda x: x * np.clip(x + x, 0, 6) / 6,
    ),
    "inverse": (
        lambda x: x * (6.0 / tf.nn.relu6(x + 3.0)),
        lambda x: x * 6 / np.clip(x + 3, 0, 6),
    ),
    "square": (lambda x: x * tf.sigmoid(x * x), lambda x: x * special.expit(x * x)),
    "steeper": (
        lambda x: 0.5 * x * (1.0 + tf.math.erf(x * 0.75)),
        lambda x: 0.5 * x * (1 + special.erf(x * 0.75)),
    ),
    "other slope": (
        lambda x: 0.5 * x * (1.0 + tf.tanh(0.8 * (x + 0.044715 * tf.pow(x, 3.0)))),
        lambda x: 0.5 * x * (1 + np.tanh(0.8 * (x + 0.044715 * x**3))),
    ),
    "factored": (  # as some decoders write it: the same function, other instructions
        lambda x: 0.5 * x * (1.0 + tf.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x))),
        lambda x: gelu_by_tanh(x),
    ),
}
activations = pytest.mark.parametrize("name", ACTIVATIONS)
KINDS = ("convolution", "depthwise", "tiles", "transposed", "volume", "matrix", "rows", "sum")


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


class Drawn:
    """A product of some kind, followed by a matrix product.

    Args:
        kind: kind of the first product.
        seed: seed of its sizes and numbers.

    Attributes:
        x: its argument.
    """

    def __init__(self, kind: str, seed: int) -> None:
        random = np.random.default_rng(seed)
        channels, width = (int(n) for n in random.integers(1, 70, 2))
        sizes = [int(n) for n in random.integers(3, 12, 2)]
        if kind == "tiles":
            channels, width = 24 + seed, 33 + seed
        if kind == "volume":
            sizes = [int(random.integers(1, 4)), *sizes]
        if kind == "depthwise":
            width = channels
        shape = (int(random.integers(1, 4)), *([] if kind == "matrix" else sizes), channels)
        self.kind = kind
        self.x = random.standard_normal(shape).astype(np.float32) * 2
        taps: tuple[int, ...] = {
            "depthwise": (3, 3, channels, 1),
            "tiles": (3, 3, channels, width),
            "transposed": (2, 3, width, channels),
            "volume": (2, 1, 3, channels, width),
            "matrix": (channels, width),
            "rows": (channels, width),
        }.get(kind, (1, 2, channels, width))
        scale = 3 / np.sqrt(max(1, np.prod(taps) / width))
        self.filters = (random.standard_normal(taps) * scale).astype(np.float32)
        self.bias = random.standard_normal(width).astype(np.float32)
        self.last = random.standard_normal((width, 5)).astype(np.float32)

    def sums(self, x: Any) -> Any:
        """The arguments of the activation."""
        filters = self.filters
        if self.kind == "depthwise":
            y = tf.nn.depthwise_conv2d(x, filters, [1, 1, 1, 1], "SAME")
        elif self.kind == "transposed":
            size = [x.shape[0], 2 * x.shape[1], 2 * x.shape[2], filters.shape[2]]
            y = tf.nn.conv2d_transpose(x, filters, size, 2, "SAME")
        elif self.kind == "volume":
            y = tf.nn.conv3d(x, filters, [1, 1, 1, 1, 1], "SAME")
        elif self.kind == "matrix":
            y = tf.matmul(x, filters)
        elif self.kind == "rows":  # as in a dense layer for sequences
            y = tf.tensordot(x, filters, 1)
        else:
            y = tf.nn.conv2d(x, filters, 1, "SAME")
        if self.kind == "sum":  # of two products, which the tiles of the later one sum
            return (y + self.bias) + tf.nn.conv2d(x, filters[::-1] * 0.5, 1, "SAME")
        return y + self.bias

    def function(self, activation: Callable[[Any], Any]) -> Any:
        @tf.function
        def run(x: Any) -> Any:
            y = activation(self.sums(x))
            shape = [-1, self.last.shape[0]]
            return y, tf.matmul(tf.reshape(y, shape), self.last)

        return run


def modes_of(run: Any, x: Any) -> tuple[list[int], list[str]]:
    """The epilogues of a network's products, and the kinds of its rows."""
    plan, arrays = arrays_of(run, x)
    (network,) = networks_of(plan, arrays)
    return [layer.mode & fields.ACTIVATION for layer in network.layers if layer.is_product], [
        layer.kind for layer in network.layers
    ]


@activations
@pytest.mark.parametrize("kind", KINDS)
def test_tiles_do_it_and_it_is_that_of_float64(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "tiles":
        every_small_convolution_by_tiles(monkeypatch)
    written, formula, bit = ACTIVATIONS[name]
    for seed in range(4):
        if seed % 2:
            monkeypatch.setattr(team, "WORTH_PRODUCTS", 1)
            monkeypatch.setattr(team, "size", lambda: 3)
        drawn = Drawn(kind, seed)
        run = drawn.function(written)
        found, kinds = modes_of(run, drawn.x)
        assert "PROGRAM" not in kinds
        assert bit in found
        # In the plan, step by step; its sums are equal up to rounding.
        monkeypatch.setattr(config.settings, "tier", "plan")
        sums = tf.function(drawn.sums)(tf.constant(drawn.x)).numpy().astype(np.float64)
        monkeypatch.setattr(config.settings, "tier", "compiled")
        wanted = formula(sums)
        for _ in range(2):
            y, behind = (one.numpy() for one in run(tf.constant(drawn.x)))
            np.testing.assert_allclose(y, wanted, rtol=2e-5, atol=2e-5)
            after = wanted.reshape(-1, drawn.last.shape[0]) @ drawn.last.astype(np.float64)
            np.testing.assert_allclose(behind, after, rtol=2e-4, atol=2e-3)


@pytest.mark.parametrize("name", LOOKALIKES)
@pytest.mark.parametrize("kind", ["convolution", "depthwise", "matrix"])
def test_what_only_looks_like_an_activation_is_a_program(kind: str, name: str) -> None:
    written, formula = LOOKALIKES[name]
    drawn = Drawn(kind, 8)
    run = drawn.function(written)
    found, kinds = modes_of(run, drawn.x)
    assert "PROGRAM" in kinds
    assert not any(found)
    sums = tf.function(drawn.sums)(tf.constant(drawn.x)).numpy().astype(np.float64)
    y = run(tf.constant(drawn.x))[0].numpy()
    with np.errstate(divide="ignore"):
        wanted = formula(sums)
    fits = np.abs(wanted) < 100  # a division by almost zero is not exact
    np.testing.assert_allclose(y[fits], wanted[fits], rtol=1e-4, atol=1e-4)


@activations
def test_what_others_read_before_it_is_written(name: str) -> None:
    drawn = Drawn("convolution", 5)
    written, formula, _ = ACTIVATIONS[name]

    @tf.function
    def run(x: Any) -> Any:
        sums = drawn.sums(x)
        y = tf.matmul(tf.reshape(written(sums), [-1, drawn.last.shape[0]]), drawn.last)
        return sums, y

    found, _ = modes_of(run, drawn.x)
    assert not any(found)
    sums, y = (one.numpy().astype(np.float64) for one in run(tf.constant(drawn.x)))
    wanted = formula(sums).reshape(-1, drawn.last.shape[0]) @ drawn.last.astype(np.float64)
    np.testing.assert_allclose(y, wanted, rtol=2e-4, atol=2e-3)


@activations
def test_one_activation_is_behind_the_other(name: str) -> None:
    drawn = Drawn("convolution", 6)
    written, formula, bit = ACTIVATIONS[name]
    run = drawn.function(lambda x: tf.nn.relu(written(x)))
    found, _ = modes_of(run, drawn.x)
    assert bit in found  # and not both in one
    sums = tf.function(drawn.sums)(tf.constant(drawn.x)).numpy().astype(np.float64)
    y = run(tf.constant(drawn.x))[0].numpy()
    np.testing.assert_allclose(y, np.maximum(formula(sums), 0), rtol=2e-5, atol=2e-5)


@activations
@pytest.mark.parametrize("kind", ["convolution", "depthwise", "matrix"])
def test_numbers_that_are_none_and_large_ones_stay(kind: str, name: str) -> None:
    written, formula, _ = ACTIVATIONS[name]
    drawn = Drawn(kind, 7)
    flat = drawn.x.reshape(-1)
    flat[:: max(1, flat.size // 7)] = [np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-40, 0, 1][
        : len(flat[:: max(1, flat.size // 7)])
    ]
    sums = tf.function(drawn.sums)(tf.constant(drawn.x)).numpy()
    with np.errstate(all="ignore"):
        wanted = formula(sums.astype(np.float64)).astype(np.float32)
    y = drawn.function(written)(tf.constant(drawn.x))[0].numpy()
    np.testing.assert_allclose(y, wanted, rtol=2e-5, atol=2e-5)
