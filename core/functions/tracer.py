"""FunctionTracer: records the ops of a Python function as nodes of a graph.

It also makes outside values arguments (captures), and the program order of effects control edges.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.functions.lifting import value_now
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node, Value
from pinnace.ops.array import constants
from pinnace.ops.array.constants import CONST, PLACEHOLDER
from pinnace.ops.opdef import OpDef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.framework.variable import Variable


class Effects:
    """Control edges that keep effects in program order.

    Per resource: a read waits for the last write, a write for the last write and the reads since.
    All ops that draw random numbers, print or assert form one chain. An effect while a mutex is
    held waits for the lock, and the unlock waits for it.
    """

    def __init__(self) -> None:
        self._writes: dict[Value, Node] = {}
        self._reads: dict[Value, list[Node]] = {}
        self._chain: Node | None = None
        # The locks that are held, each with what has happened meanwhile.
        self._held: list[tuple[Node, list[Node]]] = []

    def controls(self, op: OpDef, inputs: Sequence[Value], attrs: dict[str, Any]) -> list[Node]:
        """The control dependencies of a node about to be added."""
        found: dict[Node, None] = {}
        if self._held:
            lock, inside = self._held[-1]
            found.update(dict.fromkeys(inside if op.mutex == "unlock" else [lock]))
        if op.effect == "read":
            write = self._writes.get(inputs[0]) if inputs else None
            if write is not None:
                found[write] = None
            return list(found)
        for resource in self._resources(op, inputs):
            write = self._writes.get(resource)
            if write is not None:
                found[write] = None
            for read in self._reads.get(resource, ()):
                found[read] = None
        if self._chain is not None and self._is_chained(op, attrs):
            found[self._chain] = None
        return list(found)

    def note(self, node: Node) -> None:
        """The node was added."""
        op = node.op
        if op.mutex == "unlock" and self._held:
            lock, _ = self._held.pop()
            self._writes[lock.inputs[0]] = node  # the next lock waits for this end
        if self._held:
            self._held[-1][1].append(node)
        if op.effect == "read":
            if node.inputs:
                self._reads.setdefault(node.inputs[0], []).append(node)
            return
        for resource in self._resources(op, node.inputs):
            self._writes[resource] = node
            self._reads.pop(resource, None)
        if self._is_chained(op, node.attrs):
            self._chain = node
        if op.mutex == "lock":
            self._held.append((node, []))

    @staticmethod
    def _resources(op: OpDef, inputs: Sequence[Value]) -> list[Value]:
        return [v for v in inputs if v.dtype is dtypes.resource] if op.effect == "write" else []

    @staticmethod
    def _is_chained(op: OpDef, attrs: dict[str, Any]) -> bool:
        if op.effect in {"random", "io"}:
            return True
        refs = [
            a
            for v in attrs.values()
            for a in (v if isinstance(v, tuple) else (v,))
            if isinstance(a, FunctionRef)
        ]
        return op.effect == "write" and any(chained_effects(ref.graph) for ref in refs)


def chained_effects(graph: Graph) -> bool:
    """Whether the graph, or a function it calls, has ops that print, assert or are random."""
    return any(
        node.op.effect in {"random", "io"} or any(chained_effects(ref.graph) for ref in _refs(node))
        for node in graph.nodes
    )


def _refs(node: Node) -> list[FunctionRef]:
    return [
        a
        for v in node.attrs.values()
        for a in (v if isinstance(v, tuple) else (v,))
        if isinstance(a, FunctionRef)
    ]


class FunctionTracer:
    """Builds the graph of one function while its Python code runs.

    Args:
        name: name of the graph.
        outer: the tracer around this one, whose tensors may be captured.
        borrowed: graphs whose tensors may be captured as well (a backward graph takes those of the
            forward one).
        graph: the graph to build; a new one if None.
    """

    def __init__(
        self,
        name: str,
        outer: FunctionTracer | None = None,
        borrowed: Sequence[Graph] = (),
        graph: GraphBuilder | None = None,
    ) -> None:
        self.graph = GraphBuilder(name) if graph is None else graph
        self.outer = outer
        self._borrowed = tuple(borrowed)
        self.effects = Effects()
        # Keyed by id; the tensors are kept alive so that ids are not reused.
        self.captures: dict[int, tuple[Tensor, Value]] = {}
        self._constants: dict[int, tuple[Tensor, Value]] = {}
        # The argument values of the call that caused the trace, if there are any.
        self.given: dict[Value, Tensor] = {}
        self.created: list[Variable] = []
        self.may_create = True

    def add(
        self, op: object, arguments: Sequence[object], attrs: dict[str, object], name: str | None
    ) -> tuple[Tensor, ...]:
        """The outputs of a new node."""
        assert isinstance(op, OpDef)  # noqa: S101 (execute calls this)
        inputs: list[Value] = []
        for argument in arguments:
            if type(argument) is tuple:
                inputs.extend(self.value_of(one) for one in argument)
            else:
                inputs.append(self.value_of(argument))  # type: ignore[arg-type]
        controls = self.effects.controls(op, inputs, attrs) if op.effect is not None else ()
        node = self.graph.add(op, inputs, attrs, self._scoped(name or op.name), controls)
        node.source = _user_line()
        if op.effect is not None:
            self.effects.note(node)
            if op.effect in {"write", "io"}:
                self.graph.effects.append(node)
        return tuple(self.tensor_of(value) for value in node.outputs)

    def constant(self, array: Array, dtype: DType | None, name: str | None) -> Tensor:
        """A constant of the graph; of the array's own type if `dtype` is None."""
        return constants.constant(array, dtype, name=name)

    def _scoped(self, name: str) -> str:
        return f"{state.scope}{name}"

    def tensor_of(self, value: Value) -> SymbolicTensor:
        """The unique symbolic tensor of a value."""
        if value.tensor is None:
            value.tensor = SymbolicTensor(value, self.graph)
        return value.tensor

    def value_of(self, tensor: Tensor) -> Value:
        """The value of a tensor in this graph; one from outside is captured."""
        if isinstance(tensor, SymbolicTensor):
            if tensor.graph is self.graph:
                return tensor.value  # type: ignore[no-any-return]
            if not self._reachable(tensor):
                raise TypeError(
                    f"{tensor!r} belongs to another traced function and was used in "
                    f"{self.graph.name!r}.\n  A value must leave a traced function through its "
                    "return value, not through a global, a list or self."
                )
            if tensor.value.node.op is CONST:
                return self._same_constant(tensor)
        return self.capture(tensor)

    def _same_constant(self, tensor: SymbolicTensor) -> Value:
        """A copy of an enclosing graph's constant, so that shapes stay known."""
        known = self._constants.get(id(tensor))
        if known is None:
            node = tensor.value.node
            made = self.graph.add(CONST, (), node.attrs, node.name)
            known = self._constants[id(tensor)] = (tensor, made.outputs[0])
        return known[1]

    def _reachable(self, tensor: SymbolicTensor) -> bool:
        if tensor.graph in self._borrowed:
            return True
        outer = self.outer
        while outer is not None:
            if tensor.graph is outer.graph or tensor.graph in outer._borrowed:
                return True
            outer = outer.outer
        return False

    def capture(self, tensor: Tensor) -> Value:
        """The argument for a captured tensor."""
        known = self.captures.get(id(tensor))
        if known is not None:
            return known[1]
        handle = None
        if tensor.dtype is dtypes.resource:
            handle = handle_spec(tensor)
        value = self.graph.add_input(
            PLACEHOLDER,
            TensorSpec.of(tensor.shape, tensor.dtype),
            self._capture_name(tensor),
            handle,
        )
        self.captures[id(tensor)] = (tensor, value)
        return value

    @staticmethod
    def _capture_name(tensor: Tensor) -> str:
        if isinstance(tensor, SymbolicTensor):
            return f"captured_{tensor.value.node.name}".lower()
        if tensor.dtype is dtypes.resource:
            name = getattr(tensor._array[()], "name", "") or "resource"
            return f"{name}_resource".lower().replace("/", "_")
        return "captured"

    def initial_value(self, tensor: SymbolicTensor, name: str) -> Tensor:
        """The value of a symbolic tensor as a variable's initial value."""
        self._check_may_create(name)
        return value_now(tensor, self)

    def variable_created(self, variable: Variable) -> None:
        """Called when a variable is created while tracing, or in a nested `init_scope`."""
        self._check_may_create(variable.name)
        self.created.append(variable)

    def _check_may_create(self, name: str) -> None:
        if not self.may_create:
            raise ValueError(
                "Creating variables on a non-first call to a function decorated with tf.function: "
                f"function {self.graph.name!r} made variable {name!r} on a later call; "
                "variables may be made on the first call only.\n"
                "  tf.function only supports singleton tf.Variables created on the first call\n"
                "  Try: make it once, outside or behind `if self.v is None`"
            )


def handle_spec(tensor: Tensor) -> TensorSpec | None:
    """The spec of a handle's variable; None for another resource, such as a table."""
    if isinstance(tensor, SymbolicTensor):
        return tensor.value.handle  # type: ignore[no-any-return]
    resource = np.asarray(tensor._array)[()]
    if hasattr(resource, "shape") and hasattr(resource, "dtype"):
        return TensorSpec(resource.shape, resource.dtype)
    return None


def _user_line() -> str:
    """file:line of the innermost frame outside of this library."""
    frame: Any = sys._getframe(2)
    for _ in range(40):
        if frame is None:
            return ""
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("pinnace"):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
