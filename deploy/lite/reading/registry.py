"""The registry of operator readers, and the call that a reader is given."""

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
        function: returns the results of a call.
        moves: whether it only moves elements: quantised integers stay as they are. For other
            operators they are dequantised.
    """

    function: Function
    moves: bool


_readers: dict[str, Reader] = {}


def reads(*kinds: str, moves: bool = False) -> Callable[[F], F]:
    """Register a reader.

    Args:
        kinds: the operators that it reads.
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
    """The reader of an operator; None if there is none."""
    return _readers.get(kind)


def op(name: str, *arguments: Any, **attrs: Any) -> Tensor:
    """The output of a node of a TensorFlow op."""
    return execute_one(registry.lookup(name), *arguments, **_fixed(attrs))


def ops(name: str, *arguments: Any, **attrs: Any) -> tuple[Tensor, ...]:
    """The outputs of a node of a TensorFlow op; lists are flattened."""
    found: Any = execute(registry.lookup(name), *arguments, **_fixed(attrs))
    flat: list[Tensor] = []
    for one in (found,) if isinstance(found, Tensor) else found or ():
        flat += [one] if isinstance(one, Tensor) else one
    return tuple(flat)


def _fixed(attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes in the form in which nodes keep them."""
    return {name: tuple(one) if isinstance(one, list) else one for name, one in attrs.items()}


def constant(value: Any, dtype: dtypes.DType) -> Tensor:
    """A constant of a dtype."""
    return constant_of(np.asarray(value, dtype.numpy), dtype)


def like(value: float, tensor: Tensor) -> Tensor:
    """A scalar of the dtype of `tensor`."""
    return constant(value, tensor.dtype)


class Call:
    """An operator of the file while it is translated.

    Args:
        translation: the file's translation.
        operator: the operator.
        values: its inputs; None for those that are left out.
        moves: whether quantised integers stay as they are; see `Reader`.

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
        """Refuse the operator as not supported."""
        raise UnimplementedError(reason)

    def damaged(self, reason: str) -> NoReturn:
        """Refuse the operator as damaged."""
        raise DataLossError(reason)

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return index < len(self._values) and self._values[index] is not None

    def is_argument(self, index: int) -> bool:
        """Whether an input is an argument of the subgraph, so that the caller sets the state."""
        return self.translation.is_argument(self.source(index))

    def stored(self, index: int) -> Tensor:
        """An input as stored in the file."""
        value = self._values[index] if index < len(self._values) else None
        if value is None:
            self.damaged(f"it has no input {index}")
        return value

    def x(self, index: int = 0) -> Tensor:
        """An input, dequantised unless the operator only moves elements.

        Args:
            index: the input's index.
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
        """The elements of an input if it is a constant of the file, else None."""
        return self.source(index).data if self.has(index) else None

    def fixed(self, index: int) -> Array:
        """The elements of an input, which must be a constant."""
        found = self.known(index)
        if found is None:
            self.fail(f"its input {index} must be a constant")
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
        """The rank of an input, which must be known."""
        found = self.stored(index).shape.rank
        if found is None:
            self.fail(f"the rank of its input {index} must be known")
        return found

    def activated(self, x: Tensor) -> Tensor:
        """`x` after the operator's fused activation."""
        return activated(self, x, self.options.get("fused_activation_function", 0))


def activated(call: Call, x: Tensor, which: int) -> Tensor:
    """`x` after an activation, given by its number in the format."""
    if which == 0:
        return x
    if which == 1:
        return op("Relu", x)
    if which == 2:
        return clipped(x, -1.0, 1.0)
    if which == 3:
        return op("Relu6", x)
    if which != 4:
        call.fail(f"its fused activation has the number {which}, which LiteRT does not compute")
    return op("Tanh", x)


def clipped(x: Tensor, low: float, high: float) -> Tensor:
    """`x` clipped to [low, high]."""
    return op("Minimum", op("Maximum", x, like(low, x)), like(high, x))
