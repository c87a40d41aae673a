"""The form of the calls with one set of argument shapes: one table, regions, or memory alone.

It is found by one search at the first call, and used from that call on: no kernel is new code, and
tables are rows of instructions that have been tested one by one (ADR 66). One search runs at a
time; other calls with these shapes wait for it, so that all calls return the same bits.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from pinnace.engine.codegen import kernels
from pinnace.engine.steps import CallError
from pinnace.engine.versions import version_of
from pinnace.framework import config
from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.engine.codegen.small_plans import SmallPlan
    from pinnace.engine.layout import Layout
    from pinnace.engine.plan import Plan
    from pinnace.engine.steps import Region
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph

_Found = TypeVar("_Found")
# Multiplications of networks in a plan with loops up to which one table of it all is tried.
_BESIDE_LOOPS = 1 << 24


# The lock of all searches: a search may run loops and functions, which have forms too. A process
# is not forked while another thread searches: the child would not see the end of it.
searching = threading.RLock()


def _hold() -> None:
    searching.acquire()


def _release() -> None:
    searching.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)


class Weights:
    """The variables among a plan's arguments that its form may treat as constant weights.

    A form checks their versions in each call, and prepares them again if one has been assigned to.
    Variables that change with each call are not worth that: the second call shows which they are.

    Args:
        plan: the plan of these arguments.
        arrays: the arguments of the first call.
        changing: places of variables that are not to be treated as weights.

    Attributes:
        changing: as given.
        places: places of the weights among the arguments.
    """

    def __init__(self, plan: Plan, arrays: Sequence[Array], changing: Collection[int] = ()) -> None:
        self.changing = frozenset(changing)
        self._versions = [version_of(array) for array in arrays]
        variables = {
            place: array.item()
            for place, (array, version) in enumerate(zip(arrays, self._versions, strict=True))
            if version is not None and place not in self.changing
        }
        # If two arguments are the same variable, the plan may assign to it through the other.
        times = Counter(id(variable) for variable in variables.values())
        self.places = [place for place, one in variables.items() if times[id(one)] == 1]
        self.values = {plan.graph.inputs[place] for place in self.places}

    def changed(self, arrays: Sequence[Array]) -> list[int]:
        """The places of weights that have been assigned to since the first call."""
        return [one for one in self.places if version_of(arrays[one]) != self._versions[one]]


def form_of(
    plan: Plan,
    layout: Layout,
    arrays: Sequence[Array],
    weights: Weights,
    small_plan: Callable[[bool], SmallPlan | None],
) -> SmallPlan | Layout:
    """The form of calls like this one: a table, the layout with regions, or the layout itself.

    One table runs in one thread, unless threads share the rows of a loop: networks that are worth
    sharing come first.

    Args:
        plan: the plan.
        layout: its values in memory, without regions.
        arrays: arguments of a call.
        weights: the variables that are treated as constant.
        small_plan: makes the plan one table, or only one that threads share; None if it cannot be
            one.

    Raises:
        CallError: the plan cannot run with these arguments, and raises the error itself.
    """
    from pinnace.engine.networks.region import Network

    fused: Mapping[int, Region | None] | None = None

    def regions() -> Mapping[int, Region | None]:
        from pinnace.engine.codegen.regions import fuse

        return fuse(
            plan.steps,
            layout.known,
            plan.graph.outputs,
            settled=layout.settled,
            steady=weights.values,
        )

    if layout.has_products:
        fused = searched(plan.graph, regions) or {}
    networks = [one for one in (fused or {}).values() if isinstance(one, Network)]
    products = sum(one.products for one in networks)
    has_loops = any(step.node.op.runs == "loop" for step in plan.steps)
    is_little = products < team.WORTH_OFFERING
    if is_little or (has_loops and products < _BESIDE_LOOPS):
        small = searched(plan.graph, lambda: small_plan(is_little))
        if small is not None:
            return small

    def joined() -> Mapping[int, Region | None]:
        """The regions, including loops with the steps around them."""
        found = regions() if fused is None else fused
        if not has_loops:
            return found
        from pinnace.engine.codegen import looped  # and what makes tables of small plans

        return looped.join(plan, arrays, found, layout.settled, type(plan))

    made = searched(plan.graph, joined) or {}
    return layout.with_regions(made) if any(made.values()) else layout


def searched(graph: Graph, search: Callable[[], _Found]) -> _Found | None:
    """The result of a search; None if it fails, which is logged: the plan can run the call.

    Args:
        graph: the plan's graph.
        search: the search.

    Raises:
        CallError: the plan cannot run with these arguments.
    """
    try:
        return search()
    except CallError:
        raise
    except Exception as error:
        if config.settings.pinned_tier == "compiled":  # tests want to know
            raise
        from pinnace.engine.rejections import reject
        from pinnace.graph.text import text_of

        reject("search", graph.name, f"{type(error).__name__}: {error}", text_of(graph))
        return None


def is_compiling() -> bool:
    """Whether settings allow machine code, and there is a library for this machine."""
    settings = config.settings
    is_wanted = settings.pinned_tier not in {"plan", "eager"} and settings.fusion
    return is_wanted and kernels.are_there()
