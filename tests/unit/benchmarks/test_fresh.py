"""The curve of a fresh server: its seconds, and when an aim is missed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from servers.fresh import SECONDS, Curve


def curve(first: list[float], p99: list[float], errors: int = 0) -> Curve:
    rates = [*first, *[1000.0] * (SECONDS - len(first))]
    return Curve("a", rates, [*p99, *[4.0] * (SECONDS - len(p99))], errors)


def test_a_server_that_is_settled_at_once() -> None:
    found = curve([950.0], [5.0])
    assert found.settled == 1000
    assert found.reached_s == 1
    assert found.times == pytest.approx(1.25)
    assert found.row()[-1] == ""
    assert len(found.bars) == SECONDS


@pytest.mark.parametrize(
    "found",
    [curve([100.0, 500.0, 899.0], []), curve([], [4.0, 9.0]), curve([], [], errors=1)],
)
def test_what_misses_an_aim_says_so(found: Curve) -> None:
    assert found.row()[-1] == "missed"


def test_bars_rise_with_the_rate() -> None:
    bars = curve([0.0, 500.0], []).bars
    assert bars[0] < bars[1] < bars[2]
