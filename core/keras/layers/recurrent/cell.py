"""RecurrentCell: the base class of cells: weights, dropout masks, initial states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.keras import activations, constraints, initializers, regularizers
from pinnace.keras.layer import Layer
from pinnace.keras.layers.dense import last_axis, whole_units
from pinnace.keras.seeds import SeedGenerator
from pinnace.ops.array import constants, joining, reshaping, shapes
from pinnace.ops.math import products
from pinnace.ops.nn import biases
from pinnace.ops.nn.dropouts import stateless_dropout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable

    Project = Callable[[Tensor], Tensor]
    Advance = Callable[[Tensor, Any], tuple[Tensor, Any]]


class RecurrentCell(Layer):
    """The base class of SimpleRNNCell, LSTMCell and GRUCell.

    A subclass defines `_gates`, and `_stepper`: a step in two halves. The first depends on inputs
    only, so that a layer computes it for all steps at once.

    All of them and their layers take these arguments:

    Args:
        units: size of the state and of the output.
        activation: activation of candidates and outputs.
        use_bias: whether there is a bias.
        kernel_initializer: first value of what inputs are multiplied by.
        recurrent_initializer: first value of what states are multiplied by.
        bias_initializer: first value of the bias.
        kernel_regularizer: penalty of the kernel.
        recurrent_regularizer: penalty of the recurrent kernel.
        bias_regularizer: penalty of the bias.
        kernel_constraint: constraint applied to the kernel after each step.
        recurrent_constraint: constraint applied to the recurrent kernel after each step.
        bias_constraint: constraint applied to the bias after each step.
        dropout: share of the inputs that training drops, the same in all steps.
        recurrent_dropout: share of the states that training drops, the same in all steps.
        seed: seed of the dropout.
    """

    _untracked = frozenset({"_kept_masks"})

    _takes_floats = True

    # The number of gates, each with `units` columns of the kernels.
    _gates: ClassVar[int]
    # Whether each gate has a separate input dropout mask, also without recurrent dropout.
    _drops_apart: ClassVar[bool] = False
    # Keras' order: the same global seed gives the same weights.
    _draws_seed_first: ClassVar[bool] = False
    # The constructor arguments that become attributes, normalised.
    units: int
    dropout: float
    recurrent_dropout: float
    kernel: Variable
    recurrent_kernel: Variable
    bias: Variable | None

    def _keep(self, options: dict[str, Any]) -> None:
        """Validate arguments, given as a constructor's locals, and store them as attributes."""
        who = type(self).__name__
        for name in ("dropout", "recurrent_dropout"):
            if not 0 <= options[name] <= 1:
                raise ValueError(f"{who}: {name} must be from 0 to 1, got {options[name]}")
        self.seed = options["seed"]
        generator = SeedGenerator(self.seed) if self._draws_seed_first else None
        self.units = whole_units(who, options["units"])
        self.activation = activations.get(options["activation"])
        self.use_bias = options["use_bias"]
        self.kernel_initializer = initializers.get(options["kernel_initializer"])
        self.recurrent_initializer = initializers.get(options["recurrent_initializer"])
        self.bias_initializer = initializers.get(options["bias_initializer"])
        self.kernel_regularizer = regularizers.get(options["kernel_regularizer"])
        self.recurrent_regularizer = regularizers.get(options["recurrent_regularizer"])
        self.bias_regularizer = regularizers.get(options["bias_regularizer"])
        self.kernel_constraint = constraints.get(options["kernel_constraint"])
        self.recurrent_constraint = constraints.get(options["recurrent_constraint"])
        self.bias_constraint = constraints.get(options["bias_constraint"])
        self.dropout = options["dropout"]
        self.recurrent_dropout = options["recurrent_dropout"]
        self.seed_generator = generator or SeedGenerator(self.seed)
        self._kept_masks: dict[str, Any] = {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The cell with that configuration."""
        # Initializers draw their seeds when the constructor creates them, in its order.
        return cls(**config)

    @property
    def state_size(self) -> Any:
        """The size of each state."""
        return self.units

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self.units

    # Building it.

    def build(self, x: TensorSpec) -> None:
        """Create kernel, recurrent kernel and bias."""
        columns = self.units * self._gates
        self.kernel = self.add_weight(
            "kernel",
            [last_axis(self, x), columns],
            self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel",
            [self.units, columns],
            self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                self._bias_shape(columns),
                self._first_bias,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def _bias_shape(self, columns: int) -> list[int]:
        return [columns]

    def _first_bias(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        return self.bias_initializer(shape, dtype=dtype)  # type: ignore[no-any-return]

    # Running it.

    def call(self, x: Tensor, states: Any, training: bool = False) -> tuple[Tensor, Any]:
        """One step: [b, in] and states → [b, units] and states."""
        project, advance = self._stepper(x, training)
        return advance(project(x), states)

    def _stepper(self, x: Tensor, training: bool) -> tuple[Project, Advance]:
        raise NotImplementedError

    def _projection(
        self, kernel: Tensor, bias: Tensor | None, dropped: list[Tensor] | None
    ) -> Project:
        """The part of a step that depends on inputs only: x @ kernel + bias, with dropout."""

        def project(x: Tensor) -> Tensor:
            y = self._product(x, kernel, dropped)
            return y if bias is None else biases.bias_add(y, bias)

        return project

    def get_initial_state(
        self, batch_size: Any = None, *, inputs: Any = None, dtype: Any = None
    ) -> Any:
        """Zero states.

        Args:
            batch_size: an int, or an integer tensor.
            inputs: a tensor to take the batch size from, as in older programs.
            dtype: dtype that it computes in if None.

        Raises:
            ValueError: the batch size is not known.
        """
        sizes = self.state_size
        several = isinstance(sizes, (list, tuple))
        batch = _batch_size(type(self).__name__, batch_size, inputs)
        kind = dtypes.as_dtype(dtype or self.compute_dtype)
        return [constants.zeros([batch, size], kind) for size in (sizes if several else [sizes])]

    def zero_state(self, batch_size: Any, dtype: Any = None) -> Any:
        """Zero states, by the name of TensorFlow 1's cells."""
        return self.get_initial_state(batch_size, dtype=dtype)

    # Dropout.

    def reset_dropout_mask(self) -> None:
        """Make the next step draw a new dropout mask for inputs."""
        self._kept_masks.pop("inputs", None)

    def reset_recurrent_dropout_mask(self) -> None:
        """Make the next step draw a new dropout mask for states."""
        self._kept_masks.pop("states", None)

    def reset_dropout_masks(self) -> None:
        """Make the next step draw both masks anew."""
        self._kept_masks.clear()

    def _input_masks(self, x: Tensor, training: bool) -> list[Tensor] | None:
        """Dropout factors of inputs, [b, in], or [b, 1, in] for sequences; None without dropout."""
        if not training or not 0 < self.dropout < 1:
            return None
        drawn = self._masks("inputs", x, self.kernel.shape[0], self.dropout)
        if x.shape.rank == 3:
            return [reshaping.expand_dims(mask, 1) for mask in drawn]
        return drawn

    def _state_masks(self, x: Tensor, training: bool) -> list[Tensor] | None:
        """Dropout factors of the states, [b, units]; None without dropout."""
        if not training or not 0 < self.recurrent_dropout < 1:
            return None
        return self._masks("states", x, self.units, self.recurrent_dropout)

    def draw_masks(self, x: Tensor, training: bool) -> None:
        """Draw the dropout masks for all steps of a sequence, before the loop starts."""
        self._input_masks(x, training)
        self._state_masks(x, training)

    def _masks(self, what: str, x: Tensor, size: Any, rate: float) -> list[Tensor]:
        kept = self._kept_masks
        tracer, held = kept.get(what, (None, None))
        if held is not None and _usable(tracer, held, x):
            return held  # type: ignore[no-any-return]
        # One for all gates, or one for each: Keras' two implementations.
        apart = self._drops_apart or self.recurrent_dropout > 0
        count = self._gates if apart and self._gates > 1 else 1
        sizes = size if isinstance(size, list) else [size]
        ones = constants.ones([_batch_size(type(self).__name__, None, x), *sizes], x.dtype)
        drawn = [stateless_dropout(ones, rate, self.seed_generator.next()) for _ in range(count)]
        kept[what] = (state.tracer, drawn)
        return drawn

    def _product(self, x: Tensor, kernel: Tensor, masks: list[Tensor] | None) -> Tensor:
        """x @ kernel with dropout of x; one mask for all gates, or one each."""
        if masks is None:
            return product(x, kernel)
        if len(masks) == 1:
            return product(x * masks[0], kernel)
        parts = joining.split(kernel, self._gates, axis=1)
        products = [product(x * mask, part) for mask, part in zip(masks, parts, strict=True)]
        return joining.concat(products, -1)


def arguments_of(cell: type[RecurrentCell]) -> list[str]:
    """The names of a cell's constructor arguments, besides those of Layer."""
    made = [vars(base)["__init__"].__code__ for base in cell.__mro__ if _has_own_constructor(base)]
    return [name for code in made for name in code.co_varnames[1 : code.co_argcount]]


def _has_own_constructor(base: type) -> bool:
    return issubclass(base, RecurrentCell) and "__init__" in vars(base)


def product(x: Tensor, kernel: Tensor) -> Tensor:
    """x @ kernel for [..., in]: one large product, not one per leading index."""
    rank = x.shape.rank
    if rank is not None and rank > 2:
        return products.tensordot(x, kernel, [[rank - 1], [0]])
    return products.matmul(x, kernel)


def _batch_size(who: str, batch_size: Any, inputs: Any) -> Any:
    if batch_size is None and inputs is not None:
        known = inputs.shape[0]
        batch_size = shapes.shape(inputs)[0] if known is None else known
    if batch_size is None:
        raise ValueError(
            f"{who}: batch_size must be known, got None\n"
            "  Try: tf.shape(inputs)[0] inside of a graph"
        )
    return batch_size


def _usable(tracer: Any, masks: list[Tensor], x: Tensor) -> bool:
    """Whether masks drawn in another graph can be used here: in the same graph, or a loop in it."""
    if not masks[0].shape[:1].is_compatible_with(x.shape[:1]):
        return False
    here: Any = state.tracer
    while here is not tracer:
        if here is None or tracer is None:
            return False
        here = here.outer
    return True
