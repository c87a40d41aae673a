"""The gRPC port, opened after the HTTP port: importing grpcio takes longer than starting HTTP.

HTTP requests do not wait for it, but the server is not ready before it is open.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from pinnace.framework.errors import OpError
from pinnace.serving.errors import LOG, one_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from pinnace.serving.requests.exchange import Exchange

_RETRY_S = 2.0
_DELAY_S = 0.03  # requests that waited for HTTP are answered first


@asynccontextmanager
async def opened_late(
    exchange: Exchange, address: str, delay_s: float = _DELAY_S
) -> AsyncIterator[None]:
    """A context in which the port is opened, and closed at its end.

    Args:
        exchange: the exchange that answers.
        address: `host:port`.
        delay_s: seconds until gRPC is imported.
    """
    repository = exchange.repository
    repository.unopened_ports += 1
    ending = asyncio.Event()

    async def live() -> None:
        await asyncio.sleep(delay_s)
        listening = None
        while listening is None and not ending.is_set():
            try:
                listening = await asyncio.to_thread(_listening)
            except (ImportError, OSError) as error:  # such as a lack of file descriptors
                LOG.error("gRPC is not served yet, which is tried again: %s", one_line(error))
                with suppress(TimeoutError):
                    await asyncio.wait_for(ending.wait(), _RETRY_S)
        if listening is None or ending.is_set():
            return
        async with listening(exchange, address):
            repository.unopened_ports -= 1
            LOG.info("gRPC is served on %s", address)
            await ending.wait()

    task = asyncio.create_task(live())
    task.add_done_callback(_report)
    try:
        yield
    finally:
        ending.set()
        await asyncio.wait((task,))


def _listening() -> Callable[..., AbstractAsyncContextManager[int]]:
    from pinnace.serving.grpc.listening import listening

    return listening


def _report(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if isinstance(error, OpError):
        LOG.error("gRPC is not served, and the server is not ready: %s", one_line(error))
    elif error is not None:
        LOG.error("gRPC is not served, and the server is not ready", exc_info=error)
