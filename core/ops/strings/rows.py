"""Fingerprint: a fingerprint per row of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY_VALUE, string
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.fingerprints import farm64, farm64s
from pinnace.ops.opdef import NOT_DIFFERENTIABLE
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import InferCall

_METHOD = b"farmhash64"


def fingerprint(
    data: TensorLike, method: TensorLike = "farmhash64", name: str | None = None
) -> Tensor:
    """A fingerprint of eight bytes for each row, the same on all machines.

    Args:
        data: [rows, ...], any dtype but resource and variant.
        method: "farmhash64".
        name: name of the node while tracing.

    Returns:
        [rows, 8], uint8.

    Raises:
        InvalidArgumentError: `data` is a scalar, or there is no such method.

    Source:
        TensorFlow op `Fingerprint` (array_ops.cc): FarmHash's Fingerprint64.
    """
    return execute_one(FINGERPRINT, data, convert_to_tensor(method, string), name=name)


def _eight(data: bytes) -> bytes:
    return int(farm64(data)).to_bytes(8, "little")


def _eights(items: list[bytes]) -> Array:
    return farm64s(items).astype("<u8").view(np.uint8).reshape(-1, 8)


def _kernel(data: Array, method: Array) -> Array:
    if method.ndim or method[()] != _METHOD:
        raise InvalidArgumentError(
            f"Fingerprint: method must be {_METHOD.decode()!r}, got {method.tolist()!r}"
        )
    if not data.ndim:
        raise InvalidArgumentError("Fingerprint: data must have an axis, got a scalar")
    rows = data.reshape(len(data), -1) if data.size else np.zeros((len(data), 0), data.dtype)
    if data.dtype != object:
        found = [_eight(np.ascontiguousarray(row).tobytes()) for row in rows]
    elif rows.shape[1] == 1:
        return _eights(rows[:, 0].tolist())
    else:
        # TensorFlow: the fingerprint of the strings' fingerprints.
        of_all = _eights(rows.reshape(-1).tolist()).reshape(len(rows), -1)
        found = [_eight(row.tobytes()) for row in of_all]
    return np.frombuffer(b"".join(found), np.uint8).reshape(-1, 8)


def _infer(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if shape.rank == 0:
        call.fail("data must have an axis")
    if call.spec(1).shape.rank not in {None, 0}:
        call.fail("method must be a scalar")
    return Shape([shape[0] if shape.rank else None, 8])


FINGERPRINT = define(
    name="Fingerprint",
    signature="data: T, method: string -> fingerprint: uint8",
    types={"T": ANY_VALUE},
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
