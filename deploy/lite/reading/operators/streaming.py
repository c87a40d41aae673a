"""SVDF: a layer over the last steps of a sequence, of which each run is given one.

Its memory is a variable, as in an interpreter, with zeros before the first run.

Source: lite/kernels/internal/reference/svdf.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.operators.convolution import with_bias
from pinnace.deploy.lite.reading.operators.over_time import product
from pinnace.deploy.lite.reading.quantised import centred, is_quantised, nearest, one_scale
from pinnace.deploy.lite.reading.registry import Call, clipped, constant, op, reads
from pinnace.deploy.lite.reading.state import Handle
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_STATE = 4


@reads("SVDF")
def svdf(call: Call) -> Tensor:
    """The outputs for a step: features of this step and earlier ones, weighted by age."""
    source = call.source(0)
    if is_quantised(source.dtype, source.quantization):
        return _whole(call)
    memory = _remembered(call, product(call.x(0), call.x(1)))
    weighed = op("Sum", op("Mul", memory, call.x(2)), constant([-1], dtypes.int32))
    return call.activated(with_bias(call, _by_unit(call, weighed), 3))


def _remembered(call: Call, features: Tensor) -> Tensor:
    """The updated memory, [batch, filters, memory], with the newest step last."""
    source, weights = call.source(_STATE), call.source(2)
    if not source.is_state or not source.shape.is_fully_defined() or weights.rank != 2:
        call.damaged("its memory must be a state tensor of known size")
    filters, length = (int(n or 0) for n in weights.shape)
    rows = (source.shape.num_elements() or 0) // max(filters * length, 1)
    if features.shape[0] != rows:
        call.fail(f"its memory has {rows} rows, its input {features.shape[0] or 'unknown'}")
    # Several states may have one name in the file, so the tensor is the key.
    handle = Handle("SVDF", ("SVDF", id(source)))
    variable = call.translation.state.variable(handle, source.dtype, source.shape)
    before = op("Reshape", variable.read_value(), constant([rows, filters, length], dtypes.int32))
    kept = op(
        "Slice",
        before,
        constant([0, 0, 1], dtypes.int32),
        constant([rows, filters, length - 1], dtypes.int32),
    )
    memory = op("ConcatV2", [kept, op("ExpandDims", features, -1)], 2)
    size = constant([int(n or 0) for n in source.shape], dtypes.int32)
    variable.assign(op("Reshape", memory, size))
    return memory


def _by_unit(call: Call, weighed: Tensor) -> Tensor:
    """The sums over the `rank` filters of each unit."""
    rank, filters = int(call.options["rank"]), int(call.source(2).shape[0] or 0)
    if rank < 1 or filters % rank:
        call.damaged(f"its rank is {rank}, which does not divide its {filters} filters")
    size = constant([-1, filters // rank, rank], dtypes.int32)
    return op("Sum", op("Reshape", weighed, size), constant([-1], dtypes.int32))


def _whole(call: Call) -> Tensor:
    """The int8 kernel, with an int16 memory, rounded where LiteRT rounds."""
    source, state = call.source(0), call.source(_STATE)
    if (source.dtype, state.dtype) != (dtypes.int8, dtypes.int16):
        call.fail(
            f"its input is {source.dtype.name} and its memory {state.dtype.name}; LiteRT has a "
            "kernel for int8 and int16"
        )
    first, of_features, of_time, remembered = (one_scale(call, n).scales[0] for n in (0, 1, 2, 4))
    features = product(centred(call, 0), centred(call, 1))
    ratio = constant(first * of_features / remembered, dtypes.float32)
    features = clipped(nearest(op("Mul", features, ratio)), dtypes.int16.min, dtypes.int16.max)
    memory = _remembered(call, op("Cast", features, DstT=dtypes.int16))
    wide, weights = (op("Cast", x, DstT=dtypes.int32) for x in (memory, call.stored(2)))
    total = _by_unit(call, op("Sum", op("Mul", wide, weights), constant([-1], dtypes.int32)))
    if call.has(3):
        total = op("AddV2", total, call.stored(3))
    how = call.given().quantization
    if how is None or len(how.scales) != 1 or how.scales[0] <= 0:
        call.damaged("its output must have one positive scale")
    # The sums of 16-bit products need more bits than float32 has.
    scale = constant(remembered * of_time / how.scales[0], dtypes.float64)
    found = nearest(op("Mul", op("Cast", total, DstT=dtypes.float64), scale))
    found = op("AddV2", found, constant(float(how.zeros[0]), dtypes.float64))
    return op("Cast", clipped(found, dtypes.int8.min, dtypes.int8.max), DstT=dtypes.int8)
