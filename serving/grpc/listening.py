"""The gRPC port: the services on one server, beside the HTTP server on the same event loop."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import grpc

from pinnace.framework.errors import UnauthenticatedError, UnavailableError
from pinnace.proto.health_pb2 import HealthCheckRequest, HealthCheckResponse
from pinnace.serving.grpc.calls import method
from pinnace.serving.grpc.inference_service import InferenceService
from pinnace.serving.grpc.messages import parse
from pinnace.serving.grpc.model_service import ModelService
from pinnace.serving.grpc.prediction_service import PredictionService
from pinnace.serving.policies import ApiKeys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pinnace.serving.exchange import Exchange
    from pinnace.serving.grpc.calls import Context
    from pinnace.serving.tls import Certificates

_MARGIN_BYTES = 2**20  # of a message beside its tensors
_HEALTH_METHODS = frozenset(
    {
        "/grpc.health.v1.Health/Check",
        "/inference.GRPCInferenceService/ServerLive",
        "/inference.GRPCInferenceService/ServerReady",
    }
)


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


class Guard(grpc.aio.ServerInterceptor):
    """Refuses calls without an API key, of every service but that of health.

    Args:
        keys: that there are.
        guards_health: whether questions for health need one too.
    """

    def __init__(self, keys: ApiKeys, guards_health: bool) -> None:
        self._keys = keys
        self._guards_health = guards_health

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        """The handler of a call, or one that refuses it."""
        if self._guards_health or details.method not in _HEALTH_METHODS:
            headers = {
                key.encode(): value if isinstance(value, bytes) else value.encode()
                for key, value in details.invocation_metadata or ()
            }
            try:
                self._keys.check(headers)
            except UnauthenticatedError as error:
                return _refusing(error)
        return await continuation(details)


def _refusing(error: UnauthenticatedError) -> grpc.RpcMethodHandler[bytes, bytes]:
    async def refuse(_: bytes, __: Context) -> bytes:
        raise error

    return method(refuse)


def make_credentials(find: Callable[[], Certificates | None]) -> grpc.ServerCredentials:
    """Credentials that connections to come may find changed.

    Args:
        find: the certificates of this moment.
    """
    seen = find()

    def configure(certificates: Certificates | None) -> grpc.ServerCertificateConfiguration:
        if certificates is None:
            raise UnavailableError("TLS: there are no certificates any longer")
        return grpc.ssl_server_certificate_configuration(
            [(certificates.key, certificates.chain)], certificates.client_ca or None
        )

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        nonlocal seen
        found = find()
        if found is None or found == seen:
            return None  # as it was
        seen = found
        return configure(found)

    verifies = seen is not None and seen.verifies
    # The stubs do not know that None means "as it was".
    look = cast("Callable[[], grpc.ServerCertificateConfiguration]", fetch)
    return grpc.dynamic_ssl_server_credentials(configure(seen), look, verifies)


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
    guards = [
        Guard(policy, not settings.health_without_key)
        for policy in exchange.policies
        if isinstance(policy, ApiKeys)
    ]
    server = grpc.aio.server(
        interceptors=guards,
        options=[
            ("grpc.max_receive_message_length", settings.max_body_bytes + _MARGIN_BYTES),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 1 if settings.workers > 1 else 0),
        ],
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
