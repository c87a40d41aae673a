"""Files of protobuf's text format, as TensorFlow Serving's flags name them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pinnace.framework.errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_MAX_FILE_BYTES = 16 * 2**20


def read_text(path: str | Path, parse: Callable[[str], T]) -> T:
    """Read and parse a text file.

    Args:
        path: the file.
        parse: the parser of its text.

    Raises:
        NotFoundError: the file cannot be read.
        InvalidArgumentError: the file is too long, not UTF-8, or refused by `parse`; the message
            names the file.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MAX_FILE_BYTES:
        raise InvalidArgumentError(f"{path}: longer than {_MAX_FILE_BYTES} bytes")
    try:
        return parse(data.decode())
    except (InvalidArgumentError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"{path}: {error}") from None
