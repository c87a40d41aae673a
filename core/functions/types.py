"""What functions are, as types to ask with `isinstance`: `tf.types.experimental`."""

from __future__ import annotations

import inspect
from abc import ABC, ABCMeta, abstractmethod
from typing import Any, TypeAlias

import numpy as np

from pinnace.framework.tensor import Tensor
from pinnace.functions import concrete, function, function_type
from pinnace.functions.trace_types import SupportsTracingProtocol as SupportsTracingProtocol
from pinnace.functions.trace_types import TraceType as TraceType

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
