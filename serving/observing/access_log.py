"""The access log: one line of JSON for each request."""

from __future__ import annotations

import io
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import orjson

from pinnace.framework.errors import CANCELLED, CODE_NAMES, OK, UnavailableError
from pinnace.framework.visible_text import visible_json
from pinnace.serving.errors import canonical_code, http_status, public_message
from pinnace.serving.http.bodies import EXCHANGED
from pinnace.serving.observing.background import Background

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from pinnace.serving.requests.exchanging import Exchanging
    from pinnace.serving.requests.reply import Reply

_MAX_MESSAGE = 300


class AccessLog:
    """Writes requests and their outcomes, in a thread.

    A line has `time` (UTC), `peer`, `model`, `version`, `api`, `entrypoint`, `code`, `status` (of
    HTTP), `bytes_in`, `bytes_out`, `ms`, for an answer the `rows` of its batch and its `stages`
    in microseconds, and for a refusal its `error`.

    Args:
        path: the file to append to; `-` is stdout. It is opened again for each batch of lines, so
            that it may be moved.

    Raises:
        UnavailableError: the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        if path != "-":
            try:
                _opened(path).close()
            except OSError as error:
                raise UnavailableError(
                    f"access log {path}: cannot be written: {error.strerror}"
                ) from None
        self._background: Background[dict[str, Any]] = Background("access-log", self._write)

    def observe(
        self, exchanging: Exchanging, reply: Reply | None, error: BaseException | None
    ) -> None:
        """Log a completed request. Called on the event loop."""
        request = exchanging.request
        now = time.perf_counter()
        line: dict[str, Any] = {
            "time": time.time(),
            "peer": request.peer,
            "model": request.which.name,
            "version": None if exchanging.servable is None else exchanging.servable.version,
            "api": request.wire.api,
            "entrypoint": request.wire.entrypoint,
            "code": _code(reply, error),
            "status": _status(reply, error),
            "bytes_in": exchanging.charged,
            "bytes_out": 0 if reply is None else len(reply.body),
            "ms": round((now - exchanging.begun) * 1e3, 3),
        }
        call = exchanging.call
        if error is None and call is not None and call.ended:
            line["rows"] = call.batch_rows
            line["stages"] = {name: round(s * 1e6, 1) for name, _, s in stages_of(exchanging, now)}
        elif error is not None:
            line["error"] = public_message(error)[:_MAX_MESSAGE]
        self._background.put(line)

    def note(self, scope: Scope, status: int, seconds: float) -> None:
        """Log a request for anything but inference. Called on the event loop."""
        client = scope.get("client")
        line = {
            "time": time.time(),
            "peer": client[0] if client else "",
            "method": scope["method"],
            "path": scope["path"][:_MAX_MESSAGE],
            "status": status,
            "ms": round(seconds * 1e3, 3),
        }
        self._background.put(line)

    def close(self) -> None:
        """Write the pending lines."""
        self._background.close()

    def _write(self, lines: list[dict[str, Any]]) -> None:
        parts = []
        for line in lines:
            moment = time.gmtime(line["time"])
            fraction = int(line["time"] % 1 * 1e6)
            line["time"] = f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{fraction:06d}Z"
            parts.append(visible_json(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)))
        text = b"".join(parts)
        if self._path == "-":
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()
        else:
            # Unbuffered and appended in one call, so that lines of several workers do not mix.
            with _opened(self._path) as file:
                file.write(text)


class Logged:
    """Logs the requests that the exchange does not see.

    Args:
        app: the application.
        log: the access log.
    """

    def __init__(self, app: ASGIApp, log: AccessLog) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 500

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        # A list, since the application may work on a copy of the scope.
        exchanged: list[bool] = []
        try:
            await self._app({**scope, EXCHANGED: exchanged}, receive, watch)
        finally:
            if not exchanged:
                self._log.note(scope, status, time.perf_counter() - begun)


def _opened(path: str) -> io.FileIO:
    """Open the file to append; a new one is private to its owner and group: it names clients."""
    return io.FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640), "ab")


def stages_of(exchanging: Exchanging, now: float) -> list[tuple[str, float, float]]:
    """Name, begin on `time.perf_counter`'s clock, and seconds of each stage of an answer."""
    call = exchanging.call
    if call is None:
        return []
    marks = (
        ("read", exchanging.begun, exchanging.read_at),
        ("parse", exchanging.read_at, exchanging.decoded_at),
        ("queue", call.arrived, call.started),
        ("run", call.started, call.ended),
        ("write", call.ended, now),
    )
    return [(name, begin, end - begin) for name, begin, end in marks]


def _code(reply: Reply | None, error: BaseException | None) -> str:
    if reply is None:
        return CODE_NAMES[CANCELLED]
    code = OK if error is None else canonical_code(error)
    return CODE_NAMES.get(code, "UNKNOWN")


def _status(reply: Reply | None, error: BaseException | None) -> int:
    if reply is None:
        return 499
    return 200 if error is None else http_status(error)
