"""The version of each operator by the rules of LiteRT's own tools (op_version.cc).

A runtime refuses a file with operator versions newer than its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.ir.kinds import version_by_type
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.deploy.lite.ir.model import Operator, Tensor

_MOST_AXES = 4  # the largest rank of the first kernels
_PADS = {"PAD", "PADV2"}
_BATCHED = {"SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"}
_RESIZES = {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"}


def version_of(operator: Operator) -> int:
    """The least version that supports this use of the operator."""
    kind, options = operator.kind, operator.options
    given = [x for x in operator.inputs if x is not None]
    if not given:
        return 1
    own = _OWN.get(kind)
    if own is not None:
        return own(operator, given)
    data = given[0]
    found = version_by_type(kind, data.dtype)
    if kind == "STRIDED_SLICE" and (options.get("ellipsis_mask") or options.get("new_axis_mask")):
        return max(found, 6)
    if kind in _RESIZES and _is_half_pixel(operator):
        return max(found, 3)
    return max(found, _by_axes(kind, data.rank or 0, given))


def _is_hybrid(given: list[Tensor]) -> bool:
    """Whether the weights are quantised and the activations are floats."""
    return given[1].dtype is dtypes.int8 and given[0].dtype is dtypes.float32


def _by_channel(given: list[Tensor]) -> bool:
    how = given[1].quantization
    return how is not None and len(how.scales) > 1


def _whole(given: list[Tensor], wide: int, narrow: int) -> int:
    """`wide` for int16 and `narrow` for int8 operands, 1 for floats."""
    if given[0].dtype is dtypes.int16:
        return wide
    return narrow if given[1].dtype is dtypes.int8 else 1


def _conv(operator: Operator, given: list[Tensor]) -> int:
    del operator
    data, weights = given[0], given[1]
    depth = data.shape[-1] if data.rank else None
    if depth is not None and weights.rank and weights.shape[-1] != depth:
        return 6  # grouped convolution
    if _is_hybrid(given):
        return 5 if _by_channel(given) else 2
    return _whole(given, 4, 3)


def _depthwise(operator: Operator, given: list[Tensor]) -> int:
    if _is_hybrid(given):
        return 6 if _by_channel(given) else 4
    found = _whole(given, 5, 3)
    rates = [operator.options.get(f"dilation_{axis}_factor", 1) for axis in "wh"]
    return found if found > 1 or rates == [1, 1] else 2


def _dense(operator: Operator, given: list[Tensor]) -> int:
    options = operator.options
    is_hybrid = _is_hybrid(given)
    if is_hybrid and _by_channel(given):
        return 12
    if given[0].dtype is dtypes.int16:
        return 7
    if len(given) == 2:
        return 6
    if options.get("keep_num_dims"):
        return 5
    if is_hybrid:
        return 9 if options.get("asymmetric_quantize_inputs") else 3
    return 4 if given[1].dtype is dtypes.int8 else 1


def _transposed(operator: Operator, given: list[Tensor]) -> int:
    if operator.options.get("fused_activation_function"):
        return 4
    return 3 if len(given) > 3 else 2 if given[1].dtype is dtypes.int8 else 1


def _split(operator: Operator, given: list[Tensor]) -> int:
    del operator
    return {dtypes.int16: 4, dtypes.int32: 3, dtypes.int8: 2}.get(given[1].dtype, 1)


def _gather(operator: Operator, given: list[Tensor]) -> int:
    if given[1].dtype is dtypes.int16:
        return 6
    if operator.options.get("batch_dims"):
        return 5
    return {dtypes.int16: 4, dtypes.bool: 3, dtypes.int8: 2}.get(given[0].dtype, 1)


def _broadcast_to(operator: Operator, given: list[Tensor]) -> int:
    del operator
    return 3 if given[0].dtype in {dtypes.int8, dtypes.int16} else 2


def _fill(operator: Operator, given: list[Tensor]) -> int:
    del operator
    return version_by_type("FILL", given[1].dtype)


def _quantize(operator: Operator, given: list[Tensor]) -> int:
    if operator.outputs[0].dtype is dtypes.int16:
        return max(2, version_by_type("QUANTIZE", given[0].dtype))
    return version_by_type("QUANTIZE", given[0].dtype)


def _lstm(operator: Operator, given: list[Tensor]) -> int:
    data, weights = given[0], operator.inputs[2]
    if weights is None or weights.dtype is not dtypes.int8 or data.dtype is dtypes.int8:
        return 1
    if data.dtype is dtypes.int16:
        return 5
    return 3 if operator.options.get("asymmetric_quantize_inputs") else 2


_OWN: dict[str, Callable[[Operator, list[Tensor]], int]] = {
    "BROADCAST_TO": _broadcast_to,
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FILL": _fill,
    "FULLY_CONNECTED": _dense,
    "GATHER": _gather,
    "QUANTIZE": _quantize,
    "SPLIT": _split,
    "TRANSPOSE_CONV": _transposed,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
}


def _is_half_pixel(operator: Operator) -> bool:
    options = operator.options
    is_nearest = operator.kind == "RESIZE_NEAREST_NEIGHBOR"
    return bool(options.get("half_pixel_centers") or (is_nearest and options.get("align_corners")))


def _by_axes(kind: str, rank: int, given: list[Tensor]) -> int:
    """The version of an operator that first took fewer axes."""
    if kind == "TRANSPOSE":
        return 6 if rank > 5 else 4 if rank > _MOST_AXES else 1
    if kind in _PADS or kind in {"STRIDED_SLICE"}:
        return 4 if rank > _MOST_AXES else 1
    if kind == "SLICE":
        return 5 if rank > _MOST_AXES else 1
    if kind in _BATCHED:
        return 3 if rank != _MOST_AXES else 1
    most = max((x.rank or 0 for x in given), default=0)
    is_broadcast = len({x.shape for x in given[:2]}) > 1 and most > _MOST_AXES
    if is_broadcast and kind in {"SUB", "MAXIMUM", "MINIMUM"}:
        return 3
    return 2 if is_broadcast and kind == "DIV" else 1
