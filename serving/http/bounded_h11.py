"""A connection parsed by h11, for installations without httptools."""

from __future__ import annotations

from uvicorn.protocols.http.h11_impl import H11Protocol

from pinnace.serving.http.connections import Bounded


class BoundedH11(Bounded, H11Protocol):  # type: ignore[misc]  # asyncio wants any transport
    """A connection parsed by h11, which limits the size of headers itself, see `uvicorn.Config`."""

    def data_received(self, data: bytes) -> None:
        """Handle bytes of one or several requests."""
        before = self.cycle
        if before is None or before.response_complete:
            self._await_head()
        super().data_received(data)
        if self.cycle is not before:
            self._end_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse data that h11 cannot parse."""
        self.refuse(400, msg)
