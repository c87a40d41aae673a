"""Tiers whose calls are compared with the plan (`checking`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.checking import CheckedRegions, CheckedTable
from pinnace.engine.codegen.small_plans import SmallPlan
from pinnace.engine.tiers import Tiers, Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.layout import Layout
    from pinnace.engine.plan import Plan
    from pinnace.engine.tiers import Leased
    from pinnace.framework.tensor import Array


class CheckedTiers(Tiers):
    """Tiers of a plan that is made while `Settings.check` is on."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._checks: dict[Layout | SmallPlan, CheckedRegions | CheckedTable] = {}

    def lease(self, arrays: Sequence[Array]) -> Leased | None:
        """Like `Tiers.lease`, but the lease compares the form with the plan."""
        leased = super().lease(arrays)
        if isinstance(leased, SmallPlan):
            return Checked(self._check_of(leased), leased)
        if isinstance(leased, Workspace):
            return Checked(self._check_of(leased.layout), leased)
        return leased

    def give_back(self, leased: Leased) -> None:
        """End the call."""
        super().give_back(leased.leased if isinstance(leased, Checked) else leased)

    def _check_of(self, form: Layout | SmallPlan) -> CheckedRegions | CheckedTable:
        """The object that compares a form with the plan; made once for each form."""
        found = self._checks.get(form)
        if found is None:
            if isinstance(form, SmallPlan):
                found = CheckedTable(self.plan, form)
            else:
                found = CheckedRegions(self.plan, form)
            found = self._checks.setdefault(form, found)
        return found


class Checked:
    """The lease of a call that is compared.

    Args:
        check: compares its form with the plan.
        leased: the lease that would run it otherwise.
    """

    def __init__(self, check: CheckedRegions | CheckedTable, leased: Leased) -> None:
        self.run = check.run
        self.leased = leased
