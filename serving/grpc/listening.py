"""The gRPC port: all services on one server, on the HTTP server's event loop."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

import grpc

from pinnace.framework.errors import UnavailableError
from pinnace.serving import acceleration
from pinnace.serving.config.connections import most_connections
from pinnace.serving.grpc.aio_server import AioServer
from pinnace.serving.grpc.health import Health
from pinnace.serving.grpc.inference_service import InferenceService
from pinnace.serving.grpc.methods import Methods
from pinnace.serving.grpc.model_service import ModelService
from pinnace.serving.grpc.prediction_service import PredictionService
from pinnace.serving.requests.policies import ApiKeys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from pinnace.serving.requests.exchange import Exchange
    from pinnace.serving.tls import Certificates

_MOST_STREAMS = 1024  # calls on one connection; clients queue others
_METADATA_BYTES = 2**14
_PING_STRIKES = 2  # pings that are too frequent, before the connection is closed
_IDLE_S = 120.0  # without a call; clients reconnect for the next one
_MARGIN_BYTES = 2**20  # of a message besides its tensors
# The fraction of the time to drain after which a connection is told to close; it is still answered.
# gRPC's core refuses calls that arrive at the server's end before the client knows of it, so all
# clients must have left by then. A client that reconnects before balancers notice is told again.
_AGE = 0.4
_HEALTH_METHODS = frozenset(
    {
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/List",
        "/grpc.health.v1.Health/Watch",
        "/inference.GRPCInferenceService/ServerLive",
        "/inference.GRPCInferenceService/ServerReady",
    }
)


class Guard:
    """Refuses calls without an API key, for every service except health.

    Args:
        keys: the API keys.
        guards_health: whether health checks need a key, too.
    """

    def __init__(self, keys: Sequence[ApiKeys], guards_health: bool) -> None:
        self._keys = keys
        self._guards_health = guards_health

    def __call__(self, path: str, headers: Mapping[bytes, bytes]) -> None:
        """Check that a call of this path may be answered.

        Raises:
            UnauthenticatedError: the call has no known key.
        """
        if self._guards_health or path not in _HEALTH_METHODS:
            for keys in self._keys:
                keys.check(headers)


def make_credentials(find: Callable[[], Certificates | None]) -> grpc.ServerCredentials:
    """Return credentials that may change for new connections.

    Args:
        find: returns the current certificates.
    """
    seen = find()

    def configure(certificates: Certificates | None) -> grpc.ServerCertificateConfiguration:
        if certificates is None:
            raise UnavailableError("TLS: the certificates no longer exist")
        return grpc.ssl_server_certificate_configuration(
            [(certificates.key, certificates.chain)], certificates.client_ca or None
        )

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        nonlocal seen
        found = find()
        if found is None or found == seen:
            return None  # unchanged
        seen = found
        return configure(found)

    verifies = seen is not None and seen.verifies
    # The stubs do not know that None means unchanged.
    look = cast("Callable[[], grpc.ServerCertificateConfiguration]", fetch)
    return grpc.dynamic_ssl_server_credentials(configure(seen), look, verifies)


@asynccontextmanager
async def listening(
    exchange: Exchange,
    address: str,
    credentials: grpc.ServerCredentials | None = None,
    *,
    on_core: bool = True,
) -> AsyncIterator[int]:
    """A context in which the services listen on a port; requests are drained at its end.

    Args:
        exchange: the exchange that answers.
        address: `host:port`; port 0 takes a free one; or `unix:PATH`.
        credentials: TLS credentials; None for plain text.
        on_core: whether to serve on grpcio's core if its interface is known, or on grpc.aio.

    Yields:
        The port.

    Raises:
        UnavailableError: the address cannot be used.
    """
    settings = exchange.settings
    keys = [policy for policy in exchange.policies if isinstance(policy, ApiKeys)]
    guard = Guard(keys, not settings.health_without_key) if keys else None
    options: list[tuple[str, int | str]] = [
        ("grpc.max_receive_message_length", settings.max_body_bytes + _MARGIN_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_concurrent_streams", _MOST_STREAMS),
        ("grpc.max_metadata_size", _METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", 2 * _METADATA_BYTES),
        ("grpc.server_handshake_timeout_ms", round(settings.header_timeout_s * 1e3)),
        ("grpc.http2.max_ping_strikes", _PING_STRIKES),
        ("grpc.max_allowed_incoming_connections", most_connections(settings)),
        ("grpc.max_connection_idle_ms", round(_IDLE_S * 1e3)),
        ("grpc.so_reuseport", 1 if settings.workers > 1 else 0),
    ]
    if settings.drain_s:
        age_s = settings.drain_s * _AGE
        options.append(("grpc.max_connection_age_ms", max(round(age_s * 1e3), 1)))
    chosen = dict(settings.grpc_channel_arguments)
    options = [option for option in options if option[0] not in chosen] + list(chosen.items())
    methods = Methods()
    for service in (PredictionService, ModelService, InferenceService, Health):
        service(exchange).register(methods)
    # As many messages of the largest size as fit in the limit for all requests.
    slow = max((settings.max_inflight_bytes or 2**40) // settings.max_body_bytes, 1)
    message_s = settings.body_timeout_s
    kind = acceleration.grpc_server() if on_core else None
    core = None
    if kind is not None:
        methods.quick |= acceleration.quick_methods(exchange)
        core = kind(methods, options, guard, exchange.room, message_s=message_s, slow_messages=slow)
    server = core or AioServer(
        methods, options, guard, exchange.room, message_s=message_s, slow_messages=slow
    )
    port = server.add_port(address, credentials)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(settings.drain_timeout_s, exchange.hurry)
