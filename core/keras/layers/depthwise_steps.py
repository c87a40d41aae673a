"""Depthwise and separable convolutions of sequences, [b, steps, c], as one-row images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pinnace.keras.layers.depthwise import DepthwiseConv2D, SeparableConv2D
from pinnace.keras.layers.windows import op_format
from pinnace.ops.array import reshaping
from pinnace.ops.nn import depthwise

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layers.windows import Sizes


def _as_row(layer: Any, x: Tensor) -> tuple[Tensor, dict[str, Any]]:
    """The input as one-row images, and the arguments of their convolution."""
    last = layer.data_format == "channels_last"
    # The op requires equal strides.
    steps = [layer.strides[0]] * 2
    options = {
        "strides": [1, *steps, 1] if last else [1, 1, *steps],
        "padding": layer.padding.upper(),
        "data_format": op_format(layer.data_format, 2),
        "dilations": [1, layer.dilation_rate[0]],
    }
    return reshaping.expand_dims(x, 1 if last else 2), options


class DepthwiseConv1D(DepthwiseConv2D):
    """Convolves each channel separately to depth_multiplier channels.

    Args:
        kernel_size: size of the window.
        strides: step of the window.
        padding: `valid` or `same`.
        **options: see DepthwiseConv2D.

    Shapes:
        x [b, steps, in] → [b, steps', in · m]; kernel [k, in, m].
    """

    _rank = 1

    _names_in_keras_2: ClassVar[dict[str, str]] = {"depthwise_kernel": "kernel"}

    def __init__(
        self, kernel_size: Sizes, strides: Sizes = 1, padding: str = "valid", **options: Any
    ) -> None:
        super().__init__(
            kernel_size, strides, padding, dilation_rate=options.pop("dilation_rate", 1), **options
        )

    def _convolved(self, x: Tensor) -> Tensor:
        row, options = _as_row(self, x)
        kernel = reshaping.expand_dims(self.kernel.value(), 0)
        y = depthwise.depthwise_conv2d(row, kernel, **options)
        return reshaping.squeeze(y, [1 if self.data_format == "channels_last" else 2])


class SeparableConv1D(SeparableConv2D):
    """A depthwise convolution, then a pointwise one that mixes the channels.

    Args:
        filters: number of output channels.
        kernel_size: size of the window.
        strides: step of the window.
        padding: `valid` or `same`.
        **options: see SeparableConv2D.

    Shapes:
        x [b, steps, in] → [b, steps', filters].
    """

    _rank = 1

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        **options: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            dilation_rate=options.pop("dilation_rate", 1),
            **options,
        )

    def _convolved(self, x: Tensor) -> Tensor:
        row, options = _as_row(self, x)
        first = reshaping.expand_dims(self.depthwise_kernel.value(), 0)
        second = reshaping.reshape(
            self.pointwise_kernel.value(), [1, 1, *self.pointwise_kernel.shape.as_list()[-2:]]
        )
        y = depthwise.separable_conv2d(row, first, second, **options)
        return reshaping.squeeze(y, [1 if self.data_format == "channels_last" else 2])


SeparableConvolution1D = SeparableConv1D
