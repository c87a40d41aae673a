"""Translation of subgraphs: each operator becomes nodes of the function that is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.reading import registry
from pinnace.deploy.lite.reading.quantised import is_quantised, to_real, to_whole
from pinnace.deploy.lite.reading.registry import Call, constant, op
from pinnace.deploy.lite.reading.unsupported import reason_of
from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)
from pinnace.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.ir import model as lite
    from pinnace.deploy.lite.reading.state import State
    from pinnace.framework.tensor import Array
    from pinnace.framework.variable import Variable

# Limits of the operators of all calls, and of the calls' nesting.
_MOST_OPERATORS = 500_000
_DEPTH = 24
# Constants of at least this many bytes become variables if a graph would be too large.
_LARGE = 1 << 16


class Translation:
    """The translation of a file to functions.

    Args:
        model: the file's contents.
        state: its variables and tables.
        allowance: the bytes of constants that may be created.
        spread: whether large constants become variables, since a GraphDef must be below 2 GiB.
    """

    def __init__(
        self, model: lite.Model, state: State, allowance: int, *, spread: bool = False
    ) -> None:
        self.model = model
        self.state = state
        self._spread = spread
        self._left = allowance
        self._spent = 0
        self._active: list[lite.Subgraph] = []
        self._constants: dict[tuple[Any, int], Tensor] = {}
        self._large: dict[tuple[int, tuple[int, ...]], Variable] = {}

    def run(self, subgraph: lite.Subgraph, arguments: Sequence[Any]) -> list[Any]:
        """The results of a subgraph.

        Raises:
            DataLossError: the subgraph uses undefined values, or calls itself.
            UnimplementedError: an operator is not supported.
        """
        if subgraph in self._active or len(self._active) >= _DEPTH:
            raise DataLossError(
                f"subgraph {subgraph.name!r:.120} calls itself, or calls nest too deeply"
            )
        if len(arguments) != len(subgraph.inputs):
            raise DataLossError(
                f"subgraph {subgraph.name!r:.120} takes {len(subgraph.inputs)} inputs, and is "
                f"given {len(arguments)}"
            )
        values: dict[int, Any] = {
            id(tensor): self._fits(tensor, value)
            for tensor, value in zip(subgraph.inputs, arguments, strict=True)
        }
        self._active.append(subgraph)
        try:
            for operator in subgraph.operators:
                self._operator(operator, values)
        finally:
            self._active.pop()
        return [self._value(tensor, values) for tensor in subgraph.outputs]

    def is_argument(self, tensor: lite.Tensor) -> bool:
        """Whether a tensor is an argument of the subgraph that is being translated."""
        return any(tensor is one for one in self._active[-1].inputs)

    @staticmethod
    def _fits(tensor: lite.Tensor, value: Any) -> Any:
        if isinstance(value, Tensor) and value.dtype is not tensor.dtype:
            raise DataLossError(
                f"tensor {tensor.name!r:.120} is {tensor.dtype.name}, but its value is "
                f"{value.dtype.name}"
            )
        return value

    def _value(self, tensor: lite.Tensor, values: dict[int, Any]) -> Any:
        found = values.get(id(tensor))
        if found is not None:
            return found
        if tensor.data is not None:
            return self.constant(tensor)
        if tensor.is_state or 0 in (tensor.shape.dims or ()):
            return self.zeros(tensor)
        raise DataLossError(f"tensor {tensor.name!r:.120} is used before it is computed")

    def zeros(self, tensor: lite.Tensor) -> Tensor:
        """A tensor of zeros; its shape must be known."""
        sizes = tensor.shape
        if not sizes.is_fully_defined() or tensor.dtype in {dtypes.string, dtypes.resource}:
            raise UnimplementedError(
                f"tensor {tensor.name!r:.120} has no initial value, and its shape is not known"
            )
        zero = constant(0, tensor.dtype)
        return op("Fill", constant([int(n or 0) for n in sizes], dtypes.int32), zero)

    def constant(self, tensor: lite.Tensor, array: Array | None = None) -> Tensor:
        """A constant in the function that is traced.

        Args:
            tensor: the constant of the file.
            array: its elements, if they are in another order than in the file.
        """
        data: Any = tensor.data if array is None else array
        key = (state.tracer, id(tensor) if array is None else id(array))
        found = self._constants.get(key) if array is None else None
        if found is None:
            found = self._variable(data, tensor)
            if found is None:
                self._take(data)
                found = constant(data, tensor.dtype)
            if array is None:
                self._constants[key] = found
        return found

    def _variable(self, data: Array, tensor: lite.Tensor) -> Tensor | None:
        if not self._spread or data.dtype == object or data.nbytes < _LARGE:
            return None
        key = (id(tensor.data), data.shape)
        if key not in self._large:
            self._large[key] = self.state.weight(data)
        return self._large[key].read_value()

    def _take(self, data: Array) -> None:
        size = data.nbytes if data.dtype != object else sum(map(len, data.reshape(-1)))
        self._left -= size
        if self._left < 0:
            raise ResourceExhaustedError(
                "its constants are used so often that they would take many times the file's size"
            )

    def real(self, tensor: lite.Tensor, value: Tensor) -> Tensor:
        """The value, dequantised if the tensor is quantised."""
        how = tensor.quantization
        if how is None or not is_quantised(tensor.dtype, how):
            return value
        return to_real(value, how, value.shape.rank)

    def whole(self, tensor: lite.Tensor, value: Tensor) -> Tensor:
        """The value, quantised if the tensor is quantised."""
        how = tensor.quantization
        is_real = isinstance(value, Tensor) and value.dtype is dtypes.float32
        if how is None or not is_real or not is_quantised(tensor.dtype, how):
            return value
        return to_whole(value, how, tensor.dtype, value.shape.rank)

    def _operator(self, operator: lite.Operator, values: dict[int, Any]) -> None:
        name = operator.custom or operator.kind
        self._spent += 1
        if self._spent > _MOST_OPERATORS:
            raise ResourceExhaustedError(
                f"more than {_MOST_OPERATORS} operators result from the calls of its subgraphs"
            )
        reader = registry.find(operator.kind)
        if reader is None:
            raise UnimplementedError(f"operator {name}: {reason_of(operator.kind)}")
        given = [None if one is None else self._value(one, values) for one in operator.inputs]
        try:
            call = Call(self, operator, given, moves=reader.moves)
            found = reader.function(call)
            results = list(found) if isinstance(found, (list, tuple)) else [found]
            if len(results) < len(operator.outputs):
                call.damaged(f"it has {len(operator.outputs)} outputs, must have {len(results)}")
            for tensor, value in zip(operator.outputs, results, strict=False):
                values[id(tensor)] = self._result(call, tensor, value, moves=reader.moves)
        except OpError as error:
            if error.message.startswith(("operator ", "subgraph ", "tensor ")):
                raise
            raise type(error)(f"operator {name}: {error.message}") from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InvalidArgumentError(f"operator {name}: {str(error)[:500]}") from error

    def _result(self, call: Call, tensor: lite.Tensor, value: Any, *, moves: bool) -> Any:
        """A result in the element type and quantisation of its tensor."""
        if not isinstance(value, Tensor):
            return value
        if moves and is_quantised(tensor.dtype, tensor.quantization):
            source = next(
                (one for one in call.operator.inputs if one and one.dtype is tensor.dtype), None
            )
            if source is not None and value.dtype is tensor.dtype:
                if source.quantization == tensor.quantization:
                    return value
                value = self.real(source, value)
        value = self.whole(tensor, value)
        if value.dtype is not tensor.dtype:
            raise DataLossError(
                f"its result is {value.dtype.name}, and tensor {tensor.name!r:.120} is "
                f"{tensor.dtype.name}"
            )
        if value.shape.rank is None and tensor.rank:
            value = op("EnsureShape", value, shape=tensor.shape)
        return value


def transposed(call: Call, index: int, order: Sequence[int]) -> Tensor:
    """An input with its axes permuted, dequantised; constants are transposed right away."""
    tensor = call.source(index)
    how = tensor.quantization
    if tensor.data is None:
        return op("Transpose", call.x(index), constant(list(order), dtypes.int32))
    if tensor.data.ndim != len(order):
        call.damaged(f"its input {index} has {tensor.data.ndim} axes, must have {len(order)}")
    turned = np.ascontiguousarray(tensor.data.transpose(order))
    value = call.translation.constant(tensor, turned)
    if how is None or not is_quantised(tensor.dtype, how):
        return value
    axis = list(order).index(how.axis)
    moved = type(how)(how.scales, how.zeros, axis)
    return to_real(value, moved, len(order))
