"""Functions with additional arguments and results."""

from collections.abc import Sequence

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.shapes import SCALAR
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Value
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import CONST, PLACEHOLDER
from pinnace.ops.registry import lookup


def with_arguments(graph: Graph, specs: Sequence[TensorSpec]) -> Graph:
    """The function with further, unused arguments."""
    if not specs:
        return graph
    copy = _copied(graph)
    for number, spec in enumerate(specs):
        copy.target.add_input(PLACEHOLDER, spec, f"further_{number}")
    return copy.target.finish()


def with_results_of_both(one: Graph, other: Graph, count: int) -> tuple[Graph, Graph]:
    """Two functions with the same results.

    Args:
        one: the first function.
        other: the second function, with the same arguments.
        count: the number of results that correspond; the further results of each are zeros in the
            other.
    """
    if len(one.outputs) == len(other.outputs) == count:
        return one, other
    own = [value.dtype for value in one.outputs[count:]]
    others = [value.dtype for value in other.outputs[count:]]
    made = []
    for graph, before, after in ((one, [], others), (other, own, [])):
        copy = _copied(graph)
        target = copy.target
        results = list(target.outputs)
        zeros = [
            _constant(target, np.zeros((), kind.numpy), "nothing") for kind in (*before, *after)
        ]
        first, second = zeros[: len(before)], zeros[len(before) :]
        outputs = [*results[:count], *first, *results[count:], *second]
        names = list(graph.output_names[:count])
        names += [f"written_{number}" for number in range(len(outputs) - count)]
        target.set_outputs(outputs, names)
        made.append(target.finish())
    return made[0], made[1]


def choice(place: int, chosen: Graph, rest: Graph, count: int) -> Graph:
    """A function that calls one function if its last argument is `place`, else the other one.

    Args:
        place: the number.
        chosen: the function for it.
        rest: the other function, with the same arguments.
        count: the number of results of both.
    """
    then, other = with_results_of_both(chosen, rest, count)
    made = GraphBuilder(f"{chosen.name}_or_else")
    arguments = [
        made.add_input(PLACEHOLDER, TensorSpec.of(value.shape, value.dtype), f"x{number}")
        for number, value in enumerate(then.inputs)
    ]
    which = arguments[-1]
    number = _constant(made, np.asarray(place, which.dtype.numpy), "place")
    test = made.add(lookup("Equal"), [which, number], {"T": which.dtype}).outputs[0]
    attrs = {
        "then_branch": FunctionRef(then.name, then),
        "else_branch": FunctionRef(other.name, other),
        "Tcond": dtypes.bool,
        "Tin": tuple(value.dtype for value in arguments),
        "Tout": tuple(value.dtype for value in then.outputs),
    }
    node = made.add(lookup("StatelessIf"), [test, *arguments], attrs)
    names = list(then.output_names[:count])
    names += [f"written_{number}" for number in range(len(then.outputs) - count)]
    made.set_outputs(node.outputs, names)
    return made.finish()


def _copied(graph: Graph) -> Copy:
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node not in arguments:
            copy.node(node)
    copy.outputs(graph)
    return copy


def _constant(graph: GraphBuilder, array: np.ndarray, name: str) -> Value:
    kind = dtypes.from_numpy(array.dtype)
    attrs = {"value": array, "dtype": kind}
    return graph.add_raw(CONST, (), attrs, name, [TensorSpec.of(SCALAR, kind)]).outputs[0]
