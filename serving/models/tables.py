"""A snapshot of a model's versions, and how a request names one of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.models.versions import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.models.servable import Servable
    from pinnace.serving.models.versions import VersionStatus

_MAX_ENDED = 100  # versions that ended and are still listed


@dataclass(frozen=True, slots=True)
class Which:
    """The version that a request asks for: the newest one unless a number or a label is given.

    Attributes:
        name: of the model.
        version: its number.
        label: a name of a version.
    """

    name: str
    version: int | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A snapshot of a model's versions.

    Attributes:
        servables: the versions that are loaded.
        statuses: of all versions.
        labels: other names of versions.
        newest: version that answers.
        aside: versions that never answer: shadows.
    """

    servables: Mapping[int, Servable] = field(default_factory=dict)
    statuses: Mapping[int, VersionStatus] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    newest: Servable | None = None
    aside: frozenset[int] = frozenset()

    def with_status(self, status: VersionStatus) -> Table:
        """The table with this in place of what was known of the version."""
        statuses = {**self.statuses, status.version: status}
        ended = sorted(v for v, s in statuses.items() if s.state is State.END)
        for version in ended[:-_MAX_ENDED]:
            del statuses[version]
        return replace(self, statuses=statuses)

    def without_status(self, version: int) -> Table:
        """The table with nothing known of a version."""
        statuses = {number: s for number, s in self.statuses.items() if number != version}
        return replace(self, statuses=statuses)

    def with_servables(self, servables: Mapping[int, Servable]) -> Table:
        """The table with these versions loaded and no others."""
        newest = max(servables.keys() - self.aside, default=None)
        return replace(
            self, servables=servables, newest=None if newest is None else servables[newest]
        )

    def target(self, text: str) -> Servable | None:
        """The version that answers for a number or a label; None if none does."""
        version = int(text) if text.isdigit() else self.labels.get(text, -1)
        return None if version in self.aside else self.servables.get(version)

    def version_of(self, label: str) -> int:
        """The version that a label names.

        Raises:
            InvalidArgumentError: none has it.
        """
        version = self.labels.get(label)
        if version is None:
            raise InvalidArgumentError(f"Unrecognized servable version label: {label}")
        return version
