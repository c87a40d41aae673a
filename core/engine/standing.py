"""The form that runs a plan's calls now, and why no faster one does: for profilers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.ahead import reading
from pinnace.engine.codegen import kernels
from pinnace.engine.tiers import Workspace
from pinnace.framework import config, dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.layout import Layout
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node


class Standing(NamedTuple):
    """The current tier of one set of argument shapes.

    Attributes:
        tier: "plan", "workspace" (the plan in reused memory), "compiled" or "small plan".
        reason: why it is not a faster one; empty for compiled code.
    """

    tier: str
    reason: str


def standing_of(plan: Plan, arrays: Sequence[Array], leased: object) -> Standing:
    """The standing of the call that got this lease.

    Args:
        plan: the plan.
        arrays: the call's arguments.
        leased: see `Tiers.lease`.
    """
    if leased is None:
        return Standing("plan", _why_nothing(plan, arrays))
    if isinstance(leased, Workspace):
        if leased.layout.regions:
            return Standing("compiled", "")
        reason = _why_pinned() or "no steps form a region with machine code"
        return Standing("workspace", reason)
    if hasattr(leased, "leased"):  # the lease that is compared or poisoned
        return standing_of(plan, arrays, leased.leased)
    return Standing("small plan", "")


def _why_nothing(plan: Plan, arrays: Sequence[Array]) -> str:
    pinned = _why_pinned()
    if pinned:
        return pinned
    if plan.tiers.has_failed:
        return "a faster form raised an error that the plan does not: see the log"
    if not plan.tiers.is_worthwhile:
        return "the plan is too short to gain from reused memory or tables"
    if plan.tiers.has_given_up(arrays):
        return "no result is large enough for reused memory, and there is no product"
    return "other argument shapes are more frequent, and forms are limited"


def _why_pinned() -> str:
    if config.settings.pinned_tier in {"plan", "eager"}:
        return f"settings: the tier is {config.settings.pinned_tier!r}"
    if not config.settings.fusion:
        return "settings: fusion is off"
    return "" if kernels.are_there() else f"no machine code: {reading.installed()[1]}"


def why_alone(node: Node, layout: Layout) -> str:
    """The reason why a step of a compiled plan is in no region.

    Args:
        node: the step's node.
        layout: the layout it runs in.
    """
    op = node.op
    if op.effect is not None or op.wants_ctx:
        return "it has side effects, or runs functions"
    if op.view is not None or op.shape_query:
        return "it computes nothing: a view or a shape"
    if not all(value in layout.known for value in node.outputs):
        return "its shape is not known before the run"
    odd = [value.dtype for value in node.outputs if value.dtype is not dtypes.float32]
    if odd:
        return f"its dtype is {odd[0].name}, and regions compute in float32"
    if op.product:
        return "a separate kernel: its operands change, or it fits no region"
    if op.fuse is None:
        return "a separate kernel: it has no elementwise expression"
    return "there is no neighbour to fuse it with, or too few elements"
