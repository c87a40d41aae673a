"""Splitting of strings: StringSplitV2, UnicodeDecodeWithOffsets.

Their results are the components of sparse and ragged tensors, which functions in `composites`
create.
"""

import itertools
import re

import numpy as np

from pinnace.framework.dtypes import INDEX, DType, int64
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array
from pinnace.ops.array.axes import require_rank
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr, typed
from pinnace.ops.registry import define
from pinnace.ops.strings.elements import slices_of, strings_of
from pinnace.ops.strings.encodings import check_replacement, codec_of, decoded, decoded_together

__all__: list[str] = []

_PIECE = 1 << 15  # bytes of text that are split at a time
_TOGETHER = 1 << 10  # strings that are decoded at a time


def parts_of(text: bytes, separator: bytes, most: int) -> list[bytes]:
    """`text` split at `separator`, or at white space if empty; at most `most` times if >= 0."""
    if most == 0:
        return [text]
    if most < 0 and len(text) > _PIECE:
        return _parts_of_pieces(text, separator)
    if separator:
        return text.split(separator, most)
    parts = text.split(None, most)
    if len(parts) == most:
        # TensorFlow: the remainder is a part even if it is empty.
        parts.append(b"")
    return parts


def _parts_of_pieces(text: bytes, separator: bytes) -> list[bytes]:
    """All parts of a long text, split piece by piece so that other threads can run in between."""
    parts: list[bytes] = []
    begin, size = 0, _PIECE
    while begin + size < len(text):
        piece = text[begin : begin + size]
        found = piece.split(separator or None)
        # The part after the last separator may continue in the next piece.
        rest = b"" if not separator and piece[-1:].isspace() else found.pop()
        if len(rest) == size:
            size *= 2
        else:
            begin, size = begin + size - len(rest), _PIECE
            parts += found
    return parts + text[begin:].split(separator or None)


_DECODE_ATTRS = {
    "input_encoding": attr("string"),
    "errors": attr("string", default="replace", allowed=("strict", "replace", "ignore")),
    "replacement_char": attr("int", default=65533),
    "replace_control_characters": attr("bool", default=False),
}


def _sparse(rows: list[list[bytes]]) -> tuple[Array, Array, Array]:
    """Rows of parts as a sparse tensor: indices, values, dense shape."""
    counts = np.array([len(row) for row in rows], np.int64)
    total = int(counts.sum())
    indices = np.empty((total, 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(rows)), counts)
    indices[:, 1] = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    values = strings_of(itertools.chain.from_iterable(rows), (total,))
    return indices, values, np.array([len(rows), counts.max(initial=0)], np.int64)


def _split_kernel(input: Array, sep: Array, *, maxsplit: int) -> tuple[Array, Array, Array]:
    separator = bytes(sep.reshape(-1)[0])
    return _sparse([parts_of(item, separator, maxsplit) for item in input.tolist()])


def _infer_split(call: InferCall) -> tuple[Shape, ...]:
    require_rank(call, 0, 1, "input must be a vector")
    require_rank(call, 1, 0, "sep must be a scalar")
    return Shape([None, 2]), Shape([None]), Shape([2])


STRING_SPLIT_V2 = define(
    name="StringSplitV2",
    signature="input: string, sep: string -> indices: int64, values: string, shape: int64",
    attrs={"maxsplit": attr("int", default=-1)},
    infer=_infer_split,
    kernel=_split_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _infer_decode(call: InferCall) -> tuple[Shape, ...]:
    count = call.spec(0).shape.num_elements()
    splits = Shape([None if count is None else count + 1])
    return (splits, Shape([None]), Shape([None]))[: len(call.op.outputs)]


def _decode_kernel(
    input: Array,
    *,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,  # noqa: N803 (the attribute's name)
) -> tuple[Array, Array, Array]:
    encoding = codec_of(input_encoding, "UnicodeDecode")
    check_replacement(replacement_char, "UnicodeDecode")
    counts, points, starts = [], [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    plain = encoding == "utf-8" and not replace_control_characters
    for _, items in slices_of(input, _TOGETHER):
        found = decoded_together(items) if plain else None
        if found is None:
            rows = [
                decoded(item, encoding, errors, replacement_char, replace_control_characters)
                for item in items
            ]
            counts += [len(row) for row, _ in rows]
            points += [row for row, _ in rows]
            starts += [row for _, row in rows]
        else:
            counts += found[0].tolist()
            points.append(found[1])
            starts.append(found[2])
    splits = np.zeros(len(counts) + 1, Tsplits.numpy)
    splits[1:] = np.cumsum(counts)
    return splits, np.concatenate(points).astype(np.int32), np.concatenate(starts)


UNICODE_DECODE_WITH_OFFSETS = define(
    name="UnicodeDecodeWithOffsets",
    signature=(
        "input: string -> row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64"
    ),
    types={"Tsplits": typed(INDEX, default=int64)},
    attrs=_DECODE_ATTRS,
    infer=_infer_decode,
    kernel=_decode_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _decode_without_offsets_kernel(
    input: Array,
    *,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,  # noqa: N803 (the attribute's name)
) -> tuple[Array, Array]:
    splits, points, _ = _decode_kernel(
        input,
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        Tsplits=Tsplits,
    )
    return splits, points


UNICODE_DECODE = define(
    name="UnicodeDecode",
    signature="input: string -> row_splits: Tsplits, char_values: int32",
    types={"Tsplits": typed(INDEX, default=int64)},
    attrs=_DECODE_ATTRS,
    infer=_infer_decode,
    kernel=_decode_without_offsets_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _split_old_kernel(
    input: Array, delimiter: Array, *, skip_empty: bool
) -> tuple[Array, Array, Array]:
    letters = delimiter.item()
    # Each byte of the delimiter separates; without a delimiter every byte is a piece.
    cut = re.compile(b"[" + re.escape(letters) + b"]") if letters else None
    rows = []
    for text in input.tolist():
        if cut is None:
            rows.append([text[n : n + 1] for n in range(len(text))])
        else:
            # TensorFlow: an empty text has no piece, not an empty one.
            pieces = cut.split(text) if text else []
            rows.append([piece for piece in pieces if piece] if skip_empty else pieces)
    return _sparse(rows)


def _infer_split_old(call: InferCall) -> tuple[Shape, ...]:
    call.spec(0).shape.with_rank(1)
    call.spec(1).shape.with_rank(0)
    return Shape([None, 2]), Shape([None]), Shape([2])


STRING_SPLIT: OpDef = define(
    name="StringSplit",
    signature="input: string, delimiter: string -> indices: int64, values: string, shape: int64",
    attrs={"skip_empty": attr("bool", default=True)},
    infer=_infer_split_old,
    kernel=_split_old_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
