"""RNN: a layer that applies a cell to each step of a sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

from pinnace.framework import structure
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.variable import Variable
from pinnace.keras import output_specs, registry
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions, PlainLayerOptions
from pinnace.keras.layers.recurrent.cell import RecurrentCell, arguments_of
from pinnace.keras.layers.recurrent.loop import Course, over_time
from pinnace.keras.layers.recurrent.stacked import StackedRNNCells
from pinnace.keras.names import class_name_in_snake_case, scope_of
from pinnace.ops.array import casting, constants, shapes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


# The layer's options for the loop over steps, besides those of the cell.
_COURSE = (
    *("return_sequences", "return_state", "go_backwards", "stateful", "unroll"),
    "activity_regularizer",
)


class CarriedStates(AutoTrackable):
    """The states that a stateful layer keeps between batches: variables, but not weights.

    Args:
        states: a structure of tensors, to begin with.
        name: begins the names of the variables.
    """

    _holds_weights = False

    def __init__(self, states: Any, name: str) -> None:
        self.values = structure.map_structure(
            lambda x: Variable(x, trainable=False, name=f"{scope_of(name)}rnn_state"), states
        )


class CellLayerOptions(PlainLayerOptions, total=False):
    """The arguments that LSTM, GRU and SimpleRNN pass on to RNN and to Layer.

    zero_output_for_mask: see RNN.
    """

    zero_output_for_mask: bool


class RNN(Layer):
    """A cell applied to each step of [b, steps, ...], with the states the step before left.

    A cell is anything with `state_size` (an int, or a list of them) and
    `call(inputs, states) -> (output, states)`.

    Args:
        cell: a cell, or a list of cells on top of each other.
        return_sequences: whether all outputs are given, or the last.
        return_state: whether the states after the last step are given too.
        go_backwards: whether it begins with the last step; the outputs come in that order.
        stateful: whether a batch begins with the states the one before ended with; its size must
            be known.
        unroll: whether a graph holds each step, rather than a loop.
        zero_output_for_mask: whether the output of a step that does not count is 0; else it is the
            one before.
        **options: see Layer.

    Shapes:
        x [b, steps, ...] → [b, ...] as the cell gives it, or [b, steps, ...]; with `return_state`
        also the states.

    Call: (sequences, initial_state=None, mask=None, training=False). With `initial_state`, the mask
    that the sequences carry is not used, as in Keras 3: pass `mask`.

    Raises:
        ValueError: the cell has no `call` or no `state_size`.
    """

    _takes_floats = True

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        for name in ("call", "state_size"):
            if not hasattr(cell, name):
                raise ValueError(
                    f"{type(self).__name__}: cell must have {name!r}, got {type(cell).__name__}"
                )
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.stateful = stateful
        self.unroll = unroll
        self.zero_output_for_mask = zero_output_for_mask
        self.supports_masking = True
        self._carried: CarriedStates | None = None

    @property
    def state_size(self) -> list[Any]:
        """The size of each state."""
        size = self.cell.state_size
        return list(size) if isinstance(size, (list, tuple)) else [size]

    @property
    def states(self) -> Any:
        """The variables of a stateful layer; None before it is built."""
        return None if self._carried is None else self._carried.values

    # Building it.

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        """Create the cell's weights, and the states of a stateful layer."""
        del initial_state_shape
        one = structure.map_structure(lambda spec: spec, sequences_shape)
        first = structure.flatten(one)[0]
        if first.rank is not None and first.rank < 3:
            raise ValueError(
                f"{self._described()}: sequences must be [batch, steps, features], got shape "
                f"{first.text}\n  Try: x[..., None] for one feature, or x[:, None] for one step"
            )
        step = structure.map_structure(_without_time, one)
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build_inside(step)
        batch = structure.flatten(one)[0][0]
        if self.stateful and self._carried is None:
            if batch is None:
                raise ValueError(
                    f"{self._described()}: the batch size must be known if it is stateful\n"
                    "  Try: Input(batch_shape=(batch, steps, features))"
                )
            with init_scope():
                self._carried = CarriedStates(self.get_initial_state(batch), self.name)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """See Layer. If the cell has `output_size`, the loop need not be traced."""
        told = set(kwargs) <= {"training", "initial_state", "mask"}
        first = args[0] if args else None
        if not told or structure.is_nested(first) or len(args) != 1 or not self._sizes_known():
            return super().compute_output_spec(*args, **kwargs)
        return output_specs.by_shapes(self, (TensorSpec(first.shape, first.dtype),))  # type: ignore[union-attr]  # a tensor's stand-in

    def _sizes_known(self) -> bool:
        sizes = structure.flatten(self.cell.state_size)
        return all(isinstance(size, int) for size in (self._output_size(), *sizes))

    def _output_size(self) -> Any:
        given = getattr(self.cell, "output_size", None)
        return structure.flatten(self.cell.state_size)[0] if given is None else given

    def compute_output_shape(self, sequences_shape: Any, initial_state_shape: Any = None) -> Any:
        """[b, size], or [b, steps, size]; followed by the shapes of the states."""
        del initial_state_shape
        batch, length = sequences_shape[0], sequences_shape[1]
        size = self._output_size()
        output = (batch, length, size) if self.return_sequences else (batch, size)
        if not self.return_state:
            return output
        states = structure.map_structure(lambda n: Shape((batch, n)), self.state_size)
        return (output, *states)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask of the sequences, if sequences are returned."""
        del inputs
        mask = structure.flatten(previous_mask)[0] if self.return_sequences else None
        return [mask, *[None] * len(self.state_size)] if self.return_state else mask

    # Running it.

    def get_initial_state(self, batch_size: Any) -> list[Any]:
        """The initial states: the cell's own, else zeros."""
        make = getattr(self.cell, "get_initial_state", None)
        if make is None:
            kind = getattr(self.cell, "compute_dtype", self.compute_dtype)
            return structure.map_structure(  # type: ignore[no-any-return]
                lambda size: constants.zeros([batch_size, size], kind), self.state_size
            )
        made = make(batch_size=batch_size)
        return list(made) if structure.is_nested(made) else [made]

    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False
    ) -> Any:
        """The last output or all outputs; then the states if requested."""
        first = structure.flatten(sequences)[0]
        states = self._states_before(first, initial_state)
        if mask is not None:
            mask = structure.flatten(mask)[0]
        course = Course(
            self.go_backwards, self.unroll, self.zero_output_for_mask, self.return_sequences
        )
        cells = list(_cells_of(self.cell))
        for cell in cells:
            cell.reset_dropout_masks()
            if cell.built:
                cell.draw_masks(first, training)
        try:
            step, sequences, like = self._step(sequences, states, training)
            output, states = over_time(step, sequences, states, course, mask, like)
        finally:
            for cell in cells:
                cell.reset_dropout_masks()
        # The cell's policy may be another.
        kind = self.compute_dtype
        output, states = structure.map_structure(lambda x: casting.cast(x, kind), (output, states))
        if self._carried is not None:
            for variable, value in zip(
                structure.flatten(self._carried.values), structure.flatten(states), strict=True
            ):
                variable.assign(casting.cast(value, variable.dtype))
        return (output, *states) if self.return_state else output

    def _states_before(self, first: Tensor, initial_state: Any) -> list[Any]:
        batch = first.shape[0]
        if self._carried is not None:
            carried = structure.map_structure(lambda v: v.value(), self._carried.values)
            known = structure.flatten(carried)[0].shape[0]
            if batch is not None and batch != known:
                raise ValueError(
                    f"{self._described()}: is stateful and was built for batches of {known}, "
                    f"got {batch}"
                )
            if initial_state is None:
                initial_state = carried
        if initial_state is None:
            size = shapes.shape(first)[0] if batch is None else batch
            initial_state = self.get_initial_state(size)
        states = list(initial_state) if structure.is_nested(initial_state) else [initial_state]
        kind = getattr(self.cell, "compute_dtype", self.compute_dtype)
        return structure.map_structure(lambda x: casting.cast(convert_to_tensor(x), kind), states)  # type: ignore[no-any-return]

    def _step(self, sequences: Any, states: Any, training: bool) -> tuple[Any, Any, Any]:
        """The function of a step, its inputs, and the shape of an output."""
        cell = self.cell
        stock = isinstance(cell, RecurrentCell) and type(cell).call is RecurrentCell.call
        alike = getattr(cell, "compute_dtype", None) == self.compute_dtype
        if stock and alike and not structure.is_nested(sequences):
            # The part that depends on inputs only is computed for all steps at once.
            project, advance = cell._stepper(sequences, training)
            return advance, project(sequences), states[0]
        run = cell if callable(cell) else cell.call
        like = states[0] if isinstance(cell, RecurrentCell) else None

        def step(inputs: Any, states: Any) -> tuple[Any, Any]:
            output, new = run(inputs, states)
            return output, new if structure.is_nested(new) else [new]

        return step, sequences, like

    def reset_states(self, states: Any = None) -> None:
        """Reset the states of a stateful layer to zeros.

        Args:
            states: values to put them to instead, in order.

        Raises:
            AttributeError: the layer is not stateful.
        """
        if not self.stateful:
            raise AttributeError(f"{self._described()} has no states to reset: stateful=False")
        if self._carried is None:
            return
        variables = structure.flatten(self._carried.values)
        values = [None] * len(variables) if states is None else structure.flatten(states)
        for variable, value in zip(variables, values, strict=True):
            variable.assign(constants.zeros_like(variable.value()) if value is None else value)

    def reset_state(self) -> None:
        """Keras 3's name of `reset_states`."""
        self.reset_states()

    # Configuration.

    def _own_config(self) -> dict[str, Any]:
        names = (
            *("return_sequences", "return_state", "go_backwards", "stateful", "unroll"),
            "zero_output_for_mask",
        )
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        return {**self._own_config(), "cell": registry.serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """The layer with that configuration."""
        arguments = {
            key: registry.deserialize_keras_object(value, custom_objects)
            for key, value in config.items()
        }
        return cls(**arguments)


class CellLayer(RNN):
    """An RNN that creates its cell, whose arguments are also the layer's.

    Args:
        given: the locals of the subclass' constructor, `options` among them.
        **more: arguments of the cell that the subclass does not have.
    """

    cell: RecurrentCell
    _cell: ClassVar[type[RecurrentCell]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_cell" in vars(cls):
            for name in arguments_of(cls._cell):
                setattr(cls, name, _of_cell(name))

    def __init__(self, given: dict[str, Any], **more: Any) -> None:
        options = given["options"]
        cell = self._cell(
            **{name: given[name] for name in arguments_of(self._cell) if name in given},
            **more,
            dtype=options.get("dtype"),
            trainable=options.get("trainable", True),
            name=class_name_in_snake_case(self._cell.__name__),
        )
        super().__init__(cell, **{name: given[name] for name in _COURSE}, **options)
        self.input_spec = InputSpec(ndim=3)

    def get_config(self) -> dict[str, Any]:
        """See Layer."""
        cell = self.cell.get_config()
        own = self._own_config()
        return {**{key: value for key, value in cell.items() if key not in own}, **own}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """The layer with that configuration."""
        with registry.custom_object_scope(custom_objects or {}):
            # Initializers draw their seeds when the cell's constructor creates them, in its order.
            return cls(**config)


def _of_cell(name: str) -> Any:
    """An attribute that is the cell's."""
    return property(lambda layer: getattr(layer.cell, name), doc=f"That of the cell: {name}.")


def _without_time(shape: Any) -> Any:
    return Shape((shape[0], *shape[2:]))


def _cells_of(cell: Any) -> Any:
    if isinstance(cell, RecurrentCell):
        yield cell
    for inner in getattr(cell, "cells", ()):
        yield from _cells_of(inner)
