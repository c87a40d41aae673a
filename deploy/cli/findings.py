"""The findings of a scan: their level, and their meaning for the model's user."""

from __future__ import annotations

from dataclasses import dataclass

# From harmless to dangerous.
LEVELS = ("info", "low", "medium", "high")
_MOST_PLACES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """A property of a model, or a thing that it could do.

    Attributes:
        level: one of `LEVELS`.
        title: the finding in a few words.
        meaning: its consequences, in sentences.
        places: some of the places where it was found.
        count: the number of places.
    """

    level: str
    title: str
    meaning: str
    places: tuple[str, ...] = ()
    count: int = 1


@dataclass(frozen=True, slots=True)
class Scan:
    """The findings of a scan.

    Attributes:
        path: the model.
        kind: SavedModel, Keras or ONNX.
        findings: the most serious first.
    """

    path: str
    kind: str
    findings: tuple[Finding, ...]

    @property
    def level(self) -> str:
        """The level of the most serious finding."""
        return max((one.level for one in self.findings), key=LEVELS.index, default=LEVELS[0])


class Findings:
    """Collects findings; those with equal titles become one with several places."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[str, dict[str, None], int]] = {}

    def add(self, level: str, title: str, meaning: str, place: str = "", count: int = 1) -> None:
        """Add a finding."""
        known, places, number = self._found.get((level, title), (meaning, {}, 0))
        if place and len(places) < _MOST_PLACES:
            places[place] = None
        self._found[level, title] = known, places, number + count

    def all(self) -> tuple[Finding, ...]:
        """All findings, the most serious first."""
        found = [
            Finding(level, title, meaning, tuple(places), count)
            for (level, title), (meaning, places, count) in self._found.items()
        ]
        return tuple(sorted(found, key=lambda one: -LEVELS.index(one.level)))
