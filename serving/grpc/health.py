"""`grpc.health.v1.Health`, for load balancers and Kubernetes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from pinnace.framework.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    UnavailableError,
)
from pinnace.proto.health_pb2 import (
    HealthCheckRequest,
    HealthCheckResponse,
    HealthListResponse,
)
from pinnace.serving.messages.fields import parse

if TYPE_CHECKING:
    from pinnace.serving.grpc.methods import Context, Methods
    from pinnace.serving.requests.exchange import Exchange

_NAME = "grpc.health.v1.Health"
_LOOK_S = 0.25  # between checks of a watched status
_MOST_WATCHING = 256  # each is checked as often
_SERVICES = ("tensorflow.serving.", "inference.")


class Health:
    """The methods of the service.

    Args:
        exchange: the exchange with the repository.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._repository = exchange.repository
        self._first_s = exchange.settings.body_timeout_s
        self._watching = 0

    def register(self, methods: Methods) -> None:
        """Add the methods of the service to those of a server."""
        methods.unary |= {f"/{_NAME}/Check": self.check, f"/{_NAME}/List": self.list}
        methods.streams[f"/{_NAME}/Watch"] = self.watch

    async def check(self, data: bytes, _: Context) -> bytes:
        """Whether the server, or the model named as service, is ready."""
        status = self._status(parse(HealthCheckRequest, data).service)
        return HealthCheckResponse(status=status).SerializeToString()

    async def list(self, _: bytes, __: Context) -> bytes:
        """The same for the server and for each model."""
        response = HealthListResponse()
        for name in ("", *self._repository.names()):
            response.statuses[name].status = self._status(name)
        return response.SerializeToString()

    async def watch(self, context: Context) -> None:
        """The same as `check`, and again after each change, until the server ends."""
        if self._watching >= _MOST_WATCHING:
            raise UnavailableError(f"{_MOST_WATCHING} clients watch already; try again later")
        self._watching += 1
        try:
            await self._live(context)
        finally:
            self._watching -= 1

    async def _live(self, context: Context) -> None:
        try:
            data = await asyncio.wait_for(context.read(), self._first_s)
        except TimeoutError:
            raise DeadlineExceededError(
                f"The message did not arrive within {self._first_s:g} s"
            ) from None
        if data is None:
            raise InvalidArgumentError("Watch takes one message, got none")
        name = parse(HealthCheckRequest, data).service
        last = None
        try:
            while True:
                status = self._status(name)
                if status != last:
                    await context.write(HealthCheckResponse(status=status).SerializeToString())
                    last = status
                await asyncio.sleep(_LOOK_S)
        except asyncio.CancelledError:
            ending = HealthCheckResponse(status=HealthCheckResponse.NOT_SERVING)
            with suppress(Exception):  # the client has left
                await context.write(ending.SerializeToString())
            raise

    def _status(self, name: str) -> HealthCheckResponse.ServingStatus:
        if not name or name.startswith(_SERVICES):
            is_serving = self._repository.is_ready()
        elif name in self._repository:
            is_serving = self._repository.is_ready_for(name)
        else:
            return HealthCheckResponse.SERVICE_UNKNOWN
        return HealthCheckResponse.SERVING if is_serving else HealthCheckResponse.NOT_SERVING
