"""Which ops were compared, and how that is told at the end of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from oracle.uncovered import UNCOVERED

CENSUS = tuple(Path(__file__).with_name("census.txt").read_text().split())


@dataclass
class Coverage:
    """What a run compared.

    Args:
        values: op -> calls whose values both sides gave and that agreed.
        gradients: the same of gradients.
        backward: op -> gradients that it was part of.
        errors: op -> calls that both sides refused with one class.
        shapes: op -> graphs whose inferred shapes agreed.
        excused: (op, reason) -> calls not compared.
    """

    values: Counter[str] = field(default_factory=Counter)
    gradients: Counter[str] = field(default_factory=Counter)
    backward: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=Counter)
    excused: Counter[tuple[str, str]] = field(default_factory=Counter)

    def missing(self, registered: set[str]) -> dict[str, str]:
        """Op -> why it was not compared, "" for no reason, of the census and the registry."""
        wanted = sorted(registered | set(CENSUS))
        return {op: UNCOVERED.get(op, "") for op in wanted if op not in self.covered}

    @property
    def covered(self) -> set[str]:
        """Ops some value of which was compared: an output, or a gradient made with them."""
        return set(self.values) | set(self.backward)

    def lines(self, registered: set[str]) -> list[str]:
        """The report."""
        covered = self.covered
        calls, gradients = sum(self.values.values()), sum(self.gradients.values())
        found = [
            f"ops covered / in census:  {len(covered & set(CENSUS))} / {len(CENSUS)}",
            f"ops covered / registered: {len(covered & registered)} / {len(registered)}",
            f"  of these through the gradients of others: {len(covered - set(self.values))}",
            (
                f"{calls} calls, {gradients} with gradients ({len(self.gradients)} ops), "
                f"{sum(self.shapes.values())} with static shapes, "
                f"{sum(self.errors.values())} refused by both"
            ),
        ]
        for reason, ops in sorted(_by_reason(self.missing(registered)).items()):
            found.append(f"not covered: {', '.join(ops)}: {reason or 'NO REASON'}")
        for (op, reason), count in sorted(self.excused.items()):
            found.append(f"deviates on purpose: {op} ({count} calls): {reason}")
        return found


def _by_reason(missing: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for op, reason in missing.items():
        found.setdefault(reason, []).append(op)
    return found
