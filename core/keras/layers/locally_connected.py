"""Locally connected layers: convolutions with separate weights at each position. Not in Keras 3.

Files of Keras 2 refer to them: `registry.py` knows this module. All three formats in which Keras 2
stores the weights are supported; each window is multiplied with its own weights.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pinnace.keras.layers.conv import BaseConv
from pinnace.ops.array import gathering, joining, permutations, reshaping, shapes
from pinnace.ops.array.constants import zeros
from pinnace.ops.math import arithmetic, products

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.keras import activations, constraints, initializers, regularizers
    from pinnace.keras.layer import PlainLayerOptions
    from pinnace.keras.layers.windows import Sizes


class _LocallyConnected(BaseConv):
    """The base class of both; a subclass defines the rank.

    Args:
        filters: number of output channels.
        kernel_size: size of the window, one for all axes or one each.
        strides: step of the window.
        padding: `valid`; also `same` where `implementation` is not 1.
        data_format: `channels_last` or `channels_first`.
        activation: name or function; None applies nothing.
        use_bias: whether there is a bias, a separate one at each position.
        kernel_initializer: first value of the kernel.
        bias_initializer: first value of the bias.
        kernel_regularizer: penalty of the kernel.
        bias_regularizer: penalty of the bias.
        activity_regularizer: penalty of the output.
        kernel_constraint: constraint applied to the kernel after each step.
        bias_constraint: constraint applied to the bias after each step.
        implementation: how the kernel is kept: 1 a matrix for each place, 2 one for all inputs and
            outputs, of which most counts nothing, 3 what counts of that, in a row.
        **options: see Layer.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: activations.ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        bias_initializer: initializers.InitializerLike = "zeros",
        kernel_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        activity_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        implementation: int = 1,
        **options: Unpack[PlainLayerOptions],
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
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
        if implementation not in {1, 2, 3}:
            raise ValueError(f"{who}: implementation must be 1, 2 or 3, got {implementation!r}")
        if implementation == 1 and self.padding != "valid":
            raise ValueError(
                f"{who}: padding must be 'valid' where implementation is 1, got {padding!r}"
            )
        self.implementation = implementation

    def build(self, x: TensorSpec) -> None:
        """Create kernel and bias, and the index tables of windows."""
        channels = self._channels(x)
        first = self.data_format == "channels_first"
        axes = range(2, 2 + self._rank) if first else range(1, 1 + self._rank)
        sizes = [x.axis_size(axis) for axis in axes]
        self._places = _Places(
            sizes, channels, self.kernel_size, self.strides, self.padding, self.filters, first
        )
        shape = {
            1: [self._places.count, self._places.window, self.filters],
            2: [*self._places.input_shape, *self._places.output_shape],
            3: [self._places.joined],
        }[self.implementation]
        self._make_weights(shape, self.filters)

    def _make_bias(self, outputs: int) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [*self._places.sizes, outputs],
                self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def _convolved(self, x: Tensor) -> Tensor:
        places = self._places
        kernel: Any = self.kernel
        batch = shapes.shape(x)[0]
        flat = reshaping.reshape(x, [batch, -1])
        if places.is_cut:
            flat = joining.concat([flat, zeros([batch, 1], flat.dtype)], 1)
        windows = gathering.gather(flat, places.inputs, axis=1)
        if self.implementation != 1:
            chosen = places.in_whole if self.implementation == 2 else places.in_row
            values = joining.concat([reshaping.reshape(kernel, [-1]), zeros([1], kernel.dtype)], 0)
            kernel = gathering.gather(values, chosen)
        # [positions, n, window] times [positions, window, filters]
        y = products.matmul(permutations.transpose(windows, [1, 0, 2]), kernel)
        first = self.data_format == "channels_first"
        y = permutations.transpose(y, [1, 2, 0] if first else [1, 0, 2])
        return reshaping.reshape(y, [batch, *places.output_shape])

    def _biased(self, y: Tensor, bias: Any) -> Tensor:
        # Keras 2: a reshape, not a transpose.
        return arithmetic.add(y, reshaping.reshape(bias, [1, *self._places.output_shape]))


class LocallyConnected1D(_LocallyConnected):
    """Windows of sequences, each with its own weights.

    Shapes:
        x [..., steps, in] → [..., new steps, filters].
    """

    _rank = 1


class LocallyConnected2D(_LocallyConnected):
    """Windows of images, each with its own weights.

    Shapes:
        x [..., height, width, in] → [..., new height, new width, filters].
    """

    _rank = 2


class _Places:
    """The indices of the inputs and of the weights that each window uses.

    Inputs and outputs are numbered in the layout of the tensors. Where a window extends over the
    edge, the index is one past the end.

    Args:
        sizes: sizes of the input, without channels.
        channels: channels of the input.
        window: its size.
        strides: its steps.
        padding: `valid` or `same`.
        filters: number of output channels.
        first: whether the channels stand in front.
    """

    def __init__(
        self,
        sizes: list[int],
        channels: int,
        window: tuple[int, ...],
        strides: tuple[int, ...],
        padding: str,
        filters: int,
        first: bool,
    ) -> None:
        same = padding == "same"
        steps = list(zip(sizes, window, strides, strict=True))
        self.sizes = [-(-(n if same else n - k + 1) // s) for n, k, s in steps]
        if min(self.sizes) < 1:
            raise ValueError(f"the window {window} is larger than the input, {tuple(sizes)}")
        self.input_shape = [channels, *sizes] if first else [*sizes, channels]
        self.output_shape = [filters, *self.sizes] if first else [*self.sizes, filters]
        self.count = int(np.prod(self.sizes))
        self.window = int(np.prod(window)) * channels
        # Keras 2 centres the window at the step: with `same`, half of it is before the step.
        starts = [
            [o * s - same * (k // 2) for o in range(m)]
            for (_, k, s), m in zip(steps, self.sizes, strict=True)
        ]
        corners = np.array(list(itertools.product(*starts))).reshape(self.count, 1, -1)
        inside = np.array(list(itertools.product(*map(range, window)))).reshape(1, -1, len(sizes))
        spots = corners + inside
        within = ((spots >= 0) & (spots < np.array(sizes))).all(-1)
        spots = np.where(within[..., None], spots, 0)
        number = np.ravel_multi_index(tuple(np.moveaxis(spots, -1, 0)), sizes)
        inputs = _with_channels(number, channels, int(np.prod(sizes)), first, 1 if first else 2)
        known = np.broadcast_to(
            within[:, None, :] if first else within[:, :, None], inputs.shape
        ).reshape(self.count, -1)
        inputs = inputs.reshape(self.count, -1)
        outputs = _with_channels(np.arange(self.count), filters, self.count, first, 1)
        pairs = inputs[:, :, None], outputs.reshape(self.count, 1, filters)
        total_in, total_out = int(np.prod(self.input_shape)), int(np.prod(self.output_shape))
        self.is_cut = not known.all()
        self.inputs = np.where(known, inputs, total_in)
        every = np.broadcast_to(known[:, :, None], (self.count, self.window, filters))
        self.joined = int(every.sum())
        self.in_whole = np.where(every, pairs[0] * total_out + pairs[1], total_in * total_out)
        rows = (pairs[1] * total_in + pairs[0])[every]
        self.in_row = np.full(every.shape, self.joined)
        self.in_row[every] = np.argsort(np.argsort(rows))


def _with_channels(number: Any, channels: int, size: int, first: bool, axis: int) -> Any:
    """Cell indices as indices of their channels, along a new axis."""
    number = np.expand_dims(number, axis)
    count = np.arange(channels).reshape([-1 if at == axis else 1 for at in range(number.ndim)])
    return count * size + number if first else number * channels + count
