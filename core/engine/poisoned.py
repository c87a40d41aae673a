"""Plans whose memory is filled with NaN before it is written: tests see reads of unwritten memory.

Filled are the buffers of workspaces before each step that writes into one, arrays that kernels make
with NumPy, and (`ops.kernels.poison`) memory that is used again and that of generated kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.allocation import filled
from pinnace.engine.tiers import Tiers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.plan import Plan
    from pinnace.engine.tiers import Leased
    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext


class Poisoned:
    """A plan, or what a call leases for it, run in memory that is filled first.

    Args:
        plan: that is run.
        leased: what runs it; None is the plan itself.
    """

    def __init__(self, plan: Plan, leased: Leased | None) -> None:
        self._plan = plan
        self.leased = leased

    def run(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool = False
    ) -> tuple[Array, ...]:
        """The plan's outputs; see `Workspace.run`."""
        with filled():
            if self.leased is not None:
                return self.leased.run(arrays, context, looks=looks)
            run = self._plan.looking if looks else self._plan.run
            return run(arrays, context)  # type: ignore[no-any-return]


class PoisonedTiers(Tiers):
    """Those of a plan that is made while `Settings.poison` is on."""

    def lease(self, arrays: Sequence[Array]) -> Leased:
        """As `Tiers.lease`, always something."""
        return Poisoned(self._plan, super().lease(arrays))

    def give_back(self, leased: Leased) -> None:
        """The call is over."""
        if isinstance(leased, Poisoned) and leased.leased is not None:
            super().give_back(leased.leased)
