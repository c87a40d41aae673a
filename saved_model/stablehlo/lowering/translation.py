"""Translates a module to a graph: its functions, blocks and ops, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import OpError, ResourceExhaustedError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.control.branches import trace_branch
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.saved_model.stablehlo.cursor import refuse
from pinnace.saved_model.stablehlo.lowering.operands import Operand, Rows, Size, op, ops
from pinnace.saved_model.stablehlo.lowering.registry import ELEMENTWISE, LOWERINGS, SHAPING, Call
from pinnace.saved_model.stablehlo.lowering.sizes import Sizes
from pinnace.saved_model.stablehlo.module import operations_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.functions.control.branches import Branch
    from pinnace.graph.graph import FunctionRef
    from pinnace.saved_model.stablehlo.lowering.operands import Dim
    from pinnace.saved_model.stablehlo.module import Block, Module, Operation, Value

# The most ops in total, in an inlined function, and in all inlined functions.
_MOST_OPS = 1 << 19
_INLINED = 1 << 11
_MOST_INLINED = 1 << 16
# The depth of nested calls.
_DEPTH = 64
# Ops that call a function -> the attribute that names it.
CALLEES = {"call": "callee", "composite": "decomposition"}


class Translation:
    """Creates the nodes of a module in the graph that is being traced.

    Args:
        module: the module.
        functions: the TensorFlow functions that it calls, by number.
    """

    def __init__(self, module: Module, functions: Sequence[FunctionRef] = ()) -> None:
        self.module = module
        self.functions = tuple(functions)
        self.sizes = Sizes()
        self._values: dict[Value, Operand] = {}
        self._weights: dict[str, int] = {}
        self._bodies: dict[str, Branch] = {}
        self._active: list[str] = []
        self._others: dict[str, str | None] = {}
        self._spent = 0
        self._on_arrays = 0

    def block(self, block: Block, arguments: Sequence[Operand]) -> list[Operand]:
        """The results of a block for these arguments."""
        if len(arguments) != len(block.arguments):
            refuse("the number of a region's arguments does not match")
        self._values.update(zip(block.arguments, arguments, strict=True))
        returned = block.returned
        for operation in block.operations[:-1]:
            self._spent += 1
            if self._spent > _MOST_OPS:
                raise ResourceExhaustedError(
                    f"StableHLO module: its calls expand to more than {_MOST_OPS} ops"
                )
            self._values.update(zip(operation.results, self._operation(operation), strict=True))
        return [self._values[value] for value in returned]

    def tensors(
        self,
        block: Block,
        arguments: Sequence[Tensor],
        shapes: Sequence[Sequence[Dim]] | None = None,
    ) -> list[Tensor]:
        """The results of a block as tensors.

        Args:
            block: the block.
            arguments: its arguments.
            shapes: the arguments' shapes, where more is known than the tensors' static shapes.
        """
        given = [
            self.argument(value, tensor, None if shapes is None else shapes[place])
            for place, (value, tensor) in enumerate(zip(block.arguments, arguments, strict=True))
        ]
        return [operand.full for operand in self.block(block, given)]

    def argument(self, value: Value, tensor: Tensor, shape: Sequence[Dim] | None = None) -> Operand:
        """The operand for an argument of a block.

        Args:
            value: the argument.
            tensor: its value.
            shape: its sizes, if more is known than the tensor's static shape.
        """
        found = self._as(value, tensor)
        if shape is None:
            return found
        pairs = zip(found.shape, shape, strict=True)
        return Operand(found.small, [n if isinstance(n, int) else m for n, m in pairs])

    def outer(self, value: Value) -> Operand | None:
        """A value from outside a block, or None."""
        return self._values.get(value)

    def on_arrays(self, block: Block, arguments: Sequence[Operand]) -> list[Operand]:
        """The results of a block of scalars, element by element, for arrays of one shape."""
        other = self._not_elementwise(block)
        if other is not None:
            raise UnimplementedError(
                f"StableHLO op {other}: a region that runs on each element of an array may only "
                "have elementwise ops"
            )
        self._on_arrays += 1
        try:
            return self.block(block, arguments)
        finally:
            self._on_arrays -= 1

    def _not_elementwise(self, block: Block) -> str | None:
        """An op of a block of scalars that cannot run on arrays, if there is one."""
        for operation in block.operations:
            other: str | None = None
            if operation.name in CALLEES:
                other = self._not_elementwise_in(operation.text(CALLEES[operation.name]))
            elif operation.name not in ELEMENTWISE and not _keeps_scalars(operation):
                other = operation.name
            if other is not None:
                return other
        return None

    def _not_elementwise_in(self, name: str) -> str | None:
        """The same for a function of the module."""
        if name not in self._others:
            self._others[name] = "call"  # for one that calls itself
            self._others[name] = self._not_elementwise(self.module.function(name))
        return self._others[name]

    def some(
        self, operations: Sequence[Operation], given: Mapping[Value, Operand], wanted: Value
    ) -> Operand:
        """One value of a region, on arrays, for which only these ops are translated."""
        self._values.update(given)
        for operation in operations:
            self._values.update(zip(operation.results, self._operation(operation), strict=True))
        return self._values[wanted]

    def call(self, name: str, arguments: Sequence[Operand]) -> list[Operand]:
        """The results of a function of the module: its ops if it is small, else a call of it."""
        function = self.module.function(name)
        if name in self._active or len(self._active) >= _DEPTH:
            refuse(f"function {name[:200]!r} calls itself, or calls nest too deeply")
        self._active.append(name)
        try:
            weight = self._weight(name)
            is_small = weight <= _INLINED and self._spent + weight <= _MOST_INLINED
            if is_small or self._on_arrays or any(isinstance(one, Rows) for one in arguments):
                return self.block(function, arguments)
            body = self._bodies.get(name)
            if body is None:
                specs = [
                    TensorSpec(value.tensor.shape, value.tensor.dtype)
                    for value in function.arguments
                ]
                body = trace_branch(
                    lambda *xs: tuple(self.tensors(function, xs)), "stablehlo_call", specs
                )
                if body.captured:
                    refuse(f"function {name[:200]!r} captures values from outside")
                self._bodies[name] = body
            kind = STATEFUL_PARTITIONED_CALL if body.stateful else PARTITIONED_CALL
            results = ops(
                kind.name,
                [operand.full for operand in arguments],
                f=body.ref,
                Tout=tuple(value.dtype for value in body.outputs),
            )
            return [
                self._as(value, tensor)
                for value, tensor in zip(function.returned, results, strict=True)
            ]
        finally:
            self._active.pop()

    def _weight(self, name: str) -> int:
        """The number of ops that a function becomes, with what it calls."""
        if name not in self._weights:
            self._weights[name] = _MOST_OPS  # for one that calls itself
            total = 0
            for operation in operations_of(self.module.function(name)):
                total += 1
                if operation.name in CALLEES:
                    total += self._weight(operation.text(CALLEES[operation.name]))
            self._weights[name] = min(total, _MOST_OPS)
        return self._weights[name]

    def _operation(self, operation: Operation) -> list[Operand]:
        lowering = LOWERINGS.get(operation.name)
        if lowering is None:
            raise UnimplementedError(f"StableHLO op {operation.name}: it is not translated")
        for value in operation.results:
            _ = value.tensor.dtype  # refuses values that are not tensors
        given = [self._values[value] for value in operation.operands]
        try:
            found = lowering(Call(self, operation, given))
        except OpError as error:
            if error.message.startswith("StableHLO"):
                raise
            raise type(error)(f"StableHLO op {operation.name}: {error.message}") from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            refuse(f"op {operation.name}: {error}")
        results = [found] if isinstance(found, (Tensor, Operand)) else list(found)
        if len(results) != len(operation.results):
            refuse(f"op {operation.name} has {len(operation.results)} results, not {len(results)}")
        return [
            one if isinstance(one, Operand) else self._as(value, one)
            for value, one in zip(operation.results, results, strict=True)
        ]

    @staticmethod
    def _as(value: Value, tensor: Tensor) -> Operand:
        """A tensor as a value of the module, with the sizes that the module declares."""
        kind = value.tensor
        if tensor.dtype is not kind.dtype:
            refuse(f"a value must be {kind.dtype.name}, got {tensor.dtype.name}")
        if len(tensor.shape) != len(kind.shape):
            refuse(f"a value must have rank {len(kind.shape)}, got {len(tensor.shape)}")

        def dim(axis: int) -> Dim:
            known = kind.shape[axis]
            known = tensor.shape[axis] if known is None else known
            return known if known is not None else Size(lambda: op("Shape", tensor)[axis])

        return Operand(tensor, [dim(axis) for axis in range(len(kind.shape))])


def _keeps_scalars(operation: Operation) -> bool:
    """Whether an op returns its scalar operand, or ends a block."""
    if operation.name == "return":
        return True
    values = (*operation.operands, *operation.results)
    return operation.name in SHAPING and not any(value.tensor.shape for value in values)
