"""The smallest graph that still differs: steps are removed as long as the difference remains."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from hot import tiers
from hot.drawing import Case
from pinnace.framework.errors import OpError
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Value, constant_of
from pinnace.graph.text import text_of
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_LONGEST_S = 60.0


def smallest(case: Case, differs: Callable[[Case], bool]) -> Case:
    """A case with as few steps and numbers as possible.

    Args:
        case: a case that differs.
        differs: whether a smaller case differs, too.
    """
    end = monotonic() + _LONGEST_S
    while True:
        for smaller in _smaller(case):
            if monotonic() > end:
                return case
            if _try(differs, smaller):
                case = smaller
                break
        else:
            return case


def _try(differs: Callable[[Case], bool], case: Case) -> bool:
    try:
        return differs(case)
    except Exception:
        return False


def _smaller(case: Case) -> Iterator[Case]:  # noqa: C901 (one case after the other)
    graph = case.graph
    arrays = [np.asarray(one) for one in case.inputs]
    nodes = [node for node in ordered(graph) if node.outputs and node.op.name != "Const"]
    inner = [node for node in nodes if node.outputs[0] not in graph.inputs]
    if len(graph.outputs) > 1:
        for value in graph.outputs:
            yield from _rebuilt(case, [value], {}, {})
        for value in graph.outputs:
            yield from _rebuilt(case, [one for one in graph.outputs if one is not value], {}, {})
    for node in inner:
        if [*graph.outputs] != [node.outputs[0]] and node.outputs[0].dtype.name != "variant":
            yield from _rebuilt(case, [node.outputs[0]], {}, {})
    for node in inner:
        for value in node.inputs:
            out = node.outputs[0]
            if value.dtype is out.dtype and value.shape.dims == out.shape.dims:
                yield from _rebuilt(case, graph.outputs, {out: value}, {})
    made = _values(graph, arrays)
    for node in inner:
        out = node.outputs[0]
        if out in made and node.inputs and out.dtype.name != "variant":
            yield from _rebuilt(case, graph.outputs, {}, {out: made[out]})
    for place, array in enumerate(arrays):
        if array.dtype.kind == "f" and array.size and not (array == 1).all():
            plain = [*arrays]
            plain[place] = np.ones_like(array)
            yield Case(case.kind, graph, plain, case.rows, case.exact)
        if not array.flags.c_contiguous or not array.flags.aligned:
            plain = [*arrays]
            plain[place] = np.array(array, order="C")
            yield Case(case.kind, graph, plain, case.rows, case.exact)


def _values(graph: Graph, arrays: Sequence[Any]) -> dict[Value, Any]:
    """The results of eager ops for the inputs, by value."""
    everything = [
        node.outputs[0]
        for node in ordered(graph)
        if node.outputs and node.outputs[0].dtype.name != "variant"
    ]
    names = tuple(str(n) for n in range(len(everything)))
    whole = replace(graph, outputs=tuple(everything), output_names=names, effects=())
    try:
        return dict(zip(everything, tiers.eager(whole, arrays), strict=True))
    except Exception:
        return {}


def _rebuilt(
    case: Case,
    outputs: Sequence[Value],
    instead: Mapping[Value, Value],
    given: Mapping[Value, Any],
) -> Iterator[Case]:
    """The case with other outputs, replaced values, and values turned into inputs."""
    copy = Copy(GraphBuilder(case.graph.name))
    names = tuple(f"y{n}" for n in range(len(outputs)))
    source = replace(case.graph, outputs=tuple(outputs), output_names=names, effects=())
    needed = _needed(outputs, instead, given)
    arrays: list[Any] = []
    for value, array in zip(case.graph.inputs, case.inputs, strict=True):
        if value in needed:
            copy.values[value] = copy.target.add_input(PLACEHOLDER, value.spec, value.node.name)
            arrays.append(array)
    for value, array in given.items():
        if value in needed:
            spec = TensorSpec(list(np.shape(array)), value.dtype)
            copy.values[value] = copy.target.add_input(PLACEHOLDER, spec, f"g{len(arrays)}")
            arrays.append(np.asarray(array))

    def of(value: Value) -> Value:
        return copy.values[instead.get(value, value)]

    try:
        for node in ordered(source):
            if node.outputs and node.outputs[0] in needed and node.outputs[0] not in copy.values:
                made = copy.target.add(node.op, [of(v) for v in node.inputs], node.attrs, node.name)
                copy.values.update(zip(node.outputs, made.outputs, strict=True))
        copy.target.set_outputs([of(value) for value in outputs], names)
    except (KeyError, OpError):
        return
    if any(constant_of(value) is not None for value in copy.target.outputs):
        return
    yield Case(case.kind, copy.target.finish(), arrays, case.rows, case.exact)


def _needed(
    outputs: Sequence[Value], instead: Mapping[Value, Value], given: Mapping[Value, Any]
) -> set[Value]:
    needed: set[Value] = set()
    pending = list(outputs)
    while pending:
        value = pending.pop()
        value = instead.get(value, value)
        if value in needed:
            continue
        needed.update(value.node.outputs)
        if value not in given:
            pending += value.node.inputs
    return needed


def told(case: Case) -> str:
    """The graph and its inputs as text."""
    lines = [text_of(case.graph, functions=True).rstrip()]
    for value, array in zip(case.graph.inputs, case.inputs, strict=True):
        shown = np.array2string(np.asarray(array), threshold=24, separator=", ")
        strides = "" if np.asarray(array).flags.c_contiguous else f" strides {array.strides}"
        lines.append(f"  {value.node.name} = {shown}{strides}")
    return "\n".join(lines)
