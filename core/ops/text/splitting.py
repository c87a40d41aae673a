"""Texts split at delimiters or white space: RegexSplitWithOffsets and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall
from pinnace.ops.registry import define
from pinnace.ops.strings import patterns
from pinnace.ops.strings.elements import strings_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pinnace.framework.tensor import Array

__all__: list[str] = []


class Pieces:
    """Pieces of texts in rows, with byte offsets of starts and ends."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.splits = [0]

    def add(self, text: bytes, start: int, end: int) -> None:
        """Add a piece to the current row."""
        self.texts.append(text)
        self.starts.append(start)
        self.ends.append(end)

    def end_row(self) -> None:
        """End the current row."""
        self.splits.append(len(self.texts))

    @property
    def values(self) -> Array:
        """The pieces, [n], string."""
        return strings_of(self.texts, (len(self.texts),))


def _rows(call: InferCall) -> Shape:
    count = call.spec(0).shape.num_elements()
    return Shape([None if count is None else count + 1])


def _delimiters(expression: Any, text: bytes) -> Iterator[tuple[int, int, int]]:
    """The byte offsets of each match: start and end of its first group, and its own end."""
    if not expression.groups:  # without groups no span is requested
        return
    for match in expression.finditer(text):
        if match.end() == match.start():
            raise InvalidArgumentError(
                "RegexSplitWithOffsets: delim_regex_pattern must not match the empty text"
            )
        yield match.start(1), match.end(1), match.end()


def _regex_kernel(
    input: Array, delim_regex_pattern: Array, keep_delim_regex_pattern: Array
) -> tuple[Array, ...]:
    op = "RegexSplitWithOffsets"
    cut = patterns.compiled(op, delim_regex_pattern.item())
    kept = keep_delim_regex_pattern.item()
    keep = patterns.compiled(op, kept) if kept else None
    pieces = Pieces()
    for text in input.reshape(-1).tolist():
        last = 0
        for start, end, after in _delimiters(cut, text):
            begin = after - (end - start)
            if begin > last:
                pieces.add(text[last:begin], last, begin)
            found = text[start:end]
            if keep is not None and keep.fullmatch(found):
                pieces.add(found, start, end)
            last = after
        if last < len(text):
            pieces.add(text[last:], last, len(text))
        pieces.end_row()
    offsets = (np.array(part, np.int64) for part in (pieces.starts, pieces.ends, pieces.splits))
    return pieces.values, *offsets


def _infer_regex(call: InferCall) -> tuple[Shape, ...]:
    for index in (1, 2):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail("patterns must be scalars")
    return (Shape([None]),) * 3 + (_rows(call),)


REGEX_SPLIT = define(
    name="RegexSplitWithOffsets",
    signature=(
        "input: string, delim_regex_pattern: string, keep_delim_regex_pattern: string "
        "-> tokens: string, begin_offsets: int64, end_offsets: int64, row_splits: int64"
    ),
    infer=_infer_regex,
    kernel=_regex_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


_REPLACEMENT = 0xFFFD


def _code_points(text: bytes) -> Iterable[tuple[int, int]]:
    """The code point of each character, and the offset of the next one."""
    place = 0
    for character in text.decode("utf-8", "surrogateescape"):
        place += len(character.encode("utf-8", "surrogateescape"))
        code = ord(character)
        yield (_REPLACEMENT if 0xD800 <= code < 0xE000 else code), place


def _whitespace_kernel(input_values: Array, input_config: Array) -> tuple[Array, ...]:
    config = input_config.reshape(-1)[0]  # one bit per code point, the lowest bit of a byte first
    pieces = Pieces()
    for text in input_values.reshape(-1).tolist():
        start = place = 0
        for code, after in _code_points(text):
            if code >> 3 < len(config) and config[code >> 3] >> (code & 7) & 1:
                # A piece ends one byte before the next: TensorFlow Text leaves all but the last
                # byte of a multi-byte space with the piece.
                if place > start:
                    pieces.add(text[start : after - 1], start, after - 1)
                start = after
            place = after
        if place > start:
            pieces.add(text[start:], start, place)
        pieces.end_row()
    return (
        pieces.values,
        np.array(pieces.splits, np.int64),
        np.array(pieces.starts, np.int32),
        np.array(pieces.ends, np.int32),
    )


def _infer_whitespace(call: InferCall) -> tuple[Shape, ...]:
    unknown = Shape([None])
    return unknown, _rows(call), unknown, unknown


_WHITESPACE = (
    "input_values: string, input_config: string -> output_tokens: string, "
    "output_row_splits: int64, output_start_offsets: int32, output_end_offsets: int32"
)
WHITESPACE = define(
    name="TFText>WhitespaceTokenizeWithOffsetsV2",
    signature=_WHITESPACE,
    infer=_infer_whitespace,
    kernel=_whitespace_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
