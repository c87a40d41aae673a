"""Steps on parts of tensors in a network's table give what the plan gives.

Tolerances are those of `test_region`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import agreement
from pinnace.engine.build import plan_of
from pinnace.framework import config
from unit.engine.networks.drawn_parts import DrawnParts
from unit.engine.networks.test_region import networks_of


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


def _called(function: Any, given: list[Any], tier: str) -> list[Any]:
    config.settings.tier = tier  # type: ignore[assignment]
    results = [one.numpy() for one in function(*map(tf.constant, given))]
    config.settings.tier = "compiled"
    return results


@pytest.mark.parametrize("seed", range(250))
def test_drawn_parts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    drawn = DrawnParts(seed)
    wanted = _called(drawn.function, drawn.given, "plan")
    random = np.random.default_rng(0)
    signs = random.choice([-1, 1], drawn.given[0].shape).astype(np.float32)
    moved = [drawn.given[0] * (1 + signs * np.float32(2**-23)), *drawn.given[1:]]
    moved = _called(drawn.function, moved, "plan")
    for _ in range(2):
        found = _called(drawn.function, drawn.given, "compiled")
        assert agreement.difference(wanted, found, moved) is None


def test_drawn_parts_are_one_network() -> None:
    found = []
    for drawn in map(DrawnParts, range(60)):
        plan = plan_of(drawn.function.get_concrete_function(*map(tf.constant, drawn.given)).graph)
        networks = networks_of(plan, drawn.given)
        layers = [layer for network in networks for layer in network.layers]
        found.append((len(networks) == 1, any(layer.spread for layer in layers)))
    assert sum(is_one for is_one, _ in found) >= 25
    assert sum(has_spread for _, has_spread in found) >= 25
