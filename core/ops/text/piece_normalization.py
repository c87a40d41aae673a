"""SentencePiece's normalization: replaced characters, visible spaces, offsets."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from pinnace.framework.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.proto.piece_model_pb2 import PieceNormalization

SPACE = "\u2581".encode()
_INVALID = "\ufffd".encode()
_SIZES = (*(1,) * 12, 2, 2, 3, 4)  # bytes of a character, by the first four bits


def character_size(text: bytes, at: int) -> int:
    """The number of bytes of the character at `at`, by its first byte."""
    return min(_SIZES[text[at] >> 4], len(text) - at)


class Symbols:
    """Texts that are never split.

    Args:
        texts: the symbols, none of them empty.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._by_first: dict[int, list[bytes]] = {}
        for text in sorted(texts, key=len, reverse=True):
            self._by_first.setdefault(text[0], []).append(text)

    def size(self, text: bytes, at: int) -> int:
        """The number of bytes of the longest symbol at `at`; 0 if there is none."""
        for symbol in self._by_first.get(text[at], ()):
            if text.startswith(symbol, at):
                return len(symbol)
        return 0


class Replacements:
    """A table of texts and their replacements, as a double-array trie of the library Darts.

    Args:
        content: the size of the array in bytes, the array, and texts that end with a zero byte.

    Raises:
        InternalError: the table is damaged.
    """

    def __init__(self, content: bytes) -> None:
        size = struct.unpack_from("<I", content)[0] if len(content) > 4 else 0
        if not 4 <= size < len(content) - 4 or size % 4:
            raise InternalError(
                "SentencepieceOp: the model's rules of normalization are damaged: they tell "
                f"{size} bytes of {len(content)} as an array"
            )
        self._units = list(struct.unpack_from(f"<{size // 4}I", content, 4))
        self._texts = content[4 + size :]

    def find(self, text: bytes, at: int) -> tuple[bytes, int] | None:
        """The replacement for the longest key of the table at `at`, and the key's length."""
        units, count = self._units, len(self._units)
        place, best, found = _offset(units[0]), 0, 0
        for end in range(at, len(text)):
            place ^= text[end]
            if place >= count:
                break
            unit = units[place]
            if unit & 0x800000FF != text[end]:
                break
            place ^= _offset(unit)
            if unit & 0x100 and place < count:
                best, found = end + 1 - at, units[place] & 0x7FFFFFFF
        if not best:
            return None
        return self._texts[found : self._texts.find(b"\0", found)], best


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)


class Normalizer:
    """The changes that a model makes to texts before they are cut.

    Args:
        rules: rules of the model.
        symbols: texts that stay as they are.
        is_suffix: whether a space belongs to the word before it.
    """

    def __init__(
        self, rules: PieceNormalization, symbols: Symbols | None = None, *, is_suffix: bool = False
    ) -> None:
        content = rules.precompiled_charsmap
        self._replacements = Replacements(content) if content else None
        self._symbols = symbols
        self._is_suffix = is_suffix
        self._adds, self._removes = rules.add_dummy_prefix, rules.remove_extra_whitespaces
        self._space = SPACE if rules.escape_whitespaces else b" "

    def _prefix(self, text: bytes, at: int) -> tuple[bytes, int]:
        """The replacement for the text at `at`, and the number of bytes it replaces."""
        size = self._symbols.size(text, at) if self._symbols else 0
        if size:
            return text[at : at + size], size
        found = self._replacements.find(text, at) if self._replacements else None
        if found is not None:
            return found
        size = character_size(text, at)
        character = text[at : at + size]
        try:
            character.decode()
        except UnicodeDecodeError:
            return _INVALID, 1
        return character, size

    def normalized(self, text: bytes) -> tuple[bytes, list[int]]:
        """The normalized text, and the offset in `text` for each of its bytes and its end."""
        at = self._start(text)
        out, origins = bytearray(), list[int]()
        if at == len(text):
            return b"", [0]

        def add(part: bytes) -> None:
            out.extend(part)
            origins.extend([at] * len(part))

        if self._adds and not self._is_suffix:
            add(self._space)
        after_space = self._removes
        while at < len(text):
            found, size = self._prefix(text, at)
            if after_space:
                found = found.lstrip(b" ")
            if found:
                add(found.replace(b" ", self._space))
                after_space = self._removes and found.endswith(b" ")
            at += size
        while self._removes and out.endswith(self._space):
            kept = len(out) - len(self._space)
            at = origins[kept]
            del out[kept:], origins[kept:]
        if self._adds and self._is_suffix:
            add(self._space)
        origins.append(at)
        return bytes(out), origins

    def _start(self, text: bytes) -> int:
        """The offset of the first character that is not a space; 0 if spaces are kept."""
        at = 0
        while self._removes and at < len(text):
            found, size = self._prefix(text, at)
            if found != b" ":
                break
            at += size
        return at
