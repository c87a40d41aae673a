"""LSTM: a cell with input, forget and output gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.no_effect import ignored, no_effect
from pinnace.keras import activations, constraints, initializers, regularizers
from pinnace.keras.layers.recurrent.cell import RecurrentCell
from pinnace.keras.layers.recurrent.rnn import CellLayer, CellLayerOptions
from pinnace.ops.array import constants, joining

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import LayerOptions
    from pinnace.keras.layers.recurrent.cell import Advance, Project


class LSTMCell(RecurrentCell):
    """c' = f c + i activation(z_c), h' = o activation(c'); i, f, o = recurrent_activation(z_…).

    z = x @ kernel + h @ recurrent_kernel + bias holds z_i, z_f, z_c, z_o side by side.

    Args:
        units: size of each state and of the output.
        activation: name or function.
        recurrent_activation: activation of the gates.
        use_bias: …; for these see RecurrentCell.
        unit_forget_bias: whether the bias of f begins with 1 (Jozefowicz et al. 2015).
        implementation: accepted for Keras' sake.
        seed: seed of the dropout.
        **options: see Layer.

    Shapes:
        x [b, in], states [h, c], each [b, units] → [b, units], [h, c]; kernel [in, 4 units],
        recurrent_kernel [units, 4 units], bias [4 units].

    Source:
        Hochreiter and Schmidhuber 1997; Keras `LSTMCell`.
    """

    _gates = 4

    def __init__(
        self,
        units: int,
        activation: activations.ActivationLike = "tanh",
        recurrent_activation: activations.ActivationLike = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        recurrent_initializer: initializers.InitializerLike = "orthogonal",
        bias_initializer: initializers.InitializerLike = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: regularizers.RegularizerLike = None,
        recurrent_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        recurrent_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        implementation: int = 2,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias
        self.implementation = implementation
        ignored("LSTM", "all gates are always one product", 2, implementation=implementation)
        self._keep(locals())

    @property
    def state_size(self) -> list[int]:
        """The sizes of h and c."""
        return [self.units, self.units]

    def _first_bias(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        if not self.unit_forget_bias:
            return super()._first_bias(shape, dtype)
        first = self.bias_initializer([self.units], dtype=dtype)
        ones = constants.ones([self.units], first.dtype)
        return joining.concat(
            [first, ones, self.bias_initializer([2 * self.units], dtype=dtype)], 0
        )

    def _stepper(self, x: Tensor, training: bool) -> tuple[Project, Advance]:
        kernel, recurrent = self.kernel.value(), self.recurrent_kernel.value()
        bias = None if self.bias is None else self.bias.value()
        dropped, forgotten = self._input_masks(x, training), self._state_masks(x, training)
        activate, open_gate = self.activation, self.recurrent_activation

        project = self._projection(kernel, bias, dropped)

        def advance(z: Tensor, states: Any) -> tuple[Tensor, Any]:
            h, c = states
            gates = joining.split(z + self._product(h, recurrent, forgotten), 4, axis=1)
            c = open_gate(gates[1]) * c + open_gate(gates[0]) * activate(gates[2])
            h = open_gate(gates[3]) * activate(c)
            return h, [h, c]

        return project, advance


class LSTM(CellLayer):
    """The layer of LSTMCell.

    Args:
        units: size of each state and of the output.
        activation: name or function.
        recurrent_activation: activation of the gates.
        use_bias: …; for these see RecurrentCell.
        unit_forget_bias: whether the bias of the forget gate begins with 1.
        activity_regularizer: penalty of the output.
        return_sequences: whether all outputs are given, or the last.
        return_state: whether the states after the last step are given too.
        go_backwards: whether it begins with the last step; the outputs come in that order.
        stateful: whether a batch begins with the states the one before ended with.
        unroll: whether a graph holds each step, rather than a loop.
        use_cudnn: True has no effect, which a warning says.
        implementation: accepted for Keras' sake.
        **options: `zero_output_for_mask`; see Layer.

    Shapes:
        x [b, steps, in] → [b, units], or [b, steps, units]; with `return_state` also h and c.
    """

    _cell = LSTMCell

    def __init__(
        self,
        units: int,
        activation: activations.ActivationLike = "tanh",
        recurrent_activation: activations.ActivationLike = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        recurrent_initializer: initializers.InitializerLike = "orthogonal",
        bias_initializer: initializers.InitializerLike = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: regularizers.RegularizerLike = None,
        recurrent_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        activity_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        recurrent_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        use_cudnn: Any = "auto",
        implementation: int = 2,
        **options: Unpack[CellLayerOptions],
    ) -> None:
        if use_cudnn is True:
            no_effect("LSTM", "use_cudnn", "it runs on the processor")
        super().__init__(locals())
