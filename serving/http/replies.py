"""Replies of HTTP: JSON, and errors as `{"error": message}` with the status of their code."""

from __future__ import annotations

import orjson

from pinnace.serving.errors import http_status, public_message
from pinnace.serving.requests.reply import Reply, ReplyHeaders

_MAX_CHARACTERS = 4096  # a message may quote names from the request
JSON: tuple[bytes, bytes] = (b"content-type", b"application/json")


def refusal(error: BaseException) -> Reply:
    """Return the reply for an exception."""
    status = http_status(error)
    headers: ReplyHeaders = (JSON,)
    if status in (429, 503):
        headers = (JSON, (b"retry-after", b"1"))
    elif status == 401:
        headers = (JSON, (b"www-authenticate", b"Bearer"))
    elif status in (408, 413):
        headers = (JSON, (b"connection", b"close"))  # instead of reading the rest of the body
    text = public_message(error)[:_MAX_CHARACTERS].encode("utf-8", "replace").decode()
    return Reply(orjson.dumps({"error": text}), status, headers)
