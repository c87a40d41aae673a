"""Findings of an upgrade: changes, and advice for the user, by line."""

from __future__ import annotations

import enum
import functools
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

_ADVICE = Path(__file__).with_name("advice.toml")


class Level(enum.StrEnum):
    """The severity of a finding; all but INFO need the user's attention."""

    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A finding.

    Attributes:
        line: the line in the source, from 1.
        column: the column in the source, from 0.
        level: its severity.
        what: the finding, or the change made.
        why: why the user must look at it.
        remedy: the user's next step.
    """

    line: int
    column: int
    level: Level
    what: str
    why: str = ""
    remedy: str = ""

    @property
    def for_a_person(self) -> bool:
        """Whether it needs the user's attention."""
        return self.level is not Level.INFO

    def text(self) -> str:
        """The finding as one line, without the file."""
        told = f"{self.line}:{self.column}: {self.level}: {self.what}"
        told += f" Why: {self.why}" if self.why else ""
        return told + (f" What to do: {self.remedy}" if self.remedy else "")


@dataclass(slots=True)
class Findings:
    """The findings in one program, in the order of its lines."""

    found: list[Finding] = field(default_factory=list)

    def done(self, place: tuple[int, int], what: str) -> None:
        """Record a change."""
        self._add(Finding(*place, Level.INFO, what))

    def advise(self, place: tuple[int, int], level: str, what: str, reason: str) -> None:
        """Record advice, by a reason of advice.toml."""
        said = advice()[reason]
        self._add(Finding(*place, Level(level), what, said["why"], said.get("do", "")))

    def add(self, finding: Finding) -> None:
        """Record a finding without a listed reason."""
        self._add(finding)

    def _add(self, finding: Finding) -> None:
        if finding not in self.found:
            self.found.append(finding)

    def in_order(self) -> tuple[Finding, ...]:
        """The findings by line and column, then in order of discovery."""
        return tuple(sorted(self.found, key=lambda one: (one.line, one.column)))


@functools.cache
def advice() -> dict[str, dict[str, str]]:
    """Reason -> why the user must look at it, and what to do."""
    return tomllib.loads(_ADVICE.read_text(encoding="utf-8"))
