"""Conversion between fields of protobuf messages and tensors: DecodeProtoV2, EncodeProto."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype, int32
from pinnace.framework.errors import DataLossError, InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.io import proto_descriptors as descriptors
from pinnace.ops.io import proto_wire as wire
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import Attrs

__all__ = ["decode_proto", "encode_proto"]


class DecodedProto(NamedTuple):
    """The result of `decode_proto`."""

    sizes: Tensor
    values: list[Tensor]


def decode_proto(
    bytes: TensorLike,
    message_type: str,
    field_names: Sequence[str],
    output_types: Sequence[Any],
    descriptor_source: str | bytes = "local://",
    message_format: str = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> DecodedProto:
    """Fields of serialised protobuf messages as tensors.

    Args:
        bytes: [*batch], string, at least one message.
        message_type: the full name of the messages' type.
        field_names: the fields; an extension by its full name.
        output_types: the dtype of each field: its own, or a wider one for 32-bit numbers and
            floats. Messages, groups with their tags,
            text and bytes are strings.
        descriptor_source: "local://" knows TensorFlow's formats such as tensorflow.Example; else a
            path of a FileDescriptorSet, or "bytes://" followed by such a set.
        message_format: "binary" or "text".
        sanitize: whether each message is read and written whole before, which finds what is wrong
            in fields that are not asked for.
        name: name of the node while tracing.

    Returns:
        sizes: [*batch, fields], int32, how many values each message has of each field; values:
        one [*batch, most] for each field, with the field's default after the last.

    Raises:
        InvalidArgumentError: no such message, field, file or format, or a dtype that a field cannot
            have.
        DataLossError: the bytes are no such message.

    Source:
        TensorFlow op `DecodeProtoV2` (decode_proto_ops.cc).
    """
    sizes, values = execute(
        DECODE_PROTO,
        bytes,
        message_type=message_type,
        field_names=tuple(field_names),
        output_types=tuple(as_dtype(dtype) for dtype in output_types),
        descriptor_source=descriptor_source,
        message_format=message_format,
        sanitize=sanitize,
        name=name,
    )
    return DecodedProto(sizes, list(values))


def encode_proto(
    sizes: TensorLike,
    values: Sequence[TensorLike],
    field_names: Sequence[str],
    message_type: str,
    descriptor_source: str | bytes = "local://",
    name: str | None = None,
) -> Tensor:
    """Tensors as the fields of serialised protobuf messages.

    Args:
        sizes: [*batch, fields], int32: how many values of each field are written.
        values: one [*batch, most] for each field, of a dtype that it can have; see `decode_proto`.
        field_names: the fields.
        message_type: the full name of the messages' type.
        descriptor_source: as for `decode_proto`.
        name: name of the node while tracing.

    Returns:
        [*batch], string; fields in the order of their numbers.

    Raises:
        InvalidArgumentError: no such message or field, a dtype that a field cannot have, or sizes
            that do not fit.

    Source:
        TensorFlow op `EncodeProto` (encode_proto_ops.cc).
    """
    return execute_one(
        ENCODE_PROTO,
        convert_to_tensor(sizes, int32),
        list(values),
        field_names=tuple(field_names),
        message_type=message_type,
        descriptor_source=descriptor_source,
        name=name,
    )


class _Field(NamedTuple):
    number: int
    kind: wire.Kind
    repeated: bool
    default: Any


def _fields(message: Any, names: Sequence[str], types: Sequence[Any]) -> list[_Field]:
    if len(names) != len(types):
        raise InvalidArgumentError(
            f"DecodeProtoV2: field_names and output_types must be of one length, got {len(names)} "
            f"and {len(types)}"
        )
    found = []
    for name, dtype in zip(names, types, strict=True):
        one = descriptors.field("DecodeProtoV2", message, name, extensions=True)
        descriptors.check_dtype("DecodeProtoV2", one, dtype)
        kind, repeated = wire.KINDS[one.type], descriptors.is_repeated(one)
        found.append(_Field(one.number, kind, repeated, descriptors.default(one)))
    return found


def _collected(data: bytes, fields: Sequence[_Field]) -> list[list[Any]]:
    """The values of each field in one message."""
    out: list[list[Any]] = [[] for _ in fields]
    places: dict[int, list[int]] = {}
    for place, field in enumerate(fields):
        places.setdefault(field.number, []).append(place)
    for number, kind, content in wire.fields(data):
        for place in places.get(number, ()):
            field = fields[place]
            if kind == field.kind.wire:
                values = [field.kind.read(content)]
            elif kind == wire.BYTES and field.kind.wire != wire.START_GROUP:
                values = list(wire.packed_values(content, field.kind))
            else:  # another wire type than the field's: skipped like an unknown field
                continue
            if field.repeated:
                out[place].extend(values)
            elif values:  # the last one counts
                out[place] = values[-1:]
    return out


def _rewritten(data: bytes, message: Any, *, binary: bool) -> bytes:
    """A message parsed and serialized again, from its text or bytes."""
    from google.protobuf import message_factory, text_format
    from google.protobuf.message import DecodeError

    made = message_factory.GetMessageClass(message)()
    try:
        if binary:
            made.ParseFromString(data)
        else:
            text_format.Parse(data, made)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        what = "binary" if binary else "text"
        raise DataLossError(f"DecodeProtoV2: unable to parse {what} protobuf: {error}") from error
    return bytes(made.SerializeToString())


def _decode_kernel(
    bytes: Array,
    *,
    message_type: str,
    field_names: tuple[str, ...],
    output_types: tuple[Any, ...],
    descriptor_source: Any,
    message_format: str,
    sanitize: bool,
) -> tuple[Array, ...]:
    if message_format not in {"binary", "text"}:
        raise InvalidArgumentError(
            f"DecodeProtoV2: message_format must be 'binary' or 'text', got {message_format!r}"
        )
    message = descriptors.message("DecodeProtoV2", descriptor_source, message_type)
    fields = _fields(message, field_names, output_types)
    if not bytes.size:
        raise InvalidArgumentError("DecodeProtoV2: bytes must hold at least one message, got none")
    binary = message_format == "binary"
    rows = []
    for at, data in enumerate(bytes.reshape(-1)):
        plain = data if binary and not sanitize else _rewritten(data, message, binary=binary)
        try:
            rows.append(_collected(plain, fields))
        except DataLossError as error:
            raise DataLossError(f"DecodeProtoV2: message {at} of {message_type}: {error}") from None
    sizes = np.array([[len(values) for values in row] for row in rows], np.int32)
    columns = []
    for place, (field, dtype) in enumerate(zip(fields, output_types, strict=True)):
        most = max(1, *(len(row[place]) for row in rows))
        column = np.full((len(rows), most), field.default, dtype.numpy)
        for row, values in zip(column, rows, strict=True):
            row[: len(values[place])] = values[place]
        columns.append(column.reshape(*bytes.shape, most))
    return (sizes.reshape(*bytes.shape, len(fields)), *columns)


def _infer_decode(call: InferCall) -> tuple[Shape, ...]:
    batch, count = call.spec(0).shape, len(call.attrs["output_types"])
    if batch.rank is None:
        return tuple([Shape(None)] * (count + 1))
    column = batch.concatenate([None])
    return (batch.concatenate([len(call.attrs["field_names"])]), *[column] * count)


def _reaches(attrs: Attrs) -> str:
    return "files" if descriptors.is_file(attrs["descriptor_source"]) else ""


DECODE_PROTO = define(
    name="DecodeProtoV2",
    signature="bytes: string -> sizes: int32, values: (output_types)",
    attrs={
        "message_type": attr("string"),
        "field_names": attr("list(string)"),
        "output_types": attr("list(type)"),
        "descriptor_source": attr("string", default="local://"),
        "message_format": attr("string", default="binary"),
        "sanitize": attr("bool", default=False),
    },
    infer=_infer_decode,
    kernel=_decode_kernel,
    gradient=NOT_DIFFERENTIABLE,
    reaches=_reaches,
)


def _encode_kernel(
    sizes: Array,
    values: tuple[Array, ...],
    *,
    field_names: tuple[str, ...],
    message_type: str,
    descriptor_source: Any,
    Tinput_types: tuple[Any, ...],  # noqa: N803 (TensorFlow's name)
) -> Array:
    op = "EncodeProto"
    message = descriptors.message(op, descriptor_source, message_type)
    found = [descriptors.field(op, message, name, extensions=False) for name in field_names]
    for one, dtype in zip(found, Tinput_types, strict=True):
        descriptors.check_dtype(op, one, dtype)
    batch = values[0].shape[:-1] if values else sizes.shape[:-1]
    _check_encoded(sizes, values, field_names, batch)
    counts = sizes.reshape(-1, len(values)).tolist()
    columns = [x.reshape(-1, x.shape[-1]) for x in values]
    order = sorted(range(len(found)), key=lambda place: found[place].number)
    out = np.empty(len(counts), object)
    for row, wanted in enumerate(counts):
        parts = []
        for place in order:
            if wanted[place] > 0:
                one = found[place]
                items = columns[place][row, : wanted[place]].tolist()
                packed = descriptors.is_packed(one)
                parts.append(wire.written(one.number, wire.KINDS[one.type], items, packed=packed))
        out[row] = b"".join(parts)
    return out.reshape(batch)


def _check_encoded(
    sizes: Array, values: Sequence[Array], names: Sequence[str], batch: tuple[int, ...]
) -> None:
    for x, name in zip(values, names, strict=True):
        if x.ndim < 2:
            raise InvalidArgumentError(
                f"EncodeProto: values of {name} must have at least 2 axes, got shape "
                f"{list(x.shape)}"
            )
        if x.shape[:-1] != batch:
            raise InvalidArgumentError(
                f"EncodeProto: values must be of one shape but for the last axis, got "
                f"{list(x.shape)} for {name} after {list(batch)}"
            )
    if sizes.shape != (*batch, len(values)):
        raise InvalidArgumentError(
            f"EncodeProto: sizes must have shape {[*batch, len(values)]}, got {list(sizes.shape)}"
        )
    for place, (x, name) in enumerate(zip(values, names, strict=True)):
        if sizes[..., place].min(initial=0) < 0:
            raise InvalidArgumentError(f"EncodeProto: sizes must not be negative, for {name}")
        most = sizes[..., place].max(initial=0)
        if most > x.shape[-1]:
            raise InvalidArgumentError(
                f"EncodeProto: sizes must not be above the number of values, got {most} for "
                f"{name}, which has {x.shape[-1]}"
            )


def _infer_encode(call: InferCall) -> Shape:
    names, values = call.attrs["field_names"], call.specs(1)
    if len(names) != len(values):
        call.fail(f"field_names must name each of values, got {len(names)} and {len(values)}")
    batch = call.spec(0).shape
    batch = batch if batch.rank is None else batch[:-1]
    for spec, name in zip(values, names, strict=True):
        shape = spec.shape
        if shape.rank is None:
            continue
        if shape.rank < 2:
            call.fail(f"values of {name} must have at least 2 axes, got {shape.text}")
        if not batch.is_compatible_with(shape[:-1]):
            call.fail(f"sizes and values must be of one shape but for the last axis, for {name}")
        batch = batch.merge_with(shape[:-1])
    return batch


ENCODE_PROTO = define(
    name="EncodeProto",
    signature="sizes: int32, values: (Tinput_types) -> bytes: string",
    attrs={
        "field_names": attr("list(string)"),
        "message_type": attr("string"),
        "descriptor_source": attr("string", default="local://"),
        "Tinput_types": attr("list(type)"),
    },
    infer=_infer_encode,
    kernel=_encode_kernel,
    gradient=NOT_DIFFERENTIABLE,
    reaches=_reaches,
)
