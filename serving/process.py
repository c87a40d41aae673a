"""A serving process: the ports, the models, uvicorn, and graceful shutdown."""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import os
import signal
import socket
import sys
import threading
from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import uvicorn

from pinnace.framework import config
from pinnace.framework.errors import (
    AlreadyExistsError,
    OpError,
    UnavailableError,
    UnimplementedError,
)
from pinnace.framework.extras import install_command
from pinnace.framework.visible_text import Printing
from pinnace.serving import acceleration
from pinnace.serving.config.connections import raise_open_files_limit
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.grpc.late_opening import opened_late
from pinnace.serving.http.connections import bounds_of
from pinnace.serving.http.late_application import LateApplication
from pinnace.serving.leaving import LeavingServer
from pinnace.serving.memory import kept_for_requests
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.private_copy import release_copies
from pinnace.serving.models.repository import Repository
from pinnace.serving.observing.ledger import Ledger
from pinnace.serving.observing.load_metrics import LoadMetrics
from pinnace.serving.observing.log_lines import log_to_stderr
from pinnace.serving.observing.metrics import Meter, Metrics
from pinnace.serving.running.limits import share_memory
from pinnace.serving.running.threads import quick_turns
from pinnace.serving.service import Service
from pinnace.serving.tls import Credentials
from pinnace.serving.web.example_request import example_command
from pinnace.serving.workers import Seat, SharedRepository, Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.version_loader import Loader
    from pinnace.serving.service import Front

_BACKLOG = 2048
DEFAULT_GRPC_PORT = 8500
_KEEP_ALIVE_S = 75  # longer than that of clients and proxies, so that they close connections
_ENDINGS = (signal.SIGINT, signal.SIGTERM)


def serve(settings: Settings, loader: Loader = load_model) -> int:
    """Serve until a signal. An error at the start is one line on stderr.

    Args:
        settings: the server's settings.
        loader: loads the model in a folder.

    Returns:
        0 after SIGINT or SIGTERM, once pending requests are answered or a second signal came; 1 if
        the start failed.
    """
    raise_open_files_limit()
    try:
        with bind(settings.host, settings.rest_api_port) as listener:
            if settings.workers == 1:
                _serve(settings, Repository(settings, loader), listener)
                return 0
            return _supervise(settings, loader, listener)
    except OpError as error:
        sys.stderr.write(f"pinnace serve: {one_line(error)}\n")
        return 1


def _serve(
    settings: Settings,
    repository: Repository,
    listener: socket.socket,
    seat: Seat | None = None,
    ledger: Ledger | None = None,
) -> None:
    """Load the models and answer, until a signal comes."""
    certificates = Credentials(settings)
    metrics = Metrics(lambda name: name in repository, ledger)
    repository.loads = LoadMetrics(ledger)
    share_memory()
    # Before any model is loaded, since models are freed again.
    with (
        _threads(settings),
        _marked_prints(),
        kept_for_requests(),
        quick_turns(),
        closing(repository),
    ):
        repository.start()
        _listen(listener, settings)
        log_to_stderr(
            settings.log_format,
            is_worker=seat is not None,
            is_first=seat is None or seat.is_first,
        )
        service = Service(settings, repository, _other_fronts(settings, certificates), metrics)
        if seat is None or seat.is_first:
            announce(repository, _url(settings, listener))

        def reload() -> None:
            try:
                certificates.reload()
            except (OpError, OSError) as error:
                LOG.error("%s; the certificates stay", one_line(error))
            if service.keys is not None:
                service.keys.reload()
            if seat is None:
                repository.reload()

        server = _make_server(service, certificates, is_worker=seat is not None)
        if seat is not None and isinstance(repository, SharedRepository):
            _obey(seat, repository, reload, server.hurry)
        # Workers reload when their supervisor tells them.
        with _hangups(reload) if seat is None else nullcontext(), _quiet_endings(server):
            server.run(sockets=[listener])


def _obey(
    seat: Seat,
    repository: SharedRepository,
    reload: Callable[[], None],
    hurry: Callable[[], None],
) -> None:
    def obey(message: dict[str, Any]) -> None:
        if message["do"] == "hurry":
            hurry()
        elif message["do"] == "reload":
            reload()
        repository.obey(message)

    seat.listen(obey)
    seat.tell({"do": "ready"})


def _supervise(settings: Settings, loader: Loader, listener: socket.socket) -> int:
    """Run several processes that answer; return the exit code."""
    if not hasattr(os, "fork"):
        raise UnimplementedError("--workers above 1 needs a system that can fork processes")
    ledger = Ledger(settings.workers, Meter.CELLS)

    def work(seat: Seat) -> int:
        # Before models are loaded: log lines have the process ID, and one process logs for all.
        log_to_stderr(settings.log_format, is_worker=True, is_first=seat.is_first)
        repository = SharedRepository(settings, loader, seat)
        try:
            _serve(settings, repository, listener, seat, ledger)
        except OpError as error:
            sys.stderr.write(f"pinnace serve: {one_line(error)}\n")
            return 1
        finally:
            release_copies()
        return 0

    log_to_stderr(settings.log_format)
    return Supervisor(
        settings.workers, work, ledger, settings.drain_timeout_s, settings.drain_s
    ).run()


def bind(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """Return a socket bound to the port. It refuses connections until the server listens on it.

    Args:
        host: an address or name.
        port: the port; 0 takes a free one.
        is_shared: whether other processes may bind it too, if they also allow it.

    Raises:
        AlreadyExistsError: the port is in use.
        UnavailableError: the address is not one of this machine, or the port may not be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UnavailableError(f"host '{host}': {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise _port_error(host, port, error) from None
    listener.set_inheritable(True)
    return listener


def announce(repository: Repository, url: str) -> None:
    """Print the models, the addresses, and an example command.

    Args:
        repository: the models; each loaded version has a row per signature, and columns for labels
            and weights if there are any.
        url: the server's URL.
    """
    rows = [("model", "version", "labels", "weight", "signature", "batches", "inputs", "outputs")]
    for servable in sorted(repository.servables(), key=lambda one: (one.name, -one.version)):
        labels = repository.labels(servable.name)
        called = ", ".join(sorted(one for one, n in labels.items() if n == servable.version))
        parts = repository.parts(servable.name)
        part = f"{100 * parts.get(servable.version, 0.0):.4g} %" if parts else ""
        for name, signature in sorted(servable.signatures.items()):
            row = (servable.name, str(servable.version), called, part, name, servable.batches(name))
            rows.append((*row, _describe(signature.inputs), _describe(signature.outputs)))
    # Columns for labels and weights are omitted if no model has any.
    columns = [
        column
        for column in zip(*rows, strict=True)
        if column[0] not in {"labels", "weight"} or any(column[1:])
    ]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]
    servables = repository.newest()
    lines += ["", f"Serving on {url} (stop with Ctrl-C)"]
    commands = [example_command(servable, url) for servable in servables[:3]]
    if any(commands):
        lines += ["Try:", *(f"  {command}" for command in commands if command)]
    sys.stdout.write("\n".join([*lines, ""]))
    sys.stdout.flush()


def _listen(listener: socket.socket, settings: Settings) -> None:
    """Accept connections: those that arrive before the event loop runs wait for it."""
    try:
        listener.listen(_BACKLOG)
    except OSError as error:  # another server began to listen while the models were loaded
        raise _port_error(settings.host, settings.rest_api_port, error) from None


@contextmanager
def _marked_prints() -> Iterator[None]:
    """Mark lines that a model prints, so that they do not look like the server's."""
    Printing.mark = "print: "
    try:
        yield
    finally:
        Printing.mark = ""


def _make_server(service: Service, certificates: Credentials, *, is_worker: bool) -> LeavingServer:
    settings = service.settings
    config = uvicorn.Config(
        LateApplication(service),
        loop="uvloop" if importlib.util.find_spec("uvloop") else "asyncio",
        interface="asgi3",
        http=_front(service),
        h11_max_incomplete_event_size=settings.max_header_bytes,
        ws="none",
        lifespan="on",
        log_level="error",  # a flood of invalid requests must not fill the log
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(settings.drain_timeout_s)),
    )
    config.load()
    config.ssl = certificates.context
    return LeavingServer(config, service, is_worker=is_worker)


def _other_fronts(settings: Settings, certificates: Credentials) -> list[Front]:
    """The gRPC servers, if they are requested or free of cost."""
    port, path = settings.grpc_port, settings.grpc_socket_path
    is_there = importlib.util.find_spec("grpc") is not None
    if not is_there and (port or path):
        what = f"port {port}" if port else f"socket {path}"
        raise UnavailableError(
            f"gRPC {what} cannot be served: grpcio is not installed\n"
            f"  Try: {install_command('grpc')}"
        )
    fronts: list[Front] = []
    if path:
        socket_address = f"unix:{path}"
        fronts.append(lambda exchange: opened_late(exchange, socket_address))
    if port == 0 or not is_there:
        return fronts
    try:
        bind(settings.host, port or DEFAULT_GRPC_PORT, is_shared=settings.workers > 1).close()
    except OpError as error:
        if port is not None:
            raise
        LOG.warning("gRPC is not served: %s", one_line(error))
        return fronts
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"{host}:{port or DEFAULT_GRPC_PORT}"
    if certificates.for_grpc() is None:
        return [*fronts, lambda exchange: opened_late(exchange, address)]
    # Late: gRPC is an extra.
    from pinnace.serving.grpc.listening import listening, make_credentials

    # At once, so that unusable certificates end the start.
    credentials = make_credentials(certificates.for_grpc)
    return [*fronts, lambda exchange: listening(exchange, address, credentials)]


def _front(service: Service) -> type[asyncio.Protocol]:
    """The protocol class of connections: the hot front if its replies equal the application's."""
    bounds = {"bounds": bounds_of(service.settings)}
    if not importlib.util.find_spec("httptools"):
        from pinnace.serving.http.bounded_h11 import BoundedH11

        return type("BoundH11", (BoundedH11,), bounds)
    if not service.settings.cors:  # the application's replies have more headers then
        hot = acceleration.http_front(service.exchange)
        if hot is not None:
            return hot
    from pinnace.serving.http.bounded_httptools import BoundedHttpTools

    return type("BoundHttpTools", (BoundedHttpTools,), bounds)


@contextmanager
def _threads(settings: Settings) -> Iterator[None]:
    """Use the configured number of threads for runs, while the process serves."""
    if "PINNACE_THREADS" in os.environ:
        yield
        return
    before = config.get_intra_op_parallelism_threads()
    config.set_intra_op_parallelism_threads(settings.intra_op_threads)
    try:
        yield
    finally:
        config.set_intra_op_parallelism_threads(before)


@contextmanager
def _hangups(reload: Callable[[], None]) -> Iterator[None]:
    """Let SIGHUP reload everything, unless a terminal may send it; under nohup as well."""
    if (
        not hasattr(signal, "SIGHUP")
        or threading.current_thread() is not threading.main_thread()
        or (sys.stdin is not None and sys.stdin.isatty())
    ):
        yield
        return

    def work(*_: object) -> None:
        threading.Thread(target=reload, name="pinnace-reload", daemon=True).start()

    before = signal.signal(signal.SIGHUP, work)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@contextmanager
def _quiet_endings(server: uvicorn.Server) -> Iterator[None]:
    """Let a signal end uvicorn only, which sends itself the signal again at its end."""

    def end(*_: object) -> None:
        server.should_exit = True  # a signal before uvicorn handles signals

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, end) for number in _ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _port_error(host: str, port: int, error: OSError) -> OpError:
    if error.errno == errno.EADDRINUSE:
        return AlreadyExistsError(
            f"port {port} on {host} is in use; stop what uses it, or give another --rest_api_port"
        )
    return UnavailableError(f"port {port} on {host} cannot be used: {error.strerror}")


def _url(settings: Settings, listener: socket.socket) -> str:
    host, port = settings.host, listener.getsockname()[1]
    scheme = "https" if settings.tls_cert else "http"
    if host in ("", "0.0.0.0", "::"):
        return f"{scheme}://localhost:{port}"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _describe(specs: Mapping[str, TensorSpec]) -> str:
    return ", ".join(f"{name} {spec.dtype.name}{spec.shape.text}" for name, spec in specs.items())
