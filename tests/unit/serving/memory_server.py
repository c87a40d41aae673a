"""A server in memory: the application without a port."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx

from pinnace.serving.http.application import create_app
from pinnace.serving.models.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.version_loader import Loader


class Server:
    """Sends requests to an application as a client would."""

    def __init__(self, settings: Settings, repository: Repository) -> None:
        self.repository = repository
        self.app = create_app(settings, repository)

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Return the reply to a request."""
        return self.ask_all([(method, path, options)])[0]

    def ask_all(self, requests: list[tuple[str, str, dict[str, Any]]]) -> list[httpx.Response]:
        """Return the replies to simultaneous requests."""

        async def run() -> list[httpx.Response]:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await asyncio.gather(
                    *(client.request(method, path, **options) for method, path, options in requests)
                )

        return asyncio.run(run())

    def predict(
        self, body: object, model: str = "m", signature: str | None = None
    ) -> httpx.Response:
        """Return the reply to a predict request: bytes, or an object with a signature name."""
        path = f"/v1/models/{model}:predict"
        if isinstance(body, bytes | str):
            return self.ask("POST", path, content=body)
        assert isinstance(body, dict)
        return self.ask(
            "POST", path, json=body | ({"signature_name": signature} if signature else {})
        )


@contextmanager
def running(settings: Settings, loader: Loader) -> Iterator[Server]:
    """A context with a server whose models are loaded; they are unloaded at its end."""
    repository = Repository(settings, loader)
    repository.start()
    try:
        yield Server(settings, repository)
    finally:
        repository.close()
