"""Splitting of strings to ragged tensors: split, unicode_decode, unicode_split, ngrams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import reshaping, shapes
from pinnace.ops.composites.ragged.construction import from_tensor
from pinnace.ops.composites.ragged.partitions import splits_from_rowids
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.execute import execute
from pinnace.ops.strings import pieces, splitting

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor

__all__ = [
    "bytes_split",
    "ngrams",
    "split",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_split",
    "unicode_split_with_offsets",
]


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Each string split at a separator.

    Args:
        input: [...], string, tensor or ragged tensor.
        sep: the separator; None or "" cuts at white space, however much of it.
        maxsplit: how often to cut at most, -1 for everywhere.
        name: name of the node while tracing.

    Returns:
        Ragged [..., (pieces)]; a vector for a scalar.

    Source:
        TensorFlow op `StringSplitV2` (string_ops.cc).
    """
    between = convert_to_tensor("" if sep is None else sep, dtypes.string)

    def cut(flat: Tensor) -> RaggedTensor:
        indices, values, shape = execute(
            splitting.STRING_SPLIT_V2, flat, between, maxsplit=int(maxsplit), name=name
        )
        splits = splits_from_rowids(indices[:, 0], shape[0], validate=False)
        return RaggedTensor(values, splits, internal=True)

    return _over_strings(cut, input)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """Each string split into bytes.

    Args:
        input: [...], string, tensor or ragged tensor.
        name: name of the node while tracing.

    Returns:
        Ragged [..., (bytes)], string; a vector for a scalar.

    Source:
        TensorFlow op `StringSplit` (string_ops.cc).
    """

    def cut(flat: Tensor) -> RaggedTensor:
        indices, values, shape = execute(
            splitting.STRING_SPLIT, flat, "", skip_empty=False, name=name
        )
        splits = splits_from_rowids(indices[:, 0], shape[0], validate=False)
        return RaggedTensor(values, splits, internal=True)

    return _over_strings(cut, input)


def _over_strings(cut: Callable[[Tensor], RaggedTensor], input: Any) -> Any:
    """A function of string vectors, applied to strings in any form."""
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(_over_strings(cut, input.flat_values))
    x = convert_to_tensor(input, dtypes.string)
    rank = x.shape.rank
    if rank is None:
        raise ValueError("strings: the rank of input must be known to cut its strings into pieces")
    if rank == 0:
        return cut(reshaping.expand_dims(x, 0)).values
    if rank == 1:
        return cut(x)
    nested = from_tensor(x, ragged_rank=rank - 1)
    return nested.with_flat_values(cut(nested.flat_values))


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of each string.

    Args:
        input: [...], string, tensor or ragged tensor.
        input_encoding: "UTF-8", "UTF-16-BE", "UTF-32-BE" or another that Python knows of these.
        errors: "replace", "strict" or "ignore" what is not of that encoding.
        replacement_char: the code point that stands for it.
        replace_control_characters: whether control characters are replaced too.
        name: name of the node while tracing.

    Returns:
        Ragged [..., (characters)], int32; a vector for a scalar.

    Source:
        TensorFlow op `UnicodeDecode` (string_ops.cc).
    """
    options = _options(input_encoding, errors, replacement_char, replace_control_characters)

    def cut(flat: Tensor) -> RaggedTensor:
        splits, points = execute(splitting.UNICODE_DECODE, flat, name=name, **options)
        return RaggedTensor(points, splits, internal=True)

    return _over_strings(cut, input)


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The code points of each string, and where the bytes of each begin; see `unicode_decode`.

    Args:
        input: [...], string, tensor or ragged tensor.
        input_encoding: such as "UTF-8", "UTF-16-BE", "UTF-32-BE".
        errors: "replace", "ignore" or "strict": what invalid bytes become.
        replacement_char: the code point in their place.
        replace_control_characters: whether control characters are replaced, too.
        name: name of the node while tracing.

    Returns:
        Two [..., (characters)] ragged tensors: int32 code points, and int64 offsets in bytes.

    Raises:
        InvalidArgumentError: bytes are invalid and `errors` is "strict".
    """
    options = _options(input_encoding, errors, replacement_char, replace_control_characters)
    found: list[Any] = []

    def cut(which: int) -> Callable[[Tensor], RaggedTensor]:
        def run(flat: Tensor) -> RaggedTensor:
            if not found:
                op = splitting.UNICODE_DECODE_WITH_OFFSETS
                found.extend(execute(op, flat, name=name, **options))
            return RaggedTensor(found[which], found[0], internal=True)

        return run

    return _over_strings(cut(1), input), _over_strings(cut(2), input)


def _options(encoding: str, errors: str, replacement: int, controls: bool) -> dict[str, Any]:
    if errors not in {"strict", "replace", "ignore"}:
        raise ValueError(f"unicode: errors must be 'strict', 'replace' or 'ignore', got {errors!r}")
    return {
        "input_encoding": encoding,
        "errors": errors,
        "replacement_char": int(replacement),
        "replace_control_characters": bool(controls),
    }


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """The characters of each string, each a string of the same encoding; see `unicode_decode`.

    Args:
        input: [...], string, tensor or ragged tensor.
        input_encoding: such as "UTF-8", "UTF-16-BE", "UTF-32-BE".
        errors: "replace", "ignore" or "strict": what invalid bytes become.
        replacement_char: the code point in their place.
        name: name of the node while tracing.

    Returns:
        [..., (characters)], string, ragged.

    Raises:
        InvalidArgumentError: bytes are invalid and `errors` is "strict".
    """
    points = unicode_decode(input, input_encoding, errors, replacement_char, False, name)
    return _as_characters(points, input_encoding, errors, replacement_char)


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The characters of each string, and where the bytes of each begin.

    Args:
        input: [...], string, tensor or ragged tensor.
        input_encoding: such as "UTF-8", "UTF-16-BE", "UTF-32-BE".
        errors: "replace", "ignore" or "strict": what invalid bytes become.
        replacement_char: the code point in their place.
        name: name of the node while tracing.

    Returns:
        Two [..., (characters)] ragged tensors: strings, and int64 offsets in bytes.

    Raises:
        InvalidArgumentError: bytes are invalid and `errors` is "strict".
    """
    points, starts = unicode_decode_with_offsets(
        input, input_encoding, errors, replacement_char, False, name
    )
    return _as_characters(points, input_encoding, errors, replacement_char), starts


def _as_characters(points: Any, encoding: str, errors: str, replacement: int) -> Any:
    if isinstance(points, RaggedTensor):
        return points.with_flat_values(
            _as_characters(points.flat_values, encoding, errors, replacement)
        )
    each = RaggedTensor.from_uniform_row_length(points, 1, validate=False)
    return unicode_encode(each, encoding, errors, replacement)


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """The strings of code points, with the last axis as one string.

    Args:
        input: [..., (characters)], int32, tensor or ragged tensor.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: "replace", "strict" or "ignore" what is no code point.
        replacement_char: its replacement.
        name: name of the node while tracing.

    Returns:
        [...], string.

    Source:
        TensorFlow op `UnicodeEncode` (string_ops.cc).
    """
    x = input if isinstance(input, RaggedTensor) else convert_to_tensor(input, dtypes.int32)
    rank = x.shape.rank
    if rank is None:
        raise ValueError("unicode_encode: the rank of input must be known")
    if rank == 0:
        raise ValueError("unicode_encode: input must have at least one axis, got a scalar")
    if isinstance(x, RaggedTensor):
        if x.flat_values.shape.rank and x.flat_values.shape.rank > 1:
            flat = from_tensor(x.flat_values, row_splits_dtype=x.row_splits.dtype)
            return unicode_encode(
                x.with_flat_values(flat), output_encoding, errors, replacement_char
            )
        if x.ragged_rank > 1:
            inner = unicode_encode(x.values, output_encoding, errors, replacement_char, name)
            return x.with_values(inner)
        return execute(
            pieces.UNICODE_ENCODE,
            x.values,
            x.row_splits,
            output_encoding=output_encoding,
            errors=errors,
            replacement_char=int(replacement_char),
            name=name,
        )
    if rank == 1:
        one = RaggedTensor.from_uniform_row_length(
            x, shapes.size(x, dtypes.int64), nrows=1, validate=False
        )
        encoded = unicode_encode(one, output_encoding, errors, replacement_char, name)
        return reshaping.reshape(encoded, [])
    rows = from_tensor(x, ragged_rank=rank - 1)
    encoded = unicode_encode(rows, output_encoding, errors, replacement_char, name)
    return encoded.to_tensor() if isinstance(encoded, RaggedTensor) else encoded


def ngrams(  # noqa: C901 (one case per line)
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Every run of `ngram_width` strings of the last axis, joined.

    Args:
        data: [..., (words)], string, tensor or ragged tensor.
        ngram_width: how many strings make one; several widths one after the other.
        separator: between the strings.
        pad_values: (left, right), or one for both: what stands before and after the words.
        padding_width: how many of them; by default one less than the width.
        preserve_short_sequences: whether too few words make one run all the same.
        name: name of the node while tracing.

    Returns:
        Ragged [..., (runs)], string; a vector for a vector.

    Source:
        TensorFlow op `StringNGrams` (string_ops.cc).
    """
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if not widths or any(not isinstance(n, int) or n < 1 for n in widths):
        raise ValueError(f"ngrams: ngram_width must be at least 1, got {ngram_width!r}")
    left: Any = ""
    right: Any = ""
    if pad_values is not None:
        left, right = (
            (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
        )
    for what, text in (("separator", separator), ("pad_values", left), ("pad_values", right)):
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"ngrams: {what} must be text, got {text!r}")
    width = padding_width
    if pad_values is None:
        if padding_width is not None:
            raise ValueError("ngrams: pad_values must be given where padding_width is")
        width = 0
    elif width is None:
        width = -1
    if width is not None and pad_values is not None and padding_width is not None and width < 1:
        raise ValueError(f"ngrams: padding_width must be at least 1, got {padding_width}")
    x = data if isinstance(data, RaggedTensor) else convert_to_tensor(data, dtypes.string)
    if isinstance(x, RaggedTensor):
        if x.ragged_rank > 1:
            return x.with_values(
                ngrams(
                    x.values,
                    widths,
                    separator,
                    pad_values,
                    padding_width,
                    preserve_short_sequences,
                    name,
                )
            )
    else:
        rank = x.shape.rank
        if not rank:
            raise ValueError("ngrams: data must have a known rank of at least 1")
        if rank == 1:
            row = reshaping.expand_dims(x, 0)
            found = ngrams(
                row, widths, separator, pad_values, padding_width, preserve_short_sequences, name
            )
            return found.values if isinstance(found, RaggedTensor) else found[0]
        rows = from_tensor(x, ragged_rank=rank - 1)
        found = ngrams(
            rows, widths, separator, pad_values, padding_width, preserve_short_sequences, name
        )
        return found if preserve_short_sequences else found.to_tensor()
    values, splits = execute(
        pieces.STRING_NGRAMS,
        x.values,
        x.row_splits,
        separator=separator,
        ngram_widths=tuple(widths),
        left_pad=left,
        right_pad=right,
        pad_width=width,
        preserve_short_sequences=bool(preserve_short_sequences),
        name=name,
    )
    return RaggedTensor(values, splits, internal=True)
