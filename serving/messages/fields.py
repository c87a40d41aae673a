"""Messages of requests and statuses of errors, without gRPC: recorded requests are these too."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import DecodeError, Message

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.errors import canonical_code, public_message
from pinnace.serving.models.tables import Which
from pinnace.serving.requests.reply import Reply

if TYPE_CHECKING:
    from pinnace.proto.inference_pb2 import ModelSpec

M = TypeVar("M", bound=Message)

_SMALL_BYTES = 2**16
_MAX_FIELDS = 4096  # inputs, outputs and parameters of a request together
_VARINT, _LENGTH = 0, 2  # kinds of fields on the wire
_FIXED = {1: 8, 5: 4}
_LONGEST_VARINT = 10


def parse(kind: type[M], data: bytes) -> M:
    """The message in the bytes of a request.

    Raises:
        InvalidArgumentError: there is none.
    """
    check_fields(data)
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise InvalidArgumentError(f"The request is no {kind.DESCRIPTOR.name}") from None
    return message


def check_fields(data: bytes) -> None:
    """Raise if a message has more fields than a request can need.

    To read a field of two bytes can make an object of hundreds.

    Args:
        data: of the message; what lies within its fields is not looked at.

    Raises:
        InvalidArgumentError: it has more.
    """
    if len(data) > _SMALL_BYTES and not has_few_fields(data, _MAX_FIELDS):
        raise InvalidArgumentError(f"The request has more than {_MAX_FIELDS} fields")


def has_few_fields(data: bytes, most: int) -> bool:
    """Whether a message has at most so many fields, or is none; their insides do not count."""
    begin, end = 0, len(data)
    for _ in range(most):
        if begin >= end:
            return True
        tag, begin = _varint(data, begin)
        kind = tag & 7
        if kind == _LENGTH:
            size, begin = _varint(data, begin)
            begin += size
        elif kind == _VARINT:
            _, begin = _varint(data, begin)
        elif kind in _FIXED:
            begin += _FIXED[kind]
        else:
            return True  # the parser says what is wrong with it
    return begin >= end


def _varint(data: bytes, begin: int) -> tuple[int, int]:
    """A number, and where it ends; beyond the end of the data for one that is cut short."""
    value = shift = 0
    for i in range(begin, min(begin + _LONGEST_VARINT, len(data))):
        value |= (data[i] & 127) << shift
        if data[i] < 128:
            return value, i + 1
        shift += 7
    return value, len(data)


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
