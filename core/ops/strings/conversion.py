"""Conversion of strings: AsString, StringToNumber, case, length, substrings."""

import itertools
import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import (
    COMPLEX,
    FLOATS,
    INDEX,
    INTEGERS,
    DType,
    float32,
    float64,
    int32,
    int64,
)
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.memory import claim, joined
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr, typed
from pinnace.ops.registry import broadcast, define, same_as_input
from pinnace.ops.strings.elements import map_numbers, map_strings, shown, slices_of, strings_of

__all__ = ["as_string", "length", "lower", "strip", "substr", "to_number", "upper"]

_TOGETHER = 1 << 10  # numbers that are formatted at a time
_UNITS = ("BYTE", "UTF8_CHAR")


def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Every element formatted like C's `printf`.

    Args:
        input: [...], a number type, bool or string.
        precision: digits after the point, -1 for as many as `printf` gives.
        scientific: floating point with an exponent.
        shortest: floating point in the shorter of both forms.
        width: the least number of characters, -1 for none.
        fill: the character that fills up to `width`: a space, "0", or "-" and "+" as `printf` has
            them.
        name: name of the node while tracing.

    Returns:
        [...], string; bool gives "true" and "false".

    Raises:
        InvalidArgumentError: a format that this dtype does not have.
    """
    return execute_one(
        AS_STRING,
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )


def _justified(input: Array, width: int, fill: str) -> Array:
    """Strings padded with spaces to `width` bytes: in front, or behind if `fill` is a minus."""
    if width <= 0:
        return input
    if fill == "-":
        return map_strings(lambda item: item.ljust(width), input)
    return map_strings(lambda item: item.rjust(width), input)


def _as_string_kernel(
    input: Array,
    *,
    precision: int,
    scientific: bool,
    shortest: bool,
    width: int,
    fill: str,
    T: DType,  # noqa: N803 (the attribute's name)
) -> Array:
    if T is dtypes.string:
        return _justified(input, width, fill)
    if fill not in {"", " ", "0", "-", "+"}:
        raise InvalidArgumentError(f"AsString: fill must be a space, 0, - or +, got {fill!r}")
    floating = T.is_floating or T.is_complex
    if (scientific or shortest or precision >= 0) and not floating:
        raise InvalidArgumentError(
            "AsString: scientific and shortest format and precision not supported for datatype "
            f"{T.name}"
        )
    if scientific and shortest:
        raise InvalidArgumentError("AsString: Cannot select both scientific and shortest notation")
    if fill == "+" and T.is_unsigned:
        fill = ""  # as C has it
    spec = (
        "%"
        + (f"{fill}{width}" if width >= 0 else fill)
        + (f".{precision}" if precision >= 0 else "")
    )
    spec += ("g" if shortest else "e" if scientific else "f") if floating else "d"
    # C fills with zeros in front of digits only.
    spaced = spec.replace("%0", "%")

    def text(number: float) -> str:
        return (spec if math.isfinite(number) else spaced) % number

    numbers = input.reshape(-1)
    claim(numbers.size * max(width, precision, 0))
    if T.is_bool:
        texts = ("true" if item else "false" for item in numbers.tolist())
    elif T.is_complex:
        texts = (f"({text(z.real)},{text(z.imag)})" for z in numbers.tolist())
    elif floating and spec != spaced and not np.isfinite(numbers).all():
        texts = (text(number) for number in numbers.astype(np.float64).tolist())
    else:
        # One format of many numbers at a time costs less than one of each.
        line = spec.encode() + b"\n"
        many = slices_of(numbers.astype(np.float64) if floating else numbers, _TOGETHER)
        lines = ((line * len(items) % tuple(items)).split(b"\n")[:-1] for _, items in many)
        return strings_of(itertools.chain.from_iterable(lines), input.shape)
    return strings_of((text.encode() for text in texts), input.shape)


AS_STRING = define(
    name="AsString",
    signature="input: T -> output: string",
    types={"T": FLOATS | INTEGERS | COMPLEX | {dtypes.bool, dtypes.string}},
    attrs={
        "precision": attr("int", default=-1),
        "scientific": attr("bool", default=False),
        "shortest": attr("bool", default=False),
        "width": attr("int", default=-1),
        "fill": attr("string", default=""),
    },
    infer=same_as_input,
    kernel=_as_string_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)


@takes_composites(values=1)
def to_number(input: TensorLike, out_type: Any = float32, name: str | None = None) -> Tensor:
    """Each string parsed as a number.

    Args:
        input: [...], string.
        out_type: float32, float64, int32 or int64.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: a string is no such number.
    """
    kind = dtypes.as_dtype(out_type)
    return execute_one(STRING_TO_NUMBER, input, out_type=kind, name=name)


_INTEGER_LETTERS = b"0123456789+- \t\n\v\f\r"
_FLOAT_LETTERS = _INTEGER_LETTERS + b".eE"
_LONG = 4000  # digits; none of these types has more than 19

# Adjacent parts match disjoint characters; otherwise a long text that is not a number would take
# quadratic time.
_INTEGER = re.compile(rb"[ \t\n\v\f\r]*([+-]?[0-9]+)[ \t\n\v\f\r]*")
_FLOAT = re.compile(
    rb"[ \t\n\v\f\r]*"
    rb"([+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan"
    rb"|(0x(?:[0-9a-f]+(?:\.[0-9a-f]*)?|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)))"
    rb"[ \t\n\v\f\r]*",
    re.IGNORECASE,
)


def _to_number_kernel(string_tensor: Array, *, out_type: DType) -> Array:
    form, convert = (_FLOAT, float) if out_type.is_floating else (_INTEGER, int)

    def number(item: bytes) -> Any:
        found = form.fullmatch(item)
        text = None if found is None else found.group(1)
        if text is not None and out_type.is_integer and len(text) > _LONG:
            # Python refuses longer numbers, even if the excess is leading zeros.
            text = text[: text[:1] in b"+-"] + text.lstrip(b"+-").lstrip(b"0")[:_LONG]
            text = text if text[-1:].isdigit() else b"0"
        if found is not None and out_type.is_floating and found.group(2):
            return _hexadecimal(found.group(1).decode())
        value: Any = None if text is None else convert(text)
        if value is None or (out_type.is_integer and not out_type.min <= value <= out_type.max):
            raise InvalidArgumentError(
                f"StringToNumber: a string must be a number of type {out_type.name}, got "
                f"{shown(item)}"
            )
        return value

    # Of these letters alone, Python's numbers are TensorFlow's.
    plain = _FLOAT_LETTERS if out_type.is_floating else _INTEGER_LETTERS
    if not joined(b"", string_tensor.reshape(-1).tolist()).translate(None, plain):
        try:
            return map_numbers(convert, string_tensor, out_type.numpy)
        except (ValueError, OverflowError):
            pass  # the loop below finds the string to name, or a number of many digits
    return map_numbers(number, string_tensor, out_type.numpy)


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:  # Python refuses what is out of range
        return -math.inf if text[0] == "-" else math.inf


STRING_TO_NUMBER = define(
    name="StringToNumber",
    signature="string_tensor: string -> output: out_type",
    types={"out_type": typed({float32, float64, int32, int64}, default=float32)},
    infer=same_as_input,
    kernel=_to_number_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)


def _cased(name: str, plain: Callable[[bytes], bytes], text: Callable[[str], str]) -> OpDef:
    def of_text(item: bytes) -> bytes:
        return text(item.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def kernel(input: Array, *, encoding: str) -> Array:
        if encoding not in {"", "utf-8"}:
            raise InvalidArgumentError(f"{name}: encoding must be '' or 'utf-8', got {encoding!r}")
        return map_strings(of_text if encoding else plain, input)

    return define(
        name=name,
        signature="input: string -> output: string",
        attrs={"encoding": attr("string", default="")},
        infer=same_as_input,
        kernel=kernel,
        gradient=NOT_DIFFERENTIABLE,
        elementwise=True,
    )


def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Every string in lower case.

    Args:
        input: [...], string.
        encoding: "" changes ASCII letters only, "utf-8" those of all scripts.
        name: name of the node while tracing.
    """
    return execute_one(STRING_LOWER, input, encoding=encoding, name=name)


STRING_LOWER = _cased("StringLower", bytes.lower, str.lower)


def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Every string in upper case.

    Args:
        input: [...], string.
        encoding: "" changes ASCII letters only, "utf-8" those of all scripts.
        name: name of the node while tracing.
    """
    return execute_one(STRING_UPPER, input, encoding=encoding, name=name)


STRING_UPPER = _cased("StringUpper", bytes.upper, str.upper)


def strip(input: TensorLike, name: str | None = None) -> Tensor:
    """Every string without leading and trailing ASCII white space.

    Args:
        input: [...], string.
        name: name of the node while tracing.

    Returns:
        The shape of `input`, string.
    """
    return execute_one(STRING_STRIP, input, name=name)


def _strip_kernel(input: Array) -> Array:
    return map_strings(bytes.strip, input)


STRING_STRIP = define(
    name="StringStrip",
    signature="input: string -> output: string",
    infer=same_as_input,
    kernel=_strip_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)


_CONTINUATIONS = bytes(range(0x80, 0xC0))


def _starts(item: bytes) -> Array:
    """The start of each code point, and the end of the last."""
    begins = np.flatnonzero(np.frombuffer(item, np.uint8) & 0xC0 != 0x80)
    return np.append(begins, len(item))


def length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The length of each string, int32.

    Args:
        input: [...], string.
        unit: "BYTE", or "UTF8_CHAR" for code points.
        name: name of the node while tracing.
    """
    return execute_one(STRING_LENGTH, input, unit=unit, name=name)


def _length_kernel(input: Array, *, unit: str) -> Array:
    return map_numbers(len if unit == "BYTE" else _points, input, np.int32)


def _points(item: bytes) -> int:
    """The number of code points: bytes that are not continuation bytes."""
    return len(item.translate(None, _CONTINUATIONS))


STRING_LENGTH = define(
    name="StringLength",
    signature="input: string -> output: int32",
    attrs={"unit": attr("string", default="BYTE", allowed=_UNITS)},
    infer=same_as_input,
    kernel=_length_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)


@takes_composites(values=1)
def substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, unit: str = "BYTE", name: str | None = None
) -> Tensor:
    """The part of each string that begins at `pos` and has at most `len` units.

    Args:
        input: [...], string.
        pos: int32 or int64, broadcastable with `input`; negative ones count from the end.
        len: dtype and shape of `pos`.
        unit: "BYTE", or "UTF8_CHAR" for code points.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `pos` is outside of a string.
    """
    return execute_one(SUBSTR, input, pos, len, unit=unit, name=name)


def _substr_kernel(input: Array, pos: Array, len: Array, *, unit: str) -> Array:
    if pos.shape != len.shape:
        raise InvalidArgumentError(
            f"Substr: pos and len should have the same shape, got: {list(pos.shape)} vs. "
            f"{list(len.shape)}"
        )
    shape = np.broadcast_shapes(input.shape, pos.shape, len.shape)
    if shape == input.shape:
        found = _plain_parts(input, np.broadcast_to(pos, shape), np.broadcast_to(len, shape), unit)
        if found is not None:
            return found
    columns = [np.broadcast_to(x, shape).reshape(-1).tolist() for x in (input, pos, len)]
    # A string may expand to many pieces: find the starts of its code points once.
    steps = (
        {id(item): _starts(item) for item in input.reshape(-1).tolist()} if unit != "BYTE" else {}
    )
    rows = enumerate(zip(*columns, strict=True))
    parts = (_part(item, start, count, steps.get(id(item)), i) for i, (item, start, count) in rows)
    return strings_of(parts, shape)


def _plain_parts(input: Array, pos: Array, count: Array, unit: str) -> Array | None:
    """Parts of strings that need no search for code points and no error; None if there are any."""
    items: list[Any] = input.reshape(-1).tolist()
    if (count < 0).any():
        return None
    if unit != "BYTE":
        try:
            items = [item.decode() for item in items]
        except UnicodeDecodeError:
            return None
    sizes = np.array([*map(len, items)], np.int64)
    starts = pos.reshape(-1).astype(np.int64)
    if ((starts > sizes) | (starts < -sizes)).any():
        return None
    starts += np.where(starts < 0, sizes, 0)
    ends = starts + np.minimum(count.reshape(-1), sizes)
    parts: Any = map(operator.getitem, items, map(slice, starts.tolist(), ends.tolist()))
    return strings_of(parts if unit == "BYTE" else map(str.encode, parts), input.shape)


def _part(item: bytes, start: int, count: int, steps: Array | None, place: int) -> bytes:
    size = len(item) if steps is None else len(steps) - 1
    if not -size <= start <= size:
        raise InvalidArgumentError(
            f"Substr: pos {start} out of range for string {shown(item)} at index {place}: it must "
            f"be in [{-size}, {size}]"
        )
    if count < 0 and start < 0 and steps is not None:
        raise InvalidArgumentError(
            f"Substr: len must not be negative where pos is, got {count} and {start}"
        )
    begin = start + size if start < 0 else start
    if count < 0 and steps is None:
        return item[begin:]
    end = min(begin + max(count, 0), size)
    return item[begin:end] if steps is None else item[int(steps[begin]) : int(steps[end])]


def _infer_substr(call: InferCall) -> Shape:
    if not call.spec(1).shape.is_compatible_with(call.spec(2).shape):
        call.fail("pos and len should have the same shape")
    return broadcast(call)


SUBSTR = define(
    name="Substr",
    signature="input: string, pos: T, len: T -> output: string",
    types={"T": INDEX},
    attrs={"unit": attr("string", default="BYTE", allowed=_UNITS)},
    infer=_infer_substr,
    kernel=_substr_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
