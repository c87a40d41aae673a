"""The parts of `fast` that the rest of the server uses, and their fallbacks without it.

No other module imports `fast`: the server is complete without that folder, with the same results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.serving.errors import LOG

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from pinnace.serving.fast.grpc.core_server import CoreServer
    from pinnace.serving.grpc.methods import Take
    from pinnace.serving.requests.exchange import Exchange
    from pinnace.serving.requests.wires import Wire

_FOLDER = "pinnace.serving.fast"


def predict_wire() -> Wire:
    """TensorFlow Serving's predict over HTTP."""
    try:
        from pinnace.serving.fast.http.predict import RowsPredict
    except ModuleNotFoundError as error:
        _check_absent(error)
        from pinnace.serving.http.json_predict import JsonPredict

        return JsonPredict()
    return RowsPredict()


def infer_wire() -> Wire:
    """The Open Inference Protocol's infer over HTTP."""
    try:
        from pinnace.serving.fast.http.infer import RowsInfer
    except ModuleNotFoundError as error:
        _check_absent(error)
        from pinnace.serving.http.infer import Infer

        return Infer()
    return RowsInfer()


def http_front(exchange: Exchange) -> type[asyncio.Protocol] | None:
    """The protocol class that replaces uvicorn's for HTTP connections; requires httptools.

    Args:
        exchange: the exchange that answers.
    """
    try:
        from pinnace.serving.fast.http.front import bound
    except ModuleNotFoundError as error:
        _check_absent(error)
        return None
    return bound(exchange)


def grpc_server() -> type[CoreServer] | None:
    """The server on grpcio's core; None if the core's interface is not the expected one."""
    try:
        from pinnace.serving.fast.grpc.core_server import CoreServer, is_known
    except ModuleNotFoundError as error:
        if _is_absent(error):
            return None
        known = False
    except ImportError:
        known = False
    else:
        known = is_known()
    if known:
        return CoreServer
    LOG.warning("this grpcio has another core than is known: gRPC is served by grpc.aio, slower")
    return None


def quick_methods(exchange: Exchange) -> Mapping[str, Take]:
    """The functions that begin gRPC answers without a task, by path: for the core server.

    Args:
        exchange: the exchange that answers.
    """
    from pinnace.serving.fast.grpc.packed_requests import takers

    return takers(exchange)


def reply_observer() -> Callable[[float, float], None] | None:
    """The callback for replies that leave no request open; takes arrival and sending time."""
    try:
        from pinnace.serving.fast.lingering import Lingering
    except ModuleNotFoundError as error:
        _check_absent(error)
        return None
    return Lingering().note_reply


def _is_absent(error: ModuleNotFoundError) -> bool:
    return (error.name or "").startswith(_FOLDER)


def _check_absent(error: ModuleNotFoundError) -> None:
    """Raise unless the missing module is the folder itself, and not an import inside it."""
    if not _is_absent(error):
        raise error
