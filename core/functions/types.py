"""What functions are, as types to ask with `isinstance`: `tf.types.experimental`."""

from __future__ import annotations

import inspect
from abc import ABC, ABCMeta, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from pinnace.framework.specs import TypeSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions import concrete, function, function_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What becomes a tensor where an op wants one; plain classes, so that `isinstance` takes it.
TensorLike: TypeAlias = (
    Tensor | int | float | bool | str | bytes | complex | tuple | list | np.ndarray | np.generic  # type: ignore[type-arg]  # see above
)


class Callable(ABC):
    """What takes tensors and gives tensors."""

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it."""


class ConcreteFunction(Callable):
    """A function with one graph: what `get_concrete_function` gives."""


class PolymorphicFunction(Callable):
    """A function with a graph for each kind of arguments: what `tf.function` gives."""

    @abstractmethod
    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """The one for these arguments."""


ConcreteFunction.register(concrete.ConcreteFunction)
PolymorphicFunction.register(function.Function)
GenericFunction = PolymorphicFunction  # an older name


class TraceType(ABC):
    """What `tf.function` sees of an argument: calls with equal trace types share a graph.

    Specs are trace types. A class of one's own whose objects are arguments gives one from
    `__tf_tracing_type__`; see `SupportsTracingProtocol`.
    """

    @abstractmethod
    def is_subtype_of(self, other: TraceType) -> bool:
        """Whether a graph for `other` may be called with a value of this type."""

    @abstractmethod
    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        """The narrowest type that this one and `others` are subtypes of; None if there is none."""

    @abstractmethod
    def placeholder_value(self, placeholder_context: Any) -> Any:
        """What stands for a value while a function is traced."""

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors that a value of this type is made of: none."""
        del value
        return []

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """The value that is made of tensors, taken from an iterator."""
        del tensors
        return self.placeholder_value(None)

    def flatten(self) -> list[Any]:
        """The types of the tensors of `to_tensors`."""
        return []

    def cast(self, value: Any, cast_context: Any) -> Any:
        """The value as one of this type.

        Raises:
            TypeError: it is none.
        """
        del cast_context
        if value != self.placeholder_value(None):
            raise TypeError(f"{value!r} is no value of the trace type {self!r}")
        return value

    @abstractmethod
    def __hash__(self) -> int:
        """Equal for equal types."""

    @abstractmethod
    def __eq__(self, other: object) -> bool:
        """Whether calls with both share a graph."""


TraceType.register(TypeSpec)  # type: ignore[type-abstract]  # a base of specs


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """An object that says its own trace type when it is an argument of a `tf.function`."""

    def __tf_tracing_type__(self, context: Any) -> TraceType:
        """The trace type; `context` is None here."""


class FunctionType(inspect.Signature, metaclass=ABCMeta):
    """The type of a function's graph: `tf.function(...).get_concrete_function(...).function_type`.

    Its parameters are annotated with specs and with Python's values, `output` has the specs of what
    it returns.
    """

    __slots__ = ()


FunctionType.register(function_type.FunctionType)


class AtomicFunction(Callable):
    """A function that is a graph and no more, which is called with tensors alone."""


AtomicFunction.register(concrete.ConcreteFunction)
