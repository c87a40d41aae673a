"""Prometheus metrics of runs that never ended, whose threads were replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric

    from pinnace.serving.models.repository import Repository


class StuckRuns:
    """Counts the abandoned runs of this process that do not end.

    Args:
        repository: the repository, whose newest versions count.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def collect(self) -> Iterable[Metric]:
        """The metric families for prometheus_client."""
        from prometheus_client.core import GaugeMetricFamily

        found = GaugeMetricFamily(
            "pinnace:serving:stuck_runs",
            "Runs without waiting callers that do not end.",
            labels=("model_name", "version"),
        )
        for servable in self._repository.newest():
            if servable.stuck_runs:
                labels = (servable.name, str(servable.version))
                found.add_metric(labels, servable.stuck_runs)
        return (found,)
