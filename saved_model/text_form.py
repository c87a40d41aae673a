"""The text form of messages, as people write and compare it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from pathlib import Path

    from google.protobuf.message import Message

# Python code parses it, at some megabytes per second.
_LARGEST_TEXT = 256 << 20
_OWN_ANY = "[type.googleapis.com/pinnace.proto."


def parse_text(path: Path, message: Message, kind: str) -> None:
    """Fill a message from a file.

    Args:
        path: the file.
        message: an empty message.
        kind: the message's name, for errors.

    Raises:
        InvalidArgumentError: the file is too large.
        DataLossError: the file is not such a message.
    """
    from google.protobuf import text_format

    with explained("read", path), open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST_TEXT:
            raise InvalidArgumentError(
                f"{path} is larger than {_LARGEST_TEXT} bytes, too much for the text form\n"
                f"  Try: write it in the binary form, {path.with_suffix('.pb').name}"
            )
        data = file.read()
    try:
        # In the text, an Any names its message by the format's package, which differs from ours.
        text = data.decode().replace("[type.googleapis.com/tensorflow.", _OWN_ANY)
        text_format.Parse(text, message)
    except (UnicodeDecodeError, text_format.ParseError, RecursionError, ValueError) as error:
        raise DataLossError(f"{path} is damaged: not a {kind} in text form: {error}") from error
