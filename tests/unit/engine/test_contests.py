"""Machine code that is slower than the plan is given back, and what was measured is kept."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import contests, loop_tiers, rejections, tiers
from pinnace.engine.build import plan_of
from pinnace.engine.codegen import compiler
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.codegen.loops import Loop
from pinnace.engine.codegen.recurrences import _Variant
from pinnace.engine.codegen.small_plans import SmallPlan
from pinnace.engine.contests import Contest, Decision
from pinnace.framework import config
from tests.unit.engine.test_tiers import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What runs the code of each kind.
RUNNERS: dict[str, tuple[type, str]] = {
    "region": (Fused, "__call__"),
    "small": (SmallPlan, "run"),
    "loop": (Loop, "advance"),
    "recurrence": (_Variant, "advance"),
    "turns": (Fused, "__call__"),
}
KINDS = {"region": "regions", "small": "small plan"}
SLOW_S = 0.002


@pytest.fixture(autouse=True)
def hot(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is seen is hot, and no library has kernels that need no contest."""
    monkeypatch.setattr(tiers, "_HOT_S", 0.0)
    monkeypatch.setattr(compiler, "is_ahead", lambda _: False)
    monkeypatch.setattr(loop_tiers, "OFTEN", 1)
    monkeypatch.setattr(contests, "_SETTLING_S", 2e-5)
    monkeypatch.setattr(config.settings, "tier", "auto")
    yield
    settle()


def settle() -> None:
    for kernel in list(compiler._kernels.values()):
        assert kernel.done.wait(120)


def slowed(method: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def slow(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        time.sleep(SLOW_S)  # longer than the plan takes
        return method(*arguments, **options)

    return slow


def decisions_of(function: Any, given: list[Any]) -> list[Decision]:
    """Those of a function's plan and of the loops in it."""
    graph = function.get_concrete_function(*given).graph
    found = list(plan_of(graph).tiers.decisions().values())
    for node in graph.nodes:
        body = node.attrs.get("body")
        if body is not None:
            loops = plan_of(body.graph).tiers.loops()
            found += [] if loops is None else loops.decisions()
    return found


def called(kind: str, times: int = 200) -> tuple[Any, list[Any]]:
    """A program of a kind after so many calls, each with the plan's answer."""
    program, draw = PROGRAMS[kind]
    given = [tf.constant(one) for one in draw()]
    config.set_tier("plan")
    wanted = tf.function(program)(*given).numpy()
    config.set_tier("auto")
    function = tf.function(program)
    for _ in range(times):
        np.testing.assert_allclose(function(*given).numpy(), wanted, rtol=1e-5, atol=1e-5)
        settle()
    return function, given


@pytest.mark.parametrize("kind", PROGRAMS)
def test_slow_code_is_given_back_and_told(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name = RUNNERS[kind]
    calls: list[int] = []
    monkeypatch.setattr(owner, name, slowed(getattr(owner, name), calls))
    before = rejections.count()
    function, given = called(kind)
    (decision,) = [
        one for one in decisions_of(function, given) if one.kind == KINDS.get(kind, kind)
    ]
    assert not decision.is_kept
    assert 0 < decision.plan_s < decision.compiled_s
    calls.clear()
    function(*given)
    assert not calls
    assert rejections.count() == before  # it was not wrong


@pytest.mark.parametrize("kind", ["loop", "small"])
def test_code_that_is_quicker_stays(kind: str) -> None:
    function, given = called(kind)
    (decision,) = decisions_of(function, given)
    assert decision.kind == KINDS.get(kind, kind)
    assert decision.is_kept
    assert 0 < decision.compiled_s < decision.plan_s


def fought(plan_s: float, compiled_s: list[float]) -> Decision:
    """A contest in which each round of the compiled code takes so long."""
    contest = Contest("regions")
    order: list[int] = []
    for number in range(1000):
        which = contest.begin()
        if which is None:
            break
        order.append(which)
        # Calls that warm up take long, and do not count.
        lost = max(0, number // 2 - contests.WARM) // contests.TIMED
        slow = 5e-3 if number < 2 * contests.WARM else 0.0
        contest.end(which, slow + (compiled_s[lost] if which else plan_s))
    assert abs(sum(order) * 2 - len(order)) <= 1  # by turns
    assert contest.decision is not None
    return contest.decision


def test_short_calls_come_in_runs_whose_first_ones_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contests, "_SETTLING_S", 8e-3)
    contest = Contest("regions")
    order: list[int] = []
    while (which := contest.begin()) is not None:
        is_first = not order or order[-1] != which
        order.append(which)
        # Who comes after the other finds nothing in the cache.
        contest.end(which, 8e-4 if is_first else 1e-4 if which else 2e-4)
    assert contest.decision == Decision("regions", 2e-4, 1e-4, True)
    runs = [(which, len(list(run))) for which, run in itertools.groupby(order[2 * contests.WARM :])]
    assert len(runs) == 2 * contests.TIMED // contests._COUNTED
    for which, length in runs:
        settling = length - contests._COUNTED
        assert 8e-4 + (settling - 1) * (1e-4 if which else 2e-4) >= contests._SETTLING_S


def test_a_loss_counts_when_it_is_seen_twice() -> None:
    assert not fought(0.01, [0.012, 0.012]).is_kept
    assert fought(0.01, [0.012, 0.008]).is_kept
    assert fought(0.01, [0.008]) == Decision("regions", 0.01, 0.008, True)


@pytest.mark.parametrize(
    ("plan_s", "compiled_s", "calls"),
    [
        # As soon as they are apart; a loss is seen twice.
        ([0.25], [0.1], 2 * 1),
        ([0.1], [0.25], 4 * 1),
        ([0.15], [0.1], 2 * 2),
        ([0.12], [0.1], 2 * 3),
        # Another process took a turn: not before all are counted.
        ([0.15, 0.15, 0.09, 0.15], [0.1], 2 * 8),
        # As good as equal.
        ([0.1], [0.095], 2 * 8),
        ([0.1], [0.1], 2 * 8),
        # Calls that are neither long nor short.
        ([0.01], [0.005], 2 * 3),
        ([0.01], [0.009], 2 * 8),
    ],
)
def test_long_calls_that_are_far_apart_decide_soon(
    plan_s: list[float], compiled_s: list[float], calls: int
) -> None:
    contest = Contest("regions")
    counted = [0, 0]
    while (which := contest.begin()) is not None:
        times = compiled_s if which else plan_s
        contest.end(which, times[counted[which] % len(times)])
        counted[which] += 1
    is_long = min(*plan_s, *compiled_s) > 0.02
    assert sum(counted) == 2 * (contests.WARM_LONG if is_long else contests.WARM) + calls
    assert contest.decision is not None
    assert contest.decision.is_kept is (min(compiled_s) <= max(plan_s))


def test_calls_that_fail_do_not_count() -> None:
    contest = Contest("regions")
    for _ in range(200):
        which = contest.begin()
        assert which is not None
        contest.end(which, None)
    assert contest.decision is None
