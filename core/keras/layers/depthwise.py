"""Depthwise and separable convolutions of images: DepthwiseConv2D, SeparableConv2D."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from pinnace.keras import activations, constraints, initializers, regularizers
from pinnace.keras.layers.conv import BaseConv
from pinnace.keras.layers.windows import Sizes, on_all_axes, op_format
from pinnace.ops.nn import depthwise

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import PlainLayerOptions


def checked_multiplier(who: str, value: Any) -> int:
    """The number of output channels per input channel.

    Raises:
        ValueError: no integer of at least 1.
    """
    if not isinstance(value, int) or value < 1:
        raise ValueError(
            f"{who}: Invalid value for argument `depth_multiplier`. Expected a strictly positive "
            f"value. Received depth_multiplier={value}."
        )
    return value


class DepthwiseConv2D(BaseConv):
    """Convolves each channel separately to depth_multiplier channels.

    Args:
        kernel_size: size of the window.
        strides: step of the window.
        padding: `valid` or `same`.
        depth_multiplier: output channels per input channel.
        data_format: `channels_last` or `channels_first`.
        dilation_rate: distance between the elements of the window.
        activation: name or function.
        use_bias: whether there is a bias.
        depthwise_initializer: first value of the kernel.
        bias_initializer: first value of the bias.
        depthwise_regularizer: penalty of the kernel.
        bias_regularizer: penalty of the bias.
        activity_regularizer: penalty of the output.
        depthwise_constraint: constraint applied to the kernel after each step.
        bias_constraint: constraint applied to the bias after each step.
        **options: see Layer.

    Shapes:
        x [b, rows, columns, in] → [b, rows', columns', in · m]; kernel [h, w, in, m].
    """

    _rank = 2

    _names_in_keras_2: ClassVar[dict[str, str]] = {"depthwise_kernel": "kernel"}

    def __init__(
        self,
        kernel_size: Sizes,
        strides: Sizes = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        dilation_rate: Sizes = (1, 1),
        activation: activations.ActivationLike = None,
        use_bias: bool = True,
        depthwise_initializer: initializers.InitializerLike = "glorot_uniform",
        bias_initializer: initializers.InitializerLike = "zeros",
        depthwise_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        activity_regularizer: regularizers.RegularizerLike = None,
        depthwise_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        **options: Unpack[PlainLayerOptions],
    ) -> None:
        super().__init__(
            None,  # type: ignore[arg-type]  # the input's channels say how many there are
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=depthwise_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=depthwise_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=depthwise_constraint,
            bias_constraint=bias_constraint,
            activity_regularizer=activity_regularizer,
            **options,
        )
        self.depth_multiplier = checked_multiplier(type(self).__name__, depth_multiplier)
        self.depthwise_initializer = self.kernel_initializer
        self.depthwise_regularizer = self.kernel_regularizer
        self.depthwise_constraint = self.kernel_constraint

    def build(self, x: TensorSpec) -> None:
        """Create kernel and bias."""
        channels = self._channels(x)
        self._make_weights(
            [*self.kernel_size, channels, self.depth_multiplier], channels * self.depth_multiplier
        )

    def _convolved(self, x: Tensor) -> Tensor:
        return depthwise.depthwise_conv2d(
            x,
            self.kernel,
            strides=on_all_axes(self.strides, self.data_format),
            padding=self.padding.upper(),
            data_format=op_format(self.data_format, 2),
            dilations=list(self.dilation_rate),
        )


class SeparableConv2D(BaseConv):
    """A depthwise convolution, then a pointwise one that mixes the channels.

    Args:
        filters: number of output channels.
        kernel_size: size of the window.
        strides: step of the window.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`.
        dilation_rate: distance between the elements of the window.
        depth_multiplier: channels between the two, per input channel.
        activation: name or function.
        use_bias: whether there is a bias.
        depthwise_initializer: first value of the depthwise kernel.
        pointwise_initializer: first value of the pointwise kernel.
        bias_initializer: first value of the bias.
        depthwise_regularizer: penalty of the depthwise kernel.
        pointwise_regularizer: penalty of the pointwise kernel.
        bias_regularizer: penalty of the bias.
        activity_regularizer: penalty of the output.
        depthwise_constraint: constraint applied to the depthwise kernel after each step.
        pointwise_constraint: constraint applied to the pointwise kernel after each step.
        bias_constraint: constraint applied to the bias after each step.
        **options: see Layer.

    Shapes:
        x [b, rows, columns, in] → [b, rows', columns', filters].
    """

    _rank = 2

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Sizes = (1, 1),
        depth_multiplier: int = 1,
        activation: activations.ActivationLike = None,
        use_bias: bool = True,
        depthwise_initializer: initializers.InitializerLike = "glorot_uniform",
        pointwise_initializer: initializers.InitializerLike = "glorot_uniform",
        bias_initializer: initializers.InitializerLike = "zeros",
        depthwise_regularizer: regularizers.RegularizerLike = None,
        pointwise_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        activity_regularizer: regularizers.RegularizerLike = None,
        depthwise_constraint: constraints.ConstraintLike = None,
        pointwise_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        **options: Unpack[PlainLayerOptions],
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation=activation,
            use_bias=use_bias,
            # The base class would create a kernel, and draw a seed that Keras does not.
            kernel_initializer="zeros",
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            bias_constraint=bias_constraint,
            activity_regularizer=activity_regularizer,
            **options,
        )
        self.depth_multiplier = checked_multiplier(type(self).__name__, depth_multiplier)
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.pointwise_initializer = initializers.get(pointwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.pointwise_regularizer = regularizers.get(pointwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)
        self.pointwise_constraint = constraints.get(pointwise_constraint)

    def build(self, x: TensorSpec) -> None:
        """Create both kernels and the bias."""
        channels = self._channels(x)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            [*self.kernel_size, channels, self.depth_multiplier],
            self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            [*[1] * self._rank, channels * self.depth_multiplier, self.filters],
            self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self._make_bias(self.filters)

    def _convolved(self, x: Tensor) -> Tensor:
        return depthwise.separable_conv2d(
            x,
            self.depthwise_kernel,
            self.pointwise_kernel,
            strides=on_all_axes(self.strides, self.data_format),
            padding=self.padding.upper(),
            data_format=op_format(self.data_format, 2),
            dilations=list(self.dilation_rate),
        )


SeparableConvolution2D = SeparableConv2D
