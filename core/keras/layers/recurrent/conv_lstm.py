"""ConvLSTM: an LSTM of images, with convolutions instead of matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from pinnace.framework.shapes import Shape
from pinnace.keras.image_format import checked_format
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layers.recurrent.lstm import LSTMCell
from pinnace.keras.layers.recurrent.rnn import CellLayer, CellLayerOptions
from pinnace.keras.layers.windows import (
    Sizes,
    channel_axis,
    checked_padding,
    op_format,
    per_axis,
)
from pinnace.ops.array import constants, joining, reshaping, shapes
from pinnace.ops.nn import convolutions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layers.recurrent.cell import Advance, Project


class ConvLSTMCell(LSTMCell):
    """An LSTMCell with convolutions instead of matrix products.

    Args:
        rank: number of axes of a picture, 1 to 3.
        filters: channels of each state and of the output.
        kernel_size: size of the windows.
        strides: strides of the window over inputs; that over states has step 1.
        padding: padding of the inputs, `valid` or `same`; states keep their size.
        data_format: `channels_last` or `channels_first`.
        dilation_rate: distance of the window's elements over inputs.
        **options: see LSTMCell.

    Source:
        Shi et al. 2015; Keras `ConvLSTM`.
    """

    _untracked = frozenset({"_picture"})

    _drops_apart = True

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Sizes = 1,
        **options: Any,
    ) -> None:
        super().__init__(filters, **options)
        who = f"ConvLSTM{rank}D"
        self.rank = rank
        self.filters = self.units
        self.kernel_size = per_axis(who, "kernel_size", kernel_size, rank)
        self.strides = per_axis(who, "strides", strides, rank)
        self.dilation_rate = per_axis(who, "dilation_rate", dilation_rate, rank)
        self.padding = checked_padding(who, padding)
        self.data_format = checked_format(who, data_format)
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"{who}: Specifying `strides > 1` is not compatible with `dilation_rate > 1`, "
                f"got {self.strides} and {self.dilation_rate}"
            )

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        own = ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate")
        inner = super().get_config()
        for name in ("units", "implementation"):
            inner.pop(name, None)
        return {**inner, **{name: getattr(self, name) for name in own}}

    def build(self, x: TensorSpec) -> None:
        """Create kernels and bias, for images of one size."""
        axis = channel_axis(self.data_format)
        sizes = x.shape.as_list()[1:]
        if None in sizes:
            raise ValueError(
                f"ConvLSTM{self.rank}D: the sizes of a picture must be known, got {x.shape.text}"
            )
        self._picture = sizes
        columns = self.units * self._gates
        self.kernel = self.add_weight(
            "kernel",
            [*self.kernel_size, x.axis_size(axis), columns],
            self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel",
            [*self.kernel_size, self.units, columns],
            self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [columns],
                self._first_bias,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def get_initial_state(
        self, batch_size: Any = None, *, inputs: Any = None, dtype: Any = None
    ) -> Any:
        """Zero states, with the size of images after the convolution."""
        if batch_size is None and inputs is not None:
            batch_size = shapes.shape(inputs)[0]
        sizes = self.picture_after(self._picture)
        kind = dtype or self.compute_dtype
        return [constants.zeros([batch_size, *sizes], kind) for _ in range(2)]

    def picture_after(self, picture: Sequence[int | None]) -> list[int | None]:
        """The spatial sizes of an image after the convolution."""
        first = self.data_format == "channels_first"
        sizes = picture[1:] if first else picture[:-1]
        after: list[int | None] = []
        for size, window, step, spread in zip(
            sizes, self.kernel_size, self.strides, self.dilation_rate, strict=True
        ):
            reach = 1 if self.padding == "same" else (window - 1) * spread + 1
            after.append(None if size is None else -(-(size - reach + 1) // step))
        return [self.units, *after] if first else [*after, self.units]

    # Running it.

    def _input_masks(self, x: Tensor, training: bool) -> list[Tensor] | None:
        if not training or not 0 < self.dropout < 1:
            return None
        drawn = self._masks("inputs", x, self._picture, self.dropout)
        if x.shape.rank == self.rank + 3:
            return [reshaping.expand_dims(mask, 1) for mask in drawn]
        return drawn

    def _state_masks(self, x: Tensor, training: bool) -> list[Tensor] | None:
        if not training or not 0 < self.recurrent_dropout < 1:
            return None
        after = self.picture_after(self._picture)
        return self._masks("states", x, after, self.recurrent_dropout)

    def _stepper(self, x: Tensor, training: bool) -> tuple[Project, Advance]:
        kernel, recurrent = self.kernel.value(), self.recurrent_kernel.value()
        bias = None if self.bias is None else self.bias.value()
        dropped, forgotten = self._input_masks(x, training), self._state_masks(x, training)
        activate, open_gate = self.activation, self.recurrent_activation
        axis = 1 if self.data_format == "channels_first" else self.rank + 1

        def project(x: Tensor) -> Tensor:
            y = self._convolved(x, kernel, dropped, of_states=False)
            return y if bias is None else y + self._beside_channels(bias)

        def advance(z: Tensor, states: Any) -> tuple[Tensor, Any]:
            h, c = states
            z = z + self._convolved(h, recurrent, forgotten, of_states=True)
            gates = joining.split(z, 4, axis=axis)
            c = open_gate(gates[1]) * c + open_gate(gates[0]) * activate(gates[2])
            h = open_gate(gates[3]) * activate(c)
            return h, [h, c]

        return project, advance

    def _beside_channels(self, bias: Tensor) -> Tensor:
        if self.data_format == "channels_last":
            return bias
        return reshaping.reshape(bias, [-1, *[1] * self.rank])

    def _convolved(
        self, x: Tensor, kernel: Tensor, masks: list[Tensor] | None, *, of_states: bool
    ) -> Tensor:
        if masks is None:
            return self._convolution(x, kernel, of_states=of_states)
        parts = joining.split(kernel, self._gates, axis=self.rank + 1)
        found = [
            self._convolution(x * mask, part, of_states=of_states)
            for mask, part in zip(masks, parts, strict=True)
        ]
        return joining.concat(found, -1 if self.data_format == "channels_last" else -1 - self.rank)

    def _convolution(self, x: Tensor, kernel: Tensor, *, of_states: bool) -> Tensor:
        steps = None
        if x.shape.rank == self.rank + 3:  # all images of a sequence at once
            steps = shapes.shape(x)[:2]
            front = x.shape.as_list()[:2]
            x = reshaping.reshape(x, [-1, *x.shape.as_list()[2:]])
        y = convolutions.convolution(
            x,
            kernel,
            strides=None if of_states else list(self.strides),
            padding="SAME" if of_states else self.padding.upper(),
            data_format=op_format(self.data_format, self.rank),
            dilations=None if of_states else list(self.dilation_rate),
        )
        if steps is None:
            return y
        sizes = y.shape.as_list()[1:]
        y = reshaping.reshape(y, joining.concat([steps, constants.constant(sizes)], 0))
        y.set_shape([*front, *sizes])
        return y


class ConvLSTM(CellLayer):
    """A layer with a ConvLSTMCell; a subclass defines the number of spatial axes.

    Args:
        filters: channels of the output.
        kernel_size: size of the windows, one number for all axes or one each.
        strides: strides of the window over inputs.
        padding: padding of the inputs, `valid` or `same`.
        data_format: `channels_last` or `channels_first`.
        dilation_rate: distance of the window's elements over inputs.
        return_sequences: whether all outputs are given, or the last.
        return_state: whether the states after the last step are given too.
        go_backwards: whether it begins with the last step.
        stateful: whether a batch begins with the states the one before ended with.
        unroll: whether a graph holds each step, rather than a loop.
        **options: see LSTMCell and Layer.
    """

    _rank: ClassVar[int]

    _cell = ConvLSTMCell

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Sizes = 1,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **options: Unpack[CellLayerOptions],
    ) -> None:
        super().__init__(locals(), rank=self._rank)
        self.input_spec = InputSpec(ndim=self._rank + 3)

    def _sizes_known(self) -> bool:
        return True

    def compute_output_shape(self, sequences_shape: Any, initial_state_shape: Any = None) -> Any:
        """[b, image], or [b, steps, image]; followed by the shapes of the states."""
        del initial_state_shape
        batch, length, *before = sequences_shape
        picture = self.cell.picture_after(before)  # type: ignore[attr-defined]  # the cell is a ConvLSTMCell
        output = (batch, length, *picture) if self.return_sequences else (batch, *picture)
        if not self.return_state:
            return output
        return (output, *[Shape((batch, *picture))] * 2)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        config = super().get_config()
        config.pop("rank", None)
        return config


class ConvLSTM1D(ConvLSTM):
    """A ConvLSTM of lines.

    Shapes:
        x [b, steps, size, in] → [b, size', filters], or with all steps.

    Source:
        Keras `ConvLSTM1D`; arguments: see ConvLSTM.
    """

    _rank = 1


class ConvLSTM2D(ConvLSTM):
    """A ConvLSTM of images.

    Shapes:
        x [b, steps, rows, columns, in] → [b, rows', columns', filters], or with all steps.

    Source:
        Keras `ConvLSTM2D`; arguments: see ConvLSTM.
    """

    _rank = 2


class ConvLSTM3D(ConvLSTM):
    """A ConvLSTM of volumes.

    Shapes:
        x [b, steps, x1, x2, x3, in] → [b, x1', x2', x3', filters], or with all steps.

    Source:
        Keras `ConvLSTM3D`; arguments: see ConvLSTM.
    """

    _rank = 3
