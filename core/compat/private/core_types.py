"""Names of TensorFlow's abstract types that stand for tensors."""

from pinnace.framework.tensor import Tensor as Symbol
from pinnace.framework.tensor import Tensor as Tensor
from pinnace.framework.tensor import Tensor as Value

__all__ = ["Symbol", "Tensor", "Value"]
