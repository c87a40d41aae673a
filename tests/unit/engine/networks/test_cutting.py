"""Rows of a table shared by several threads give the plan's results, however they are divided."""

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.networks import product_row
from pinnace.framework import config
from pinnace.ops.kernels import team
from unit.engine.networks.drawn import Drawn
from unit.engine.networks.test_region import _settings as _settings
from unit.engine.networks.test_region import arrays_of, check, networks_of


def shared(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Use this many threads, and share all work."""
    monkeypatch.setattr(product_row, "_PIECE_PRODUCTS", 16)
    monkeypatch.setattr(team, "WORTH_OFFERING", 0)
    monkeypatch.setattr(team, "_MOST", threads)


@pytest.mark.parametrize("seed", range(60))
def test_drawn_networks_of_several_threads(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shared(monkeypatch, 1 + seed % 4)
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    drawn = Drawn(200 + seed, times=2 + seed % 4)
    check(drawn, drawn.x)


@pytest.mark.parametrize("rows", [1, 13, 20, 42, 43, 49, 64, 100, 128, 200])
@pytest.mark.parametrize("threads", [2, 3, 4])
def test_every_window_is_done_once(
    rows: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared(monkeypatch, threads)
    random = np.random.default_rng(rows)
    weights = [
        tf.Variable(random.standard_normal(shape), dtype=tf.float32)
        for shape in ((24, 70), (70, 40))
    ]

    @tf.function
    def network(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x @ weights[0]) @ weights[1]

    x = tf.constant(random.standard_normal((rows, 24)), tf.float32)
    plan, arrays = arrays_of(network, x)
    networks = networks_of(plan, arrays)
    first, second = (one.numpy().astype(np.float64) for one in weights)
    wanted = np.maximum(x.numpy().astype(np.float64) @ first, 0) @ second
    assert networks
    config.settings.tier = "compiled"
    for _ in range(3):
        found = network(x)
    # Sums of 70 products of numbers around 5, in another order.
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("width", [7, 16, 23, 40])
def test_every_number_of_windows_and_every_width_of_a_panel(width: int) -> None:
    """Tiles for the remaining rows differ in height: all columns of a row must be in equal ones."""
    random = np.random.default_rng(width)
    first = random.standard_normal((1, 2, 9, width)).astype(np.float32)
    last = random.standard_normal((1, 1, width, 3)).astype(np.float32)

    @tf.function
    def run(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.conv2d(tf.nn.relu(tf.nn.conv2d(x, first, 1, "SAME")), last, 1, "SAME")

    for columns in range(1, 36):
        x = random.standard_normal((1, 1, columns, 9)).astype(np.float32)
        padded = np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 0))).astype(np.float64)
        sums = padded[:, :, :-1] @ first[0, 0] + padded[:, :, 1:] @ first[0, 1]
        wanted = np.maximum(sums, 0) @ last[0, 0]
        assert len(networks_of(*arrays_of(run, x))) == 1
        np.testing.assert_allclose(run(tf.constant(x)), wanted, rtol=1e-4, atol=1e-4)
