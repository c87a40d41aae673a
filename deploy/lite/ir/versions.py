"""The version of each operator, as LiteRT's own tools number them (op_version.cc).

An older runtime refuses a file whose operators are newer than it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.ir.kinds import version_by_type
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.model import Operator, Tensor

_MOST_AXES = 4  # what the first kernels took
_PADS = {"PAD", "PADV2"}
_BATCHED = {"SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"}
_RESIZES = {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"}


def version_of(operator: Operator) -> int:
    """The least version that has what this use of the operator needs."""
    kind, options = operator.kind, operator.options
    given = [x for x in operator.inputs if x is not None]
    if not given:
        return 1
    data = given[1] if kind in {"SPLIT", "TRANSPOSE_CONV"} and len(given) > 1 else given[0]
    by_type = version_by_type(kind, data.dtype)
    weights = given[1] if len(given) > 1 else data
    rank = data.rank or 0
    if kind in _WEIGHED:
        return max(by_type, _weighed(operator, data, weights))
    if kind == "TRANSPOSE_CONV":
        if options.get("fused_activation_function"):
            return 4
        return 3 if len(given) > 3 else 2 if weights.dtype is dtypes.int8 else 1
    if kind == "SPLIT":
        return {dtypes.int16: 4, dtypes.int32: 3, dtypes.int8: 2}.get(data.dtype, 1)
    if kind == "GATHER":
        if weights.dtype is dtypes.int16:
            return 6
        if options.get("batch_dims"):
            return 5
        return {dtypes.int16: 4, dtypes.bool: 3, dtypes.int8: 2}.get(data.dtype, 1)
    if kind == "STRIDED_SLICE" and (options.get("ellipsis_mask") or options.get("new_axis_mask")):
        return max(by_type, 6)
    if kind in _RESIZES and _is_half_pixel(operator):
        return max(by_type, 3)
    if kind == "BROADCAST_TO":
        return 3 if data.dtype in {dtypes.int8, dtypes.int16} else 2
    return max(by_type, _by_axes(kind, rank, given))


_WEIGHED = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "UNIDIRECTIONAL_SEQUENCE_LSTM"}


def _weighed(operator: Operator, data: Tensor, weights: Tensor) -> int:
    """Of an operator with weights: by whether these, or all numbers, are whole."""
    kind, options = operator.kind, operator.options
    is_narrow = weights.dtype is dtypes.int8
    is_hybrid = is_narrow and data.dtype is dtypes.float32
    by_channel = weights.quantization is not None and len(weights.quantization.scales) > 1
    wide = data.dtype is dtypes.int16
    if kind == "CONV_2D":
        depth = data.shape[-1] if data.rank else None
        if depth is not None and weights.rank and weights.shape[-1] != depth:
            return 6
        if is_hybrid:
            return 5 if by_channel else 2
        return 4 if wide else 3 if is_narrow else 1
    if kind == "DEPTHWISE_CONV_2D":
        if is_hybrid:
            return 6 if by_channel else 4
        if wide or is_narrow:
            return 5 if wide else 3
        dilated = {options.get("dilation_w_factor", 1), options.get("dilation_h_factor", 1)}
        return 1 if dilated == {1} else 2
    if kind == "UNIDIRECTIONAL_SEQUENCE_LSTM":
        return (3 if options.get("asymmetric_quantize_inputs") else 2) if is_hybrid else 1
    if is_hybrid and by_channel:
        return 12
    if wide:
        return 7
    if len([x for x in operator.inputs if x is not None]) == 2:
        return 6
    if options.get("keep_num_dims"):
        return 5
    if is_hybrid:
        return 9 if options.get("asymmetric_quantize_inputs") else 3
    return 4 if is_narrow else 1


def _is_half_pixel(operator: Operator) -> bool:
    options = operator.options
    is_nearest = operator.kind == "RESIZE_NEAREST_NEIGHBOR"
    return bool(options.get("half_pixel_centers") or (is_nearest and options.get("align_corners")))


def _by_axes(kind: str, rank: int, given: list[Tensor]) -> int:
    """Of an operator that took fewer axes at first."""
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
