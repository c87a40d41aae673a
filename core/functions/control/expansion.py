"""If, Case and While in a forward graph, made to keep what their gradients need.

Before a graph is differentiated, each such node is replaced by one with more outputs: a branch also
gives its
intermediate values (the others give nothing in their place), a loop collects those of every turn in
lists. The gradient
is again an If, a Case or a While, so that it can be saved and differentiated once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.autodiff.tape import carries_gradient
from pinnace.engine.passes.inline import inline
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.functions import backward, customised
from pinnace.functions.control import branches, conditional, looping
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, Node, Value
from pinnace.graph.walk import ordered
from pinnace.ops import registry
from pinnace.ops.array.constants import CONST, PLACEHOLDER
from pinnace.ops.functional.conditions import FAKE_PARAM
from pinnace.ops.math import arithmetic, comparison
from pinnace.ops.state import tensor_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.functions.backward import Differentiated
    from pinnace.ops.opdef import OpCall

_CONDITIONS = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
_LOOPS = frozenset({"While", "StatelessWhile"})


def expand(
    graph: Graph, wanted: Sequence[bool]
) -> tuple[Graph, dict[Node, Callable[..., list[Tensor | None]]]]:
    """The graph with its conditions and loops expanded, and the gradient of each of them."""
    names = _CONDITIONS | _LOOPS
    if not any(node.op.name in names or _custom(node) for node in graph.nodes):
        return graph, {}
    active = backward.active_values(graph, wanted)
    copy = Copy(Graph(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    special: dict[Node, Callable[..., list[Tensor | None]]] = {}
    for node in ordered(graph):
        if node in arguments:
            continue
        if node.op.name in _LOOPS:
            with_handles(node.outputs, node.inputs)
        if node.op.name in names and any(value in active for value in node.outputs):
            wants = tuple(
                value in active and backward.gradient_spec(value) is not None
                for value in node.inputs
            )
            make = _expand_loop if node.op.name in _LOOPS else _expand_condition
            made, gradient = make(node, wants, copy)
            copy.nodes[node] = (made,)
            for here, there in zip(node.outputs, made.outputs, strict=False):
                there.handle = here.handle
                copy.values[here] = there
            special[made] = gradient
        elif _custom(node):
            made = copy.node(node)
            special[made] = customised.gradient_of(made, _custom(node), copy.target)
        else:
            copy.node(node)
    copy.outputs(graph)
    return copy.target, special


def _custom(node: Node) -> Any:
    """The gradient that a node brings with it, None if it is an ordinary one."""
    found = node.attrs.get(customised.ATTRIBUTE)
    return found if isinstance(found, customised.CustomGradient) else None


class _Kept(NamedTuple):
    """Where the gradient of a function finds a value of the inside: an argument, or an output."""

    argument: int | None
    output: int | None


def _sort_kept(
    pair: Differentiated, count: int, invariant: Callable[[int], bool]
) -> tuple[list[_Kept], list[Value]]:
    """The kept values of a function: arguments are at hand anyway, the others become outputs."""
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
    return backward.call_graph(graph, arguments, any(node.op.stateful for node in graph.nodes))


# Conditions.


def _expand_condition(  # noqa: C901 (two halves that share what the first finds)
    node: Node, wanted: tuple[bool, ...], copy: Copy
) -> tuple[Node, Callable[..., list[Tensor | None]]]:
    is_if = node.op.name in {"If", "StatelessIf"}
    refs = (
        (node.attrs["then_branch"], node.attrs["else_branch"]) if is_if else node.attrs["branches"]
    )
    count = len(node.outputs)
    for ref in refs:
        with_handles(ref.graph.inputs, node.inputs[1:])
    pairs = [backward.differentiate(ref.graph, wanted[1:], complete=True) for ref in refs]
    sorted_ = [_sort_kept(pair, count, lambda _: True) for pair in pairs]
    kept = [outputs for _, outputs in sorted_]
    starts = np.cumsum([count, *[len(outputs) for outputs in kept]]).tolist()
    for index, pair in enumerate(pairs):
        own = pair.forward.outputs[:count]
        for other, outputs in enumerate(kept):
            if other == index:
                own.extend(outputs)
            else:
                own.extend(_fake(pair.forward, value) for value in outputs)
        _set_outputs(pair.forward, own, ref_name=refs[index].name)
    attrs = _own_attrs(node)
    new = tuple(FunctionRef(pair.forward.name, pair.forward) for pair in pairs)
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
        inputs = [backward.symbol_of(value, copy.target) for value in made.inputs]
        outputs = [backward.symbol_of(value, copy.target) for value in made.outputs]
        targets = sorted({index for pair in pairs for index in pair.targets})
        if all(dys[index] is None for index in targets):
            return [None] * len(inputs)
        seeds: dict[int, Any] = {
            index: backward.zeros_of(outputs[index]) if dys[index] is None else dys[index]
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
        if is_if:
            found = conditional.build_if(
                inputs[0], branch(0), branch(1), name, ("true_fn", "false_fn")
            )
        else:
            found = conditional.switch_case(
                inputs[0], [branch(k) for k in range(len(pairs))], name=name
            )
        result: list[Tensor | None] = [None] * len(inputs)
        for index, one in zip(pairs[0].sources, found, strict=True):
            result[1 + index] = one
        return result

    return made, gradient


def _fake(graph: Graph, like: Value) -> Value:
    attrs = {"dtype": like.dtype, "shape": like.shape}
    node = graph.add(FAKE_PARAM, (), attrs, "FakeParam")
    return node.outputs[0]


def _own_attrs(node: Node) -> dict[str, Any]:
    """The op's attributes without notes that tools left on the node."""
    return {name: value for name, value in node.attrs.items() if not name.startswith("_")}


def _set_outputs(graph: Graph, outputs: list[Value], ref_name: str) -> None:
    graph.outputs = outputs
    graph.output_names = [f"output_{index}" for index in range(len(outputs))]
    graph.name = branches.unique_name(f"{ref_name}_forward")


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
    node: Node, wanted: tuple[bool, ...], copy: Copy
) -> tuple[Node, Callable[..., list[Tensor | None]]]:
    body: Graph = node.attrs["body"].graph
    count = len(node.inputs)
    with_handles(body.inputs, node.inputs)
    flowing = _flowing(body, wanted)
    pair = backward.differentiate(body, flowing, complete=True)
    forward = pair.forward
    constant = [forward.outputs[j] is forward.inputs[j] for j in range(count)]
    places, kept = _sort_kept(pair, count, lambda j: constant[j])
    _collect(forward, kept, count)
    forward.name = branches.unique_name(f"{body.name}_forward")
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
        inputs = [backward.symbol_of(value, target) for value in made.inputs]
        outputs = [backward.symbol_of(value, target) for value in made.outputs]
        result: list[Tensor | None] = [None] * len(inputs)
        if all(dys[j] is None for j in carried):
            return result
        first = [backward.zeros_of(outputs[j]) if dys[j] is None else dys[j] for j in carried]
        shapes = [Shape(()), *[_shape_of_gradient(node.outputs[j]) for j in carried]]
        shapes.extend([Shape(())] * len(kept))

        def turn(turns: Tensor, gradients: list[Tensor], lists: list[Tensor]) -> Any:
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
            return arithmetic.subtract(turns, 1), [flowed[j] for j in carried], rest

        name = f"{node.name.rsplit('/', 1)[-1]}_gradient"
        _, found, _ = looping.build_while(
            lambda turns, *_: comparison.greater(turns, 0),
            turn,
            (outputs[count], first, outputs[count + 1 :]),
            shapes,
            name=name,
        )
        for j, one in zip(carried, found, strict=True):
            if wanted[j]:
                result[j] = one
        return result

    return made, gradient


def with_handles(values: Sequence[Value], like: Sequence[Value]) -> None:
    """Note what variables values of a loaded graph stand for, where it did not say."""
    for here, there in zip(values, like, strict=True):
        if here.handle is None and there.handle is not None:
            here.handle = there.handle


def _flowing(body: Graph, wanted: Sequence[bool]) -> tuple[bool, ...]:
    """The loop variables that gradients flow through: what one turn makes active is active next."""
    flat = inline(body)
    flowing = list(wanted)
    while True:
        active = backward.active_values(flat, flowing)
        more = [
            flowing[j] or (value in active and backward.gradient_spec(value) is not None)
            for j, value in enumerate(flat.outputs)
        ]
        if more == flowing:
            return tuple(flowing)
        flowing = more


def _collect(forward: Graph, kept: Sequence[Value], count: int) -> None:
    """Make the body count its turns and put the kept values of each into lists."""
    turns = forward.add_input(PLACEHOLDER, TensorSpec.of(Shape(()), dtypes.int32), "turns")
    lists = [
        forward.add_input(PLACEHOLDER, TensorSpec.of(Shape(()), dtypes.variant), f"kept_{index}")
        for index in range(len(kept))
    ]
    one = _constant(forward, np.array(1, np.int32), "one")
    more = forward.add(arithmetic.ADD_V2, (turns, one), {"T": dtypes.int32}, "turns").outputs[0]
    pushed = [
        forward.add(
            tensor_lists.PUSH_BACK, (handle, value), {"element_dtype": value.dtype}, "push"
        ).outputs[0]
        for handle, value in zip(lists, kept, strict=True)
    ]
    forward.outputs = [*forward.outputs[:count], more, *pushed]
    forward.output_names = [f"output_{index}" for index in range(len(forward.outputs))]


def _constant(graph: Graph, value: Any, name: str) -> Value:
    dtype = dtypes.from_numpy(value.dtype)
    return graph.add(CONST, (), {"value": value, "dtype": dtype}, name).outputs[0]


def _empty_list(graph: Graph, like: Value, name: str) -> Value:
    sizes = like.shape.dims
    shape = -1 if sizes is None else [-1 if size is None else size for size in sizes]
    element = _constant(graph, np.array(shape, np.int32), f"{name}/shape")
    limit = _constant(graph, np.array(-1, np.int32), f"{name}/limit")
    attrs = {"element_dtype": like.dtype, "shape_type": dtypes.int32}
    return graph.add(tensor_lists.EMPTY, (element, limit), attrs, name).outputs[0]


def _with_more_inputs(graph: Graph, extra: Sequence[TensorSpec]) -> Graph:
    copy = Copy(Graph(branches.unique_name(f"{graph.name}_forward")))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node not in arguments:
            copy.node(node)
    copy.outputs(graph)
    for index, spec in enumerate(extra):
        copy.target.add_input(PLACEHOLDER, spec, f"unused_{index}")
    return copy.target


def _shape_of_gradient(value: Value) -> Shape:
    spec = backward.gradient_spec(value)
    return Shape(None) if spec is None else spec.shape


# The gradient of a node by itself: what a tape has that saw one run outside of `functions`.


def _gradient_of_node(call: OpCall, *dys: Tensor | None) -> tuple[Any, ...]:
    """Computes the node again, expanded, and differentiates that."""
    graph = branches.alone(call.op, call.inputs, dict(call.attrs))
    flat = [*call.inputs[:-1], *call.inputs[-1]]
    pair = backward.differentiate(graph, [carries_gradient(x.dtype) for x in flat])
    everything = backward.call_graph(pair.forward, flat, call.op.stateful)
    count = len(graph.outputs)
    found = pair.apply(flat, everything[:count], everything[count:], dys)
    single = len(call.inputs) - 1
    return (*found[:single], tuple(found[single:]))


for _name in sorted(_CONDITIONS | _LOOPS):
    registry.set_gradient(_name, _gradient_of_node)
backward.install_expansion(expand)
