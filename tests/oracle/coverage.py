"""The compared ops, and the report at the end of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from oracle.uncovered import UNCOVERED

if TYPE_CHECKING:
    from collections.abc import Callable

CENSUS = tuple(Path(__file__).with_name("census.txt").read_text().split())


@dataclass
class Closest:
    """The comparisons closest to their tolerance, by op, kind and dtype: on another processor
    TensorFlow's last digits differ.

    Args:
        found: the largest used fraction of the tolerance, and where.
    """

    found: dict[tuple[str, str, str], tuple[float, str]] = field(default_factory=dict)

    def of(self, op: str, what: str) -> Callable[[str, float, str], None]:
        """A function that records the tolerance used by a comparison."""

        def note(dtype: str, part: float, where: str) -> None:
            key = (op, what, dtype)
            if part > self.found.get(key, (0.0, ""))[0]:
                self.found[key] = (part, where)

        return note

    def lines(self, count: int) -> list[str]:
        """Report lines of the closest comparisons."""
        ranked = sorted(self.found.items(), key=lambda item: -item[1][0])
        return [
            f"closest call: {part:.2f} of the tolerance: {' '.join(key)}: {where}"
            for key, (part, where) in ranked[:count]
        ]


@dataclass
class Coverage:
    """The coverage of a run.

    Args:
        values: op -> calls whose values both sides computed and that agreed.
        gradients: the same for gradients.
        backward: op -> gradients in which it was used.
        errors: op -> calls that both sides refused with the same class.
        shapes: op -> graphs whose inferred shapes agreed.
        excused: (op, reason) -> calls not compared.
        closest: how close to their tolerances the comparisons came.
    """

    values: Counter[str] = field(default_factory=Counter)
    gradients: Counter[str] = field(default_factory=Counter)
    backward: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=Counter)
    excused: Counter[tuple[str, str]] = field(default_factory=Counter)
    closest: Closest = field(default_factory=Closest)

    def missing(self, registered: set[str]) -> dict[str, str]:
        """Op of the census or registry -> why it was not compared; "" without a reason."""
        wanted = sorted(registered | set(CENSUS))
        return {op: UNCOVERED.get(op, "") for op in wanted if op not in self.covered}

    @property
    def covered(self) -> set[str]:
        """Ops of which a value was compared: an output, or a gradient computed with them."""
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
        missing = {op: why or self._seen(op) for op, why in self.missing(registered).items()}
        for reason, ops in sorted(_by_reason(missing).items()):
            found.append(f"not covered: {', '.join(ops)}: {reason}")
        for (op, reason), count in sorted(self.excused.items()):
            found.append(f"deviates on purpose: {op} ({count} calls): {reason}")
        return found

    def _seen(self, op: str) -> str:
        """The results of this run for an op that nothing else excuses."""
        meant = sum(count for (name, _), count in self.excused.items() if name == op)
        refused = self.errors[op]
        if meant or refused:
            return f"NOTHING TO COMPARE: {meant} calls deviate on purpose, both refused {refused}"
        return "NO CALL that TensorFlow has code for"


def _by_reason(missing: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for op, reason in missing.items():
        found.setdefault(reason, []).append(op)
    return found
