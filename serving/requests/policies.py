"""Policies that may refuse a request before its body is read: by headers, peer and size.

All fronts check the same ones. A policy raises the error that becomes the reply.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError, NotFoundError, UnauthenticatedError
from pinnace.serving.errors import LOG, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.requests.request import Request, RequestHeaders

_MAX_FILE_BYTES = 2**24
_HASHED = "sha256:"
_LOOK_S = 1.0


class ApiKeys:
    """The API keys of a file, which is read again when it changes.

    A line of the file is a key, or `sha256:` and the 64 hexadecimal digits of its hash, optionally
    followed by a space and a name for logs. `#` begins a comment.

    Args:
        path: the file.

    Raises:
        NotFoundError: the file does not exist.
        InvalidArgumentError: the file has no key, or an invalid line; keys are never shown.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._names, self._seen = self._read()
        self._look_at = time.monotonic() + _LOOK_S
        if not self._names:
            raise InvalidArgumentError(f"{path}: has no API key; every request would be refused")

    def __call__(self, request: Request) -> None:
        """Check that the request has a key of the file.

        Raises:
            UnauthenticatedError: it has none.
        """
        self.check(request.headers)

    def check(self, headers: RequestHeaders) -> str:
        """Return the name of the key in `Authorization: Bearer KEY` or `X-API-Key: KEY`.

        Raises:
            UnauthenticatedError: there is no key, or it is not in the file.
        """
        if time.monotonic() >= self._look_at:
            self.reload()
        key = _presented(headers)
        if key is None:
            raise UnauthenticatedError(
                "An API key is needed: send 'Authorization: Bearer KEY' or 'X-API-Key: KEY'"
            )
        # Looked up by hash, so that the time of a look-up reveals nothing about the keys.
        digest = hashlib.sha256(key).digest()
        found = self._names.get(digest)
        if found is None or not hmac.compare_digest(digest, found[0]):
            raise UnauthenticatedError("The API key is not valid")
        return found[1]

    def reload(self) -> None:
        """Read the file again if it changed; if that fails, the keys stay."""
        self._look_at = time.monotonic() + _LOOK_S
        try:
            if self._stamp() != self._seen:
                self._names, self._seen = self._read()
                LOG.info("API keys: %d in %s", len(self._names), self._path)
        except (NotFoundError, InvalidArgumentError, OSError) as error:
            message = one_line(error)
            if message != getattr(self, "_problem", None):
                self._problem = message
                LOG.error("API keys stay as they are: %s", message)

    def _stamp(self) -> tuple[int, int, int]:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> tuple[Mapping[bytes, tuple[bytes, str]], tuple[int, int, int]]:
        try:
            stamp = self._stamp()
            with self._path.open("rb") as file:
                text = file.read(_MAX_FILE_BYTES + 1)
        except OSError as error:
            raise NotFoundError(f"{self._path}: cannot be read: {error.strerror}") from None
        if len(text) > _MAX_FILE_BYTES:
            raise InvalidArgumentError(f"{self._path}: larger than {_MAX_FILE_BYTES} bytes")
        names: dict[bytes, tuple[bytes, str]] = {}
        for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), 1):
            words = line.split("#", 1)[0].split()
            if not words:
                continue
            if len(words) > 2:
                raise InvalidArgumentError(f"{self._path}:{number}: must be 'KEY' or 'KEY NAME'")
            digest = self._digest(words[0], number)
            names[digest] = (digest, words[1] if len(words) > 1 else "")
        return names, stamp

    def _digest(self, word: str, number: int) -> bytes:
        if not word.startswith(_HASHED):
            return hashlib.sha256(word.encode()).digest()
        try:
            digest = bytes.fromhex(word.removeprefix(_HASHED))
        except ValueError:
            digest = b""
        if len(digest) != 32:
            raise InvalidArgumentError(
                f"{self._path}:{number}: 64 hexadecimal digits must follow '{_HASHED}'"
            )
        return digest


def _presented(headers: RequestHeaders) -> bytes | None:
    key = headers.get(b"x-api-key")
    if key is not None:
        return key.strip()
    kind, _, value = headers.get(b"authorization", b"").partition(b" ")
    return value.strip() if kind.lower() == b"bearer" and value.strip() else None


def accepts(headers: RequestHeaders) -> str:
    """Return the encoding for a reply that the client accepts; empty for none.

    Args:
        headers: names in lower case.
    """
    text = headers.get(b"accept-encoding")
    if text is None:
        return ""
    asked = {}
    for part in text.decode("latin-1").lower().split(","):
        name, _, quality = part.partition(";")
        weight = quality.strip().removeprefix("q=").strip() or "1"
        asked[name.strip()] = weight.strip("0.") != ""
    return next(
        (name for name in ("gzip", "deflate") if asked.get(name, asked.get("*", False))), ""
    )
