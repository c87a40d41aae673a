"""Messages of requests and statuses of errors, without gRPC: recorded requests are these too."""

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
# How protobuf's parser says that it was given no memory; it has no class of its own for that.
_NO_MEMORY = "alloc failed"
_MAX_MESSAGES = 2**15  # within it: axes of shapes, entries of maps


def parse(kind: type[M], data: bytes, name: str = "") -> M:
    """The message in the bytes of a request.

    Args:
        kind: of message.
        data: of the request.
        name: of the message as clients know it, where it is another.

    Raises:
        InvalidArgumentError: there is none, or it holds more than a request can need.
        MemoryError: the process has no memory for it.
    """
    message = kind()
    try:
        check_fields(data, kind)
        merge(message, data)
    except DecodeError as error:
        if _NO_MEMORY in str(error):
            raise MemoryError("there is not enough memory for the request") from None
        raise InvalidArgumentError(f"The request is no {name or kind.DESCRIPTOR.name}") from None
    return message


def check_fields(data: bytes, kind: type[Message]) -> None:
    """Raise if a message has more fields, or holds more messages, than a request can need.

    Args:
        data: of the message.
        kind: of message.

    Raises:
        DecodeError: it is none of this kind.
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
    """The version that a ModelSpec names.

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
    """The version that a name and a number in decimal digits name; no number for the newest.

    Raises:
        InvalidArgumentError: the number is none.
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
    """An error as a reply: the canonical code is its status, the message its body."""
    return Reply(public_message(error).encode("utf-8", "replace"), canonical_code(error))
