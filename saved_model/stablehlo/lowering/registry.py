"""The translation function of each op, and its argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeAlias

from pinnace.framework.errors import UnimplementedError
from pinnace.saved_model.stablehlo.cursor import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Operand
    from pinnace.saved_model.stablehlo.lowering.translation import Translation
    from pinnace.saved_model.stablehlo.module import Operation
    from pinnace.saved_model.stablehlo.types import TensorType

    Result: TypeAlias = "Tensor | Operand | Sequence[Tensor | Operand]"
    Lowering: TypeAlias = "Callable[[Call], Result]"

# The name of an op, `custom_call NAME` or `composite NAME` -> its translation.
LOWERINGS: dict[str, Lowering] = {}
# Elementwise ops: a region of only these runs on whole arrays.
ELEMENTWISE: set[str] = set()
# Ops that change the shape, and so are the identity on a scalar.
SHAPING = frozenset({"broadcast_in_dim", "reshape"})


class Call:
    """An op that is being translated.

    Args:
        translation: the module's translation.
        operation: the op.
        operands: its operands.
    """

    __slots__ = ("operands", "operation", "translation")

    def __init__(
        self, translation: Translation, operation: Operation, operands: Sequence[Operand]
    ) -> None:
        self.translation = translation
        self.operation = operation
        self.operands = tuple(operands)

    def operand(self, index: int) -> Operand:
        """Operand number `index`."""
        if index >= len(self.operands):
            refuse(f"op {self.operation.name} lacks operands")
        return self.operands[index]

    def full(self, index: int) -> Tensor:
        """Operand number `index`, broadcast."""
        return self.operand(index).full

    def result(self, index: int = 0) -> TensorType:
        """The type of a result."""
        if index >= len(self.operation.results):
            refuse(f"op {self.operation.name} lacks results")
        return self.operation.results[index].tensor

    @property
    def dtype(self) -> DType:
        """The dtype of its first result."""
        return self.result().dtype

    def refuse(self, why: str) -> NoReturn:
        """Raise the error for an op without a translation.

        Raises:
            UnimplementedError: always.
        """
        raise UnimplementedError(f"StableHLO op {self.operation.name}: {why}")


def lowers(*names: str, elementwise: bool = False) -> Callable[[Lowering], Lowering]:
    """Register a function as the translation of ops."""

    def register(function: Lowering) -> Lowering:
        for name in names:
            assert name not in LOWERINGS, name  # noqa: S101 (each op has one translation)
            LOWERINGS[name] = function
            if elementwise:
                ELEMENTWISE.add(name)
        return function

    return register
