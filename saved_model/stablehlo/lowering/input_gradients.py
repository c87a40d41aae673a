"""Convolutions with dilated images, translated as gradients of strided convolutions.

StableHLO writes a transposed convolution as one with zeros between the pixels (`lhs_dilation`).
TensorFlow has an op for it, which computes no products with those zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pinnace.saved_model.stablehlo.lowering.operands import Operand, op, shape_tensor
from pinnace.saved_model.stablehlo.lowering.shapes import reversed_along, transposed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim
    from pinnace.saved_model.stablehlo.lowering.windows import Windows

_OPS = {1: "Conv2DBackpropInput", 2: "Conv2DBackpropInput", 3: "Conv3DBackpropInputV2"}


class _Axis(NamedTuple):
    """A strided convolution along one axis.

    Attributes:
        stride: the stride of its windows.
        padding: the padding before and behind its input.
        is_same: whether that is TensorFlow's SAME padding.
    """

    stride: int
    padding: tuple[int, int]
    is_same: bool


def as_input_gradient(
    image: Operand, kernel: Operand, windows: Windows, shape: Sequence[Dim]
) -> Tensor | None:
    """The convolution as the gradient of a strided one; None if TensorFlow has no op for it.

    Args:
        image: with channels last.
        kernel: with the axes of space first, then channels of the image and of the result.
        windows: over the image.
        shape: the result's shape.
    """
    rank = len(windows.stride)
    if not image.dtype.is_floating or any(n != 1 for n in (*windows.stride, *windows.dilation)):
        return None
    axes: list[_Axis] = []
    for size, spacing, padding in zip(kernel.shape, windows.spacing, windows.padding, strict=False):
        axis = _axis(size, spacing, padding)
        if axis is None:
            return None
        axes.append(axis)
    named = _named(axes)
    if rank == 3 and named["padding"] == "EXPLICIT":
        return None
    order = [*range(rank), rank + 1, rank]
    flipped = Operand(reversed_along(kernel.full, range(rank)), kernel.shape)
    filters, pixels = transposed(flipped, order).full, image.full
    stride, sizes = [one.stride for one in axes], list(shape)
    if rank == 1:
        filters, pixels = op("ExpandDims", filters, 0), op("ExpandDims", pixels, 1)
        stride, sizes = [1, *stride], [sizes[0], 1, *sizes[1:]]
    found = op(
        _OPS[rank],
        shape_tensor(sizes),
        filters,
        pixels,
        strides=(1, *stride, 1),
        dilations=(1,) * len(sizes),
        **named,
    )
    return op("Squeeze", found, squeeze_dims=(1,)) if rank == 1 else found


def _axis(size: Dim, stride: int, padding: tuple[int, int]) -> _Axis | None:
    if not isinstance(size, int):
        return None
    before, behind = (size - 1 - n for n in padding)
    # The windows of a strided convolution may leave fewer elements at the end than a stride.
    least = max(behind, 0)
    if not 0 <= before < size or not least < behind + stride:
        return None
    # The size of the result, without the strides that the image has.
    beyond = sum(padding) - size + 2 - stride
    same = -stride < beyond <= 0 and before == max(0, size - stride - beyond) // 2
    return _Axis(stride, (before, least), same)


def _named(axes: Sequence[_Axis]) -> dict[str, object]:
    """The padding as attributes; by name where possible."""
    if all(one.padding == (0, 0) for one in axes):
        return {"padding": "VALID"}
    if all(one.is_same for one in axes):
        return {"padding": "SAME"}
    flat = [n for one in axes for n in one.padding]
    flat = [0, 0, *flat] if len(axes) == 1 else flat
    return {"padding": "EXPLICIT", "explicit_paddings": (0, 0, *flat, 0, 0)}
