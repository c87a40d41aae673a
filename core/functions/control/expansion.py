"""If, Case and While in a forward graph, expanded to output what their gradients need.

Before a graph is differentiated, each such node is replaced by one with more outputs: a branch also
outputs its intermediate values (other branches output placeholders for them), a loop collects those
of every iteration in lists. The gradient is again an If, a Case or a While, so it can be saved and
differentiated again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from pinnace.engine.passes.inline import inline
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.functions import customised
from pinnace.functions.control import branches, nodes
from pinnace.functions.differentiable import (
    Differentiated,
    active_values,
    call_graph,
    gradient_spec,
    zeros_of,
)
from pinnace.graph.copying import Copy
from pinnace.graph.gradients import custom_gradient_of
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node, Value
from pinnace.graph.operation import symbol_of
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import CONST, PLACEHOLDER
from pinnace.ops.functional.conditions import FAKE_PARAM
from pinnace.ops.math import arithmetic, comparison
from pinnace.ops.state import tensor_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor

# differentiate(graph, wanted, complete=True): `backward.differentiate`.
Differentiate: TypeAlias = "Callable[..., Differentiated]"


def expand(
    graph: Graph, wanted: Sequence[bool], differentiate: Differentiate
) -> tuple[Graph, dict[Node, Callable[..., list[Tensor | None]]]]:
    """The graph with its conditionals and loops expanded, and the gradient of each.

    Args:
        graph: the graph to differentiate.
        wanted: for each input, whether its gradient is needed.
        differentiate: does the same for the graphs of branches and bodies.
    """
    if not any(_is_expanded(node) or custom_gradient_of(node) for node in graph.nodes):
        return graph, {}
    active = active_values(graph, wanted)
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    special: dict[Node, Callable[..., list[Tensor | None]]] = {}
    for node in ordered(graph):
        if node in arguments:
            continue
        if node.op.runs == "loop":
            with_handles(node.outputs, node.inputs)
        if _is_expanded(node) and any(value in active for value in node.outputs):
            wants = tuple(
                value in active and gradient_spec(value) is not None for value in node.inputs
            )
            make = _expand_loop if node.op.runs == "loop" else _expand_condition
            made, gradient = make(node, wants, copy, differentiate)
            copy.nodes[node] = (made,)
            for here, there in zip(node.outputs, made.outputs, strict=False):
                there.handle = here.handle
                copy.values[here] = there
            special[made] = gradient
            continue
        made = copy.node(node)
        custom = custom_gradient_of(node)
        if custom is not None:
            special[made] = customised.gradient_of(made, custom, copy.target)
    copy.outputs(graph)
    return copy.target.finish(), special


def _is_expanded(node: Node) -> bool:
    return node.op.runs in ("branch", "loop")


class _Kept(NamedTuple):
    """The source of an intermediate value for a gradient: an argument or an output."""

    argument: int | None
    output: int | None


def _sort_kept(
    pair: Differentiated, count: int, invariant: Callable[[int], bool]
) -> tuple[list[_Kept], list[Value]]:
    """Sort the kept values of a function: arguments are available anyway, others become outputs."""
    places: list[_Kept] = []
    outputs: list[Value] = []
    positions = {value: index for index, value in enumerate(pair.forward.inputs)}
    for value in pair.forward.outputs[count:]:
        argument = positions.get(value)
        if argument is not None and invariant(argument):
            places.append(_Kept(argument, None))
        else:
            places.append(_Kept(None, len(outputs)))
            outputs.append(value)
    return places, outputs


def _call(graph: Graph, arguments: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return call_graph(graph, arguments, any(node.op.stateful for node in graph.nodes))


# Conditions.


def _expand_condition(
    node: Node, wanted: tuple[bool, ...], copy: Copy, differentiate: Differentiate
) -> tuple[Node, Callable[..., list[Tensor | None]]]:
    is_if = "branches" not in node.attrs
    refs = (
        (node.attrs["then_branch"], node.attrs["else_branch"]) if is_if else node.attrs["branches"]
    )
    count = len(node.outputs)
    for ref in refs:
        with_handles(ref.graph.inputs, node.inputs[1:])
    pairs = [differentiate(ref.graph, wanted[1:], complete=True) for ref in refs]
    sorted_ = [_sort_kept(pair, count, lambda _: True) for pair in pairs]
    kept = [outputs for _, outputs in sorted_]
    starts = np.cumsum([count, *[len(outputs) for outputs in kept]]).tolist()
    new = tuple(
        _branch(pair.forward, branches.unique_name(f"{ref.name}_forward"), count, kept, index)
        for index, (ref, pair) in enumerate(zip(refs, pairs, strict=True))
    )
    attrs = _own_attrs(node)
    if is_if:
        attrs["then_branch"], attrs["else_branch"] = new
    else:
        attrs["branches"] = new
    specs = [value.spec for value in node.outputs]
    specs.extend(TensorSpec.of(value.shape, value.dtype) for outputs in kept for value in outputs)
    attrs["Tout"] = tuple(spec.dtype for spec in specs)
    attrs["output_shapes"] = tuple(spec.shape for spec in specs)
    made = _add(copy, node, [copy.values[value] for value in node.inputs], attrs, specs)

    def gradient(*dys: Tensor | None) -> list[Tensor | None]:
        inputs = [symbol_of(value, copy.target) for value in made.inputs]
        outputs = [symbol_of(value, copy.target) for value in made.outputs]
        targets = sorted({index for pair in pairs for index in pair.targets})
        if all(dys[index] is None for index in targets):
            return [None] * len(inputs)
        seeds: dict[int, Any] = {
            index: zeros_of(outputs[index]) if dys[index] is None else dys[index]
            for index in targets
        }

        def branch(number: int) -> Callable[[], list[Tensor]]:
            def run() -> list[Tensor]:
                pair = pairs[number]
                places = sorted_[number][0]
                found = _call(
                    pair.backward,
                    (
                        *[seeds[index] for index in pair.targets],
                        *[
                            inputs[1 + place.argument]
                            if place.argument is not None
                            else outputs[starts[number] + place.output]
                            for place in places
                        ],
                        *pair.outside,
                    ),
                )
                return list(found)

            return run

        name = f"{node.name.rsplit('/', 1)[-1]}_gradient"
        labels = ["true", "false"] if is_if else [f"branch{k}" for k in range(len(pairs))]
        traced = [
            branches.trace_branch(branch(k), f"{name}_{label}") for k, label in enumerate(labels)
        ]
        choice = nodes.if_node if is_if else nodes.case_node
        found = nodes.add(choice(inputs[0], traced), name)
        result: list[Tensor | None] = [None] * len(inputs)
        for index, one in zip(pairs[0].sources, found, strict=True):
            result[1 + index] = one
        return result

    return made, gradient


def _branch(
    forward: Graph, name: str, count: int, kept: Sequence[Sequence[Value]], own: int
) -> FunctionRef:
    """A branch that also outputs all kept values: its own, and placeholders for the others'.

    Args:
        forward: the branch, which keeps what its gradient needs.
        name: name of the new one.
        count: how many of its outputs are results.
        kept: by branch.
        own: index of this one.
    """
    graph = GraphBuilder(name, forward)
    results = list(forward.outputs[:count])
    for index, values in enumerate(kept):
        results.extend(values if index == own else [_fake(graph, value) for value in values])
    graph.set_outputs(results)
    return FunctionRef(name, graph.finish())


def _fake(graph: GraphBuilder, like: Value) -> Value:
    attrs = {"dtype": like.dtype, "shape": like.shape}
    node = graph.add(FAKE_PARAM, (), attrs, "FakeParam")
    return node.outputs[0]


def _own_attrs(node: Node) -> dict[str, Any]:
    """The op's attributes, without annotations that tools added to the node."""
    return {name: value for name, value in node.attrs.items() if not name.startswith("_")}


def _add(
    copy: Copy,
    node: Node,
    inputs: Sequence[Value],
    attrs: dict[str, Any],
    specs: Sequence[TensorSpec],
) -> Node:
    made = copy.target.add_raw(
        node.op, inputs, attrs, node.name, specs, copy.controls(node.controls)
    )
    made.source = node.source
    return made


# Loops.


def _expand_loop(
    node: Node, wanted: tuple[bool, ...], copy: Copy, differentiate: Differentiate
) -> tuple[Node, Callable[..., list[Tensor | None]]]:
    body: Graph = node.attrs["body"].graph
    count = len(node.inputs)
    with_handles(body.inputs, node.inputs)
    flowing = _flowing(body, wanted)
    pair = differentiate(body, flowing, complete=True)
    forward = pair.forward
    constant = [forward.outputs[j] is forward.inputs[j] for j in range(count)]
    places, kept = _sort_kept(pair, count, lambda j: constant[j])
    forward = _collecting(forward, branches.unique_name(f"{body.name}_forward"), kept, count)
    extra = [TensorSpec.of(Shape(()), dtypes.int32)]
    extra.extend([TensorSpec.of(Shape(()), dtypes.variant)] * len(kept))
    condition = _with_more_inputs(node.attrs["cond"].graph, extra)
    attrs = _own_attrs(node)
    attrs["body"] = FunctionRef(forward.name, forward)
    attrs["cond"] = FunctionRef(condition.name, condition)
    specs = [*[value.spec for value in node.outputs], *extra]
    attrs["T"] = tuple(spec.dtype for spec in specs)
    attrs["output_shapes"] = tuple(spec.shape for spec in specs)
    target = copy.target
    begin = [_constant(target, np.array(0, np.int32), f"{node.name}/turns")]
    begin.extend(_empty_list(target, value, f"{node.name}/kept") for value in kept)
    made = _add(copy, node, [*[copy.values[v] for v in node.inputs], *begin], attrs, specs)
    carried = [j for j in range(count) if flowing[j]]

    def gradient(*dys: Tensor | None) -> list[Tensor | None]:
        inputs = [symbol_of(value, target) for value in made.inputs]
        outputs = [symbol_of(value, target) for value in made.outputs]
        result: list[Tensor | None] = [None] * len(inputs)
        if all(dys[j] is None for j in carried):
            return result
        first = [zeros_of(outputs[j]) if dys[j] is None else dys[j] for j in carried]
        shapes = [Shape(()), *[_shape_of_gradient(node.outputs[j]) for j in carried]]
        shapes.extend([Shape(())] * len(kept))

        def iteration(iterations: Tensor, gradients: list[Tensor], lists: list[Tensor]) -> Any:
            rest = []
            popped = []
            for handle, value in zip(lists, kept, strict=True):
                shape = tensor_lists.element_shape_tensor(value.shape)
                left, item = tensor_lists.pop_back(handle, value.dtype, shape)
                rest.append(left)
                popped.append(item)
            by_variable = dict(zip(carried, gradients, strict=True))
            found = _call(
                pair.backward,
                (
                    *[by_variable[j] for j in pair.targets],
                    *[
                        inputs[place.argument]
                        if place.argument is not None
                        else popped[place.output]  # type: ignore[index]
                        for place in places
                    ],
                    *pair.outside,
                ),
            )
            flowed = dict(zip(pair.sources, found, strict=True))
            return arithmetic.subtract(iterations, 1), [flowed[j] for j in carried], rest

        name = f"{node.name.rsplit('/', 1)[-1]}_gradient"
        loop, packed = nodes.while_node(
            lambda iterations, *_: comparison.greater(iterations, 0),
            iteration,
            (outputs[count], first, outputs[count + 1 :]),
            shapes,
            name=name,
        )
        _, found, _ = packed(nodes.add(loop, name))
        for j, one in zip(carried, found, strict=True):
            if wanted[j]:
                result[j] = one
        return result

    return made, gradient


def with_handles(values: Sequence[Value], like: Sequence[Value]) -> None:
    """Set missing specs of a loaded graph's handles to those of their variables."""
    for here, there in zip(values, like, strict=True):
        if here.handle is None and there.handle is not None:
            here.handle = there.handle


def _flowing(body: Graph, wanted: Sequence[bool]) -> tuple[bool, ...]:
    """Which loop variables gradients flow through: the fixed point over iterations."""
    flat = inline(body)
    flowing = list(wanted)
    while True:
        active = active_values(flat, flowing)
        more = [
            flowing[j] or (value in active and gradient_spec(value) is not None)
            for j, value in enumerate(flat.outputs)
        ]
        if more == flowing:
            return tuple(flowing)
        flowing = more


def _collecting(forward: Graph, name: str, kept: Sequence[Value], count: int) -> Graph:
    """A loop body extended to count iterations and append the saved values to lists."""
    graph = GraphBuilder(name, forward)
    iterations = graph.add_input(PLACEHOLDER, TensorSpec.of(Shape(()), dtypes.int32), "turns")
    lists = [
        graph.add_input(PLACEHOLDER, TensorSpec.of(Shape(()), dtypes.variant), f"kept_{index}")
        for index in range(len(kept))
    ]
    one = _constant(graph, np.array(1, np.int32), "one")
    more = graph.add(arithmetic.ADD_V2, (iterations, one), {"T": dtypes.int32}, "turns").outputs[0]
    pushed = [
        graph.add(
            tensor_lists.PUSH_BACK, (handle, value), {"element_dtype": value.dtype}, "push"
        ).outputs[0]
        for handle, value in zip(lists, kept, strict=True)
    ]
    graph.set_outputs([*forward.outputs[:count], more, *pushed])
    return graph.finish()


def _constant(graph: GraphBuilder, value: Any, name: str) -> Value:
    dtype = dtypes.from_numpy(value.dtype)
    return graph.add(CONST, (), {"value": value, "dtype": dtype}, name).outputs[0]


def _empty_list(graph: GraphBuilder, like: Value, name: str) -> Value:
    sizes = like.shape.dims
    shape = -1 if sizes is None else [-1 if size is None else size for size in sizes]
    element = _constant(graph, np.array(shape, np.int32), f"{name}/shape")
    limit = _constant(graph, np.array(-1, np.int32), f"{name}/limit")
    attrs = {"element_dtype": like.dtype, "shape_type": dtypes.int32}
    return graph.add(tensor_lists.EMPTY, (element, limit), attrs, name).outputs[0]


def _with_more_inputs(graph: Graph, extra: Sequence[TensorSpec]) -> Graph:
    copy = Copy(GraphBuilder(branches.unique_name(f"{graph.name}_forward")))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node not in arguments:
            copy.node(node)
    copy.outputs(graph)
    for index, spec in enumerate(extra):
        copy.target.add_input(PLACEHOLDER, spec, f"unused_{index}")
    return copy.target.finish()


def _shape_of_gradient(value: Value) -> Shape:
    spec = gradient_spec(value)
    return Shape(None) if spec is None else spec.shape
