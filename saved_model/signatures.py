"""Signatures as concrete functions: called by name, giving a dict of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.composite import CompositeSpec
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.functions.component_names import named_tensors
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.function import Function
from pinnace.graph.codec.graphs import add_argument
from pinnace.graph.graph import FunctionRef, GraphBuilder, Value
from pinnace.ops.functional.calls import PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL
from pinnace.saved_model.layout import DEFAULT_SIGNATURE, INIT_SIGNATURE, SIGNATURES
from pinnace.saved_model.main_graph import keyword_for
from pinnace.saved_model.restored import RestoredFunction, SignatureMap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.framework.trackable import Trackable


def signatures_of(
    root: Trackable, given: Any, functions: Mapping[str, Any]
) -> dict[str, ConcreteFunction]:
    """Return the signatures to save.

    Args:
        root: the object that is saved.
        given: a function, a dict of functions by name, or None for those that the object offers:
            its default signatures, those it was loaded with, or its only function that has an
            `input_signature` and returns tensors.
        functions: the functions among the children of `root`.

    Raises:
        ValueError: a function has no input signature, or results that cannot be named.
    """
    if given is None:
        given = _offered(root, functions)
    elif not isinstance(given, Mapping):
        given = {DEFAULT_SIGNATURE: given}
    found = {}
    for name in given:
        if not isinstance(name, str) or name == INIT_SIGNATURE:
            raise ValueError(f"save: {name!r} cannot be the name of a signature")
        found[name] = signature_of(given[name], name)
    return found


def _offered(root: Trackable, functions: Mapping[str, Any]) -> Mapping[str, Any]:
    offer = getattr(root, "_default_signatures", None)
    if offer is not None:
        found: Mapping[str, Any] = offer()
        return found
    loaded = getattr(root, SIGNATURES, None)
    if isinstance(loaded, SignatureMap):
        return loaded
    possible = [f for f in functions.values() if _is_possible(f)]
    return {DEFAULT_SIGNATURE: possible[0]} if len(possible) == 1 else {}


def _is_possible(function: Any) -> bool:
    """Whether it can be a signature: its inputs are known tensors, and its outputs named."""
    if not isinstance(function, Function) or function.input_signature is None:
        return False
    try:
        return bool(_results(function.get_concrete_function(), ""))
    except ValueError:
        return False


def signature_of(function: Any, name: str) -> ConcreteFunction:
    """A concrete function with keyword arguments that returns a dict.

    Args:
        function: a `Function` with an input signature, or a concrete function.
        name: the signature's name, for errors.

    Raises:
        ValueError: the function is neither, or its results cannot be named.
    """
    concrete = _concrete(function, name)
    if concrete.by_name and all(map(_is_keyword, concrete.structured_input_signature[1])):
        return concrete
    inputs = _inputs(concrete)
    results = _results(concrete, name)
    return _wrapped(concrete, inputs, results)


def _concrete(function: Any, name: str) -> ConcreteFunction:
    if isinstance(function, ConcreteFunction):
        return function
    if isinstance(function, Function) and function.input_signature is not None:
        return function.get_concrete_function()
    if isinstance(function, RestoredFunction) and len(function.concrete_functions) == 1:
        return function.concrete_functions[0]
    raise ValueError(
        f"save: Expected a TensorFlow function with an input_signature, or a concrete function, "
        f"for signature {name!r}, got {function!r}\n"
        "  Try: f.get_concrete_function(TensorSpec([None, 3], float32)), or give `function` an "
        "input_signature"
    )


def _inputs(concrete: ConcreteFunction) -> list[tuple[str, TensorSpec]]:
    """A unique name for each tensor argument, in the order of the graph."""
    leaves = structure.flatten(concrete.structured_input_signature, expand_composites=True)
    specs = [leaf for leaf in leaves if isinstance(leaf, TensorSpec)]
    given: Iterable[str]
    if concrete.by_name:
        given = concrete.array_inputs
    elif concrete._keywords:
        given = concrete._keywords
    else:
        # The components of composite values have only their names in the graph.
        inputs = zip(specs, concrete.graph.input_names, strict=False)
        given = [spec.name or name for spec, name in inputs]
    specs = [spec.with_name(name) for spec, name in zip(specs, given, strict=True)]
    names: dict[str, None] = {}
    for index, spec in enumerate(specs):
        base = keyword_for(spec.name or f"arg_{index}")
        name, number = base, 0
        while name in names:
            number += 1
            name = f"{base}_{number}"
        names[name] = None
    # The spec keeps the name of the input in the signature, if the keyword determines it.
    return [
        (name, spec if keyword_for(spec.name or "") == name else spec.with_name(name))
        for name, spec in zip(names, specs, strict=True)
    ]


def _is_keyword(name: str) -> bool:
    return keyword_for(name) == name


def _results(concrete: ConcreteFunction, name: str) -> list[tuple[str, TensorSpec | CompositeSpec]]:
    """A name for each result, in the order of the graph."""
    results = concrete.structured_outputs
    if isinstance(results, Mapping):
        for key, value in results.items():
            if not isinstance(key, str) or not isinstance(value, (TensorSpec, CompositeSpec)):
                raise ValueError(  # noqa: TRY004 (TensorFlow raises it too)
                    f"save: signature {name!r} must give a tensor, a sequence of tensors or a "
                    f"dict from names to tensors; {concrete.name!r} gives a non-Tensor value at "
                    f"{key!r}: {value!r}"
                )
        return [(key, _with_name(results[key], key)) for key in sorted(results)]
    leaves = list(results) if isinstance(results, (list, tuple)) else [results]
    for leaf in leaves:
        if not isinstance(leaf, (TensorSpec, CompositeSpec)):
            raise ValueError(  # noqa: TRY004 (TensorFlow raises it too)
                f"save: signature {name!r} must give a tensor, a sequence of tensors or a "
                f"dict from names to tensors; {concrete.name!r} gives a non-Tensor value: {leaf!r}"
            )
    return [(f"output_{i}", _with_name(leaf, f"output_{i}")) for i, leaf in enumerate(leaves)]


def _with_name(spec: Any, name: str) -> Any:
    return spec.with_name(name) if isinstance(spec, TensorSpec) else spec


def _wrapped(
    concrete: ConcreteFunction,
    inputs: list[tuple[str, TensorSpec]],
    results: list[tuple[str, TensorSpec | CompositeSpec]],
) -> ConcreteFunction:
    """A function that calls this one, its inputs and outputs sorted by name."""
    callee = concrete.graph
    graph = GraphBuilder(f"signature_wrapper_{callee.name}")
    made: dict[str, Value] = {}
    for name, spec in sorted(inputs):
        made[name] = add_argument(graph, spec, name)
    captured = [
        add_argument(graph, value.spec, name, value.handle)
        for value, name in list(zip(callee.inputs, callee.input_names, strict=True))[len(inputs) :]
    ]
    op = STATEFUL_PARTITIONED_CALL if concrete.stateful else PARTITIONED_CALL
    arguments = [*(made[name] for name, _ in inputs), *captured]
    call = graph.add(
        op,
        arguments,
        {
            "f": FunctionRef(callee.name, callee),
            "Tin": tuple(value.dtype for value in arguments),
            "Tout": tuple(value.dtype for value in callee.outputs),
        },
    )
    if op.stateful:
        graph.effects.append(call)
    counts = [len(structure.flatten(spec, expand_composites=True)) for _, spec in results]
    if len(call.outputs) != sum(counts):
        raise InvalidArgumentError(
            f"save: {concrete.name!r} gives {len(call.outputs)} tensors, its results are "
            f"{[name for name, _ in results]}"
        )
    left = iter(call.outputs)
    parts = {
        name: [next(left) for _ in range(count)]
        for (name, _), count in zip(results, counts, strict=True)
    }
    ordered = [value for name in sorted(parts) for value in parts[name]]
    graph.set_outputs(ordered, named_tensors(dict(results)))
    return ConcreteFunction(
        graph.finish(),
        concrete.captured,
        ((), dict(sorted(inputs))),
        dict(sorted(results)),
        concrete.variables,
        by_name=True,
    )
