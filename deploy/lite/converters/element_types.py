"""The element types that kernels take, and the types in which the other ones are computed.

The table lists types of LiteRT's CPU kernels without quantisation. Kernels for 8 and 16 bits
exist, but their integers represent real numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.refusals import UnconvertibleError
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor
    from pinnace.framework.dtypes import DType

_F, _I, _L, _B = dtypes.float32, dtypes.int32, dtypes.int64, dtypes.bool
_REAL = (_F,)
_NARROW = (_F, _I)
_WIDE = (_F, _I, _L)

TYPES: dict[str, Sequence[DType]] = {
    **dict.fromkeys(("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "NEG", "FLOOR_MOD"), _WIDE),
    **dict.fromkeys(("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "RANGE", "CUMSUM"), _WIDE),
    **dict.fromkeys(("DIV", "FLOOR_DIV", "POW", "ABS", "SQUARED_DIFFERENCE", "SIGN"), _NARROW),
    **dict.fromkeys(("EQUAL", "NOT_EQUAL"), (_F, _I, _L, _B, dtypes.string)),
    **dict.fromkeys(("SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"), _WIDE),
    "MEAN": _REAL,
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), (_F, _I, dtypes.uint8, dtypes.int8)),
    "TOPK_V2": (_F, _I, _L, dtypes.uint8, dtypes.int8),
    "ONE_HOT": (_F, _I, _L, _B),
    "SCATTER_ND": (_F, _I, _L, _B),
    "WHERE": (_B, _F, _I, _L),
    "PADV2": (_F, _I, _L, _B),
    "PAD": (_F, _I, _L, _B),
    "MIRROR_PAD": (_F, _I, _L, dtypes.uint8),
    "GATHER": (_F, _I, _L, _B, dtypes.uint8, dtypes.string),
    "GATHER_ND": (_F, _I, _L, _B, dtypes.uint8, dtypes.string),
    "SELECT_V2": (_F, _I, _L, _B),
    "CONCATENATION": (_F, _I, _L, _B, dtypes.uint8, dtypes.string),
    "PACK": (_F, _I, _L, _B, dtypes.uint8),
    "UNPACK": (_F, _I, _L, _B, dtypes.uint8),
    "SPLIT": (_F, _I, dtypes.uint8),
    "SPLIT_V": (_F, _I, _L, dtypes.uint8),
    "TILE": (_F, _I, _L, _B, dtypes.uint8, dtypes.string),
    "SLICE": (_F, _I, _L, _B, dtypes.uint8, dtypes.string),
    "STRIDED_SLICE": (_F, _I, _L, _B, dtypes.uint8, dtypes.string),
    "TRANSPOSE": (_F, _I, _L, _B, dtypes.uint8),
    "REVERSE_V2": (_F, _I, _L, _B, dtypes.uint8),
    "REVERSE_SEQUENCE": (_F, _I, _L, dtypes.uint8),
    "SPACE_TO_DEPTH": (_F, _I, _L, dtypes.uint8),
    "DEPTH_TO_SPACE": (_F, _I, _L, dtypes.uint8),
    "SPACE_TO_BATCH_ND": (_F, _I, _L, dtypes.uint8),
    "BATCH_TO_SPACE_ND": (_F, _I, _L, dtypes.uint8),
    "BROADCAST_TO": (_F, _I, _L, _B, dtypes.uint8),
    "FILL": (_F, _I, _L, _B, dtypes.string),
    "BATCH_MATMUL": _REAL,
    "DYNAMIC_UPDATE_SLICE": (_F, _I, _L, _B),
    "MATRIX_DIAG": (_F, _I, _L, dtypes.uint8),
    "MATRIX_SET_DIAG": (_F, _I, _L, dtypes.uint8),
    "SEGMENT_SUM": _NARROW,
    **dict.fromkeys((f"UNSORTED_SEGMENT_{one}" for one in ("PROD", "MAX", "MIN", "SUM")), _NARROW),
    "UNIQUE": _WIDE,
    "RELU": _REAL,
}
_WIDER = {
    dtypes.bool: (_I,),
    dtypes.int8: (_I,),
    dtypes.int16: (_I,),
    dtypes.uint8: (_I,),
    dtypes.uint16: (_I,),
    dtypes.uint32: (_L,),
    dtypes.int32: (_L,),
}


def type_for(kind: str, dtype: DType) -> DType:
    """The type in which an operator computes elements of another type.

    Raises:
        UnconvertibleError: no type of the kernel holds them exactly.
    """
    allowed = TYPES.get(kind, _REAL)
    if dtype in allowed:
        return dtype
    for wider in _WIDER.get(dtype, ()):
        if wider in allowed:
            return wider
        for widest in _WIDER.get(wider, ()):
            if widest in allowed:
                return widest
    raise UnconvertibleError(f"LiteRT's kernel of {kind} takes no {dtype.name}")


def fitted(g: GraphBuilder, kind: str, *xs: Tensor) -> list[Tensor]:
    """The inputs, cast to a type that the operator takes."""
    dtype = type_for(kind, xs[0].dtype)
    return [g.cast(x, dtype) for x in xs]


def computed(g: GraphBuilder, kind: str, *xs: Tensor, **options: Any) -> Tensor:
    """The output of an operator whose inputs and output have one element type."""
    return g.cast(g.op(kind, *fitted(g, kind, *xs), **options), xs[0].dtype)


def moved(g: GraphBuilder, kind: str, x: Tensor, *rest: Tensor, **options: Any) -> Tensor:
    """The output of an operator that moves elements; the other inputs give sizes and indices."""
    dtype = type_for(kind, x.dtype)
    made = g.op(kind, g.cast(x, dtype), *rest, dtype=dtype, **options)
    return g.cast(made, x.dtype)
