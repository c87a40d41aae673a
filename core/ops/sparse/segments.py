"""Reductions over groups of selected rows.

SparseSegmentSum, SparseSegmentMean, SparseSegmentSqrtN, the same WithNumSegments, and their
gradients, dense or as rows with their places (V2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import COMPLEX, FLOATS, INDEX, NUMBERS, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import casting, gathering, shapes
from pinnace.ops.execute import execute
from pinnace.ops.kernels import segments
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.math import segments as segment_ops
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, OpDef, attr, typed
from pinnace.ops.registry import define, register

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

# Kind of sum -> the op, its form with a number of segments, its gradient, the kernel's word.
_NAMES: dict[str, tuple[str, str, str, Any]] = {
    "Sum": ("SparseSegmentSum", "SparseSegmentSumWithNumSegments", "SparseSegmentSumGrad", "sum"),
    "Mean": (
        "SparseSegmentMean",
        "SparseSegmentMeanWithNumSegments",
        "SparseSegmentMeanGrad",
        "mean",
    ),
    "SqrtN": (
        "SparseSegmentSqrtN",
        "SparseSegmentSqrtNWithNumSegments",
        "SparseSegmentSqrtNGrad",
        "sqrt_n",
    ),
}


# The gradients as rows with their indices.
_COMPACT_NAMES = {
    "Sum": "SparseSegmentSumGradV2",
    "Mean": "SparseSegmentMeanGradV2",
    "SqrtN": "SparseSegmentSqrtNGradV2",
}


def _rows(who: str, data: Array, indices: Array, ids: Array) -> Array:
    if indices.ndim != 1 or indices.shape != ids.shape:
        raise InvalidArgumentError(
            f"{who}: indices and segment_ids must be vectors of one length, got shapes "
            f"{list(indices.shape)} and {list(ids.shape)}"
        )
    if len(indices) and (indices.min() < 0 or indices.max() >= len(data)):
        at = int(np.argmax((indices < 0) | (indices >= len(data))))
        raise InvalidArgumentError(
            f"{who}: indices[{at}] = {indices[at]} is not in [0, {len(data)})"
        )
    return data[indices]


def _infer(call: InferCall) -> Shape:
    data = call.spec(0).shape
    if data.rank == 0:
        call.fail("data must have at least one axis")
    count = None
    if len(call.inputs) == 4:
        if call.spec(3).shape.rank not in {None, 0}:
            call.fail("num_segments must be a scalar")
        given = call.constant(3)
        count = None if given is None else int(given)
    else:
        ids = call.constant(2)
        if ids is not None:
            count = int(ids[-1]) + 1 if ids.size else 0
    return Shape(None) if data.rank is None else Shape([count]).concatenate(data[1:])


def _gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    data, indices, ids = call.inputs[:3]
    rest = (None,) * (len(call.inputs) - 1)
    rows = shapes.shape(data)[0]
    grad = _GRADIENTS[call.op.name.removesuffix("WithNumSegments")]
    if data.dtype in FLOATS:
        return execute(grad, dy, indices, ids, rows), *rest
    spread = gathering.gather(dy, ids)
    return segment_ops.unsorted_segment_sum(spread, indices, rows), *rest


def _register(word: str, types: Any) -> tuple[OpDef, OpDef]:
    name, counted_name, _, how = _NAMES[word]

    def plain(data: Array, indices: Array, segment_ids: Array) -> Array:
        return segments.segment_reduce(_rows(name, data, indices, segment_ids), segment_ids, how)

    def counted(data: Array, indices: Array, segment_ids: Array, num_segments: Array) -> Array:
        rows = _rows(name, data, indices, segment_ids)
        return segments.segment_reduce(rows, segment_ids, how, int(num_segments))

    common: dict[str, Any] = {
        "attrs": {"sparse_gradient": attr("bool", default=False)},
        "infer": _infer,
        "gradient": _gradient,
    }
    index = typed(INDEX, default=int32)
    first = OpDef(
        name=name,
        signature="data: T, indices: Tidx, segment_ids: Tsegmentids -> output: T",
        types={"T": types, "Tidx": index, "Tsegmentids": index},
        kernel=plain,
        **common,
    )
    second = OpDef(
        name=counted_name,
        signature=(
            "data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments -> "
            "output: T"
        ),
        types={"T": types, "Tidx": index, "Tsegmentids": index, "Tnumsegments": index},
        kernel=counted,
        **common,
    )
    return register(first), register(second)


def scaled_rows(word: str, rows: Array, grad: Array, segment_ids: Array) -> Array:
    """The gradients of gathered rows, from the segments' gradients `grad`."""
    wide = rows.astype(computed_in(grad.dtype))
    if word != "Sum":
        sizes = np.bincount(segment_ids, minlength=len(grad)).astype(wide.dtype)
        scale = sizes if word == "Mean" else np.sqrt(sizes)
        wide /= scale[segment_ids].reshape(-1, *(1,) * (grad.ndim - 1))
    return wide


def _register_gradient(word: str) -> OpDef:
    name = _NAMES[word][2]

    def kernel(grad: Array, indices: Array, segment_ids: Array, output_dim0: Array) -> Array:
        rows = scaled_rows(word, _rows(name, grad, segment_ids, indices), grad, segment_ids)
        count = int(output_dim0.reshape(()))
        if len(indices) and not 0 <= indices.min() <= indices.max() < count:
            raise InvalidArgumentError(f"{name}: indices must be in [0, {count})")
        out = segments.unsorted_segment_reduce(rows, indices, count, "sum")
        return out.astype(grad.dtype, copy=False)

    def infer(call: InferCall) -> Shape:
        grad, count = call.spec(0).shape, call.constant(3)
        rows = None if count is None else int(np.asarray(count).reshape(()))
        return Shape(None) if grad.rank is None else Shape([rows]).concatenate(grad[1:])

    def gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
        # The gradient is linear in `grad`: its own gradient is the forward op.
        _, indices, ids, _ = call.inputs
        forward = FORWARD[word][1]
        count = shapes.shape(call.inputs[0])[0]
        return execute(forward, dy, indices, ids, casting.cast(count, "int32")), None, None, None

    index = typed(INDEX, default=int32)
    return define(
        name=name,
        signature=(
            "grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32 -> output: T"
        ),
        types={"T": FLOATS, "Tidx": index, "Tsegmentids": index},
        infer=infer,
        kernel=kernel,
        gradient=gradient,
    )


def _register_compact_gradient(word: str) -> OpDef:
    """Register the gradient in the form of rows and their indices."""
    name = _COMPACT_NAMES[word]

    def kernel(
        grad: Array, indices: Array, segment_ids: Array, dense_output_dim0: Array
    ) -> tuple[Array, Array]:
        rows = _rows(name, grad, segment_ids, indices)
        count = int(dense_output_dim0.reshape(()))
        if len(indices) and not 0 <= indices.min() <= indices.max() < count:
            raise InvalidArgumentError(f"{name}: indices must be in [0, {count})")
        places, which = np.unique(indices, return_inverse=True)
        scaled = scaled_rows(word, rows, grad, segment_ids)
        which = which.reshape(-1)
        out = segments.unsorted_segment_reduce(scaled, which, len(places), "sum")
        return out.astype(grad.dtype, copy=False), places.astype(indices.dtype, copy=False)

    def infer(call: InferCall) -> tuple[Shape, Shape]:
        grad = call.spec(0).shape
        rows = Shape(None) if grad.rank is None else Shape([None]).concatenate(grad[1:])
        return rows, Shape([None])

    index = typed(INDEX, default=int32)
    return define(
        name=name,
        signature=(
            "grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32 -> "
            "output: T, sorted_unique_indices: Tidx"
        ),
        types={"T": FLOATS, "Tidx": index, "Tsegmentids": index},
        infer=infer,
        kernel=kernel,
        gradient=NO_GRADIENT_DEFINED,
    )


FORWARD: dict[str, tuple[OpDef, OpDef]] = {
    word: _register(word, (NUMBERS - COMPLEX) if word == "Sum" else FLOATS) for word in _NAMES
}
_GRADIENTS: dict[str, OpDef] = {_NAMES[word][0]: _register_gradient(word) for word in _NAMES}
_COMPACT: dict[str, OpDef] = {word: _register_compact_gradient(word) for word in _NAMES}
SPARSE_SEGMENT_SUM, SPARSE_SEGMENT_SUM_WITH_NUM_SEGMENTS = FORWARD["Sum"]
SPARSE_SEGMENT_MEAN, SPARSE_SEGMENT_MEAN_WITH_NUM_SEGMENTS = FORWARD["Mean"]
SPARSE_SEGMENT_SQRT_N, SPARSE_SEGMENT_SQRT_N_WITH_NUM_SEGMENTS = FORWARD["SqrtN"]
