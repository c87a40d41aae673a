"""Bytes as text and as numbers: base64, DecodeRaw."""

import base64
import binascii
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import COMPLEX, FLOATS, INTEGERS, DType
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops import batch_rules
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, same_as_input
from pinnace.ops.strings.elements import map_strings, shown

__all__ = ["decode_base64", "decode_raw", "encode_base64"]


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Every string in base64, with the URL-safe alphabet.

    Args:
        input: [...], string.
        pad: `=` up to a multiple of four letters.
        name: name of the node while tracing.
    """
    return execute_one(ENCODE_BASE64, input, pad=bool(pad), name=name)


def _encode_kernel(input: Array, *, pad: bool) -> Array:
    def encoded(item: bytes) -> bytes:
        text = base64.urlsafe_b64encode(item)
        return text if pad else text.rstrip(b"=")

    return map_strings(encoded, input)


ENCODE_BASE64 = define(
    name="EncodeBase64",
    signature="input: string -> output: string",
    attrs={"pad": attr("bool", default=False)},
    infer=same_as_input,
    kernel=_encode_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)


@takes_composites(values=1)
def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """The strings decoded from URL-safe base 64, padded or not.

    Args:
        input: [...], string.
        name: name of the node while tracing.

    Returns:
        The shape of `input`, string.

    Raises:
        InvalidArgumentError: a string is not base 64.
    """
    return execute_one(DECODE_BASE64, input, name=name)


def _decode_kernel(input: Array) -> Array:
    def decoded(item: bytes) -> bytes:
        core = item.rstrip(b"=")
        try:
            text = (core + b"=" * (-len(core) % 4)).translate(_URL_LETTERS)
            return binascii.a2b_base64(text, strict_mode=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidArgumentError(
                f"DecodeBase64: input must be base 64 with - and _, got {shown(item)}: {error}"
            ) from None

    return map_strings(decoded, input)


# `+` and `/` are mapped to an invalid character, so that they are refused.
_URL_LETTERS = bytes.maketrans(b"-_+/", b"+/!!")


DECODE_BASE64 = define(
    name="DecodeBase64",
    signature="input: string -> output: string",
    infer=same_as_input,
    kernel=_decode_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)


def decode_raw(
    input_bytes: TensorLike, out_type: Any, little_endian: bool = True, name: str | None = None
) -> Tensor:
    """The bytes of each string reinterpreted as numbers.

    Args:
        input_bytes: [...], string, all of one length.
        out_type: dtype of the numbers.
        little_endian: the order of their bytes.
        name: name of the node while tracing.

    Returns:
        [..., n], `out_type`.

    Raises:
        InvalidArgumentError: lengths differ or are no multiple of the size of a number.
    """
    kind = dtypes.as_dtype(out_type)
    return execute_one(
        DECODE_RAW, input_bytes, out_type=kind, little_endian=bool(little_endian), name=name
    )


def _decode_raw_kernel(bytes: Array, *, out_type: DType, little_endian: bool) -> Array:
    items = bytes.reshape(-1).tolist()
    lengths = {len(item) for item in items}
    if len(lengths) > 1:
        raise InvalidArgumentError(
            f"DecodeRaw: all strings must have one length, got {sorted(lengths)} bytes"
        )
    size = lengths.pop() if lengths else 0
    width = out_type.numpy.itemsize
    if size % width:
        raise InvalidArgumentError(
            f"DecodeRaw: strings must hold whole numbers of {width} bytes ({out_type.name}), got "
            f"{size} bytes"
        )
    raw = np.frombuffer(b"".join(items), np.uint8)
    if not little_endian:
        # The parts of a complex number keep their order.
        part = width // 2 if out_type.is_complex else width
        raw = raw.reshape(-1, part)[:, ::-1].reshape(-1)
    return np.ascontiguousarray(raw).view(out_type.numpy).reshape(*bytes.shape, size // width)


def _infer_decode_raw(call: InferCall) -> Shape:
    known = call.constant(0)
    size = None
    if known is not None and known.size:
        size = len(known.reshape(-1)[0]) // call.attrs["out_type"].numpy.itemsize
    return call.spec(0).shape.concatenate([size])


DECODE_RAW = define(
    name="DecodeRaw",
    signature="bytes: string -> output: out_type",
    types={
        "out_type": (FLOATS | INTEGERS | COMPLEX | {dtypes.bool}) - {dtypes.uint32, dtypes.uint64}
    },
    attrs={"little_endian": attr("bool", default=True)},
    infer=_infer_decode_raw,
    kernel=_decode_raw_kernel,
    gradient=NOT_DIFFERENTIABLE,
    batch=batch_rules.AS_IT_IS_EXACTLY,
)
