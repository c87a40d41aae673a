"""Transposed convolutions: Conv1DTranspose, Conv2DTranspose, Conv3DTranspose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras.layers.conv import BaseConv
from pinnace.keras.layers.windows import Sizes, op_format, per_axis
from pinnace.ops.array import joining, shapes
from pinnace.ops.nn import convolutions

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.keras import activations, constraints, initializers, regularizers
    from pinnace.keras.layer import PlainLayerOptions


class BaseConvTranspose(BaseConv):
    """The transpose of a convolution: its gradient with respect to the input.

    Args:
        filters: number of output channels.
        kernel_size: size of the window.
        strides: step of the window in the output.
        padding: `valid` or `same`.
        output_padding: size added to the output; None lets strides decide.
        data_format: `channels_last` or `channels_first`.
        dilation_rate: distance between the elements of the window.
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

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        output_padding: Sizes | None = None,
        data_format: str | None = None,
        dilation_rate: Sizes = 1,
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
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            **options,
        )
        who = type(self).__name__
        self.output_padding: tuple[int, ...] | None = None
        if output_padding is not None:
            self.output_padding = per_axis(who, "output_padding", output_padding, self._rank, 0)
            if any(p >= s for p, s in zip(self.output_padding, self.strides, strict=True)):
                raise ValueError(
                    f"{who}: output_padding must be less than strides, "
                    f"got {self.output_padding} and {self.strides}"
                )

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, self.filters, channels]

    def _convolved(self, x: Tensor) -> Tensor:
        return convolutions.conv_transpose(
            x,
            self.kernel,
            self._output_shape(x),
            strides=list(self.strides),
            padding=self.padding.upper(),
            data_format=op_format(self.data_format, self._rank),
            dilations=list(self.dilation_rate),
        )

    def _output_shape(self, x: Tensor) -> Any:
        """The output shape: a list, or a tensor if sizes are unknown."""
        last = self.data_format == "channels_last"
        spatial = range(1, self._rank + 1) if last else range(2, self._rank + 2)
        known = x.shape.as_list()
        dynamic = shapes.shape(x) if None in known else None

        def size(axis: int) -> Any:
            found = known[axis]
            return dynamic[axis] if found is None and dynamic is not None else found

        lengths = [self._length(i, size(axis)) for i, axis in enumerate(spatial)]
        sizes = [size(0), *lengths, self.filters] if last else [size(0), self.filters, *lengths]
        return sizes if dynamic is None else joining.stack(sizes)

    def _length(self, index: int, size: Any) -> Any:
        """The size of an output axis. Source: Keras `compute_conv_transpose_output_shape`."""
        stride, dilation = self.strides[index], self.dilation_rate[index]
        window = (self.kernel_size[index] - 1) * dilation + 1
        if self.output_padding is None:
            if self.padding == "same":
                return size * stride
            return size * stride + max(window - stride, 0)
        extra = self.output_padding[index]
        if self.padding == "same":
            return (size - 1) * stride + window - 2 * (window // 2) + extra
        return (size - 1) * stride + window + extra


class Conv1DTranspose(BaseConvTranspose):
    """The transpose of Conv1D; arguments: see BaseConvTranspose.

    Shapes:
        x [b, steps, in] → [b, steps', filters]; kernel [size, filters, in]; bias [filters].
    """

    _rank = 1


class Conv2DTranspose(BaseConvTranspose):
    """The transpose of Conv2D; arguments: see BaseConvTranspose.

    Shapes:
        x [b, rows, columns, in] → [b, rows', columns', filters]; kernel [h, w, filters, in]; bias
        [filters].
    """

    _rank = 2


class Conv3DTranspose(BaseConvTranspose):
    """The transpose of Conv3D; arguments: see BaseConvTranspose.

    Keras has `data_format` before `output_padding` here, and after it in the other two.

    Shapes:
        x [b, x1, x2, x3, in] → [b, x1', x2', x3', filters]; kernel [k1, k2, k3, filters, in]; bias
        [filters].
    """

    _rank = 3

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = (1, 1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        output_padding: Sizes | None = None,
        dilation_rate: Sizes = (1, 1, 1),
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
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            output_padding,
            data_format,
            dilation_rate,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            **options,
        )


Convolution1DTranspose = Conv1DTranspose
Convolution2DTranspose = Conv2DTranspose
Convolution3DTranspose = Conv3DTranspose
