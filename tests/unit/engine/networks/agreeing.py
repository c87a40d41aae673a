"""The results of a random program as a network, compared with its plan."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

import pinnace as tf
from pinnace.engine import agreement
from pinnace.framework import config


class Drawn(Protocol):
    """A program and its arguments."""

    function: Any
    given: list[Any]


def called(function: Any, given: list[Any], tier: str) -> list[Any]:
    """The results of a call in a tier; `compiled` is the tier afterwards."""
    config.settings.tier = tier  # type: ignore[assignment]
    results = [one.numpy() for one in function(*map(tf.constant, given))]
    config.settings.tier = "compiled"
    return results


def check(drawn: Drawn) -> None:
    """Check that two calls agree with the plan, within its own rounding errors."""
    wanted = called(drawn.function, drawn.given, "plan")
    signs = np.random.default_rng(0).choice([-1, 1], drawn.given[0].shape).astype(np.float32)
    moved = [drawn.given[0] * (1 + signs * np.float32(2**-23)), *drawn.given[1:]]
    moved = called(drawn.function, moved, "plan")
    for _ in range(2):
        found = called(drawn.function, drawn.given, "compiled")
        assert agreement.difference(wanted, found, moved) is None
