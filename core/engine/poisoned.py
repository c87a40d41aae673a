"""Plans whose memory is filled with NaN before use, so that tests see uninitialised reads.

The buffers of workspaces are filled before each step that writes to them, and so are arrays that
kernels make with NumPy, and (`ops.kernels.poison`) reused memory and that of generated kernels.
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
    """A plan, or the lease of a call, run in memory that is filled first.

    Args:
        plan: the plan.
        leased: the lease; None for the plan itself.
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
    """Tiers of a plan that is made while `Settings.poison` is on."""

    def lease(self, arrays: Sequence[Array]) -> Leased:
        """Like `Tiers.lease`, but never None."""
        return Poisoned(self.plan, super().lease(arrays))

    def give_back(self, leased: Leased) -> None:
        """End the call."""
        if isinstance(leased, Poisoned) and leased.leased is not None:
            super().give_back(leased.leased)
