"""Functions traced as parts of an op: branches of If and Case, conditions and bodies of While."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.framework.variable import Variable
from pinnace.functions.tracer import FunctionTracer
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder
from pinnace.ops.array.constants import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.graph.graph import Value
    from pinnace.ops.opdef import OpDef

_numbers = itertools.count()


def user_function(function: Any) -> Any:
    """A user's function, converted by AutoGraph if requested."""
    convert = state.convert
    return function if convert is None else convert(function)


class Branch:
    """A traced function: its graph, its results and its captures.

    Captures and outputs may be added until `graph` or `ref` is read.

    Args:
        tracer: tracer of the function, which ran.
        results: the results of the Python function, with symbolic tensors of the graph at the
            leaves.
        arguments: how many inputs are no captures.

    Attributes:
        results: likewise.
        captured: the tensors of the tracer outside, in the order of the graph's last inputs.
    """

    def __init__(self, tracer: FunctionTracer, results: Any, arguments: int) -> None:
        self.results = results
        self.captured = [tensor for tensor, _ in tracer.captures.values()]
        self._tracer = tracer
        self._arguments = arguments
        self._values = {id(tensor): value for tensor, value in tracer.captures.values()}

    @functools.cached_property
    def graph(self) -> Graph:
        """The graph: its inputs are the arguments, then the captures."""
        return self._tracer.graph.finish()

    @property
    def ref(self) -> FunctionRef:
        """The graph as the value of an attribute."""
        return FunctionRef(self.graph.name, self.graph)

    @property
    def stateful(self) -> bool:
        """Whether it has effects."""
        return any(node.op.stateful for node in self._tracer.graph.nodes)

    @property
    def outputs(self) -> Sequence[Value]:
        """The values that the graph gives."""
        return self._tracer.graph.outputs

    def give(self, values: Sequence[Value], label: str) -> None:
        """Add these values as outputs `label_0`, `label_1`, ..."""
        graph = self._tracer.graph
        names = [f"{label}_{index}" for index in range(len(values))]
        graph.set_outputs([*graph.outputs, *values], [*graph.output_names, *names])

    def take(self, captured: Sequence[Tensor]) -> list[Value]:
        """Set the captures, in this order; returns the arguments for them.

        They must include everything that the branch has captured.
        """
        graph = self._tracer.graph
        values = []
        for tensor in captured:
            value = self._values.get(id(tensor))
            if value is None:
                value = self._tracer.capture(tensor)
                self._values[id(tensor)] = value
            values.append(value)
        graph.set_inputs([*graph.inputs[: self._arguments], *values])
        self.captured = list(captured)
        return values


def unique_name(base: str) -> str:
    """A name for a function of the graph."""
    return f"{base}_{next(_numbers)}"


def trace_branch(
    function: Callable[..., Any],
    name: str,
    specs: Sequence[TensorSpec] = (),
    pack: Callable[[list[Tensor]], tuple[Any, ...]] = tuple,
    handles: Sequence[TensorSpec | None] = (),
) -> Branch:
    """Trace a Python function on symbolic tensors, inside the current trace.

    Args:
        function: called with what `pack` makes of one symbolic tensor per spec.
        name: name of the graph; a number is added.
        specs: specs of the arguments.
        pack: the arguments of the call from the tensors.
        handles: for each argument, the spec of the variable behind it, if there is one.
    """
    outer: Any = state.tracer
    tracer = FunctionTracer(unique_name(name), outer)
    if outer is not None:
        tracer.may_create = outer.may_create
    symbols: list[Any] = []
    for index, spec in enumerate(specs):
        value = tracer.graph.add_input(
            PLACEHOLDER,
            TensorSpec.of(spec.shape, spec.dtype),
            spec.name or f"arg_{index}",
            handles[index] if handles else None,
        )
        symbols.append(tracer.tensor_of(value))
    saved = state.tracer, state.tapes, state.scope
    state.tracer, state.tapes, state.scope = tracer, state.observers, ""
    try:
        results = function(*pack(symbols))
        flat = structure.flatten(results, expand_composites=True)
        leaves = [None if leaf is None else _tensor(leaf, name) for leaf in flat]
        values = [tracer.value_of(leaf) for leaf in leaves if leaf is not None]
        symbols = [
            None if leaf is None else tracer.tensor_of(tracer.value_of(leaf)) for leaf in leaves
        ]
        results = structure.pack_sequence_as(results, symbols, expand_composites=True)
    finally:
        state.tracer, state.tapes, state.scope = saved
    tracer.graph.set_outputs(values)
    return Branch(tracer, results, len(specs))


def _tensor(leaf: Any, name: str) -> Tensor:
    if isinstance(leaf, Variable):
        return leaf.value()
    try:
        return convert_to_tensor(leaf)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name}: the function must return tensors, got {type(leaf).__name__}: {leaf!r}"
        ) from error


def union(branches: Sequence[Branch]) -> list[Tensor]:
    """The captures of all branches, without duplicates."""
    found: dict[int, Tensor] = {}
    for branch in branches:
        for tensor in branch.captured:
            found.setdefault(id(tensor), tensor)
    return list(found.values())


def alone(
    op: OpDef, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None = None
) -> Graph:
    """A graph with this op alone."""
    tracer = FunctionTracer(unique_name((name or op.name).lower()))
    flat = (*inputs[:-1], *inputs[-1])
    values = [tracer.capture(tensor) for tensor in flat]
    # Twice the same tensor is one capture: the arguments are made one by one.
    graph = tracer.graph
    if len(graph.inputs) != len(flat):
        graph = GraphBuilder(graph.name)
        values = [
            graph.add_input(PLACEHOLDER, value.spec, f"arg_{index}", value.handle)
            for index, value in enumerate(values)
        ]
    full = dict(attrs)
    full[op.inputs[-1].list_attr] = tuple(tensor.dtype for tensor in inputs[-1])
    for arg, tensor in zip(op.inputs[:-1], inputs[:-1], strict=True):
        if arg.type_attr:
            full[arg.type_attr] = tensor.dtype
    node = graph.add(op, values, full, name or op.name)
    graph.set_outputs(node.outputs)
    if op.stateful:
        graph.effects.append(node)
    return graph.finish()


def watch_variable_behind(tensor: Tensor) -> None:
    """If the tensor is a variable's handle, notify the tapes that the variable is read."""
    variable = _variable_behind(tensor) if state.tapes else None
    if variable is not None:
        for tape in state.tapes:
            tape.watch_variable(variable)


def _variable_behind(tensor: Tensor) -> Variable | None:
    if tensor.dtype.name != "resource" or not hasattr(tensor, "_array"):
        return None
    owner = getattr(tensor._array[()], "owner", None)
    return owner() if owner is not None else None
