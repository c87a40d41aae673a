"""Words split into pieces of a vocabulary: WordpieceTokenizeWithOffsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define
from pinnace.ops.state.tables import table_of
from pinnace.ops.strings.elements import strings_of
from pinnace.ops.text.splitting import Pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.tensor import Array
    from pinnace.ops.state.table_state import Table

__all__: list[str] = []

_OP = "WordpieceTokenizeWithOffsets"
_ABSENT = np.array(-1, np.int64)


class _Rule(NamedTuple):
    """The rule by which words are cut.

    Args:
        suffix: put before a piece that does not begin a word.
        longest_word: in bytes; a longer word is unknown.
        longest_piece: in characters; 0 for no limit.
        unknown: the piece for unknown words; None keeps the words.
        by_character: whether of a word that cannot be cut the characters alone are unknown.
    """

    suffix: bytes
    longest_word: int
    longest_piece: int
    unknown: bytes | None
    by_character: bool


def _ends(word: bytes) -> list[int]:
    """The end offsets of characters; an invalid byte counts as one."""
    if word.isascii():
        return list(range(1, len(word) + 1))
    text = word.decode("utf-8", "surrogateescape")
    sizes = [len(character.encode("utf-8", "surrogateescape")) for character in text]
    return np.cumsum(sizes).tolist()  # type: ignore[no-any-return]


class _Vocabulary:
    """The membership of pieces in a table, looked up once per piece."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._known: dict[bytes, bool] = {}

    def __contains__(self, piece: bytes) -> bool:
        known = self._known.get(piece)
        if known is None:
            found = self._table.find(_OP, strings_of([piece], (1,)), _ABSENT)
            known = self._known[piece] = int(found[0]) != -1
        return known


def _cut(
    word: bytes, rule: _Rule, vocabulary: _Vocabulary
) -> Iterator[tuple[bytes, int, int]] | None:
    """The longest pieces from the left; None if some part is not in the vocabulary."""
    ends, found = _ends(word), []
    start = first = 0
    while start < len(word):
        last = len(ends) if not rule.longest_piece else min(len(ends), first + rule.longest_piece)
        before = rule.suffix if start else b""
        for at in range(last, first, -1):
            piece = before + word[start : ends[at - 1]]
            if piece in vocabulary:
                break
        else:
            if not rule.by_character:
                return None
            at = first + 1
            piece = before + (rule.unknown or word[start : ends[first]])
        found.append((piece, start, ends[at - 1]))
        start, first = ends[at - 1], at
    return iter(found)


def _kernel(
    input_values: Array,
    vocab_lookup_table: Array,
    *,
    suffix_indicator: str | bytes,
    max_bytes_per_word: int,
    max_chars_per_token: int,
    use_unknown_token: bool,
    unknown_token: str | bytes,
    split_unknown_characters: bool,
    output_row_partition_type: str,
) -> tuple[Array, ...]:
    table = table_of(_OP, vocab_lookup_table)
    if (table.key_dtype, table.value_dtype) != (dtypes.string, dtypes.int64):
        raise InvalidArgumentError(f"{_OP}: the vocabulary must map string to int64: {table}")
    rule = _Rule(
        _bytes(suffix_indicator),
        max_bytes_per_word,
        max(max_chars_per_token, 0),
        _bytes(unknown_token) if use_unknown_token else None,
        split_unknown_characters,
    )
    vocabulary, pieces = _Vocabulary(table), Pieces()
    for word in input_values.reshape(-1).tolist():
        if len(word) > rule.longest_word:
            # TensorFlow Text: the end offset of such a word is that of the token that replaces it.
            piece = word if rule.unknown is None else rule.unknown
            pieces.add(piece, 0, len(piece))
        else:
            found = _cut(word, rule, vocabulary)
            whole = word if rule.unknown is None else rule.unknown
            for piece in [(whole, 0, len(word))] if found is None else found:
                pieces.add(*piece)
        pieces.end_row()
    rows = np.array(pieces.splits, np.int64)
    if output_row_partition_type == "row_lengths":
        rows = np.diff(rows)
    offsets = (np.array(part, np.int64) for part in (pieces.starts, pieces.ends))
    return pieces.values, rows, *offsets


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _infer(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(0).shape.rank not in {None, 1}:
        call.fail("input_values must be a vector")
    kind = call.attrs["output_row_partition_type"]
    if kind not in {"row_lengths", "row_splits"}:
        call.fail(f"output_row_partition_type must be row_lengths or row_splits, got {kind!r}")
    count = call.spec(0).shape[0] if call.spec(0).shape.rank == 1 else None
    if count is not None and kind == "row_splits":
        count += 1
    unknown = Shape([None])
    return unknown, Shape([count]), unknown, unknown


WORDPIECE = define(
    name=_OP,
    signature=(
        "input_values: string, vocab_lookup_table: resource -> output_values: string, "
        "output_row_lengths: int64, start_values: int64, limit_values: int64"
    ),
    attrs={
        "suffix_indicator": attr("string"),
        "max_bytes_per_word": attr("int"),
        "max_chars_per_token": attr("int", default=0),
        "use_unknown_token": attr("bool"),
        "unknown_token": attr("string"),
        "split_unknown_characters": attr("bool", default=False),
        "output_row_partition_type": attr("string", default="row_lengths"),
    },
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)
