"""An answer, for every protocol and front end.

One is made for every request, so that it is a plain class: a frozen dataclass takes several times
as long to make.
"""

from __future__ import annotations

from typing import TypeAlias

ReplyHeaders: TypeAlias = tuple[tuple[bytes, bytes], ...]


class Reply:
    """An answer.

    Args:
        body: of the answer.
        status: of HTTP.
        headers: names in lower case, and values; length and connection are set by the front end.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(self, body: bytes, status: int = 200, headers: ReplyHeaders = ()) -> None:
        self.body = body
        self.status = status
        self.headers = headers
