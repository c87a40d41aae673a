"""Columns of a text file for initializing tables."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import float32, float64, int32, int64, string
from pinnace.framework.errors import InvalidArgumentError
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

WHOLE_LINE = -2
LINE_NUMBER = -1
_OP = "InitializeTableFromTextFileV2"
_INTEGER = re.compile(rb"\s*[+-]?[0-9]+\s*")
_FLOAT = re.compile(
    rb"\s*[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)\s*",
    re.IGNORECASE,
)


def read_columns(
    path: bytes,
    columns: Sequence[tuple[int, DType]],
    vocab_size: int,
    delimiter: bytes,
    offset: int,
) -> tuple[Array, ...]:
    """One array per column, one element per line.

    Args:
        path: the file.
        columns: index and dtype of each; -2 is the whole line, -1 the number of the line.
        vocab_size: how many lines to read; -1 is all.
        delimiter: between columns, one byte.
        offset: added to numbers of lines.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: too few lines or columns, or what should be a number is none.

    Source:
        TensorFlow `lookup_util.cc`, `TextFileLineIterator`.
    """
    name = path.decode("utf-8", "surrogateescape")
    if len(delimiter) != 1:
        raise InvalidArgumentError(f"{_OP}: delimiter must be one byte, got {delimiter!r}")
    with explained("read", name), open_regular(name) as file:
        lines = _lines(file.read())
    if vocab_size != -1:
        if vocab_size <= 0 or vocab_size > len(lines):
            raise InvalidArgumentError(
                f"{_OP}: vocab_size must be -1, or from 1 to the number of lines in {name}, "
                f"{len(lines)}, got {vocab_size}"
            )
        lines = lines[:vocab_size]
    needed = max(index for index, _ in columns) + 1
    fields = [line.split(delimiter) for line in lines] if needed > 0 else []
    for number, row in enumerate(fields):
        if len(row) < needed:
            raise InvalidArgumentError(
                f"{_OP}: line {number} of {name} must have {needed} columns, got {len(row)}: "
                f"{lines[number]!r}"
            )
    found = []
    for index, dtype in columns:
        if index == LINE_NUMBER:
            found.append(np.arange(offset, offset + len(lines), dtype=np.int64))
        else:
            tokens = lines if index == WHOLE_LINE else [row[index] for row in fields]
            found.append(_converted(tokens, dtype, name))
    return tuple(found)


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def _converted(tokens: list[bytes], dtype: DType, name: str) -> Array:
    if dtype is string:
        out = np.empty(len(tokens), object)
        out[:] = tokens
        return out
    if dtype not in {int32, int64, float32, float64}:
        raise InvalidArgumentError(
            f"{_OP}: columns can be strings, integers or floats, not {dtype.name}"
        )
    return np.array(
        [_number(token, dtype, place, name) for place, token in enumerate(tokens)], dtype.numpy
    )


def _number(token: bytes, dtype: DType, place: int, name: str) -> Any:
    if dtype.is_integer:
        if _INTEGER.fullmatch(token):
            value = int(token)
            limits = np.iinfo(dtype.numpy)
            if limits.min <= value <= limits.max:
                return value
    elif _FLOAT.fullmatch(token):
        found = float(token)
        return found if math.isfinite(found) else dtype.numpy.type(found)
    raise InvalidArgumentError(
        f"{_OP}: {token!r} in line {place} of {name} is not a valid {dtype.name}"
    )
