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

_MAX_ENDED = 100  # ended versions that are still listed


@dataclass(frozen=True, slots=True)
class Which:
    """The version that a request names: the newest one unless a number or a label is given.

    Attributes:
        name: the model's name.
        version: the version's number.
        label: the version's label.
    """

    name: str
    version: int | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A snapshot of a model's versions.

    Attributes:
        servables: the loaded versions, by number.
        statuses: the statuses of all versions, by number.
        labels: label → version number.
        newest: the version that answers by default.
        aside: the shadow versions, which never answer.
    """

    servables: Mapping[int, Servable] = field(default_factory=dict)
    statuses: Mapping[int, VersionStatus] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    newest: Servable | None = None
    aside: frozenset[int] = frozenset()

    def with_status(self, status: VersionStatus) -> Table:
        """Return the table with this status of a version."""
        statuses = {**self.statuses, status.version: status}
        ended = sorted(v for v, s in statuses.items() if s.state is State.END)
        for version in ended[:-_MAX_ENDED]:
            del statuses[version]
        return replace(self, statuses=statuses)

    def without_status(self, version: int) -> Table:
        """Return the table without the status of a version."""
        statuses = {number: s for number, s in self.statuses.items() if number != version}
        return replace(self, statuses=statuses)

    def with_servables(self, servables: Mapping[int, Servable]) -> Table:
        """Return the table with exactly these versions loaded."""
        newest = max(servables.keys() - self.aside, default=None)
        return replace(
            self, servables=servables, newest=None if newest is None else servables[newest]
        )

    def target(self, text: str) -> Servable | None:
        """The version that answers for a number or a label; None if none does."""
        version = int(text) if text.isdigit() else self.labels.get(text, -1)
        return None if version in self.aside else self.servables.get(version)

    def version_of(self, label: str) -> int:
        """Return the version that a label names.

        Raises:
            InvalidArgumentError: the label is unknown.
        """
        version = self.labels.get(label)
        if version is None:
            raise InvalidArgumentError(f"Unrecognized servable version label: {label}")
        return version
