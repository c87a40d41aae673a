"""Variable: a value that ops may replace."""

from __future__ import annotations

import itertools
import weakref
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace import late
from pinnace.framework import dtypes
from pinnace.framework.context import init_scope, state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.creation import Created
from pinnace.framework.eager_members import VariableMembers
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.storage import Resource
from pinnace.framework.tensor import (
    Array,
    Operands,
    Reference,
    SymbolicTensor,
    Tensor,
    TensorLike,
    values_text,
    wrap,
)
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable_parts import VariableParts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pinnace.framework.dtypes import DType


class VariableSynchronization(IntEnum):
    """When the copies of a variable in a strategy are synchronised.

    ON_WRITE, which AUTO means: at each assignment; ON_READ: reads in a cross-replica context return
    the sum or mean. NONE is refused in a strategy. Without a strategy it has no effect.
    """

    __str__ = Enum.__str__

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(IntEnum):
    """The aggregation of the values that replicas assign to a variable.

    NONE keeps a separate value per replica. Without a strategy it has no effect.
    """

    __str__ = Enum.__str__

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def forget_values(variables: Iterable[Variable]) -> None:
    """Release the values' memory of variables that are still referenced but not read again.

    A function and its captures form a reference cycle, which the garbage collector finds late.
    """
    for variable in variables:
        resource = variable._resource
        with resource.lock:
            resource._array = resource.source = None


def handle_of(resource: object) -> Tensor:
    """A tensor of dtype resource that refers to `resource`."""
    array = np.empty((), object)
    array[()] = resource
    return wrap(array, dtypes.resource)


_numbers = itertools.count()


class Variable(VariableParts, VariableMembers, Operands, Trackable, metaclass=Created):
    """A replaceable value that can be used like a tensor, shared by all references to it.

    Args:
        initial_value: a value, or a function without arguments that gives it. In a function that
            is traced a tensor it computes, too: that is computed at once, from the arguments of
            the call.
        trainable: whether a GradientTape watches it and `trainable_variables` lists it.
        validate_shape: False leaves the shape open, so that values of other shapes can be assigned.
        name: its name in graphs and files; `Variable` if None.
        dtype: element type; that of the initial value if None.
        constraint: constraint that an optimizer applies to the value after each step.
        synchronization: when the copies that a strategy makes of it are made equal.
        aggregation: how values assigned by the replicas of a strategy are aggregated.
        shape: the shape that later values must fit, `TensorShape(None)` for any; the shape of the
            initial value if None.

    Raises:
        ValueError: no initial value, or one that does not fit `shape`; one that a traced function
            computes from what has no value yet; a constraint that is no function.
    """

    _is_variable = True
    # Whether reading it is more than reading one resource: copies are summed (`distribute`).
    _is_spread = False
    # Whether a tensor conversion is registered for this class (`conversions.py`).
    _has_conversion = False
    # Whether reads are cast to the compute dtype of the layer: a weight of Keras.
    _autocasts = False
    _constraint: Callable[[Tensor], Tensor] | None

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: object = None,
        name: str | None = None,
        variable_def: object = None,
        dtype: Any = None,
        import_scope: object = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        ignored(
            "Variable",
            "a value is in one place, and read where it is",
            caching_device=caching_device,
            variable_def=variable_def,
            import_scope=import_scope,
        )
        if initial_value is None:
            raise ValueError(
                "Variable: an initial value is required, or a function that gives it, got None"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError(
                "Variable: constraint must be a function or None, got "
                f"{type(constraint).__name__}: {constraint!r}"
            )
        prefix = state.scope
        creating = state.tracer
        with init_scope():
            value = initial_value() if callable(initial_value) else initial_value
            tensor = convert_to_tensor(value, dtype)
            if isinstance(tensor, SymbolicTensor):
                if creating is None:
                    raise ValueError(
                        f"Variable: the initial value {tensor!r} belongs to a function that was "
                        "traced.\n  Try: return it from that function"
                    )
                tensor = creating.initial_value(tensor, f"{prefix}{name or 'Variable'}:0")  # type: ignore[attr-defined]
        held = tensor.shape if shape is None and validate_shape else Shape(shape)
        if not held.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Variable {name!r}: the initial value of shape {tensor.shape} does not fit "
                f"shape {held}"
            )
        self._setup(tensor.dtype, held, f"{prefix}{name or 'Variable'}", trainable is not False)
        self._constraint = constraint
        self._synchronization = VariableSynchronization(synchronization)
        self._aggregation = VariableAggregation(aggregation)
        self._resource.write(np.asarray(tensor._array))
        for collect in state.collectors:
            collect(self)

    def _setup(self, dtype: DType, shape: Shape, name: str, trainable: bool) -> None:
        self._resource = Resource(dtype, shape, name)
        self._resource.owner = weakref.ref(self)
        self._handle = handle_of(self._resource)
        self._name = name
        self._trainable = trainable
        self._constraint = None
        self._synchronization = VariableSynchronization.AUTO
        self._aggregation = VariableAggregation.NONE
        self._unique_id = f"{name}_{next(_numbers)}"

    @classmethod
    def uninitialized(cls, dtype: DType, shape: Shape, name: str, trainable: bool) -> Variable:
        """A variable without a value, for a loader to fill."""
        variable = cls.__new__(cls)
        variable._setup(dtype, shape, name, trainable)
        return variable

    @property
    def handle(self) -> Tensor:
        """The resource tensor that ops take."""
        return self._handle

    @property
    def resource(self) -> Resource:
        """The storage."""
        return self._resource

    @property
    def name(self) -> str:
        """`name:0`, as TensorFlow shows it."""
        return f"{self._name}:0"

    @property
    def node_name(self) -> str:
        """Its name in graphs and files, without `:0`."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._resource.dtype

    @property
    def shape(self) -> Shape:
        """The static shape that all values must have."""
        return self._resource.shape

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype of the values."""
        return TensorSpec(self.shape, self._resource.dtype)

    @property
    def trainable(self) -> bool:
        """Whether tapes watch it."""
        return self._trainable

    @property
    def is_watched(self) -> bool:
        """Whether tapes watch it: the constructor's `trainable`, whatever a layer has set since."""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Tensor], Tensor] | None:
        """The function that an optimizer applies to the value after each step."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        """The constructor's argument."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """The constructor's argument."""
        return self._aggregation

    @property
    def device(self) -> str:
        """The device name, as in TensorFlow."""
        return self._handle.device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        rank = self.shape.rank
        return self.numpy().ndim if rank is None else rank

    def get_shape(self) -> Shape:
        """The shape."""
        return self.shape

    def _as_tensor(self) -> Tensor:
        return late.read_variable(self)

    def value(self) -> Tensor:
        """The present value."""
        return late.read_variable(self)

    def read_value(self) -> Tensor:
        """The present value."""
        return late.read_variable(self)

    def numpy(self) -> Any:
        """The present value as a NumPy array that the caller may write to."""
        if state.tracer is not None or state.stateless is not None:
            return self.read_value().numpy()
        array = self._resource.read()
        return array[()] if array.ndim == 0 else array.copy()

    def assign(
        self,
        value: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Replace the value; returns the variable."""
        del use_locking  # an assignment is one step here anyway
        late.assign(self, value, name)
        return self if read_value else None

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add delta to the value; returns the variable."""
        del use_locking
        late.assign_add(self, delta, name)
        return self if read_value else None

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract delta from the value; returns the variable."""
        del use_locking
        late.assign_sub(self, delta, name)
        return self if read_value else None

    def is_initialized(self, name: str | None = None) -> bool:
        """Whether there is a value."""
        del name
        return self._resource.is_initialized

    @property
    def stored_dtype(self) -> DType:
        """The dtype of the value in checkpoints."""
        return self.dtype

    def stored_value(self) -> Array:
        """The value for checkpoints and SavedModels."""
        return self._resource.read()

    def restore_value(self, value: Array) -> None:
        """Restore a saved value."""
        self._resource.write(value)

    def stored_as(self) -> tuple[Resource, ...]:
        """The resources that represent it in graphs; in a file they are one."""
        return (self.resource,)

    def ref(self) -> Reference:
        """A hashable reference, for sets and dictionary keys."""
        return Reference(self)

    def experimental_ref(self) -> Reference:
        """The older name of `ref`."""
        return Reference(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.value().__array__(dtype, copy)

    def __bool__(self) -> bool:
        return bool(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __float__(self) -> float:
        return float(self.value())

    def __index__(self) -> int:
        return self.value().__index__()

    def __len__(self) -> int:
        return len(self.value())

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.value())

    def __hash__(self) -> int:
        raise TypeError(
            "a Variable is unhashable, since == compares element by element: "
            "use variable.ref() as the key"
        )

    def __deepcopy__(self, memo: dict[int, object]) -> Variable:
        own = self._resource.dtype
        copy = type(self).uninitialized(own, self.shape, self._name, self._trainable)
        memo[id(self)] = copy
        copy._constraint = self._constraint
        copy._synchronization, copy._aggregation = self._synchronization, self._aggregation
        if self._resource.is_initialized:
            copy._resource.write(self._resource.read())  # a shared array is never written into
        return copy

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._resource.owner = weakref.ref(self)
        self._unique_id = f"{self._name}_{next(_numbers)}"

    def __repr__(self) -> str:
        resource = self._resource
        value = values_text(resource.read()) if resource.is_initialized else "<uninitialized>"
        return (
            f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={value}>"
        )
