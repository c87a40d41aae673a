"""Strings taken apart: StringSplitV2, UnicodeDecodeWithOffsets.

Their results are the parts of sparse and ragged tensors; the functions that make those stand there.
"""

import re

import numpy as np

from pinnace.framework.dtypes import INDEX, DType, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array
from pinnace.ops.array.axes import require_rank
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr, typed
from pinnace.ops.registry import register
from pinnace.ops.strings.elements import strings_of

__all__: list[str] = []

_ENCODINGS = {
    "UTF-8": "utf-8",
    "UTF-16-BE": "utf-16-be",
    "UTF-32-BE": "utf-32-be",
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
}
_SPACE = b" \t\n\v\f\r"


def parts_of(text: bytes, separator: bytes, most: int) -> list[bytes]:
    """`text` cut at `separator`, at white space if that is empty, at most `most` times if >= 0."""
    if most == 0:
        return [text]
    if separator:
        return text.split(separator, most)
    parts = []
    rest = text.lstrip(_SPACE)
    while rest:
        word = rest.split(None, 1)[0]
        parts.append(word)
        rest = rest[len(word) :].lstrip(_SPACE)
        if most == len(parts):
            # TensorFlow: what is left is a part, also if it is empty.
            return [*parts, rest]
    return parts


def _split_kernel(input: Array, sep: Array, *, maxsplit: int) -> tuple[Array, Array, Array]:
    separator = bytes(sep.reshape(-1)[0])
    rows = [parts_of(item, separator, maxsplit) for item in input.tolist()]
    values = [part for row in rows for part in row]
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    indices = np.array(places, np.int64).reshape(-1, 2)
    shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
    return indices, strings_of(values, (len(values),)), shape


def _infer_split(call: InferCall) -> tuple[Shape, ...]:
    require_rank(call, 0, 1, "input must be a vector")
    require_rank(call, 1, 0, "sep must be a scalar")
    return Shape([None, 2]), Shape([None]), Shape([2])


def decoded(
    text: bytes, encoding: str, errors: str, replacement: int, controls: bool
) -> tuple[list[int], list[int]]:
    """The code points of `text`, and where the bytes of each begin.

    Args:
        text: bytes.
        encoding: Python's name of the encoding.
        errors: "strict", "replace" or "ignore" what is not of that encoding.
        replacement: the code point that stands for it.
        controls: also replace, or leave out, the control characters below the space.

    Raises:
        InvalidArgumentError: `errors` is strict, and there is something to replace.
    """
    points: list[int] = []
    starts: list[int] = []
    place = 0
    while place < len(text):
        try:
            good, bad_end = text[place:].decode(encoding), len(text)
            stop = len(text)
        except UnicodeDecodeError as error:
            stop = place + error.start
            bad_end = place + error.end
            good = text[place:stop].decode(encoding)
        for char in good:
            code = ord(char)
            control = controls and code < 32
            if control and errors == "strict":
                message = f"UnicodeDecode: control character at byte {place} of {text!r}"
                raise InvalidArgumentError(message)
            if not control or errors != "ignore":
                starts.append(place)
                points.append(replacement if control else code)
            place += len(char.encode(encoding))
        if stop < len(text):
            if errors == "strict":
                message = f"UnicodeDecode: invalid {encoding} at byte {stop} of {text!r}"
                raise InvalidArgumentError(message)
            if errors == "replace":
                points.append(replacement)
                starts.append(stop)
            place = max(bad_end, stop + 1)
    return points, starts


def _decode_kernel(
    input: Array,
    *,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
    Tsplits: DType,  # noqa: N803 (the attribute's name)
) -> tuple[Array, Array, Array]:
    encoding = _ENCODINGS.get(input_encoding.upper())
    if encoding is None:
        message = (
            f"UnicodeDecode: input_encoding must be one of {sorted(_ENCODINGS)}, got "
            f"{input_encoding!r}"
        )
        raise InvalidArgumentError(message)
    points: list[int] = []
    starts: list[int] = []
    splits = [0]
    for item in input.reshape(-1).tolist():
        found, places = decoded(
            item, encoding, errors, replacement_char, replace_control_characters
        )
        points += found
        starts += places
        splits.append(len(points))
    return (
        np.array(splits, Tsplits.numpy),
        np.array(points, np.int32),
        np.array(starts, np.int64),
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


def _infer_decode(call: InferCall) -> tuple[Shape, ...]:
    count = call.spec(0).shape.num_elements()
    splits = Shape([None if count is None else count + 1])
    return (splits, Shape([None]), Shape([None]))[: len(call.op.outputs)]


_DECODE_ATTRS = {
    "input_encoding": attr("string"),
    "errors": attr("string", default="replace", allowed=("strict", "replace", "ignore")),
    "replacement_char": attr("int", default=65533),
    "replace_control_characters": attr("bool", default=False),
}
STRING_SPLIT_V2 = register(
    OpDef(
        name="StringSplitV2",
        signature="input: string, sep: string -> indices: int64, values: string, shape: int64",
        attrs={"maxsplit": attr("int", default=-1)},
        infer=_infer_split,
        kernel=_split_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
UNICODE_DECODE_WITH_OFFSETS = register(
    OpDef(
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
)
UNICODE_DECODE = register(
    OpDef(
        name="UnicodeDecode",
        signature="input: string -> row_splits: Tsplits, char_values: int32",
        types={"Tsplits": typed(INDEX, default=int64)},
        attrs=_DECODE_ATTRS,
        infer=_infer_decode,
        kernel=_decode_without_offsets_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)


def _split_old_kernel(
    input: Array, delimiter: Array, *, skip_empty: bool
) -> tuple[Array, Array, Array]:
    letters = delimiter.item()
    # Every byte of the delimiter cuts; without one, every byte is a piece.
    cut = re.compile(b"[" + re.escape(letters) + b"]") if letters else None
    rows = []
    for text in input.tolist():
        if cut is None:
            rows.append([text[n : n + 1] for n in range(len(text))])
        else:
            # TensorFlow: of an empty text there is no piece, not an empty one.
            pieces = cut.split(text) if text else []
            rows.append([piece for piece in pieces if piece] if skip_empty else pieces)
    at = [(row, n) for row, pieces in enumerate(rows) for n in range(len(pieces))]
    return (
        np.array(at, np.int64).reshape(-1, 2),
        strings_of([piece for pieces in rows for piece in pieces], (len(at),)),
        np.array([len(rows), max(map(len, rows), default=0)], np.int64),
    )


def _infer_split_old(call: InferCall) -> tuple[Shape, ...]:
    call.spec(0).shape.with_rank(1)
    call.spec(1).shape.with_rank(0)
    return Shape([None, 2]), Shape([None]), Shape([2])


STRING_SPLIT: OpDef = register(
    OpDef(
        name="StringSplit",
        signature="input: string, delimiter: string -> "
        "indices: int64, values: string, shape: int64",
        attrs={"skip_empty": attr("bool", default=True)},
        infer=_infer_split_old,
        kernel=_split_old_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
