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
    """A request as the model sees it.

    Args:
        signature_name: which signature to run.
        feeds: arrays by input name; not yet checked against the signature.
        encode: makes the reply from the outputs.
        joined: makes the replies of all requests of one run that have this same one; None where
            `encode` must make each.
        sequence: where it stands in a sequence; None if it is in none.
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
    """Makes the replies of a run that several requests share."""

    def encode_rows(self, outputs: Arrays, rows: Sequence[int]) -> list[Reply] | None:
        """The replies that `Decoded.encode` would make of each request's rows.

        Args:
            outputs: of the run; they have the rows of all requests, and perhaps more.
            rows: of each request, in order.

        Returns:
            None where it cannot.
        """


class Wire(Protocol):
    """One kind of inference request of one protocol."""

    @property
    def api(self) -> str:
        """The name metrics give it, as `predict`."""

    @property
    def entrypoint(self) -> str:
        """The entry point, as metrics name it: `REST` or `GRPC`."""

    def decode(self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], /) -> Decoded:
        """The request body parsed. May run in any thread.

        Args:
            servable: the version that will answer.
            body: unpacked.
            headers: names in lower case.

        Raises:
            OpError: it cannot be understood.
        """

    def is_quick(
        self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], begin: int, /
    ) -> bool:
        """Whether a large body is decoded without touching its values: on the event loop, then.

        Args:
            servable: the version that will answer.
            body: unpacked; it ends with these bytes.
            headers: names in lower case.
            begin: where it begins in them.
        """

    def refuse(self, error: BaseException) -> Reply:
        """The reply for an error, in this protocol's form."""


class HotWire(Wire, Protocol):
    """A wire of the fast front end, which decodes the body in place, without copying it."""

    def decode(
        self, servable: Servable, body: bytes, headers: Mapping[bytes, bytes], begin: int = 0, /
    ) -> Decoded:
        """The request body parsed. May run in any thread.

        Args:
            servable: the version that will answer.
            body: unpacked; it ends with these bytes.
            headers: names in lower case.
            begin: where it begins in them.

        Raises:
            OpError: it cannot be understood.
        """
