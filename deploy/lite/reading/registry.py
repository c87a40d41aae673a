"""Built-in operator -> what reads it, and what such a function is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, TypeVar

import numpy as np

from pinnace.framework.errors import DataLossError, UnimplementedError
from pinnace.framework.tensor import Tensor
from pinnace.ops import registry
from pinnace.ops.array.constants import constant as constant_of
from pinnace.ops.execute import execute, execute_one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.deploy.lite.ir import model as lite
    from pinnace.deploy.lite.reading.translation import Translation
    from pinnace.framework import dtypes
    from pinnace.framework.tensor import Array

    Results: TypeAlias = Tensor | Sequence[Tensor]
    Function: TypeAlias = Callable[["Call"], Results]

F = TypeVar("F", bound="Callable[..., Any]")


class Reader(NamedTuple):
    """The reader of an operator.

    Attributes:
        function: gives the results of a call of it.
        moves: whether it moves elements and does not look at them: whole numbers that stand for
            real ones stay as they are. Else it computes with real numbers.
    """

    function: Function
    moves: bool


_readers: dict[str, Reader] = {}


def reads(*kinds: str, moves: bool = False) -> Callable[[F], F]:
    """Register what reads operators.

    Args:
        kinds: the operators.
        moves: see `Reader`.
    """

    def install(function: F) -> F:
        for kind in kinds:
            if kind in _readers:
                raise ValueError(f"operator {kind!r} has two readers")
            _readers[kind] = Reader(function, moves)
        return function

    return install


def readers() -> dict[str, Reader]:
    """Every reader by operator, in alphabetical order."""
    return dict(sorted(_readers.items()))


def find(kind: str) -> Reader | None:
    """The reader of an operator, None if it has none."""
    return _readers.get(kind)


def op(name: str, *arguments: Any, **attrs: Any) -> Tensor:
    """The output of a node of TensorFlow's op of that name."""
    return execute_one(registry.lookup(name), *arguments, **_fixed(attrs))


def ops(name: str, *arguments: Any, **attrs: Any) -> tuple[Tensor, ...]:
    """The outputs of a node that has several, or none; those of lists one by one."""
    found: Any = execute(registry.lookup(name), *arguments, **_fixed(attrs))
    flat: list[Tensor] = []
    for one in (found,) if isinstance(found, Tensor) else found or ():
        flat += [one] if isinstance(one, Tensor) else one
    return tuple(flat)


def _fixed(attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes as nodes keep them."""
    return {name: tuple(one) if isinstance(one, list) else one for name, one in attrs.items()}


def constant(value: Any, dtype: dtypes.DType) -> Tensor:
    """A constant of that dtype."""
    return constant_of(np.asarray(value, dtype.numpy), dtype)


def like(value: float, tensor: Tensor) -> Tensor:
    """A scalar of the dtype of a tensor."""
    return constant(value, tensor.dtype)


class Call:
    """One application of an operator, while it is read.

    Args:
        translation: of the file.
        operator: what the file says.
        values: what its inputs are; None for those that are left out.
        moves: whether its numbers are not looked at.

    Attributes:
        kind: the operator.
        options: its options.
    """

    def __init__(
        self,
        translation: Translation,
        operator: lite.Operator,
        values: Sequence[Tensor | None],
        *,
        moves: bool,
    ) -> None:
        self.translation = translation
        self.operator = operator
        self.kind = operator.kind
        self.options = operator.options
        self._values = values
        self._moves = moves

    @property
    def count(self) -> int:
        """The number of inputs."""
        return len(self._values)

    def fail(self, reason: str) -> NoReturn:
        """Refuse it."""
        raise UnimplementedError(reason)

    def damaged(self, reason: str) -> NoReturn:
        """Refuse it as one that nothing wrote."""
        raise DataLossError(reason)

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return index < len(self._values) and self._values[index] is not None

    def is_argument(self, index: int) -> bool:
        """Whether an input is one of its subgraph: a state that is, is set in every run."""
        return self.translation.is_argument(self.source(index))

    def stored(self, index: int) -> Tensor:
        """An input as it is in the file."""
        value = self._values[index] if index < len(self._values) else None
        if value is None:
            self.damaged(f"it has no input {index}")
        return value

    def x(self, index: int = 0) -> Tensor:
        """An input, in real numbers where its whole ones stand for them and the operator computes.

        Args:
            index: which.
        """
        if self._moves:
            return self.stored(index)
        return self.translation.real(self.source(index), self.stored(index))

    def xs(self) -> list[Tensor]:
        """All inputs."""
        return [self.x(index) for index in range(self.count)]

    def source(self, index: int) -> lite.Tensor:
        """The file's description of an input."""
        inputs = self.operator.inputs
        found = inputs[index] if index < len(inputs) else None
        if found is None:
            self.damaged(f"it has no input {index}")
        return found

    def known(self, index: int) -> Array | None:
        """The numbers of an input, if it is a constant of the file."""
        return self.source(index).data if self.has(index) else None

    def fixed(self, index: int) -> Array:
        """The numbers of an input that has to be a constant."""
        found = self.known(index)
        if found is None:
            self.fail(f"its input {index} is computed, and read only where it is a constant")
        return np.asarray(found)

    def given(self, index: int = 0) -> lite.Tensor:
        """The file's description of an output."""
        if index >= len(self.operator.outputs):
            self.damaged(f"it has no output {index}")
        return self.operator.outputs[index]

    def dtype(self, index: int = 0) -> dtypes.DType:
        """The element type of an output."""
        return self.given(index).dtype

    def rank(self, index: int) -> int:
        """The number of axes of an input."""
        found = self.stored(index).shape.rank
        if found is None:
            self.fail(f"how many axes its input {index} has is not known")
        return found

    def activated(self, x: Tensor) -> Tensor:
        """With the activation that is fused to the operator."""
        return activated(self, x, self.options.get("fused_activation_function", 0))


def activated(call: Call, x: Tensor, which: int) -> Tensor:
    """An activation by its number in the format."""
    if which == 0:
        return x
    if which == 1:
        return op("Relu", x)
    if which == 2:
        return clipped(x, -1.0, 1.0)
    if which == 3:
        return op("Relu6", x)
    if which != 4:
        call.fail(f"the activation number {which} is fused to it, which LiteRT does not compute")
    return op("Tanh", x)


def clipped(x: Tensor, low: float, high: float) -> Tensor:
    """Within two bounds."""
    return op("Minimum", op("Maximum", x, like(low, x)), like(high, x))
