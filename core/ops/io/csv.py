"""CSV lines parsed into columns: DecodeCSV."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops.execute import execute
from pinnace.ops.memory import joined
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.shapes import Shape

__all__ = ["decode_csv"]


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """The fields of lines of CSV (RFC 4180), column by column.

    Args:
        records: [...], string, one line each.
        record_defaults: per column a scalar or [1] that stands in for an empty field, or an empty
            vector of the column's dtype if there must be one; or a dtype.
        field_delim: the separator of fields.
        use_quote_delim: whether quotes protect separators.
        na_value: a field that counts as empty.
        select_cols: the columns wanted, in ascending order; all if None.
        name: name of the node while tracing.

    Returns:
        One tensor [...] per column.

    Raises:
        InvalidArgumentError: a line with another number of fields, or a field that is no number.
    """
    defaults = [default_of(value) for value in record_defaults]
    columns = execute(
        DECODE_CSV,
        records,
        defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=tuple(select_cols or ()),
        name=name,
    )
    return list(columns)


def default_of(value: Any) -> Tensor:
    """The default for empty fields of a column; empty if a value is required."""
    if isinstance(value, DType):
        return convert_to_tensor(np.empty(0, value.numpy), value)
    if isinstance(value, Operands):
        return convert_to_tensor(value)
    return convert_to_tensor(value)


def _kernel(
    records: Array,
    record_defaults: tuple[Array, ...],
    *,
    OUT_TYPE: tuple[DType, ...],  # noqa: N803 (the attribute's name)
    field_delim: Any,
    use_quote_delim: bool,
    na_value: Any,
    select_cols: tuple[int, ...],
) -> tuple[Array, ...]:
    shape = np.shape(records)
    lines = np.asarray(records, object).ravel().tolist()
    delimiter, wanted = _text(field_delim), len(record_defaults)
    columns = _plain_columns(lines, delimiter, use_quote_delim, select_cols)
    if columns is None or len(columns) != wanted:
        columns = _columns(lines, delimiter, use_quote_delim, select_cols, wanted)
    empty = ("", _text(na_value))
    return tuple(
        column_of(column, kind, np.ravel(default), index, empty).reshape(shape)
        for index, (column, kind, default) in enumerate(
            zip(columns, OUT_TYPE, record_defaults, strict=True)
        )
    )


def _plain_columns(
    lines: list[bytes], delimiter: str, quoted: bool, chosen: tuple[int, ...]
) -> list[list[str]] | None:
    """The fields of lines that a delimiter splits and nothing else; None if there is more to it."""
    special = b'\r\n\0"' if quoted else b"\r\n\0"
    mark = delimiter.encode("ascii", "replace")
    if (
        not all(lines)
        or not lines
        or len(mark) != 1
        or not delimiter.isascii()
        or mark in b'\r\n\0"'
    ):
        return None
    text = joined(mark, lines)
    widths = {count + 1 for count in set(map(operator.methodcaller("count", mark), lines))}
    if len(widths) > 1 or len(text.translate(None, special)) < len(text):
        return None
    width = widths.pop()
    if chosen and chosen[-1] >= width:
        return None
    fields = text.decode("latin-1").split(delimiter)
    return [fields[index::width] for index in chosen or range(width)]


def _columns(
    lines: list[bytes], delimiter: str, quoted: bool, chosen: tuple[int, ...], wanted: int
) -> list[list[str]]:
    """The fields of any lines, column by column."""
    rows = []
    for number, line in enumerate([line.decode("latin-1") for line in lines]):
        row = _fields(line, number, delimiter, quoted, chosen[-1] if chosen else None)
        if chosen:
            if chosen[-1] >= len(row):
                raise InvalidArgumentError(
                    f"DecodeCSV: record {number} must have at least {chosen[-1] + 1} fields, "
                    f"has {len(row)}: {line!r}"
                )
            row = [row[i] for i in chosen]
        if len(row) != wanted:
            raise InvalidArgumentError(
                f"DecodeCSV: record {number} must have {wanted} fields, has {len(row)}: {line!r}"
            )
        rows.append(row)
    return [[row[index] for row in rows] for index in range(wanted)]


_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"')


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _fields(line: str, number: int, delimiter: str, quoted: bool, last: int | None) -> list[str]:
    """The fields of one line, up to that of index `last`.

    TensorFlow skips line breaks before a field and refuses them elsewhere, unless in quotes. An
    empty line has no fields.
    """
    fields: list[str] = []
    at = 0
    while at < len(line):
        if line[at] in "\r\n":
            at += 1
            continue
        if quoted and line[at] == '"':
            found = _QUOTED.match(line, at)
            at = len(line) if found is None else found.end()
            if found is None or line[at : at + 1] not in ("", delimiter):
                raise InvalidArgumentError(
                    f"DecodeCSV: record {number} is not CSV: a field in quotes must end with a "
                    f"quote and the delimiter, quotes inside are doubled: {line!r}"
                )
            fields.append(found.group(1).replace('""', '"'))
        else:
            begin = at
            at = line.find(delimiter, begin)
            at = len(line) if at < 0 else at
            field = line[begin:at]
            if "\r" in field or "\n" in field or (quoted and '"' in field):
                raise InvalidArgumentError(
                    f"DecodeCSV: record {number} is not CSV: a field without quotes must hold "
                    f"neither quotes nor line breaks: {line!r}"
                )
            fields.append(field)
        if len(fields) - 1 == last:
            return fields
        at += 1
    return [*fields, ""] if line.endswith(delimiter) else fields


def column_of(
    fields: list[str],
    kind: DType,
    default: Array,
    index: int,
    empty: tuple[str, str],
    who: str = "DecodeCSV",
) -> Array:
    """The fields of column `index`, each in Latin-1, as values; empty ones become the default."""
    values = _plain_values(fields, kind, default, empty)
    if values is None:
        values = [
            _value(field, kind, default, index, number, empty, who)
            for number, field in enumerate(fields)
        ]
    out = np.empty(len(values), kind.numpy)
    out[:] = values
    return out


def _plain_values(
    fields: list[str], kind: DType, default: Array, empty: tuple[str, str]
) -> list[Any] | None:
    """The values of fields without an error, None if there is one."""
    convert: Any = float if kind.is_floating else int
    if kind is dtypes.string:
        convert = _LATIN
    elif "_" in "".join(fields):
        return None
    gaps = any(text in fields for text in empty)
    if gaps and not default.size:
        return None
    try:
        if gaps:
            filling = default[0]
            values = [filling if field in empty else convert(field) for field in fields]
        else:
            values = list(map(convert, fields))
    except ValueError:
        return None
    if kind.is_integer and values and not kind.min <= min(values) <= max(values) <= kind.max:
        return None
    return values


_LATIN = operator.methodcaller("encode", "latin-1")


def _value(
    field: str,
    kind: DType,
    default: Array,
    index: int,
    number: int,
    empty: tuple[str, str],
    who: str,
) -> Any:
    if field in empty:
        if not default.size:
            raise InvalidArgumentError(
                f"{who}: field {index} is required, record {number} has none"
            )
        return default[0]
    if kind is dtypes.string:
        return field.encode("latin-1")
    return _number(field, kind, index, number, who)


def _number(field: str, kind: DType, index: int, record: int, who: str) -> Any:
    try:
        # Python, unlike C, separates digits by underscores.
        written = field.replace("_", "?")
        value = float(written) if kind.is_floating else int(written)
    except ValueError:
        raise InvalidArgumentError(
            f"{who}: field {index} of record {record} must be {kind.name}, got {field!r}"
        ) from None
    if kind.is_integer and not kind.min <= value <= kind.max:
        raise InvalidArgumentError(
            f"{who}: field {index} of record {record} must be {kind.name}, got {field!r}"
        )
    return value


def _infer(call: InferCall) -> tuple[Shape, ...]:
    count = len(call.specs(1))
    chosen = call.attrs["select_cols"]
    if chosen and (len(chosen) != count or list(chosen) != sorted(set(chosen)) or chosen[0] < 0):
        call.fail(f"select_cols must name {count} columns in ascending order, got {list(chosen)}")
    for spec in call.specs(1):
        if (spec.shape.rank or 0) > 1 or (spec.shape.rank == 1 and (spec.shape[0] or 0) > 1):
            call.fail("a default must be a scalar or a vector of at most one value")
    return (call.spec(0).shape,) * count


DECODE_CSV = define(
    name="DecodeCSV",
    signature="records: string, record_defaults: (OUT_TYPE) -> output: (OUT_TYPE)",
    attrs={
        "OUT_TYPE": attr("list(type)"),
        "field_delim": attr("string", default=","),
        "use_quote_delim": attr("bool", default=True),
        "na_value": attr("string", default=""),
        "select_cols": attr("list(int)", default=()),
    },
    infer=_infer,
    kernel=_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
