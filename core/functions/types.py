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
        """Run the function."""


class ConcreteFunction(Callable):
    """A function with a single graph, the result of `get_concrete_function`."""


class PolymorphicFunction(Callable):
    """A function with a graph per kind of arguments, the result of `tf.function`."""

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
    """A function that consists of a graph only, called with tensors."""


AtomicFunction.register(concrete.ConcreteFunction)
