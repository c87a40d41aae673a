"""What a protocol of inference must say: bytes to feeds, outputs to bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.serving.calls import Reply
    from pinnace.serving.servable import Arrays, Servable


@dataclass(frozen=True, slots=True)
class Decoded:
    """A request as the model sees it.

    Attributes:
        signature_name: which signature to run.
        feeds: arrays by input name; not yet checked against the signature.
        encode: makes the reply out of the outputs.
    """

    signature_name: str
    feeds: Arrays
    encode: Callable[[Arrays], Reply]


class Wire(Protocol):
    """One kind of inference request of one protocol."""

    @property
    def api(self) -> str:
        """What metrics call it, as `predict`."""

    @property
    def entrypoint(self) -> str:
        """How it came in, as metrics call it: `REST` or `GRPC`."""

    def decode(self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], /) -> Decoded:
        """What the body asks. May run in any thread.

        Args:
            servable: the version that will answer.
            body: unpacked.
            headers: names in lower case.

        Raises:
            OpError: it cannot be understood.
        """

    def refuse(self, error: BaseException) -> Reply:
        """The reply for an error, in this protocol's form."""
