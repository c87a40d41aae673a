"""Building strings: UnicodeEncode, UnicodeTranscode, StringNGrams."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import INDEX, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.memory import POINTER, claim, counted, joined
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, attr, typed
from pinnace.ops.registry import define, same_as_input
from pinnace.ops.strings.elements import map_strings, shown, strings_of
from pinnace.ops.strings.encodings import check_replacement, codec_of, decoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import InferCall

__all__ = ["unicode_transcode"]

_OUTPUT = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
_SURROGATES = range(0xD800, 0xE000)


def _encoded(points: Sequence[int], encoding: str, errors: str, replacement: int) -> bytes:
    letters = []
    for point in points:
        if not 0 <= point <= 0x10FFFF or point in _SURROGATES:
            if errors == "strict":
                raise InvalidArgumentError(f"UnicodeEncode: {point} is no code point")
            if errors == "ignore":
                continue
            point = replacement
        letters.append(chr(point))
    return "".join(letters).encode(encoding.lower())


@takes_composites(values=1)
def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Every string converted to another encoding.

    Args:
        input: [...], string.
        input_encoding: "UTF-8", "UTF-16", "UTF-32", "US-ASCII", "ISO-8859-1", "Shift_JIS" or
            another text encoding; a byte order mark tells the order of the second and third.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: "replace", "strict" (refuse) or "ignore" what is not of the first encoding.
        replacement_char: the code point that stands for it.
        replace_control_characters: whether control characters below the space are treated as it is.
        name: name of the node while tracing.
    """
    return execute_one(
        UNICODE_TRANSCODE,
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=int(replacement_char),
        replace_control_characters=bool(replace_control_characters),
        name=name,
    )


def _transcode_kernel(
    input: Array,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> Array:
    who = "UnicodeTranscode"
    source = codec_of(input_encoding, who)
    check_replacement(replacement_char, who)

    # Even in strict mode, UnicodeDecode replaces control characters.
    refused = replace_control_characters and errors == "strict"
    replaced = replace_control_characters and not refused

    def change(item: bytes) -> bytes:
        if source == "utf-8" and not replace_control_characters:
            try:
                return item.decode().encode(output_encoding)
            except UnicodeDecodeError:
                pass
        points, _ = decoded(item, source, errors, replacement_char, replaced)
        if refused and (points < ord(" ")).any():
            raise InvalidArgumentError(
                f"{who}: Invalid formatting on input string: a control character in {shown(item)}"
            )
        return _encoded(points.tolist(), output_encoding, errors, replacement_char)

    return map_strings(change, input)


UNICODE_TRANSCODE = define(
    name="UnicodeTranscode",
    signature="input: string -> output: string",
    attrs={
        "input_encoding": attr("string"),
        "output_encoding": attr("string", allowed=_OUTPUT),
        "errors": attr("string", default="replace", allowed=("strict", "replace", "ignore")),
        "replacement_char": attr("int", default=65533),
        "replace_control_characters": attr("bool", default=False),
    },
    infer=same_as_input,
    kernel=_transcode_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)


def _encode_kernel(
    input_values: Array,
    input_splits: Array,
    *,
    errors: str,
    output_encoding: str,
    replacement_char: int,
) -> Array:
    splits = input_splits.tolist()
    if not splits or splits[0] != 0 or splits[-1] != len(input_values):
        raise InvalidArgumentError(
            f"UnicodeEncode: input_splits must go from 0 to {len(input_values)}, got {splits}"
        )
    if (input_splits[1:] < input_splits[:-1]).any():
        raise InvalidArgumentError(f"UnicodeEncode: input_splits must not fall, got {splits}")
    try:
        text = input_values.astype("<u4").tobytes().decode("utf-32-le")
    except UnicodeDecodeError:
        pass  # not all are code points
    else:
        encode = operator.methodcaller("encode", output_encoding)
        if splits == list(range(len(text) + 1)):
            letters = {letter: encode(letter) for letter in set(text)}
            return strings_of(map(letters.__getitem__, text), (len(text),))
        parts = (encode(text[a:b]) for a, b in itertools.pairwise(splits))
        return strings_of(parts, (len(splits) - 1,))
    points = input_values.tolist()
    rows = [
        _encoded(points[a:b], output_encoding, errors, replacement_char)
        for a, b in itertools.pairwise(splits)
    ]
    return strings_of(rows, (len(rows),))


def _rows(call: InferCall, index: int) -> int | None:
    splits = call.spec(index).shape
    return None if not splits.rank or splits[0] is None else splits[0] - 1


UNICODE_ENCODE = define(
    name="UnicodeEncode",
    signature="input_values: int32, input_splits: Tsplits -> output: string",
    types={"Tsplits": typed(INDEX, default=int64)},
    attrs={
        "errors": attr("string", default="replace", allowed=("ignore", "replace", "strict")),
        "output_encoding": attr("string", allowed=_OUTPUT),
        "replacement_char": attr("int", default=65533),
    },
    infer=lambda call: Shape([_rows(call, 1)]),
    kernel=_encode_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _ngrams_kernel(
    data: Array,
    data_splits: Array,
    *,
    separator: Any,
    ngram_widths: tuple[int, ...],
    left_pad: Any,
    right_pad: Any,
    pad_width: int,
    preserve_short_sequences: bool,
) -> tuple[Array, Array]:
    if data.ndim != 1 or data_splits.ndim != 1:
        raise InvalidArgumentError(
            "StringNGrams: data and data_splits must be vectors, got shapes "
            f"{list(data.shape)} and {list(data_splits.shape)}"
        )
    splits = data_splits.tolist()
    words = data.tolist()
    if splits and (splits[0] != 0 or splits[-1] != len(words) or splits != sorted(splits)):
        raise InvalidArgumentError(
            f"StringNGrams: data_splits must go from 0 to {len(words)}, got {splits}"
        )
    if not words:  # TensorFlow: no n-grams of padding alone either
        return strings_of([], (0,)), np.zeros_like(data_splits)
    between, left, right = _bytes(separator), _bytes(left_pad), _bytes(right_pad)
    found: list[bytes] = []
    ends = [0]
    for begin, end in itertools.pairwise(splits):
        row = words[begin:end]
        before = len(found)
        for width in ngram_widths:
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            claim(POINTER * (2 * pad + len(row)))
            padded = [left] * pad + row + [right] * pad
            runs = range(len(padded) - width + 1)
            found += counted(joined(between, padded[at : at + width]) for at in runs)
        if preserve_short_sequences and len(found) == before and row:
            # TensorFlow: all words, padded as for the shortest n-gram.
            width = min(ngram_widths)
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            found.append(joined(between, [left] * pad + row + [right] * pad))
        ends.append(len(found))
    return strings_of(found, (len(found),)), np.array(ends, data_splits.dtype)


STRING_NGRAMS = define(
    name="StringNGrams",
    signature="data: string, data_splits: Tsplits -> ngrams: string, ngrams_splits: Tsplits",
    types={"Tsplits": typed(INDEX, default=int64)},
    attrs={
        "separator": attr("string"),
        "ngram_widths": attr("list(int)"),
        "left_pad": attr("string"),
        "right_pad": attr("string"),
        "pad_width": attr("int"),
        "preserve_short_sequences": attr("bool"),
    },
    infer=lambda call: (
        Shape([None]),
        call.spec(1).shape if call.spec(1).shape.rank == 1 else Shape([None]),
    ),
    kernel=_ngrams_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
