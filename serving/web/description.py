"""The description of the interface as it is sent: written on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

import orjson

if TYPE_CHECKING:
    from fastapi import FastAPI

    from pinnace.serving.models.repository import Repository


class Description:
    """The OpenAPI document of a server, written again when its models change.

    Args:
        repository: of the models.
        has_keys: whether clients must have an API key.
    """

    def __init__(self, repository: Repository, has_keys: bool) -> None:
        self._repository = repository
        self._has_keys = has_keys
        self._key: object = None
        self._text = b""

    def text(self, app: FastAPI) -> bytes:
        """The document, as JSON.

        Args:
            app: whose other routes it has too.
        """
        servables = self._repository.newest()
        key = (tuple(map(ref, servables)), tuple(self._repository.names()))
        if key != self._key:
            from pinnace.serving.web.openapi import describe  # late: few ask for it

            self._text = orjson.dumps(describe(app, servables, self._has_keys))
            self._key = key
        return self._text
