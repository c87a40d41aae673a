"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.operators.convolution import with_bias
from pinnace.deploy.lite.reading.registry import Call, constant, op, reads
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


@reads("FULLY_CONNECTED")
def fully_connected(call: Call) -> Tensor:
    """x · transposed weights, along the last axis or after a reshape to rows."""
    if call.options["weights_format"]:
        call.fail("its weights are shuffled (SHUFFLED4x16INT8), which is not supported")
    x, weights = call.x(0), call.x(1)
    if weights.shape.rank != 2:
        call.damaged(f"its weights have {weights.shape.rank} axes, must have 2")
    if call.options["keep_num_dims"] and x.shape.rank != 2:
        found = op("BatchMatMulV2", x, weights, adj_y=True)
    else:
        if x.shape.rank != 2:
            columns = weights.shape[1]
            if columns is None:
                call.fail("the number of columns of its weights must be known")
            x = op("Reshape", x, constant([-1, columns], dtypes.int32))
        found = op("MatMul", x, weights, transpose_b=True)
    return call.activated(with_bias(call, found, 2))


@reads("BATCH_MATMUL")
def batch_matmul(call: Call) -> Tensor:
    """A product of matrices in broadcast batches."""
    x, y = call.x(0), call.x(1)
    if x.dtype.is_integer and x.dtype is not call.dtype():
        x, y = (op("Cast", one, DstT=call.dtype()) for one in (x, y))
    adjoint = {name: bool(call.options[name]) for name in ("adj_x", "adj_y")}
    return op("BatchMatMulV2", x, y, **adjoint)
