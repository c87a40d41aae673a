"""Calls are inlined within a budget; the remaining calls run, and stop on request."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pinnace.engine.build import _plans, plan_of
from pinnace.engine.passes import inline as inlining
from pinnace.engine.passes.inline import inline
from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError, ResourceExhaustedError
from pinnace.graph.text import parse
from pinnace.ops.running import Stop

if TYPE_CHECKING:
    from pinnace.graph.graph import Graph

ONE = np.float32(1)


def doubling(levels: int) -> Graph:
    """Each function calls the next one twice: 2 ** levels additions, in some lines."""
    blocks = [
        f"f{level}(x: float32[]):\n"
        f"  a = PartitionedCall(x, f=@f{level + 1}, Tout=(float32,))\n"
        f"  b = PartitionedCall(a, f=@f{level + 1}, Tout=(float32,))\n"
        f"  return y=b\n"
        for level in range(levels)
    ]
    last = f"f{levels}(x: float32[]):\n  a = AddV2(x, x)\n  b = Mul(a, a)\n  c = Tanh(b)\n"
    return parse("\n".join([*blocks, f"{last}  return y=c\n"]))


def nodes_of(graph: Graph) -> int:
    return len(inline(graph, keep=True).nodes)


def test_a_program_that_fits_has_no_calls() -> None:
    flat = inline(doubling(6))
    assert {node.op.name for node in flat.nodes} == {"Placeholder", "AddV2", "Mul", "Tanh"}
    assert len(flat.nodes) == 1 + 3 * 2**6


def test_what_calls_itself_over_and_over_stays_calls_and_gives_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = doubling(8)
    (wanted,) = plan_of(graph)([ONE])
    monkeypatch.setattr(inlining, "_NODES", 64)
    kept = doubling(8)
    assert nodes_of(kept) < 256
    assert any(node.op.name == "PartitionedCall" for node in inline(kept, keep=True).nodes)
    (found,) = plan_of(kept)([ONE])
    # A function that is called repeatedly may become one kernel, which rounds tanh differently.
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_billions_of_calls_take_little_memory_and_end_at_the_deadline() -> None:
    graph = doubling(40)
    stop = Stop()
    timer = threading.Timer(0.5, lambda: stop.end(DeadlineExceededError("too late")))
    state.stop = stop
    timer.start()
    try:
        with pytest.raises(DeadlineExceededError, match="too late"):
            plan_of(graph)([ONE])
    finally:
        state.stop = None
        timer.cancel()
    reached = [graph]
    for one in reached:
        reached.extend(ref.graph for ref in one.functions() if ref.graph not in reached)
    made = sum(len(plan.graph.nodes) for one in reached if (plan := _plans.get(one)))
    assert made < 2 * inlining._NODES


def test_where_calls_cannot_be_kept_the_size_is_refused_before_it_is_made() -> None:
    began = time.perf_counter()
    with pytest.raises(ResourceExhaustedError, match=r"are \d{13} nodes when each call"):
        inline(doubling(40))
    assert time.perf_counter() - began < 5


def test_functions_nested_deeply_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlining, "_DEPTH", 20)

    def chain(levels: int) -> Any:
        blocks = [
            f"f{level}(x: float32[]):\n"
            f"  a = PartitionedCall(x, f=@f{level + 1}, Tout=(float32,))\n  return y=a\n"
            for level in range(levels)
        ]
        blocks.append(f"f{levels}(x: float32[]):\n  a = AddV2(x, x)\n  return y=a\n")
        return parse("\n".join(blocks))

    assert plan_of(chain(60))([ONE])[0] == 2
