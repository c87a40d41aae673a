"""The facts about a request before its body is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.models.tables import Which
    from pinnace.serving.requests.wires import Wire

RequestHeaders: TypeAlias = "Mapping[bytes, bytes]"


class Request:
    """The input of policies: everything about a request but its body. Immutable.

    A client that sends the same headers again gets the same object.

    Args:
        wire: its protocol.
        which: the version that it asks for.
        headers: names in lower case.
        peer: address that it came from; empty if unknown.
        size: bytes of the body as it came.

    Attributes:
        allowed_s: how long it may take; set on first use.
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
