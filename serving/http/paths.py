"""Paths matched as in TensorFlow Serving: case-insensitive words, names without '/' and ':'."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, TypeAlias
from urllib.parse import unquote

from fastapi import Depends
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.tables import Which

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_INT64_MAX = 2**63 - 1
_MODEL_PATH = re.compile(
    r"/v1/models(?:/(?P<name>[^/:]+)"
    r"(?:/(?P<by>versions|labels)/(?P<id>[^/:]+))?"
    r"(?P<rest>:[a-z]+|/metadata|/graph)?)?",
    re.IGNORECASE,
)


class WordConvertor(Convertor[str]):
    """A decoded name in a path: anything but '/' and ':'."""

    regex = "[^/:]+"

    def convert(self, value: str) -> str:
        """The name; percent-encoded once by `FoldedPaths`, so that an encoded '/' is part of it."""
        return unquote(value)

    def to_string(self, value: str) -> str:
        """The name."""
        return value


class DigitsConvertor(Convertor[str]):
    """A version in a path: any number of digits."""

    regex = "[0-9]+"

    def convert(self, value: str) -> str:
        """The digits."""
        return value

    def to_string(self, value: str) -> str:
        """The digits."""
        return value


register_url_convertor("word", WordConvertor())
register_url_convertor("digits", DigitsConvertor())


class FoldedPaths:
    """Converts the fixed words of a model's path to lower case, and leaves names encoded.

    Args:
        app: the next application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with the normalised path."""
        if scope["type"] == "http":
            raw = scope.get("raw_path") or b""
            # The path is ASCII: other bytes are percent-encoded, or not in the path of a model.
            match = _MODEL_PATH.fullmatch(raw.split(b"?", 1)[0].decode("latin-1"))
            if match is not None:
                scope = {**scope, "path": _folded(match)}
            elif raw.startswith(b"/v2/models/"):
                scope = {**scope, "path": raw.split(b"?", 1)[0].decode("latin-1")}
        await self._app(scope, receive, send)


def _folded(match: re.Match[str]) -> str:
    path = "/v1/models"
    if match["name"]:
        path += f"/{match['name']}"
    if match["by"]:
        path += f"/{match['by'].lower()}/{match['id']}"
    return path + (match["rest"] or "").lower()


async def _models(request: Request) -> Repository:
    repository: Repository = request.app.state.repository
    return repository


async def _which(request: Request) -> Which:
    """Return the version that a path names.

    Raises:
        InvalidArgumentError: the version is not a 64-bit integer.
    """
    path = request.path_params
    digits = path.get("version")
    if digits is None:
        return Which(path["name"], None, path.get("label"))
    if len(digits) > 40 or int(digits) > _INT64_MAX:
        raise InvalidArgumentError(f"Failed to convert version: {digits[:40]} to numeric.")
    return Which(path["name"], int(digits))


Models: TypeAlias = Annotated[Repository, Depends(_models)]
WhichModel: TypeAlias = Annotated[Which, Depends(_which)]
