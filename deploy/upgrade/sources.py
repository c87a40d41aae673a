"""A source file: its bytes as a text, and a text as its bytes."""

from __future__ import annotations

import io
import tokenize
from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from pinnace.deploy.upgrade.findings import Finding, Level
from pinnace.deploy.upgrade.program import Upgraded, upgrade_program

if TYPE_CHECKING:
    from pinnace.deploy.upgrade.options import Options


def upgrade_source(content: bytes, options: Options) -> tuple[bytes, Upgraded]:
    """Upgrade a file of Python.

    Its encoding, the mark at its beginning, the ends of its lines and all that is not rewritten
    stay.

    Args:
        content: of the file, in the encoding that it declares; UTF-8 if it declares none.
        options: how.

    Returns:
        The new content, and what is told of it.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        mark = BOM_UTF8 if content.startswith(BOM_UTF8) else b""
        text = content[len(mark) :].decode("utf-8" if mark else encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        what = f"this is no text in the encoding that it declares: {error}."
        finding = Finding(1, 0, Level.ERROR, what, remedy="Save it as UTF-8.")
        return content, Upgraded("", (finding,), read=False)
    upgraded = upgrade_program(text, options)
    if upgraded.text == text:
        return content, upgraded
    return mark + upgraded.text.encode("utf-8" if mark else encoding), upgraded
