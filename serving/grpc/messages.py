"""Messages of requests and statuses of errors, without gRPC: recorded requests are these too."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import DecodeError, Message

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.calls import Reply
from pinnace.serving.errors import canonical_code, public_message
from pinnace.serving.repository import Which

if TYPE_CHECKING:
    from pinnace.proto.inference_pb2 import ModelSpec

M = TypeVar("M", bound=Message)


def parse(kind: type[M], data: bytes) -> M:
    """The message in the bytes of a request.

    Raises:
        InvalidArgumentError: there is none.
    """
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise InvalidArgumentError(f"The request is no {kind.DESCRIPTOR.name}") from None
    return message


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
        raise InvalidArgumentError(f"model_version must be a number, got '{number[:40]}'")
    return Which(name, int(number))


def refusal(error: BaseException) -> Reply:
    """An error as a reply: the canonical code is its status, the message its body."""
    return Reply(public_message(error).encode("utf-8", "replace"), canonical_code(error))
