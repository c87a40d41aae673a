"""The files of the page: read once, sent with a policy that allows nothing else."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.requests import Request

# Nothing is loaded except from this server, nothing is inline, no other page may frame it.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
STATIC = (
    "asking.js",
    "charts.js",
    "docs.css",
    "docs.js",
    "drawing.js",
    "elements.js",
    "fields.js",
    "icon.svg",
    "page.css",
    "page.js",
    "replies.js",
    "texts.js",
    "trying.js",
)


def file_response(request: Request, name: str) -> Response:
    """Return one of the page's files; 304 if the client has it.

    Args:
        request: the request.
        name: the file's name in this package.
    """
    body, tag = _read(name)
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": _POLICY,
        "ETag": tag,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers | {"Content-Type": _KINDS[name.rsplit(".", 1)[1]]})


@cache
def _read(name: str) -> tuple[bytes, str]:
    body = resources.files("pinnace.serving.web").joinpath("files", name).read_bytes()
    return body, f'"{hashlib.sha256(body).hexdigest()[:20]}"'
