"""A reply, for every protocol and front.

It is a plain class, since one is created for every request: a frozen dataclass takes several times
as long to create.
"""

from __future__ import annotations

from typing import TypeAlias

ReplyHeaders: TypeAlias = tuple[tuple[bytes, bytes], ...]


class Reply:
    """A reply.

    Args:
        body: its body.
        status: its HTTP status.
        headers: names in lower case, and values; the front sets length and connection.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(self, body: bytes, status: int = 200, headers: ReplyHeaders = ()) -> None:
        self.body = body
        self.status = status
        self.headers = headers
