"""Findings of an upgrade: of each line what was changed, or what a person must do."""

from __future__ import annotations

import enum
import functools
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

_ADVICE = Path(__file__).with_name("advice.toml")


class Level(enum.StrEnum):
    """The severity of a finding; the two that are not INFO are for a person."""

    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing to tell.

    Attributes:
        line: of the source, from 1.
        column: of the source, from 0.
        level: how much it matters.
        what: what is there, or what was done.
        why: why a person must look at it.
        remedy: what the person does.
    """

    line: int
    column: int
    level: Level
    what: str
    why: str = ""
    remedy: str = ""

    @property
    def for_a_person(self) -> bool:
        """Whether somebody must look at it."""
        return self.level is not Level.INFO

    def text(self) -> str:
        """One line, without the file."""
        told = f"{self.line}:{self.column}: {self.level}: {self.what}"
        told += f" Why: {self.why}" if self.why else ""
        return told + (f" What to do: {self.remedy}" if self.remedy else "")


@dataclass(slots=True)
class Findings:
    """The findings in one program, in the order of its lines."""

    found: list[Finding] = field(default_factory=list)

    def done(self, place: tuple[int, int], what: str) -> None:
        """Tell of a change."""
        self._add(Finding(*place, Level.INFO, what))

    def advise(self, place: tuple[int, int], level: str, what: str, reason: str) -> None:
        """Tell what a person must know, by a reason of advice.toml."""
        said = advice()[reason]
        self._add(Finding(*place, Level(level), what, said["why"], said.get("do", "")))

    def add(self, finding: Finding) -> None:
        """Tell of something that no reason is listed for."""
        self._add(finding)

    def _add(self, finding: Finding) -> None:
        if finding not in self.found:
            self.found.append(finding)

    def in_order(self) -> tuple[Finding, ...]:
        """By line and column; at one place in the order they were found."""
        return tuple(sorted(self.found, key=lambda one: (one.line, one.column)))


@functools.cache
def advice() -> dict[str, dict[str, str]]:
    """Reason -> why a person must look, and what to do."""
    return tomllib.loads(_ADVICE.read_text(encoding="utf-8"))
