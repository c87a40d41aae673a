"""Convolutions with any number and order of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type, bits_of
from pinnace.saved_model.stablehlo.lowering.input_gradients import as_input_gradient
from pinnace.saved_model.stablehlo.lowering.operands import Operand, constant, op, ops, reshaped
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.shapes import reversed_along, transposed
from pinnace.saved_model.stablehlo.lowering.slices import padded, padded_shape
from pinnace.saved_model.stablehlo.lowering.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim


class Layout(NamedTuple):
    """The roles of a tensor's axes."""

    first: int
    spatial: tuple[int, ...]
    last: int

    @property
    def order(self) -> list[int]:
        """The axes with the spatial ones in the middle."""
        return [self.first, *self.spatial, self.last]


@lowers("convolution")
def lower_convolution(call: Call) -> Operand:
    """A convolution: the products of windows with a kernel, summed."""
    return _convolution(call, call.operation.pairs("padding"))


@lowers("dynamic_conv")
def lower_dynamic_conv(call: Call) -> Operand:
    """`convolution` with the padding as an operand."""
    padding = call.operand(2).known
    if padding is None or not all(isinstance(n, int) for n in padding.ravel()):
        call.refuse("computed padding is not translated")
    flat = [int(n) for n in padding.ravel()]
    return _convolution(call, tuple(zip(flat[::2], flat[1::2], strict=True)))


def _convolution(call: Call, padding: tuple[tuple[int, int], ...]) -> Operand:
    operation = call.operation
    layouts = [
        Layout(
            operation.integer(f"{one}_{first}_dimension"),
            operation.integers(f"{one}_spatial_dimensions"),
            operation.integer(f"{one}_{last}_dimension"),
        )
        for one, first, last in (
            ("input", "batch", "feature"),
            ("kernel", "input_feature", "output_feature"),
            ("output", "batch", "feature"),
        )
    ]
    x, kernel = call.operand(0), call.operand(1)
    for layout, rank in zip(layouts, (x.rank, kernel.rank, x.rank), strict=True):
        if sorted(layout.order) != list(range(rank)):
            call.refuse("its dimension numbers are not the axes of its operands")
    windows = Windows(
        (1,) * len(layouts[0].spatial),
        operation.integers("window_strides"),
        operation.integers("lhs_dilation"),
        operation.integers("rhs_dilation"),
        padding,
    )
    windows.check(call, len(layouts[0].spatial))
    kind = _computed_in(call.dtype)
    image = Operand(as_type(x.full, kind), x.shape)
    image = transposed(image, layouts[0].order)
    weights = Operand(as_type(kernel.full, kind), kernel.shape)
    weights = transposed(weights, [*layouts[1].spatial, layouts[1].first, layouts[1].last])
    turned = [axis for axis, one in enumerate(operation.integers("window_reversal")) if one]
    if turned:
        weights = Operand(reversed_along(weights.full, turned), weights.shape)
    groups = operation.integer("feature_group_count")
    batches = operation.integer("batch_group_count")
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        call.refuse("its group counts must be at least 1, and one of them must be 1")
    if batches > 1:
        image, groups = _batches_as_features(call, image, batches), batches
    found = _grouped(call, image, weights, windows, groups)
    back = np.argsort(layouts[2].order).tolist()
    return transposed(Operand(as_type(found.full, call.dtype), found.shape), back)


def _computed_in(dtype: DType) -> DType:
    if dtype.is_integer:
        return dtypes.float64  # exact for sums below 2^53
    return dtypes.float32 if bits_of(dtype) == 8 else dtype


def _batches_as_features(call: Call, image: Operand, groups: int) -> Operand:
    """Move batch groups to feature groups."""
    batch, rank, features = image.shape[0], image.rank, image.shape[-1]
    each = call.translation.sizes.combined("divide", batch, groups)
    if each is None or (isinstance(batch, int) and batch % groups):
        call.refuse("its batch size is not a multiple of its batch_group_count")
    wider = call.translation.sizes.combined("multiply", features, groups)
    if wider is None:
        call.refuse("it has too many channels")
    wide = reshaped(image.full, [groups, each, *image.shape[1:]])
    turned = op("Transpose", wide, [*range(1, rank), 0, rank])
    shape: list[Dim] = [each, *image.shape[1:-1], wider]
    return Operand(reshaped(turned, shape), shape)


def _grouped(call: Call, image: Operand, kernel: Operand, windows: Windows, groups: int) -> Operand:
    """The convolution of an image with channels last."""
    rank = len(windows.stride)
    sizes = call.translation.sizes
    window = _checked(call, image, kernel, groups)
    outputs = kernel.shape[-1]
    if any(n > 1 for n in windows.spacing) or any(n < 0 for pair in windows.padding for n in pair):
        low, high = zip(*windows.padding, strict=True)
        around = [0, *low, 0], [0, *high, 0], [0, *(n - 1 for n in windows.spacing), 0]
        wide = padded_shape(sizes, image.shape, *around)
        plain = windows._replace(spacing=(1,) * rank, padding=((0, 0),) * rank)
        if groups == 1 and any(n > 1 for n in windows.spacing):
            shape = [image.shape[0], *_places(call, wide, plain, window), outputs]
            gradient = as_input_gradient(image, kernel, windows, shape)
            if gradient is not None:
                return Operand(gradient, shape)
        image = padded(sizes, image, Operand(constant(0, image.dtype), ()), *around)
        windows = plain
    extra = max(0, 2 - rank)
    shape = [image.shape[0], *_places(call, image.shape, windows, window), outputs]
    channels, tensor, weights = kernel.shape[-2], image.full, kernel.full
    for _ in range(extra):  # two axes are what TensorFlow has ops for
        tensor, weights = op("ExpandDims", tensor, 1), op("ExpandDims", weights, 0)
    padding = [(0, 0)] * extra + list(windows.padding)
    stride = [1] * extra + list(windows.stride)
    dilation = [1] * extra + list(windows.dilation)
    window = [1] * extra + window
    size = [1] * extra + list(image.shape[1:-1])
    if rank == 3:
        found = _over_three_axes(tensor, weights, padding, stride, dilation, groups)
    else:
        options = {
            "strides": (1, *stride, 1),
            "dilations": (1, *dilation, 1),
            **_padding(padding, size, window, stride, dilation),
        }
        if isinstance(outputs, int) and groups > 1 == channels and stride[0] == stride[1]:
            weights = reshaped(weights, [*window, groups, outputs // groups])
            found = op("DepthwiseConv2dNative", tensor, weights, **options)
        else:
            found = op("Conv2D", tensor, weights, **options)
    for _ in range(extra):
        found = op("Squeeze", found, squeeze_dims=(1,))
    return Operand(found, shape)


def _checked(call: Call, image: Operand, kernel: Operand, groups: int) -> list[int]:
    """Return a kernel's sizes along the spatial axes, after checking it against the image."""
    rank = image.rank - 2
    if rank > 3:
        call.refuse(f"it is not translated for {rank} spatial axes")
    window = [n for n in kernel.shape[:rank] if isinstance(n, int)]
    channels, outputs = kernel.shape[-2], kernel.shape[-1]
    if len(window) != rank or (groups > 1 and not isinstance(outputs, int)):
        call.refuse("a kernel of unknown size is not translated")
    held = call.translation.sizes.combined("multiply", channels, groups)
    if isinstance(held, int) and isinstance(image.shape[-1], int) and held != image.shape[-1]:
        call.refuse("its groups do not match its channels")
    if isinstance(outputs, int) and outputs % groups:
        call.refuse("its groups do not match its channels")
    return window


def _places(call: Call, image: Sequence[Dim], windows: Windows, window: Sequence[int]) -> list[Dim]:
    """The sizes of the result along the spatial axes."""
    sizes = call.translation.sizes
    found: list[Dim] = []
    for axis, size in enumerate(image[1:-1]):
        span = (window[axis] - 1) * windows.dilation[axis] + 1
        room = sizes.total("add", [size, sum(windows.padding[axis]) - span], 0)
        steps = sizes.combined("divide", room, windows.stride[axis]) or 0
        found.append(sizes.combined("add", steps, 1) or 0)
    return found


def _padding(
    padding: Sequence[tuple[int, int]],
    size: Sequence[Dim],
    window: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> dict[str, object]:
    """The padding as attributes; by name where possible, as Keras layers have it."""
    if all(pair == (0, 0) for pair in padding):
        return {"padding": "VALID"}
    same = True
    for pair, n, k, s, d in zip(padding, size, window, stride, dilation, strict=True):
        span = (k - 1) * d
        if not isinstance(n, int):
            same = same and s == 1 and pair == (span // 2, span - span // 2)
            continue
        more = max(0, (-(-n // s) - 1) * s + span + 1 - n)
        same = same and pair == (more // 2, more - more // 2)
    if same:
        return {"padding": "SAME"}
    flat = [n for pair in padding for n in pair]
    return {"padding": "EXPLICIT", "explicit_paddings": (0, 0, *flat, 0, 0)}


def _over_three_axes(
    image: Tensor,
    kernel: Tensor,
    padding: Sequence[tuple[int, int]],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    if any(pair != (0, 0) for pair in padding):
        image = op("Pad", image, constant([(0, 0), *padding, (0, 0)], dtypes.int32))
    options = {"strides": (1, *stride, 1), "dilations": (1, *dilation, 1), "padding": "VALID"}
    if groups == 1:
        return op("Conv3D", image, kernel, **options)
    images = ops("Split", 4, image, num_split=groups)
    kernels = ops("Split", 4, kernel, num_split=groups)
    parts = [op("Conv3D", one, two, **options) for one, two in zip(images, kernels, strict=True)]
    return op("ConcatV2", parts, 4)
