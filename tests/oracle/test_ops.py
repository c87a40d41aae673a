"""Every case of every op against TensorFlow: values, gradients, errors, static shapes, the plan."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from oracle import comparing, ours, wide, wide_pictures, wide_random, wide_sparse, wide_texts
from oracle.calls import Call, calls_of, knowledge
from oracle.deviations import excusable, excused
from oracle.drawing import ASKED, drawn
from oracle.finer import Finer
from oracle.peer import Peer, PeerDiedError
from oracle.uncovered import UNCOVERED
from support.opcase import OpCase, all_cases

if TYPE_CHECKING:
    from oracle.coverage import Closest, Coverage

EXAMPLES = ASKED or 40
# After this many crashes of TensorFlow's process on invalid inputs of an op, no more are sent.
DEATHS = 2
DIED: Counter[str] = Counter()
# Explaining a failure runs it many times; so does shrinking, which a short run omits.
PHASES = [Phase.generate]
PHASES += [Phase.shrink] * (EXAMPLES >= 40)


@cache
def compared_cases() -> tuple[OpCase, ...]:
    """The cases of the deterministic ops."""
    more = (wide, wide_pictures, wide_random, wide_sparse, wide_texts)
    cases = (*all_cases(), *(case for module in more for case in module.CASES))
    return tuple(c for c in cases if c.definition.effect is None and c.op not in UNCOVERED)


def trusting(case: OpCase) -> bool:
    """Whether only TensorFlow's optimizer creates the op: then its kernel checks nothing."""
    return case.op.startswith("_")


def label(case: OpCase) -> str:
    """The name of the op."""
    return case.op


@pytest.mark.parametrize("case", compared_cases(), ids=label)
def test_an_op_is_tensorflows(case: OpCase, peer: Peer, coverage: Coverage) -> None:
    @drawn(EXAMPLES, phases=PHASES)
    @given(data=st.data())
    def compare(data: st.DataObject) -> None:
        calls = [
            call
            for call in data.draw(calls_of(case), label="calls")
            if call.kind == "plain" or not trusting(case)
            if call.kind != "wrong" or DIED[case.op] < DEATHS
        ]
        seed = data.draw(st.integers(0, 1000), label="seed")
        told = data.draw(knowledge(calls[0]), label="told")
        found = ask(case, calls, peer, seed, told)
        problems = [
            f"{problem}\n{call}"
            for call, (theirs, here) in zip(calls, found, strict=True)
            for problem in differences(case, call, theirs, here, seed, coverage)
        ]
        problems += graph_differences(calls[0], *found[0], told, coverage)
        assert not problems, "\n\n".join(problems)

    compare()


def ask(
    case: OpCase, calls: list[Call], peer: Peer, seed: int, told: list[Any]
) -> list[tuple[Any, Any]]:
    """TensorFlow's results and ours, per call."""
    requests = [
        call.request(case.definition, seed, told if call is calls[0] else None) for call in calls
    ]
    try:
        peer.send(requests)
        here = [ours.attempt(ours.answer, call, seed) for call in calls]
        return list(zip(peer.receive(), here, strict=True))
    except PeerDiedError:
        if calls[-1].kind != "wrong":
            raise
        # TensorFlow has checks that end the process; the other calls are sent again.
        DIED[case.op] += 1
        died = {"error": "PeerDiedError", "message": "TensorFlow's process ended"}
        return [*ask(case, calls[:-1], peer, seed, told), (died, died)]


def differences(
    case: OpCase, call: Call, theirs: Any, here: Any, seed: int, coverage: Coverage
) -> list[str]:
    """The differences between TensorFlow and us."""
    if comparing.has_no_kernel(theirs):
        return []
    if comparing.failed(theirs) or comparing.failed(here):
        return note(call, "error", error_difference(theirs, here), coverage, coverage.errors)

    finer = Finer(call, seed)
    values = comparing.comparable(call.op, theirs["values"], here["values"])
    problem = comparing.values_differ(case, *values, finer, told(call, "values", coverage))
    found = note(call, "values", problem, coverage, coverage.values)
    return found + gradient_differences(case, theirs, here, finer, coverage)


def told(call: Call, what: str, coverage: Coverage) -> Closest | None:
    """Where to record how close a comparison was: nowhere if the difference is intended."""
    return None if excusable(call, what) else coverage.closest


def error_difference(theirs: Any, here: Any) -> str:
    if not comparing.failed(here):
        values = [y.tolist() for y in here["values"]]
        return f"TensorFlow raises {theirs['error']}: {theirs['message'][:300]}\n  we give {values}"
    if not comparing.failed(theirs):
        values = [y.tolist() for y in theirs["values"]]
        return f"we raise {here['error']}: {here['message'][:600]}\n  TensorFlow gives {values}"
    return comparing.errors_differ(theirs, here)


def gradient_differences(
    case: OpCase, theirs: Any, here: Any, finer: Finer, coverage: Coverage
) -> list[str]:
    call = finer.call
    wanted, got = theirs["gradients"], here["gradients"]
    if comparing.failed(wanted):
        # No gradient there, or none for this dtype or attribute: there is nothing to compare.
        return []
    if not any(dx is not None for dx in wanted) and not comparing.failed(got):
        return []
    if comparing.failed(got):
        problem = f"we raise {got['error']}: {got['message'][:600]}"
    else:
        pair = comparing.comparable(call.op, wanted, got)
        closest = told(call, "gradients", coverage)
        problem = comparing.gradients_differ(case, *pair, finer, here["values"], closest)
    if not problem:  # the ops of the gradient gave the right values, too
        coverage.backward.update(here["backward"])
    return note(call, "gradients", problem, coverage, coverage.gradients)


def note(
    call: Call, what: str, problem: str, coverage: Coverage, counts: Counter[str]
) -> list[str]:
    """Count agreements; differences are reported unless they are intended."""
    reason = excused(call, what, problem) if problem else ""
    if reason:
        coverage.excused[call.op, reason] += 1
    elif not problem:
        counts[call.op] += 1
    return [f"{what}: {problem}"] if problem and not reason else []


def graph_differences(
    call: Call, theirs: Any, here: Any, told: list[Any], coverage: Coverage
) -> list[str]:
    """Differences of the traced op's shapes, and of its plan's results."""
    if comparing.failed(here):
        return []
    concrete = ours.attempt(ours.traced, call, told)
    if comparing.failed(concrete):
        return [f"tracing: {concrete['error']}: {concrete['message']}\n  told {told}\n{call}"]
    found = []
    if not comparing.failed(theirs) and not comparing.failed(theirs["shapes"]):
        problem = comparing.shapes_differ(
            theirs["shapes"], ours.graph_shapes(concrete), here["values"]
        )
        found = note(call, "shapes", problem, coverage, coverage.shapes)
    plan = ours.attempt(ours.planned, concrete, call, told)
    if comparing.failed(plan):
        found.append(f"plan: {plan['error']}: {plan['message']}")
    elif not same(plan, here["values"]):
        # Machine code may have been used in between for both: then the last digits change for both.
        again = ours.answer(call, None)["values"]
        if not same(plan, again):
            found.append(f"plan: {plan}, eagerly {again}")
    return [f"{problem}\n  told {told}\n{call}" for problem in found]


def same(some: list[Any], other: list[Any]) -> bool:
    """Whether two results are equal bit for bit, except for the payload of NaN."""
    return all(
        a.dtype == b.dtype and a.shape == b.shape and not comparing.array_differs(a, b, 0, 0)
        for a, b in zip(some, other, strict=True)
    )
