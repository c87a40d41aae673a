"""While as Loop."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView, program_of
from pinnace.deploy.onnx.converters.functional.conditions import truth
from pinnace.deploy.onnx.converters.state.tensor_lists import Reserved, Written, dense, filled
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts
from pinnace.framework import dtypes
from pinnace.framework.shapes import SCALAR, Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph import graph
from pinnace.graph.graph import constant_of
from pinnace.graph.walk import ordered

# What becomes of a loop variable.
FIXED = "fixed"  # never changes: taken from outside, by name
CARRIED = "carried"  # goes from turn to turn
COUNTER = "counter"  # the number of the turn
SCANNED = "scanned"  # a list that gets its next element every turn
LAST = "last"  # a list of one element, written every turn


class _Plan(NamedTuple):
    """What becomes of each loop variable, and how many turns there are if that is known before."""

    kinds: list[str]
    trips: Value | None


@converts("While", "StatelessWhile")
def loop(g: GraphBuilder, call: NodeView, state: tuple[Value, ...]) -> tuple[Value, ...]:
    """Loop: the test runs before, and ends every turn; what never changes is taken by name."""
    test, body = program_of(call.attr("cond")), program_of(call.attr("body"))
    state = tuple(_with_element(value, body) for value in state)
    plan = _planned(g, call, test, body, state)
    inner = g.body()
    turn = inner.input("turn", TensorSpec.of(SCALAR, dtypes.int64))
    go = inner.input("go", TensorSpec.of(SCALAR, dtypes.bool))
    specs = [output.spec for output in call.node.outputs]
    carried: list[Value] = []
    inside: list[Value] = []
    for value, spec, kind in zip(state, specs, plan.kinds, strict=True):
        made = _inside(g, inner, call, value, spec, kind, turn)
        inside.append(made)
        if kind == CARRIED:
            carried.append(dense(g, value))
    after = call.inline(inner, body, inside)
    if plan.trips is None:
        first: Value | None = truth(g, call, call.inline(g, test, state)[0])
        inner.result(truth(inner, call, call.inline(inner, test, after)[0]))
    else:
        first = None
        inner.result(go)
    lasts = [i for i, kind in enumerate(plan.kinds) if kind == LAST]
    moving = [i for i, kind in enumerate(plan.kinds) if kind == CARRIED]
    scans = [i for i, kind in enumerate(plan.kinds) if kind == SCANNED]
    for i in lasts:
        inner.input("last", TensorSpec.of(_unknown(after[i]), after[i].dtype))
        carried.append(_nothing(g, after[i]))
    for i in [*moving, *lasts, *scans]:
        inner.result(after[i])
    wanted = [_carried_spec(inside[i], specs[i]) for i in moving]
    wanted += [TensorSpec.of(_unknown(after[i]), after[i].dtype) for i in lasts]
    wanted += [_scan_spec(after[i]) for i in scans]
    trips = g.constant(np.array(np.iinfo(np.int64).max)) if plan.trips is None else plan.trips
    results = g.with_bodies("Loop", wanted, trips, first, *carried, body=inner)
    found = dict(zip([*moving, *lasts, *scans], results, strict=True))
    return tuple(
        _result(g, value, found.get(i), kind, plan)
        for i, (value, kind) in enumerate(zip(state, plan.kinds, strict=True))
    )


def _with_element(value: Value, body: graph.Graph) -> Value:
    """A list whose elements have an unknown shape, with that of what the loop writes into lists."""
    if not isinstance(value, Reserved) or value.element.is_fully_defined():
        return value
    writes = [n for n in ordered(body) if n.op.name in {"TensorListSetItem", "TensorListPushBack"}]
    items = [n.inputs[-1] for n in writes if n.inputs[-1].dtype is value.dtype]
    shapes = {tuple(i.shape) if i.shape.is_fully_defined() else None for i in items}
    if len(shapes) != 1 or None in shapes:
        return value
    return Reserved(value.dtype, value.count, items[0].shape)


def _inside(
    g: GraphBuilder,
    inner: GraphBuilder,
    call: NodeView,
    value: Value,
    spec: TensorSpec,
    kind: str,
    turn: Value,
) -> Value:
    """What stands for a loop variable in the body."""
    if kind == FIXED:
        return value
    if kind == COUNTER:
        return inner.cast(turn, value.dtype)
    if kind in {SCANNED, LAST}:
        return Written("list", value.dtype, Shape(None))
    if spec.dtype.onnx is None:
        tensor = dense(g, value)
        shape = Shape([None, *list(tensor.shape)[1:]]) if tensor.shape.rank else Shape(None)
        spec = TensorSpec.of(shape, tensor.dtype)
    return inner.input(f"{call.name}/state", spec)


def _carried_spec(inside: Value, spec: TensorSpec) -> TensorSpec:
    return TensorSpec.of(inside.shape, inside.dtype) if spec.dtype.onnx is None else spec


def _unknown(element: Value) -> Shape:
    return Shape(None) if element.shape.rank is None else Shape([None] * element.shape.rank)


def _scan_spec(element: Value) -> TensorSpec:
    if element.shape.rank is None:
        return TensorSpec.of(Shape(None), element.dtype)
    return TensorSpec.of(Shape([None, *element.shape]), element.dtype)


def _nothing(g: GraphBuilder, element: Value) -> Value:
    """What stands in the place of an element before the first turn; ONNX lets its size change."""
    return g.constant(np.zeros((0,) * element.rank, element.dtype.numpy), dtype=element.dtype)


def _result(g: GraphBuilder, value: Value, made: Value | None, kind: str, plan: _Plan) -> Value:
    """A loop variable after the loop."""
    if kind == COUNTER and plan.trips is not None:
        return g.cast(plan.trips, value.dtype)
    if made is None:
        return value
    if kind == LAST:
        return g.unsqueeze(made, 0)
    if kind == SCANNED and plan.trips is None and isinstance(value, Reserved):
        # The loop may have ended before the list was full.
        return filled(g, made, g.reshape(value.count, [1]))
    return made


# Recognising what a loop does with its variables.


def _planned(
    g: GraphBuilder,
    call: NodeView,
    test: graph.Graph,
    body: graph.Graph,
    state: Sequence[Value],
) -> _Plan:
    counters = {i for i in range(len(state)) if _counts(call, body, i)}
    bound = _bound(call, test, counters, body)
    kinds = []
    for i, value in enumerate(state):
        if body.outputs[i] is body.inputs[i]:
            kinds.append(FIXED)
        elif i in counters and bound is not None:
            kinds.append(COUNTER)
        elif isinstance(value, Reserved):
            kinds.append(_list_kind(body, i, counters, value, bound))
        else:
            kinds.append(CARRIED)
    trips = None
    if bound is not None:
        trips = g.reshape(g.as_int64(call.values[bound]), [])
        trips = g.op("Max", trips, g.index(0))
    return _Plan(kinds, trips)


def _counts(call: NodeView, body: graph.Graph, i: int) -> bool:
    """Whether variable i is 0 before the loop, and one more every turn."""
    start = constant_of(call.node.inputs[i])
    add = body.outputs[i].node
    if start is None or start.ndim or start != 0 or add.op.name not in {"AddV2", "Add"}:
        return False
    ones = [constant_of(value) for value in add.inputs]
    return body.inputs[i] in add.inputs and any(one is not None and one == 1 for one in ones)


def _bound(
    call: NodeView, test: graph.Graph, counters: set[int], body: graph.Graph
) -> graph.Value | None:
    """The value outside that counters are below: then the loop runs that often."""
    found: list[graph.Value] = []
    queue = [test.outputs[0]]
    while queue:
        node = queue.pop().node
        if node.op.name == "LogicalAnd":
            queue.extend(node.inputs)
            continue
        if node.op.name != "Less" or node.inputs[0] not in test.inputs:
            return None
        if test.inputs.index(node.inputs[0]) not in counters:
            return None
        bound = _outside(call, test, node.inputs[1], body)
        if bound is None:
            return None
        found.append(bound)
    same = all(_equal(found[0], other) for other in found[1:])
    return found[0] if found and same else None


def _outside(
    call: NodeView, test: graph.Graph, value: graph.Value, body: graph.Graph
) -> graph.Value | None:
    """The value outside of the loop that a test compares with, if it never changes."""
    if value not in test.inputs:
        return None
    i = test.inputs.index(value)
    return call.node.inputs[i] if body.outputs[i] is body.inputs[i] else None


def _equal(a: graph.Value, b: graph.Value) -> bool:
    if a is b:
        return True
    first, second = constant_of(a), constant_of(b)
    return first is not None and second is not None and bool(np.array_equal(first, second))


def _list_kind(
    body: graph.Graph, i: int, counters: set[int], value: Reserved, bound: graph.Value | None
) -> str:
    del bound
    argument, write = body.inputs[i], body.outputs[i].node
    if write.op.name not in {"TensorListSetItem", "TensorListPushBack"}:
        return CARRIED
    uses = [node for node in ordered(body) for taken in node.inputs if taken is argument]
    if write.inputs[0] is not argument or len(uses) != 1:
        return CARRIED
    if write.op.name == "TensorListPushBack":
        return SCANNED
    index = write.inputs[1]
    if index in body.inputs and body.inputs.index(index) in counters:
        return SCANNED
    place = constant_of(index)
    single = value.count.array is not None and int(value.count.array) == 1
    return LAST if single and place is not None and not place else CARRIED
