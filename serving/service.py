"""The service behind all protocols: the exchange, its observers, and their lifespan."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pinnace.serving import acceleration
from pinnace.serving.observing.history import History
from pinnace.serving.observing.metrics import Metrics
from pinnace.serving.observing.pending import PendingRequests
from pinnace.serving.observing.stuck_runs import StuckRuns
from pinnace.serving.requests.exchange import Exchange
from pinnace.serving.requests.policies import ApiKeys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.repository import Repository
    from pinnace.serving.observing.access_log import AccessLog
    from pinnace.serving.observing.shadow_metrics import ShadowMetrics
    from pinnace.serving.requests.exchanging import Exchanging
    from pinnace.serving.requests.reply import Reply

Front: TypeAlias = "Callable[[Exchange], AbstractAsyncContextManager[object]]"
# Returns the report of a shadow, by model and version; None if the version is not a shadow.
ShadowReport: TypeAlias = "Callable[[str, int], dict[str, Any] | None]"


class Watcher(Protocol):
    """An observer of completed requests."""

    def observe(
        self, exchanging: Exchanging, reply: Reply | None, error: BaseException | None, /
    ) -> None:
        """Observe a completed request."""

    def close(self) -> None:
        """Release the resources; no more requests follow."""


class Service:
    """A server's models, exchange, keys, metrics and watchers.

    Args:
        settings: limits and times.
        repository: the models; `running` calls its `start` and `close`.
        fronts: other fronts, open while the service runs.
        metrics: the metrics; None creates them for this service alone.

    Attributes:
        history: the history of requests, for the page.
        keys: the keys of clients; None if they need none.
        log: the log of requests; None if there is none.

    Raises:
        OpError: the keys cannot be read, or a log cannot be written.
    """

    def __init__(
        self,
        settings: Settings,
        repository: Repository,
        fronts: Sequence[Front] = (),
        metrics: Metrics | None = None,
    ) -> None:
        self.settings = settings
        self.repository = repository
        self.metrics = metrics or Metrics(lambda name: name in repository)
        self.metrics.register(repository.loads)
        self.metrics.register(StuckRuns(repository))
        self.history = History(self.metrics)
        self.exchange = Exchange(settings, repository, self.metrics)
        self._pending = PendingRequests(repository, self.exchange, self.metrics.ledger)
        self.metrics.register(self._pending)
        self.exchange.observe_idle = acceleration.reply_observer()
        self.keys = ApiKeys(settings.api_keys_file) if settings.api_keys_file else None
        if self.keys is not None:
            self.exchange.policies.append(self.keys)
        self.log: AccessLog | None = None
        self._shadows: ShadowMetrics | None = None
        self._fronts = fronts
        self._watchers = self._make_watchers()
        self.exchange.observers.extend(watcher.observe for watcher in self._watchers)

    def shadow_report(self, model: str, version: int) -> dict[str, Any] | None:
        """The report of a shadow, see `ShadowMetrics.report`; None for other versions."""
        if self._shadows is None:
            return None
        for shadow in self.settings.shadows:
            if (shadow.model, shadow.version) == (model, version):
                return self._shadows.report(shadow)
        return None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """A context in which the models are loaded, and the other fronts are open."""
        await asyncio.to_thread(self.repository.start)
        tasks = [asyncio.create_task(self.history.sampling())]
        if self.metrics.ledger is not None:
            tasks.append(asyncio.create_task(self._pending.telling()))
        try:
            async with AsyncExitStack() as stack:
                for front in self._fronts:
                    await stack.enter_async_context(front(self.exchange))
                yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.to_thread(self.repository.close)
            for watcher in self._watchers:
                await asyncio.to_thread(watcher.close)

    def _make_watchers(self) -> list[Watcher]:
        # Each is imported late, since most servers have none of them.
        settings = self.settings
        found: list[Watcher] = []
        if settings.access_log:
            from pinnace.serving.observing.access_log import AccessLog

            self.log = AccessLog(settings.access_log)
            found.append(self.log)
        if settings.record and settings.record_fraction:
            from pinnace.serving.observing.recording import Recorder

            recorder = Recorder(
                settings.record,
                settings.record_fraction,
                settings.record_max_bytes,
                settings.workers,
            )
            found.append(recorder)
        if settings.otel:
            from pinnace.serving.observing.tracing import Tracing

            found.append(Tracing())
        if settings.shadows:
            from pinnace.serving.observing.shadow_metrics import ShadowMetrics
            from pinnace.serving.observing.shadows import Shadows

            self._shadows = ShadowMetrics(self.metrics.ledger)
            self.metrics.register(self._shadows)
            found.append(Shadows(settings.shadows, self.repository, self._shadows))
        return found
