"""The protocol interface for inference: bytes to feeds, outputs to bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.serving.models.servable import Servable
    from pinnace.serving.requests.reply import Reply
    from pinnace.serving.running.sequences import Mark
    from pinnace.serving.running.signatures import Arrays


class Decoded:
    """A decoded request.

    Args:
        signature_name: the signature to run.
        feeds: arrays by input name; not yet checked against the signature.
        encode: encodes the outputs as a reply.
        joined: encodes the replies of all requests of one run that have this same object; None if
            `encode` must encode each.
        sequence: its position in a sequence; None if it is in none.
    """

    __slots__ = ("encode", "feeds", "joined", "sequence", "signature_name")

    def __init__(
        self,
        signature_name: str,
        feeds: Arrays,
        encode: Callable[[Arrays], Reply],
        joined: JoinedReplies | None = None,
        sequence: Mark | None = None,
    ) -> None:
        self.signature_name = signature_name
        self.feeds = feeds
        self.encode = encode
        self.joined = joined
        self.sequence = sequence


class JoinedReplies(Protocol):
    """Encodes the replies of several requests that share a run."""

    def encode_rows(self, outputs: Arrays, rows: Sequence[int]) -> list[Reply] | None:
        """Return the replies that `Decoded.encode` would return for each request's rows.

        Args:
            outputs: the run's outputs, with the rows of all requests, and perhaps padding.
            rows: the number of rows of each request, in order.

        Returns:
            None if it cannot.
        """


class Wire(Protocol):
    """One kind of inference request of one protocol."""

    @property
    def api(self) -> str:
        """The name in metrics, such as `predict`."""

    @property
    def entrypoint(self) -> str:
        """The entry point's name in metrics: `REST` or `GRPC`."""

    def decode(self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], /) -> Decoded:
        """Parse the request body. May run in any thread.

        Args:
            servable: the version that will answer.
            body: the decompressed body.
            headers: names in lower case.

        Raises:
            OpError: the body is invalid.
        """

    def is_quick(
        self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], begin: int, /
    ) -> bool:
        """Whether a large body is decoded without reading its values, and so on the event loop.

        Args:
            servable: the version that will answer.
            body: the decompressed body, preceded by other bytes.
            headers: names in lower case.
            begin: the offset of the body in these bytes.
        """

    def refuse(self, error: BaseException) -> Reply:
        """Return the reply for an error, in this protocol's form."""


class HotWire(Wire, Protocol):
    """A wire of the hot front, which decodes the body in place, without copying it."""

    def decode(
        self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], begin: int = 0, /
    ) -> Decoded:
        """Parse the request body. May run in any thread.

        Args:
            servable: the version that will answer.
            body: the decompressed body, preceded by other bytes.
            headers: names in lower case.
            begin: the offset of the body in these bytes.

        Raises:
            OpError: the body is invalid.
        """
