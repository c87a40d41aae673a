"""GRU: a recurrent cell with one state, an update gate and a reset gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.no_effect import ignored, no_effect
from pinnace.keras import activations, constraints, initializers, regularizers
from pinnace.keras.layers.recurrent.cell import RecurrentCell
from pinnace.keras.layers.recurrent.rnn import CellLayer, CellLayerOptions
from pinnace.ops.array import joining
from pinnace.ops.math import products
from pinnace.ops.nn import biases

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.keras.layer import LayerOptions
    from pinnace.keras.layers.recurrent.cell import Advance, Project


class GRUCell(RecurrentCell):
    """h' = z h + (1 - z) activation(x_h + r (h @ R_h)); z, r = recurrent_activation(x_… + h @ R_…).

    The kernels contain the gates z, r, h in this order.

    Args:
        units: size of the state and of the output.
        activation: name or function.
        recurrent_activation: activation of the gates.
        use_bias: …; for these see RecurrentCell.
        reset_after: whether r is applied after the product with the recurrent kernel, which then
            has a bias of its own; False: (r h) @ R_h.
        implementation: accepted for Keras' sake.
        seed: seed of the dropout.
        **options: see Layer.

    Shapes:
        x [b, in], states [[b, units]] → [b, units], [[b, units]]; kernel [in, 3 units],
        recurrent_kernel [units, 3 units], bias [2, 3 units] or without `reset_after` [3 units].

    Source:
        Cho et al. 2014; Keras `GRUCell`.
    """

    _gates = 3

    def __init__(
        self,
        units: int,
        activation: activations.ActivationLike = "tanh",
        recurrent_activation: activations.ActivationLike = "sigmoid",
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
        reset_after: bool = True,
        seed: int | None = None,
        implementation: int = 2,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.reset_after = reset_after
        self.implementation = implementation
        ignored("GRU", "all gates are always one product", 2, implementation=implementation)
        self._keep(locals())

    def _bias_shape(self, columns: int) -> list[int]:
        return [2, columns] if self.reset_after else [columns]

    def _stepper(self, x: Tensor, training: bool) -> tuple[Project, Advance]:
        kernel, recurrent = self.kernel.value(), self.recurrent_kernel.value()
        bias = inner = None
        if self.bias is not None:
            bias = self.bias.value()
            if self.reset_after:
                bias, inner = joining.unstack(bias, axis=0)
        dropped, forgotten = self._input_masks(x, training), self._state_masks(x, training)
        activate, open_gate = self.activation, self.recurrent_activation
        units = self.units
        of_gates = of_memory = recurrent
        if not self.reset_after:
            of_gates, of_memory = recurrent[:, : 2 * units], recurrent[:, 2 * units :]

        project = self._projection(kernel, bias, dropped)

        def after(x_h: Tensor, h: Tensor, x_gates: Tensor) -> tuple[Tensor, Tensor]:
            u = self._product(h, recurrent, forgotten)
            if inner is not None:
                u = biases.bias_add(u, inner)
            u_gates, u_h = joining.split(u, [2 * units, units], axis=1)
            z, r = joining.split(open_gate(x_gates + u_gates), 2, axis=1)
            return z, activate(x_h + r * u_h)

        def before(x_h: Tensor, h: Tensor, x_gates: Tensor) -> tuple[Tensor, Tensor]:
            z, r = joining.split(
                open_gate(x_gates + _parts(h, of_gates, forgotten, units)), 2, axis=1
            )
            held = r * h if forgotten is None else r * (h * forgotten[2])
            return z, activate(x_h + products.matmul(held, of_memory))

        candidate = after if self.reset_after else before

        def advance(y: Tensor, states: Any) -> tuple[Tensor, Any]:
            several = isinstance(states, (list, tuple))
            h = states[0] if several else states
            x_gates, x_h = joining.split(y, [2 * units, units], axis=1)
            z, new = candidate(x_h, h, x_gates)
            h = z * h + (1 - z) * new
            return h, [h] if several else h

        return project, advance


def _parts(h: Tensor, kernel: Tensor, masks: list[Tensor] | None, units: int) -> Tensor:
    """The products of the two gates, each with its own mask."""
    if masks is None:
        return products.matmul(h, kernel)
    return joining.concat(
        [
            products.matmul(h * masks[0], kernel[:, :units]),
            products.matmul(h * masks[1], kernel[:, units:]),
        ],
        1,
    )


class GRU(CellLayer):
    """The layer of GRUCell.

    Args:
        units: size of the state and of the output.
        activation: name or function.
        recurrent_activation: activation of the gates.
        use_bias: …; for these see RecurrentCell.
        activity_regularizer: penalty of the output.
        return_sequences: whether all outputs are given, or the last.
        return_state: whether the states after the last step are given too.
        go_backwards: whether it begins with the last step; the outputs come in that order.
        stateful: whether a batch begins with the states the one before ended with.
        unroll: whether a graph holds each step, rather than a loop.
        reset_after: see GRUCell.
        use_cudnn: True has no effect, which a warning says.
        implementation: accepted for Keras' sake.
        **options: `zero_output_for_mask`; see Layer.

    Shapes:
        x [b, steps, in] → [b, units], or [b, steps, units].
    """

    _cell = GRUCell

    def __init__(
        self,
        units: int,
        activation: activations.ActivationLike = "tanh",
        recurrent_activation: activations.ActivationLike = "sigmoid",
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
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = True,
        use_cudnn: Any = "auto",
        implementation: int = 2,
        **options: Unpack[CellLayerOptions],
    ) -> None:
        if use_cudnn is True:
            no_effect("GRU", "use_cudnn", "it runs on the processor")
        super().__init__(locals())
