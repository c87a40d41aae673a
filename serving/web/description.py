"""The OpenAPI description as JSON, created on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

import orjson

if TYPE_CHECKING:
    from fastapi import FastAPI

    from pinnace.serving.models.repository import Repository


class Description:
    """The OpenAPI document of a server, updated when its models change.

    Args:
        repository: the models.
        has_keys: whether clients must have an API key.
    """

    def __init__(self, repository: Repository, has_keys: bool) -> None:
        self._repository = repository
        self._has_keys = has_keys
        self._key: object = None
        self._text = b""

    def text(self, app: FastAPI) -> bytes:
        """Return the document as JSON.

        Args:
            app: the application, whose other routes it includes.
        """
        servables = self._repository.newest()
        key = (tuple(map(ref, servables)), tuple(self._repository.names()))
        if key != self._key:
            from pinnace.serving.web.openapi import describe  # late: rarely needed

            self._text = orjson.dumps(describe(app, servables, self._has_keys))
            self._key = key
        return self._text
