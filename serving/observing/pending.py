"""Prometheus gauges of pending requests, for autoscaling."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from pinnace.serving.observing.metrics import OWN_PREFIX, PENDING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric

    from pinnace.serving.models.repository import Repository
    from pinnace.serving.observing.ledger import Ledger
    from pinnace.serving.requests.exchange import Exchange

_STEP_S = 0.25  # between two updates of a worker's numbers
_OTHER = ""  # requests that are read or written, whose model may not exist


class _Pending(NamedTuple):
    """Requests of one model.

    Attributes:
        waiting: those that wait for a run.
        in_flight: all of them, waiting or running.
    """

    waiting: int
    in_flight: int


class PendingRequests:
    """Counts pending requests when read: requests themselves do no work for it.

    Args:
        repository: the repository with the versions.
        exchange: the exchange, which counts all requests.
        ledger: the storage of each worker's numbers, if there are several.
    """

    def __init__(self, repository: Repository, exchange: Exchange, ledger: Ledger | None) -> None:
        self._repository = repository
        self._exchange = exchange
        self._ledger = ledger
        self._rows: dict[str, memoryview[float]] = {}
        if ledger is not None:  # numbers of the worker that this one replaces, whose requests ended
            self._rows = {key[0]: cells for key, cells in ledger.own() if key[2] == PENDING}
            self.tell()

    async def telling(self) -> None:
        """Publish the numbers for other workers, until it is cancelled."""
        while True:
            self.tell()
            await asyncio.sleep(_STEP_S)

    def tell(self) -> None:
        """Publish this worker's numbers for other workers, if there are any."""
        if self._ledger is None:
            return
        counts = self._count()
        for model in counts.keys() - self._rows.keys():
            cells = self._ledger.add((model, "", PENDING))
            if cells is not None:
                self._rows[model] = cells
        for model, cells in self._rows.items():
            cells[0], cells[1] = counts.get(model, (0, 0))

    def collect(self) -> Iterable[Metric]:
        """The metric families for prometheus_client."""
        from prometheus_client.core import GaugeMetricFamily

        waiting = GaugeMetricFamily(
            f"{OWN_PREFIX}requests_waiting",
            "Requests that wait for a run.",
            labels=("model_name",),
        )
        in_flight = GaugeMetricFamily(
            f"{OWN_PREFIX}requests_in_flight",
            "Requests that are not answered yet; without a name those being read or written.",
            labels=("model_name",),
        )
        for model, pending in sorted(self._everywhere().items()):
            waiting.add_metric((model,), pending.waiting)
            in_flight.add_metric((model,), pending.in_flight)
        return (waiting, in_flight)

    def _everywhere(self) -> dict[str, _Pending]:
        """The numbers of all workers; those of others are slightly old."""
        if self._ledger is None:
            return self._count()
        self.tell()
        found: dict[str, _Pending] = {}
        for (model, _, kind), cells in self._ledger.all():
            if kind == PENDING:
                before = found.get(model, _Pending(0, 0))
                found[model] = _Pending(
                    before.waiting + int(cells[0]), before.in_flight + int(cells[1])
                )
        return found

    def _count(self) -> dict[str, _Pending]:
        found = {name: _Pending(0, 0) for name in self._repository.names()}
        for servable in self._repository.servables():
            lanes = [*servable.lanes.values(), *servable.lanes_of_other_shapes.values()]
            waiting = sum(lane.waiting for lane in lanes)
            running = sum(lane.running for lane in lanes)
            before = found.get(servable.name, _Pending(0, 0))
            found[servable.name] = _Pending(
                before.waiting + waiting, before.in_flight + waiting + running
            )
        # Copies for shadows wait in lanes, too, but are not requests of clients.
        known = sum(pending.in_flight for pending in found.values())
        found[_OTHER] = _Pending(0, max(self._exchange.in_flight - known, 0))
        return found
