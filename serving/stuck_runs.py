"""What Prometheus sees of runs that never ended: threads of a version whose places others took."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric

    from pinnace.serving.repository import Repository


class StuckRuns:
    """Counts the runs that nobody waits for and that do not end, of this process.

    Args:
        repository: whose newest versions are asked.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def collect(self) -> Iterable[Metric]:
        """What prometheus_client writes."""
        from prometheus_client.core import GaugeMetricFamily

        found = GaugeMetricFamily(
            "pinnace:serving:stuck_runs",
            "Runs that nobody waits for and that do not end.",
            labels=("model_name", "version"),
        )
        for servable in self._repository.newest():
            if servable.stuck_runs:
                labels = (servable.name, str(servable.version))
                found.add_metric(labels, servable.stuck_runs)
        return (found,)
