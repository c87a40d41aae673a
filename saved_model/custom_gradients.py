"""Custom gradients (`custom_gradient`) as functions of a SavedModel that compute them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.indexed_slices import IndexedSlicesSpec
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.encoding import called_graphs
from pinnace.graph.codec.gradients import Captured, StoredGradient, Within
from pinnace.graph.copying import Copy
from pinnace.graph.gradients import custom_gradient_of
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import PLACEHOLDER
from pinnace.saved_model.codecs.objects import CapturedObject, Objects, VariableObject
from pinnace.saved_model.codecs.structures import decode_structure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pinnace.framework.tensor import Tensor
    from pinnace.graph.codec.functions import FunctionLibrary
    from pinnace.graph.gradients import CustomGradient
    from pinnace.graph.graph import Node, Value
    from pinnace.proto.function_pb2 import RegisteredGradient


# Attributes that refer to gradients, in the definition of a function.
_GIVEN = (TensorSpec, IndexedSlicesSpec)


def stored_gradients(
    messages: Iterable[RegisteredGradient],
    library: FunctionLibrary,
    saved: Objects,
    bound: Callable[[int, str], Tensor],
) -> dict[str, StoredGradient]:
    """Return the gradients stored in a file, by the marks of the nodes that have them.

    Args:
        messages: the file's marks, each with the name of a gradient function.
        library: the file's functions.
        saved: the file's objects.
        bound: returns the tensor of a captured object; takes the object's number, and a text for
            errors.

    Raises:
        InvalidArgumentError: a gradient function is not in the file.
    """
    found = {}
    for message in messages:
        if message.registered_op_type:
            mark, name = message.registered_op_type, message.gradient_func
            found[mark] = _stored(name, library, saved, bound)
    return found


def _stored(
    name: str, library: FunctionLibrary, saved: Objects, bound: Callable[[int, str], Tensor]
) -> StoredGradient:
    where = f"{library.where}: gradient function {name!r}"
    library.signature(name)  # raises if it is missing
    info = saved.functions.get(name)
    if info is None:
        return StoredGradient(None, refusal=f"the file does not describe function {name!r}")
    captured: list[Captured] = []
    for number in info.bound:
        kind = saved.items[number].kind
        if isinstance(kind, CapturedObject):
            captured.append(Within(kind.function, kind.name))
        else:
            captured.append(functools.partial(bound, number, where))
    results = structure.flatten(decode_structure(info.results, f"{where}, results"))
    odd = [one for one in results if not isinstance(one, (*_GIVEN, type(None)))]
    if odd:
        return StoredGradient(None, refusal=f"function {name!r} gives {odd[0]!r:.100}")
    targets = [
        (index, len(one.component_specs()) if isinstance(one, IndexedSlicesSpec) else 1)
        for index, one in enumerate(results)
        if one is not None
    ]
    given, told = len(library.signature(name).output_arg), sum(count for _, count in targets)
    if given != told:
        raise InvalidArgumentError(f"{where} returns {given} tensors, its results have {told}")

    def graph() -> Graph:
        found = library.graph(name)
        for number, value in zip(
            info.bound, found.inputs[len(found.inputs) - len(info.bound) :], strict=True
        ):
            kind = saved.items[number].kind
            if value.handle is None and isinstance(kind, VariableObject):
                value.handle = TensorSpec.of(kind.shape, kind.dtype)
        return found

    return StoredGradient(FunctionRef(name, graph), tuple(captured), tuple(targets))


@dataclass(frozen=True, slots=True)
class GradientFunction:
    """The function of a node's gradient, to be written.

    Attributes:
        graph: its arguments are a gradient per input that the node passes through, then the
            captures.
        node: the node.
        owner: the graph that the node is in.
        captured: values of `owner`, and tensors outside.
        arguments: specs of the arguments before the captures.
        results: a spec or None per input of the node.
    """

    graph: Graph
    node: Node
    owner: Graph
    captured: tuple[Value | Tensor, ...]
    arguments: tuple[TensorSpec, ...]
    results: tuple[Any, ...]


def gradient_functions(graphs: Iterable[Graph]) -> list[GradientFunction]:
    """The gradient functions of all nodes in these graphs, and in the functions they call.

    Args:
        graphs: the graphs of the functions that are saved.
    """
    found: list[GradientFunction] = []
    seen: set[Graph] = set()
    waiting = list(graphs)
    while waiting:
        for graph in called_graphs([waiting.pop(0)]):
            if graph in seen:
                continue
            seen.add(graph)
            for node in ordered(graph):
                custom = custom_gradient_of(node)
                if custom is not None and custom.function is not None:
                    made = _function(custom, node, graph, len(found))
                    found.append(made)
                    waiting.append(made.graph)  # its nodes may have custom gradients, too
    return found


def _function(custom: CustomGradient, node: Node, owner: Graph, number: int) -> GradientFunction:
    assert custom.function is not None  # noqa: S101 (it was asked)
    source = custom.function.graph
    passed = node.inputs[: custom.passed]
    arguments = tuple(TensorSpec.of(value.shape, value.dtype) for value in passed)
    copy = Copy(GraphBuilder(f"internal_grad_fn_{number}"))
    for index, (value, spec) in enumerate(zip(passed, arguments, strict=True)):
        if index < custom.seeds:
            argument = source.inputs[index]
            made = copy.target.add_input(argument.node.op, spec, f"result_grads_{index}")
            copy.values[argument] = made
            copy.nodes[argument.node] = (made.node,)
        else:
            copy.target.add_input(PLACEHOLDER, spec, f"result_grads_{index}", value.handle)
    own = {value.node for value in source.inputs}
    for value, name in zip(
        source.inputs[custom.seeds :], source.input_names[custom.seeds :], strict=True
    ):
        made = copy.target.add_input(value.node.op, value.spec, name, value.handle)
        copy.values[value] = made
        copy.nodes[value.node] = (made.node,)
    for one in ordered(source):
        if one not in own:
            copy.node(one)
    copy.outputs(source)
    within = iter(node.inputs[custom.passed :])
    captured = tuple(next(within) if one is None else one() for one in custom.captured)
    outputs = iter(source.outputs)
    results: list[Any] = [None] * len(passed)
    for index, count in custom.targets:
        parts = [next(outputs) for _ in range(count)]
        results[index] = _spec_of(parts, passed[index])
    return GradientFunction(copy.target.finish(), node, owner, captured, arguments, tuple(results))


def _spec_of(parts: list[Value], like: Value) -> TensorSpec | IndexedSlicesSpec:
    if len(parts) == 1:
        return TensorSpec.of(parts[0].shape, parts[0].dtype)
    values, indices, *shape = parts
    kind = shape[0].dtype if shape else None
    return IndexedSlicesSpec(like.shape, values.dtype, indices.dtype, kind, indices.shape)
