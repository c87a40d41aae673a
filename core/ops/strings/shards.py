"""Names of sharded files: ShardedFilename, ShardedFilespec."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

__all__: list[str] = []


def _bytes(basename: Array) -> bytes:
    text = basename[()]
    return text.encode() if isinstance(text, str) else bytes(text)


def _text(name: bytes) -> Array:
    found = np.empty((), object)
    found[()] = name
    return found


def _name_kernel(basename: Array, shard: Array, num_shards: Array) -> Array:
    return _text(_bytes(basename) + b"-%05d-of-%05d" % (int(shard), int(num_shards)))


def _spec_kernel(basename: Array, num_shards: Array) -> Array:
    return _text(_bytes(basename) + b"-?????-of-%05d" % int(num_shards))


def _infer(call: InferCall) -> Shape:
    for place in range(len(call.op.inputs)):
        if call.spec(place).shape.rank not in {None, 0}:
            call.fail(f"{call.op.inputs[place].name} must be a scalar")
    return Shape(())


SHARDED_FILENAME = define(
    name="ShardedFilename",
    signature="basename: string, shard: int32, num_shards: int32 -> filename: string",
    infer=_infer,
    kernel=_name_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


SHARDED_FILESPEC = define(
    name="ShardedFilespec",
    signature="basename: string, num_shards: int32 -> filename: string",
    infer=_infer,
    kernel=_spec_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
