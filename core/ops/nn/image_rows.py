"""Batch rules of image ops: rows of images become more images."""

from collections.abc import Sequence
from typing import Any

from pinnace.ops.array import joining, reshaping, shapes
from pinnace.ops.batch_rules import BatchCall, BatchRule


def _folded(call: BatchCall) -> Sequence[Any]:
    if any(call.batched[1:]):
        call.refuse("has another argument in every row")
    if str(call.attrs.get("data_format", "NHWC")) not in {"NHWC", "NDHWC"}:
        call.refuse("has its channels in front")
    x, *rest = call.tensors
    outer = shapes.shape(x)[:2]
    merged = reshaping.reshape(x, joining.concat([[-1], shapes.shape(x)[2:]], 0))
    (y,) = call.apply([merged, *rest])
    made = reshaping.reshape(y, joining.concat([outer, shapes.shape(y)[1:]], 0))
    made.set_shape([x.shape[0], *call.outputs[0].shape])
    return [made]


# The op processes the images of its first argument independently: batches can be joined.
FOLDED = BatchRule(_folded)
