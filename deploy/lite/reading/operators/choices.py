"""Gathering, scattering, selection, largest elements, segments, non-maximum suppression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.registry import Call, constant, op, ops, reads
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


@reads("GATHER", moves=True)
def gather(call: Call) -> Tensor:
    """Slices gathered along an axis."""
    options = call.options
    axis = constant(int(options["axis"]), dtypes.int32)
    return op("GatherV2", call.x(0), _indices(call, 1), axis, batch_dims=int(options["batch_dims"]))


def _indices(call: Call, index: int) -> Tensor:
    """Indices in a type that the op takes."""
    found = call.stored(index)
    narrow = found.dtype in {dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16}
    return op("Cast", found, DstT=dtypes.int32) if narrow else found


@reads("GATHER_ND", moves=True)
def gather_nd(call: Call) -> Tensor:
    """Elements or slices at the given indices."""
    return op("GatherNd", call.x(0), _indices(call, 1))


@reads("EMBEDDING_LOOKUP")
def embedding_lookup(call: Call) -> Tensor:
    """The rows of a table."""
    return op("GatherV2", call.x(1), call.stored(0), constant(0, dtypes.int32))


@reads("SELECT")
def select(call: Call) -> Tensor:
    """A selection between tensors of equal shape, or between rows by a vector."""
    return op("Select", call.stored(0), call.x(1), call.x(2))


@reads("SELECT_V2")
def select_broadcast(call: Call) -> Tensor:
    """A selection with broadcast operands."""
    return op("SelectV2", call.stored(0), call.x(1), call.x(2))


@reads("WHERE")
def where(call: Call) -> Tensor:
    """The indices of elements other than 0."""
    return op("Where", call.stored(0))


@reads("ONE_HOT")
def one_hot(call: Call) -> Tensor:
    """`on` at the indices, `off` elsewhere."""
    return op(
        "OneHot",
        call.stored(0),
        op("Reshape", call.stored(1), constant([], dtypes.int32)),
        call.x(2),
        call.x(3),
        axis=int(call.options["axis"]),
    )


@reads("ARG_MAX", "ARG_MIN", moves=True)
def extreme_place(call: Call) -> Tensor:
    """The index of the largest or smallest element along an axis."""
    x = call.x()
    if x.dtype is dtypes.bool:
        x = op("Cast", x, DstT=dtypes.int8)
    axis = op("Reshape", call.x(1), constant([], dtypes.int32))
    name = "ArgMax" if call.kind == "ARG_MAX" else "ArgMin"
    return op(name, x, axis, output_type=call.dtype())


@reads("TOPK_V2", moves=True)
def top_k(call: Call) -> Sequence[Tensor]:
    """The largest elements along the last axis, and their indices."""
    k = op("Reshape", call.x(1), constant([], dtypes.int32))
    return ops("TopKV2", call.x(0), k, index_type=call.dtype(1))


@reads("UNIQUE", moves=True)
def unique(call: Call) -> Sequence[Tensor]:
    """The distinct elements, and for each element the index of its value among them."""
    return ops("Unique", call.x(), out_idx=call.dtype(1))


@reads("SCATTER_ND")
def scatter_nd(call: Call) -> Tensor:
    """Zeros with updates added at the indices."""
    return op("ScatterNd", call.stored(0), call.x(1), call.stored(2))


@reads("SPARSE_TO_DENSE")
def sparse_to_dense(call: Call) -> Tensor:
    """Values at the indices, a default elsewhere."""
    return op(
        "SparseToDense",
        call.stored(0),
        call.stored(1),
        call.x(2),
        op("Reshape", call.x(3), constant([], dtypes.int32)),
        validate_indices=bool(call.options["validate_indices"]),
    )


@reads("SEGMENT_SUM")
def segment_sum(call: Call) -> Tensor:
    """Sums of consecutive rows with equal ids."""
    return op("SegmentSum", call.x(0), call.stored(1))


_SEGMENTS = {
    "UNSORTED_SEGMENT_SUM": "UnsortedSegmentSum",
    "UNSORTED_SEGMENT_PROD": "UnsortedSegmentProd",
    "UNSORTED_SEGMENT_MAX": "UnsortedSegmentMax",
    "UNSORTED_SEGMENT_MIN": "UnsortedSegmentMin",
}


@reads(*_SEGMENTS)
def unsorted_segments(call: Call) -> Tensor:
    """Reductions over the rows of each segment."""
    count = op("Reshape", call.stored(2), constant([], dtypes.int32))
    return op(_SEGMENTS[call.kind], call.x(0), call.stored(1), count)


@reads("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def suppression(call: Call) -> Sequence[Tensor]:
    """The boxes that overlap no better ones, padded with zeros.

    In version 5, overlapping boxes first lower each other's scores, by one more number.
    """
    version = call.kind[-1]
    most, *thresholds = (_plain(call, index) for index in range(2, int(version) + 1))
    return ops(
        f"NonMaxSuppressionV{version}",
        *(call.x(0), call.x(1), most, *thresholds),
        pad_to_max_output_size=True,
    )


def _plain(call: Call, index: int) -> Tensor:
    return op("Reshape", call.x(index), constant([], dtypes.int32))
