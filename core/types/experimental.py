"""`tf.types.experimental`: types for `isinstance` and annotations."""

from pinnace.functions.types import AtomicFunction as AtomicFunction
from pinnace.functions.types import Callable as Callable
from pinnace.functions.types import ConcreteFunction as ConcreteFunction
from pinnace.functions.types import FunctionType as FunctionType
from pinnace.functions.types import GenericFunction as GenericFunction
from pinnace.functions.types import PolymorphicFunction as PolymorphicFunction
from pinnace.functions.types import SupportsTracingProtocol as SupportsTracingProtocol
from pinnace.functions.types import TensorLike as TensorLike
from pinnace.functions.types import TraceType as TraceType
from pinnace.types import distributed as distributed
