"""The facts about a request before its body is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.models.tables import Which
    from pinnace.serving.requests.wires import Wire

RequestHeaders: TypeAlias = "Mapping[bytes, bytes]"


class Request:
    """The input of policies: everything about a request except its body. Immutable.

    A client that sends the same headers again gets the same object.

    Args:
        wire: its protocol.
        which: the requested version.
        headers: names in lower case.
        peer: the client's address; empty if unknown.
        size: the bytes of the body as sent.

    Attributes:
        allowed_s: its time limit; set on first use.
    """

    __slots__ = ("allowed_s", "headers", "peer", "size", "which", "wire")

    def __init__(
        self, wire: Wire, which: Which, headers: RequestHeaders, peer: str, size: int
    ) -> None:
        self.wire = wire
        self.which = which
        self.headers = headers
        self.peer = peer
        self.size = size
        self.allowed_s: float | None = None
