"""Products, quotients and matrix products of a sparse tensor and a dense one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.composite_arguments import refuse
from pinnace.ops.composites.sparse.arithmetic import sparse_dense_matmul
from pinnace.ops.composites.sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["matmul", "multiply", "truediv"]


def multiply(x: Any, y: Any) -> Any:
    """The elementwise product of a sparse and a dense operand, in any order."""
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        return refuse("multiply of two", "sparse")
    return x * y if isinstance(x, SparseTensor) else y * x


def truediv(x: Any, y: Any, name: str | None = None) -> Any:
    """The quotient x / y of a sparse x and a dense y."""
    del name
    if isinstance(y, SparseTensor):
        return refuse("truediv", "sparse")
    return x / y


def matmul(a: Any, b: Any, *more: Any, **options: Any) -> Tensor:
    """The matrix product of a sparse and a dense operand, without options."""
    if more or options or (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)):
        return refuse("matmul", "sparse")
    return sparse_dense_matmul(a, b)
