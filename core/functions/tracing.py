"""Tracing: run a Python function once on symbolic tensors, and record its ops as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes, structure
from pinnace.framework.composite import CompositeSpec, is_composite, spec_of
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.trace_types import placeholder_of
from pinnace.functions.tracer import FunctionTracer
from pinnace.ops.array import reshaping
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.ops.composites.tensor_array import TensorArray, TensorArraySpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def trace(
    python_function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    *,
    signature: Sequence[Any] | None = None,
    names: Sequence[tuple[str, str]] | None = None,
    may_create: bool = True,
) -> tuple[ConcreteFunction, list[Variable]]:
    """Run a Python function on symbolic tensors and record its ops as a graph.

    Args:
        python_function: the function.
        args: its positional arguments; tensors and TensorSpecs become arguments of the graph, all
            else is kept as it is.
        kwargs: its keyword arguments, likewise.
        name: name of the graph.
        signature: specs that take the place of the first arguments' own.
        names: per leaf of the arguments, a name for the graph, made unique, and for the spec.
        may_create: whether variables may be made.

    Returns:
        The function, and the variables that were made.
    """
    tracer = FunctionTracer(name, state.tracer)  # type: ignore[arg-type]
    tracer.may_create = may_create
    values = structure.flatten((args, kwargs))
    if signature is not None:
        args = (*signature, *args[len(signature) :])
    leaves = structure.flatten((args, kwargs))
    labels = names if names is not None else [(f"arg_{i}", f"arg_{i}") for i in range(len(leaves))]
    symbols: list[Any] = []
    specs: list[Any] = []
    keywords: list[str] = []
    for leaf, (label, path) in zip(leaves, labels, strict=True):
        if isinstance(leaf, (Tensor, TensorSpec)):
            own = leaf.name if isinstance(leaf, TensorSpec) else None
            spec = TensorSpec.of(leaf.shape, leaf.dtype)
            value = tracer.graph.add_input(PLACEHOLDER, spec, own or label)
            symbols.append(tracer.tensor_of(value))
            specs.append(spec.with_name(own or path))
            keywords.append(own or value.node.name)
        elif _is_made_of_tensors(spec_of(leaf)):
            specs.append(spec_of(leaf))
            symbols.append(_composite_symbol(tracer, specs[-1], label))
            keywords.extend(tracer.graph.input_names[len(keywords) :])
        else:
            symbols.append(placeholder_of(leaf))
            specs.append(leaf)
    _note_values(tracer, values, symbols)
    call_args, call_kwargs = structure.pack_sequence_as((args, kwargs), symbols)
    given = structure.pack_sequence_as((args, kwargs), symbols)
    saved = state.tracer, state.tapes, state.scope
    state.tracer, state.tapes, state.scope = tracer, state.observers, ""
    # A collector in addition to the tracer: layers and optimizers create theirs in an `init_scope`.
    collectors, state.collectors = state.collectors, (*state.collectors, tracer.variable_created)
    try:
        results = python_function(*call_args, **call_kwargs)
        _check_unchanged(name, given, (call_args, call_kwargs))
        outputs, result_specs = _outputs(tracer, results, name)
    finally:
        state.tracer, state.tapes, state.scope = saved
        state.collectors = collectors
    tracer.graph.set_outputs(outputs)
    captured = [tensor for tensor, _ in tracer.captures.values()]
    packed = structure.pack_sequence_as((args, kwargs), specs)
    graph = tracer.graph.finish()
    concrete = ConcreteFunction(graph, captured, packed, result_specs, _variables_behind(captured))
    concrete._keywords = keywords
    return concrete, tracer.created


def _is_made_of_tensors(spec: Any) -> bool:
    """Whether values of a spec are composite."""
    return isinstance(spec, (CompositeSpec, TensorArraySpec))


def _stacks(value: Any) -> bool:
    """Whether it is a list that a loop made, which represents the stacked tensor."""
    return isinstance(value, TensorArray) and hasattr(type(value), "__tf_tensor__")


def _note_values(tracer: FunctionTracer, values: Sequence[Any], symbols: Sequence[Any]) -> None:
    """Give the tracer the values of the arguments, for variables initialised with them."""
    if len(values) != len(symbols):
        return
    for value, symbol in zip(values, symbols, strict=True):
        if isinstance(value, Tensor):
            tracer.given[symbol.value] = value
        elif value is not symbol and is_composite(value):
            parts = structure.flatten([value, symbol], expand_composites=True)
            half = len(parts) // 2
            for part, inner in zip(parts[:half], parts[half:], strict=True):
                if isinstance(inner, SymbolicTensor):
                    tracer.given[inner.value] = part


def _composite_symbol(tracer: FunctionTracer, spec: CompositeSpec, label: str) -> Any:
    """A composite value made of the graph's arguments."""
    inputs = [
        tracer.graph.add_input(PLACEHOLDER, part, label)
        for part in structure.flatten(spec, expand_composites=True)
    ]
    symbols = [tracer.tensor_of(value) for value in inputs]
    saved = state.tracer, state.tapes
    state.tracer, state.tapes = tracer, ()  # constructors may look at shapes, with ops
    try:
        return structure.pack_sequence_as(spec, symbols, expand_composites=True)
    finally:
        state.tracer, state.tapes = saved


def _check_unchanged(name: str, before: Any, after: Any) -> None:
    """Refuse a function that mutates its arguments: the trace would, but later calls would not."""
    try:
        structure.assert_same_structure(before, after)
        old, new = structure.flatten(before), structure.flatten(after)
        same = all(one is other for one, other in zip(old, new, strict=True))
    except (TypeError, ValueError):
        same = False
    if not same:
        raise ValueError(
            f"function {name!r} must not change the lists and dictionaries it is given: it is "
            "called once per signature, and changes nothing after that\n"
            "  Try: change a copy, and return it"
        )


def _outputs(tracer: FunctionTracer, results: Any, name: str) -> tuple[list[Any], Any]:
    """The values of the results, and their structure with specs, or None, at the leaves."""
    values: list[Any] = []

    def leaf(item: Any) -> Any:
        if item is None:
            return None
        if isinstance(item, Variable):
            item = item.value()
        if is_composite(item) and _is_made_of_tensors(item.spec) and not _stacks(item):
            for part in structure.flatten(item, expand_composites=True):
                leaf(part)
            return item.spec
        if not isinstance(item, Operands):
            try:
                item = convert_to_tensor(item)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"function {name!r} must return tensors, got {type(item).__name__}: {item!r}"
                ) from error
        value = tracer.value_of(item)
        if not isinstance(item, SymbolicTensor):
            value = tracer.value_of(reshaping.identity(item))
        values.append(value)
        return TensorSpec.of(value.spec.shape, value.spec.dtype)

    return values, structure.map_structure(leaf, results)


def _variables_behind(captured: Sequence[Tensor]) -> list[Variable]:
    """The variables whose handles are among the captures."""
    found = []
    for tensor in captured:
        if tensor.dtype is not dtypes.resource or isinstance(tensor, SymbolicTensor):
            continue
        owner = getattr(tensor._array[()], "owner", None)
        variable = owner() if owner is not None else None
        if variable is not None:
            found.append(variable)
    return found
