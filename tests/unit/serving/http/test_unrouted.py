"""Requests without a route: refused with the routes' replies, at less cost than an answer."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.http.unrouted import Unrouted
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import read_version, write_version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW")
PATHS = (
    *("/", "//", "/nothing", "/v1", "/v1/", "/V1/nothing", "/v1/models/", "/v1/models/m/", "/v2"),
    *("/v1/models/m:train", "/v1/MODELS/m:PREDICT", "/v1/models/a%2Fb:predict", "/v3/x?y=1"),
    *("/v1/models/m/versions/x:predict", "/v1/models/m%3Fx:nothing", "/v1/models/%0A", "/%0A"),
    *("/v2/models/m/infer/", "/v2/models/m%0A", "/healthz%0A", "/v2/models/m:predict", "/%C3%A9"),
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    write_version(tmp_path, 1)
    models = (ModelConfig("m", str(tmp_path)),)
    settings = Settings(models=models, file_system_poll_s=0, metrics_path="/here/metrics")
    with running(settings, read_version) as found:
        yield found


def paths_of(server: Server) -> list[str]:
    """A path for each route, and some without one."""
    known = sorted(server.ask("GET", "/openapi.json").json()["paths"])
    assert len(known) > 30
    filled = [re.sub(r"\{[^}]*version[^}]*\}", "1", path) for path in known]
    return [*(re.sub(r"\{[^}]*\}", "m", path) for path in filled), *PATHS]


def replies(server: Server) -> list[tuple[Any, ...]]:
    asked = [(method, path, {}) for path in paths_of(server) for method in METHODS]
    # Replies without an error may contain a time or a count.
    return [
        (*one[:2], reply.status_code, *((reply.content, reply.headers) if reply.is_error else ()))
        for one, reply in zip(asked, server.ask_all(asked), strict=True)
    ]


def test_it_refuses_what_the_routes_refuse_with_the_same_words(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = replies(server)

    async def pass_on(self: Unrouted, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    monkeypatch.setattr(Unrouted, "__call__", pass_on)
    theirs = replies(server)
    assert ours == theirs
    statuses = {reply[2] for reply in ours}
    assert {200, 400, 404, 405} <= statuses


def calls_for(server: Server, method: str, path: str) -> int:
    """The Python functions called for a request."""
    server.ask(method, path)
    count = 0

    def note(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        server.ask(method, path)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models/m:predict"),
        ("DELETE", "/v1/models/m"),
        ("GET", "/nothing"),
        ("POST", "/v1/models/m:nothing"),
        ("GET", "/v2/models/m/infer"),
    ],
)
def test_a_refusal_costs_less_than_an_answer(server: Server, method: str, path: str) -> None:
    answer = calls_for(server, "GET", "/v1/models/m")
    assert calls_for(server, method, path) < answer - 200  # most calls are httpx's
