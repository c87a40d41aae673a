"""CSV lines parsed into columns: DecodeCSV."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops.execute import execute
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
    lines = [line.decode("latin-1") for line in np.asarray(records, object).ravel().tolist()]
    empty = ("", _text(na_value))
    rows = []
    for number, line in enumerate(lines):
        rows.append(_fields(line, number, _text(field_delim), use_quote_delim))
        wanted = len(record_defaults)
        if select_cols:
            if select_cols[-1] >= len(rows[-1]):
                raise InvalidArgumentError(
                    f"DecodeCSV: record {number} must have at least {select_cols[-1] + 1} fields, "
                    f"has {len(rows[-1])}: {line!r}"
                )
            rows[-1] = [rows[-1][i] for i in select_cols]
        if len(rows[-1]) != wanted:
            raise InvalidArgumentError(
                f"DecodeCSV: record {number} must have {wanted} fields, "
                f"has {len(rows[-1])}: {line!r}"
            )
    found = []
    for index, (kind, default) in enumerate(zip(OUT_TYPE, record_defaults, strict=True)):
        column = [row[index] for row in rows]
        found.append(column_of(column, kind, np.ravel(default), index, empty).reshape(shape))
    return tuple(found)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _fields(line: str, number: int, delimiter: str, quoted: bool) -> list[str]:
    line = line.rstrip("\r\n") if not quoted else line
    reader = csv.reader(
        [line],
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=quoted,
    )
    try:
        return next(reader, [""]) or [""]
    except csv.Error as error:
        raise InvalidArgumentError(
            f"DecodeCSV: record {number} is not CSV: {error}: {line!r}"
        ) from None


def column_of(
    fields: list[str],
    kind: DType,
    default: Array,
    index: int,
    empty: tuple[str, str],
    who: str = "DecodeCSV",
) -> Array:
    """The fields of column `index`, each in Latin-1, as values; empty ones become the default."""
    values: list[Any] = []
    for number, field in enumerate(fields):
        if field in empty:
            if not default.size:
                raise InvalidArgumentError(
                    f"{who}: field {index} is required, record {number} has none"
                )
            values.append(default[0])
        elif kind is dtypes.string:
            values.append(field.encode("latin-1"))
        else:
            values.append(_number(field, kind, index, number, who))
    out = np.empty(len(values), kind.numpy)
    out[:] = values
    return out


def _number(field: str, kind: DType, index: int, record: int, who: str) -> Any:
    try:
        value = float(field) if kind.is_floating else int(field)
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
