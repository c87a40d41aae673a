"""SimpleRNN: a fully connected cell whose output is its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras.layers.recurrent.cell import RecurrentCell
from pinnace.keras.layers.recurrent.rnn import CellLayer, CellLayerOptions

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.keras import activations, constraints, initializers, regularizers
    from pinnace.keras.layer import LayerOptions
    from pinnace.keras.layers.recurrent.cell import Advance, Project


class SimpleRNNCell(RecurrentCell):
    """h' = activation(x @ kernel + h @ recurrent_kernel + bias).

    Args:
        units: size of the state and of the output.
        activation: name or function.
        use_bias: …; for these see RecurrentCell.
        seed: seed of the dropout.
        **options: see Layer.

    Shapes:
        x [b, in], states [[b, units]] → [b, units], [[b, units]]; kernel [in, units],
        recurrent_kernel [units, units], bias [units].

    Source:
        Elman 1990; Keras `SimpleRNNCell`.
    """

    _gates = 1
    _draws_seed_first = True

    def __init__(
        self,
        units: int,
        activation: activations.ActivationLike = "tanh",
        use_bias: bool = True,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        recurrent_initializer: initializers.InitializerLike = "orthogonal",
        bias_initializer: initializers.InitializerLike = "zeros",
        kernel_regularizer: regularizers.RegularizerLike = None,
        recurrent_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        recurrent_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._keep(locals())

    def _stepper(self, x: Tensor, training: bool) -> tuple[Project, Advance]:
        kernel, recurrent = self.kernel.value(), self.recurrent_kernel.value()
        bias = None if self.bias is None else self.bias.value()
        dropped, forgotten = self._input_masks(x, training), self._state_masks(x, training)

        project = self._projection(kernel, bias, dropped)

        def advance(z: Tensor, states: Any) -> tuple[Tensor, Any]:
            several = isinstance(states, (list, tuple))
            h = states[0] if several else states
            h = self.activation(z + self._product(h, recurrent, forgotten))
            return h, [h] if several else h

        return project, advance


class SimpleRNN(CellLayer):
    """The layer of SimpleRNNCell.

    Args:
        units: size of the state and of the output.
        activation: name or function.
        use_bias: …; for these see RecurrentCell.
        activity_regularizer: penalty of the output.
        return_sequences: whether all outputs are given, or the last.
        return_state: whether the states after the last step are given too.
        go_backwards: whether it begins with the last step; the outputs come in that order.
        stateful: whether a batch begins with the states the one before ended with.
        unroll: whether a graph holds each step, rather than a loop.
        seed: seed of the dropout.
        **options: `zero_output_for_mask`; see Layer.

    Shapes:
        x [b, steps, in] → [b, units], or [b, steps, units].
    """

    _cell = SimpleRNNCell

    def __init__(
        self,
        units: int,
        activation: activations.ActivationLike = "tanh",
        use_bias: bool = True,
        kernel_initializer: initializers.InitializerLike = "glorot_uniform",
        recurrent_initializer: initializers.InitializerLike = "orthogonal",
        bias_initializer: initializers.InitializerLike = "zeros",
        kernel_regularizer: regularizers.RegularizerLike = None,
        recurrent_regularizer: regularizers.RegularizerLike = None,
        bias_regularizer: regularizers.RegularizerLike = None,
        activity_regularizer: regularizers.RegularizerLike = None,
        kernel_constraint: constraints.ConstraintLike = None,
        recurrent_constraint: constraints.ConstraintLike = None,
        bias_constraint: constraints.ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        seed: int | None = None,
        **options: Unpack[CellLayerOptions],
    ) -> None:
        super().__init__(locals())
