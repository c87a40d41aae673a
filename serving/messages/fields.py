"""Parsing of request messages, and errors as replies, without gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import DecodeError, Message

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.errors import canonical_code, public_message
from pinnace.serving.messages.counting import has_few_fields, has_few_messages
from pinnace.serving.messages.pieces import merge
from pinnace.serving.models.tables import Which
from pinnace.serving.requests.reply import Reply

if TYPE_CHECKING:
    from pinnace.proto.inference_pb2 import ModelSpec

M = TypeVar("M", bound=Message)

_SMALL_BYTES = 2**16
_MAX_FIELDS = 4096  # inputs, outputs and parameters of a request together
# The message of protobuf's parser if it gets no memory; it has no error class for that.
_NO_MEMORY = "alloc failed"
_MAX_MESSAGES = 2**15  # contained in a request, including axes of shapes and map entries


def parse(kind: type[M], data: bytes, name: str = "") -> M:
    """Parse the message of a request.

    Args:
        kind: the kind of message.
        data: the request's bytes.
        name: the message's name for clients, if it differs.

    Raises:
        InvalidArgumentError: the bytes are not such a message, or hold more than requests need.
        MemoryError: the process has no memory for it.
    """
    message = kind()
    try:
        check_fields(data, kind)
        merge(message, data)
    except DecodeError as error:
        if _NO_MEMORY in str(error):
            raise MemoryError("there is not enough memory for the request") from None
        raise InvalidArgumentError(f"The request is not a {name or kind.DESCRIPTOR.name}") from None
    return message


def check_fields(data: bytes, kind: type[Message]) -> None:
    """Check that a message has no more fields and nested messages than a request can need.

    Args:
        data: the message's bytes.
        kind: the kind of message.

    Raises:
        DecodeError: the bytes are not such a message.
        InvalidArgumentError: it has more.
    """
    if len(data) <= _SMALL_BYTES:
        return
    if not has_few_fields(data, _MAX_FIELDS):
        raise InvalidArgumentError(f"The request has more than {_MAX_FIELDS} fields")
    if not has_few_messages(data, kind, _MAX_MESSAGES):
        raise InvalidArgumentError(
            f"The request holds more than {_MAX_MESSAGES} axes, entries and other messages"
        )


def which_model(spec: ModelSpec) -> Which:
    """Return the version that a ModelSpec names.

    Raises:
        InvalidArgumentError: it has no name, or a negative version.
    """
    if not spec.name:
        raise InvalidArgumentError("Missing ModelSpec: a request needs model_spec.name")
    choice = spec.WhichOneof("version_choice")
    if choice == "version":
        if spec.version.value < 0:
            raise InvalidArgumentError(f"Version {spec.version.value} must not be negative")
        return Which(spec.name, spec.version.value)
    return Which(spec.name, None, spec.version_label if choice == "version_label" else None)


def which_version(name: str, number: str) -> Which:
    """Return the version with a name and a number in decimal digits; empty for the newest.

    Raises:
        InvalidArgumentError: the text is not a number.
    """
    if not number:
        return Which(name)
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        raise InvalidArgumentError(
            "failed to get model version from specified version string "
            f"'{number[:40]}': it must be a number"
        )
    return Which(name, int(number))


def refusal(error: BaseException) -> Reply:
    """Return an error as a reply: its canonical code as the status, its message as the body."""
    return Reply(public_message(error).encode("utf-8", "replace"), canonical_code(error))
