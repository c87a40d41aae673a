"""Steps on slices of tensors in a network's table give the plan's results.

Tolerances are those of `test_region`.
"""

from __future__ import annotations

import pytest

import pinnace as tf
from pinnace.framework import config
from unit.engine.networks import agreeing
from unit.engine.networks.drawn_parts import DrawnParts
from unit.engine.networks.test_region import networks_of


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


@pytest.mark.parametrize("seed", range(250))
def test_drawn_parts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    agreeing.check(DrawnParts(seed))


def test_drawn_parts_are_one_network() -> None:
    found = []
    for drawn in map(DrawnParts, range(60)):
        plan = drawn.function.get_concrete_function(*map(tf.constant, drawn.given)).plan
        networks = networks_of(plan, drawn.given)
        layers = [layer for network in networks for layer in network.layers]
        found.append((len(networks) == 1, any(layer.spread for layer in layers)))
    assert sum(is_one for is_one, _ in found) >= 25
    assert sum(has_spread for _, has_spread in found) >= 25
