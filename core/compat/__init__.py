"""Text and bytes in either form; `v1`: what is left of version 1's names."""

from __future__ import annotations

from typing import Any

from pinnace.compat import v1 as v1


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text as bytes; bytes as they are.

    Raises:
        TypeError: neither.
    """
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"as_bytes: expected text or bytes, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes as text; text as it is.

    Raises:
        TypeError: neither.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text).decode(encoding)
    raise TypeError(f"as_text: expected text or bytes, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Bytes as text; anything else by `str`."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "v1"]
