"""Convolutions: Conv1D, Conv2D, Conv3D."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from pinnace.keras import activations, constraints, initializers, regularizers
from pinnace.keras.image_format import checked_format
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, PlainLayerOptions
from pinnace.keras.layers.adapted import AdaptableLayer, Adapted
from pinnace.keras.layers.windows import (
    Sizes,
    channel_axis,
    checked_padding,
    op_format,
    per_axis,
)
from pinnace.ops.array import padding as paddings
from pinnace.ops.math import arithmetic
from pinnace.ops.nn import biases, convolutions

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor


class BaseConv(Layer):
    """The base class of all convolutions; a subclass defines the rank.

    Args:
        filters: number of output channels.
        kernel_size: size of the window, one for all axes or one each.
        strides: step of the window.
        padding: `valid`: none; `same`: stride 1 keeps the size; `causal` (Conv1D): all in front.
        data_format: `channels_last` or `channels_first`.
        dilation_rate: distance between the elements of the window.
        groups: the channels are split into as many groups, convolved separately.
        activation: name or function; None applies nothing.
        use_bias: whether there is a bias.
        kernel_initializer: first value of the kernel.
        bias_initializer: first value of the bias.
        kernel_regularizer: penalty of the kernel.
        bias_regularizer: penalty of the bias.
        activity_regularizer: penalty of the output.
        kernel_constraint: constraint applied to the kernel after each step.
        bias_constraint: constraint applied to the bias after each step.
        **options: see Layer.
    """

    _takes_floats = True

    _rank: ClassVar[int]
    _paddings: ClassVar[tuple[str, ...]] = ("valid", "same")

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Sizes = 1,
        groups: int = 1,
        activation: activations.ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        bias_initializer: initializers.InitializerLike = "zeros",
        kernel_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        activity_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        **options: Unpack[PlainLayerOptions],
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **options)
        who, rank = type(self).__name__, self._rank
        if filters is not None and (not isinstance(filters, int) or filters < 1):
            raise ValueError(
                f"{who}: Invalid value for argument `filters`. Expected a strictly positive value. "
                f"Received filters={filters}."
            )
        if not isinstance(groups, int) or groups < 1:
            raise ValueError(
                f"{who}: The number of groups must be a positive integer. "
                f"Received: groups={groups}."
            )
        if filters and filters % groups:
            raise ValueError(
                f"{who}: The number of filters must be evenly divisible by the number of groups. "
                f"Received: groups={groups}, filters={filters}."
            )
        self.filters = filters
        self.kernel_size = per_axis(who, "kernel_size", kernel_size, rank)
        self.strides = per_axis(who, "strides", strides, rank)
        self.dilation_rate = per_axis(who, "dilation_rate", dilation_rate, rank)
        self.padding = checked_padding(who, padding, self._paddings)
        self.data_format = checked_format(who, data_format)
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"{who}: `strides > 1` not supported in conjunction with `dilation_rate > 1`. "
                f"Received: strides={self.strides} and dilation_rate={self.dilation_rate}"
            )
        self.groups = groups
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(ndim=rank + 2)

    def build(self, x: TensorSpec) -> None:
        """Create kernel and bias."""
        channels = self._channels(x)
        if channels % self.groups:
            raise ValueError(
                f"{self._described()}: groups must divide the input's channels, "
                f"got {self.groups} and {channels}"
            )
        self._make_weights(self._kernel_shape(channels), self.filters)

    def _channels(self, x: TensorSpec) -> int:
        """The number of input channels, recorded as a requirement on later inputs."""
        axis = channel_axis(self.data_format)
        try:
            channels = x.axis_size(axis)
        except ValueError as error:
            raise ValueError(f"{self._described()}: {error}") from None
        self.input_spec = InputSpec(ndim=self._rank + 2, axes={axis: channels})
        return channels

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, channels // self.groups, self.filters]

    def _make_weights(self, kernel_shape: list[int], outputs: int) -> None:
        self.kernel = self.add_weight(
            "kernel",
            kernel_shape,
            self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self._make_bias(outputs)

    def _make_bias(self, outputs: int) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [outputs],
                self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def call(self, x: Tensor) -> Tensor:
        """The convolution, bias, activation."""
        return self._finished(self._convolved(x))

    def _convolved(self, x: Tensor) -> Tensor:
        return self.convolution_op(x, self.kernel)

    def convolution_op(self, inputs: Any, kernel: Any) -> Tensor:
        """The convolution alone, which a subclass may replace, or call with another kernel.

        Args:
            inputs: as for `call`.
            kernel: a kernel of the shape of the layer's own.
        """
        padding = self.padding
        if padding == "causal":
            inputs = self._padded_in_front(inputs)
            padding = "valid"
        return convolutions.convolution(
            inputs,
            kernel,
            strides=list(self.strides),
            padding=padding.upper(),
            data_format=op_format(self.data_format, self._rank),
            dilations=list(self.dilation_rate),
        )

    def _padded_in_front(self, x: Tensor) -> Tensor:
        left = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        before = [[0, 0], [left, 0], [0, 0]]
        if self.data_format == "channels_first":
            before = [[0, 0], [0, 0], [left, 0]]
        return paddings.pad(x, before)

    def _finished(self, y: Tensor) -> Tensor:
        if self.bias is not None:
            y = self._biased(y, self.bias)
        return y if self.activation is None else self.activation(y)  # type: ignore[no-any-return]

    def _biased(self, y: Tensor, bias: Any) -> Tensor:
        first = self.data_format == "channels_first"
        if self.groups > 1 and not first:
            # TensorFlow joins a Conv2D and its BiasAdd, and has no such kernel for groups on CPUs.
            return arithmetic.add(y, bias)
        return biases.bias_add(y, bias, data_format="NCHW" if first else None)


class AdaptableConv(AdaptableLayer, BaseConv):
    """A convolution whose kernel may get an adapter.

    Args:
        filters: number of output channels.
        kernel_size: size of the window, one for all axes or one each.
        strides: step of the window.
        padding: `valid`: none; `same`: stride 1 keeps the size.
        data_format: `channels_last` or `channels_first`.
        dilation_rate: distance of the window's cells.
        groups: the channels are split into as many groups, each with its own filters.
        activation: name or function; None applies nothing.
        use_bias: whether there is a bias.
        kernel_initializer: first value of the kernel.
        bias_initializer: first value of the bias.
        kernel_regularizer: penalty of the kernel.
        bias_regularizer: penalty of the bias.
        activity_regularizer: penalty of the output.
        kernel_constraint: constraint applied to the kernel after each step.
        bias_constraint: constraint applied to the bias after each step.
        lora_rank: see `enable_lora`; no adapter if None.
        lora_alpha: likewise.
        **options: see Layer.
    """

    kernel = Adapted()

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Sizes = 1,
        groups: int = 1,
        activation: activations.ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        bias_initializer: initializers.InitializerLike = "zeros",
        kernel_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        activity_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        **options: Unpack[PlainLayerOptions],
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            groups,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            **options,
        )
        self._set_adapters(lora_rank, lora_alpha, None)

    def _make_weights(self, kernel_shape: list[int], outputs: int) -> None:
        super()._make_weights(kernel_shape, outputs)
        self._make_adapter()

    quantize = Layer.quantize  # refused: kernels of convolutions cannot be quantized


class Conv1D(AdaptableConv):
    """activation(convolution of x over one axis + bias).

    Shapes:
        x [b, steps, in] → [b, steps', filters]; kernel [size, in / groups, filters].

    Source:
        Keras `Conv1D`; arguments: see BaseConv.
    """

    _rank = 1
    _paddings = ("valid", "same", "causal")


class Conv2D(AdaptableConv):
    """activation(convolution of x over two axes + bias).

    Args:
        filters: number of output channels.
        kernel_size: height and width of the window, or one number for both.
        strides: steps of the window, one number or two.
        padding: `valid` takes whole windows only; `same` pads with zeros, for ceil(size / stride).
        data_format: `channels_last`, which is the default, or `channels_first`.
        dilation_rate: distance of the window's cells, one number or two.
        groups: the channels are split into as many groups, each with its own filters.
        activation: name or function; None is none.
        use_bias: whether there is a bias.
        others: initializers, regularizers and constraints of kernel and bias, by keyword.

    Shapes:
        x [b, rows, columns, in] → [b, rows', columns', filters]; kernel [h, w, in / groups,
        filters]; bias [filters].

    Source:
        Keras `Conv2D`; arguments: see BaseConv.
    """

    _rank = 2


class Conv3D(AdaptableConv):
    """activation(convolution of x over three axes + bias).

    Shapes:
        x [b, x1, x2, x3, in] → [b, x1', x2', x3', filters].

    Source:
        Keras `Conv3D`; arguments: see BaseConv.
    """

    _rank = 3


Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution3D = Conv3D
