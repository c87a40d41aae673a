"""Types of functions for `isinstance`: `tf.types.experimental`."""

from __future__ import annotations

import inspect
from abc import ABC, ABCMeta, abstractmethod
from typing import Any, TypeAlias

import numpy as np

from pinnace.framework.tensor import Tensor
from pinnace.functions import concrete, function, function_type
from pinnace.functions.trace_types import SupportsTracingProtocol as SupportsTracingProtocol
from pinnace.functions.trace_types import TraceType as TraceType

# Values that ops convert to tensors; plain classes, so that `isinstance` accepts them.
TensorLike: TypeAlias = (
    Tensor | int | float | bool | str | bytes | complex | tuple | list | np.ndarray | np.generic  # type: ignore[type-arg]  # see above
)


class Callable(ABC):
    """A callable from tensors to tensors."""

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


class FunctionType(inspect.Signature, metaclass=ABCMeta):
    """The type of a function's graph: `tf.function(...).get_concrete_function(...).function_type`.

    Its parameters are annotated with specs and Python values, `output` has the specs of the
    results.
    """

    __slots__ = ()


FunctionType.register(function_type.FunctionType)


class AtomicFunction(Callable):
    """A function that is only a graph, called with tensors."""


AtomicFunction.register(concrete.ConcreteFunction)
