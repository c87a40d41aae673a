"""A source file: decoding to text, and encoding back."""

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
    """Upgrade a Python file.

    Its encoding, byte order mark, line endings and everything that is not rewritten are preserved.

    Args:
        content: the file's content in its declared encoding; UTF-8 by default.
        options: the options.

    Returns:
        The new content, and the result for its text.
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
