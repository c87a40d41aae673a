"""Complex numbers as pairs of real values, as no ONNX runtime computes with complex types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.deploy.onnx.ir.builder import GraphBuilder
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

_PARTS = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}
Converted: TypeAlias = "Value | tuple[Value, ...]"


class Pair(Value):
    """A complex value as two real ones; it is not itself in the file.

    Attributes:
        real: the real part.
        imaginary: the imaginary part.
    """

    __slots__ = ("imaginary", "real")

    def __init__(self, real: Value, imaginary: Value) -> None:
        kind = dtypes.complex128 if real.dtype is dtypes.float64 else dtypes.complex64
        super().__init__(real.name, kind, real.shape)
        self.real = real
        self.imaginary = imaginary


def part_type(dtype: DType) -> DType:
    """The type of the parts of a complex number."""
    return _PARTS[dtype]


def constant_pair(g: GraphBuilder, array: Array, name: str, dtype: DType) -> Pair:
    """A complex constant."""
    kind = part_type(dtype)
    parts = [np.array(part, kind.numpy) for part in (array.real, array.imag)]
    return Pair(*(g.constant(part, name, kind) for part in parts))


def stacked(g: GraphBuilder, z: Value) -> Value:
    """[..., 2]: the parts along a new last axis."""
    if not isinstance(z, Pair):
        return g.unsqueeze(z, z.rank)
    parts = [g.unsqueeze(part, part.rank) for part in (z.real, z.imaginary)]
    return g.concat(parts, parts[0].rank - 1)


def unstacked(g: GraphBuilder, x: Value) -> Pair:
    """The pair whose parts are along the last axis."""
    real, imaginary = (g.op("Gather", x, g.index(place), axis=x.rank - 1) for place in (0, 1))
    return Pair(real, imaginary)


def by_parts(
    convert: Callable[..., Any], g: GraphBuilder, call: Any, inputs: tuple[Any, ...]
) -> Any:
    """The results of an op applied to both parts separately; real values are passed unchanged."""
    halves = [
        convert(g, call, *(_part(value, which) for value in inputs))
        for which in ("real", "imaginary")
    ]
    if isinstance(halves[0], tuple):
        return tuple(Pair(*both) for both in zip(*halves, strict=True))
    return Pair(*halves)


def _part(value: Any, which: str) -> Any:
    if isinstance(value, tuple):
        return tuple(_part(one, which) for one in value)
    return getattr(value, which) if isinstance(value, Pair) else value
