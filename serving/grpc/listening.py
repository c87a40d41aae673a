"""The gRPC port: the services on one server, beside the HTTP server on the same event loop."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import grpc

from pinnace.framework.errors import UnavailableError
from pinnace.proto.health_pb2 import HealthCheckRequest, HealthCheckResponse
from pinnace.serving.grpc.calls import method
from pinnace.serving.grpc.inference_service import InferenceService
from pinnace.serving.grpc.messages import parse
from pinnace.serving.grpc.model_service import ModelService
from pinnace.serving.grpc.prediction_service import PredictionService

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pinnace.serving.exchange import Exchange
    from pinnace.serving.grpc.calls import Context

_MARGIN_BYTES = 2**20  # of a message beside its tensors


class Health:
    """`grpc.health.v1.Health`.

    Args:
        exchange: whose repository is asked.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._repository = exchange.repository

    def handler(self) -> grpc.GenericRpcHandler:
        """The service, for a gRPC server."""
        methods = {"Check": method(self.check)}
        return grpc.method_handlers_generic_handler("grpc.health.v1.Health", methods)

    async def check(self, data: bytes, _: Context) -> bytes:
        """Whether the server, or the model named as service, answers."""
        name = parse(HealthCheckRequest, data).service
        if not name or name.startswith(("tensorflow.serving.", "inference.")):
            is_serving = self._repository.is_ready()
        elif name in self._repository:
            is_serving = any(servable.name == name for servable in self._repository.newest())
        else:
            unknown = HealthCheckResponse(status=HealthCheckResponse.SERVICE_UNKNOWN)
            return unknown.SerializeToString()
        kind = HealthCheckResponse.SERVING if is_serving else HealthCheckResponse.NOT_SERVING
        return HealthCheckResponse(status=kind).SerializeToString()


@asynccontextmanager
async def listening(
    exchange: Exchange, address: str, credentials: grpc.ServerCredentials | None = None
) -> AsyncIterator[int]:
    """The services on a port for as long as the context lasts; at its end requests are drained.

    Args:
        exchange: that answers.
        address: `host:port`; port 0 takes a free one.
        credentials: of TLS; None speaks plain text.

    Yields:
        The port.

    Raises:
        UnavailableError: the address cannot be used.
    """
    settings = exchange.settings
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", settings.max_body_bytes + _MARGIN_BYTES),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 1 if settings.workers > 1 else 0),
        ]
    )
    services = (PredictionService, ModelService, InferenceService, Health)
    server.add_generic_rpc_handlers([service(exchange).handler() for service in services])
    try:
        if credentials is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise UnavailableError(f"gRPC address {address} cannot be used: {error}") from None
    await server.start()
    try:
        yield port
    finally:
        await server.stop(settings.drain_timeout_s)
