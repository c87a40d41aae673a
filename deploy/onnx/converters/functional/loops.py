"""While as Loop."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pinnace.deploy.onnx.converters.functional.conditions import truth
from pinnace.deploy.onnx.converters.node_view import NodeView, program_of
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.converters.state.tensor_lists import (
    Growing,
    Joined,
    Reserved,
    Written,
    dense,
    filled,
)
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.deploy.onnx.ir.size_origins import same_number
from pinnace.framework import dtypes
from pinnace.framework.shapes import SCALAR, Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph import graph
from pinnace.graph.graph import constant_of
from pinnace.graph.walk import ordered

# The kinds of loop variables.
FIXED = "fixed"  # never changes; captured by name
CARRIED = "carried"  # passed from iteration to iteration
COUNTER = "counter"  # the index of the iteration
SCANNED = "scanned"  # a list that gets its next element in every iteration
LAST = "last"  # a list of one element, written in every iteration
JOINED = "joined"  # like a scanned list, but its elements are concatenated afterwards
GROWING = "growing"  # a list written at any index, whose element sizes the first element determines


class _Plan(NamedTuple):
    """The kind of each loop variable, and the number of iterations if it is known beforehand."""

    kinds: list[str]
    trips: Value | None


@converts("While", "StatelessWhile")
def loop(g: GraphBuilder, call: NodeView, state: tuple[Value, ...]) -> tuple[Value, ...]:
    """Loop: the condition is checked before it and at the end of every iteration."""
    test, body = program_of(call.attr("cond")), program_of(call.attr("body"))
    state = tuple(_with_element(value, body) for value in state)
    plan = _planned(g, call, test, body, state)
    inner = g.body()
    turn = inner.input("turn", TensorSpec.of(SCALAR, dtypes.int64))
    go = inner.input("go", TensorSpec.of(SCALAR, dtypes.bool))
    specs = [output.spec for output in call.node.outputs]
    inside = [
        _inside(g, inner, call, body, i, spec, plan.kinds[i], turn, state[i])
        for i, spec in enumerate(specs)
    ]
    carried = _carried(g, state, inside, plan)
    after = call.inline(inner, body, inside)
    lengths: list[Value] = []
    if plan.trips is None:
        first: Value | None = truth(g, call, call.inline(g, test, state)[0])
        inner.result(truth(inner, call, call.inline(inner, test, after)[0]))
    else:
        first = None
        inner.result(go)
    lasts = [i for i, kind in enumerate(plan.kinds) if kind == LAST]
    moving = [i for i, kind in enumerate(plan.kinds) if kind in {CARRIED, GROWING}]
    scans = [i for i, kind in enumerate(plan.kinds) if kind == SCANNED]
    joins = [i for i, kind in enumerate(plan.kinds) if kind == JOINED]
    for i in joins:
        rows = inner.input("rows", TensorSpec.of(_many(after[i]), after[i].dtype))
        carried.append(_none_of(g, call, after[i]))
        lengths.append(inner.size_of(after[i], 0))
        after[i] = inner.op("Concat", rows, after[i], axis=0)
    for i in lasts:
        inner.input("last", TensorSpec.of(_unknown(after[i]), after[i].dtype))
        carried.append(_before_first(g, state[i], after[i]))
    for i in [*moving, *joins, *lasts, *scans]:
        inner.result(after[i])
    for value in lengths:
        inner.result(inner.scalar(value))
    wanted = [_carried_spec(inside[i], specs[i]) for i in moving]
    wanted += [TensorSpec.of(_many(after[i]), after[i].dtype) for i in joins]
    wanted += [TensorSpec.of(_unknown(after[i]), after[i].dtype) for i in lasts]
    wanted += [_scan_spec(after[i]) for i in scans]
    wanted += [TensorSpec([None], dtypes.int64) for _ in joins]
    trips = g.constant(np.array(np.iinfo(np.int64).max)) if plan.trips is None else plan.trips
    results = g.with_bodies("Loop", wanted, trips, first, *carried, body=inner)
    found = dict(zip([*moving, *joins, *lasts, *scans], results, strict=False))
    for i, measured in zip(joins, results[len(results) - len(joins) :], strict=True):
        found[i] = Joined(found[i], measured)
    return tuple(
        _result(g, value, found.get(i), kind, plan)
        for i, (value, kind) in enumerate(zip(state, plan.kinds, strict=True))
    )


def _with_element(value: Value, body: graph.Graph) -> Value:
    """A list of unknown element shape, with the shape of the elements that the loop writes."""
    if not isinstance(value, Reserved) or value.element.is_fully_defined():
        return value
    writes = [n for n in ordered(body) if n.op.name in {"TensorListSetItem", "TensorListPushBack"}]
    items = [n.inputs[-1] for n in writes if n.inputs[-1].dtype is value.dtype]
    shapes = {tuple(i.shape) if i.shape.is_fully_defined() else None for i in items}
    if len(shapes) != 1 or None in shapes:
        return value
    return Reserved(value.dtype, value.count, items[0].shape)


def _carried(
    g: GraphBuilder, state: Sequence[Value], inside: Sequence[Value], plan: _Plan
) -> list[Value | None]:
    """The initial values of the variables that are carried from one iteration to the next."""
    found: list[Value | None] = []
    for value, made, kind in zip(state, inside, plan.kinds, strict=True):
        if kind == CARRIED:
            found.append(dense(g, value))
        elif kind == GROWING:
            found.append(g.constant(np.zeros((0,) * made.rank, value.dtype.numpy)))
    return found


def _inside(
    g: GraphBuilder,
    inner: GraphBuilder,
    call: NodeView,
    body: graph.Graph,
    i: int,
    spec: TensorSpec,
    kind: str,
    turn: Value,
    value: Value,
) -> Value:
    """The body's input for loop variable i."""
    if kind == FIXED:
        return value
    if kind == COUNTER:
        return inner.cast(turn, value.dtype)
    if kind in {SCANNED, LAST, JOINED}:
        return Written(value.dtype, turn)
    rank = _written_rank(body, i, value) if kind == GROWING else None
    if isinstance(value, Reserved) and rank is not None:
        return _growing(inner, call, value, rank)
    if spec.dtype.onnx is None:
        tensor = dense(g, value)
        shape = Shape([None, *list(tensor.shape)[1:]]) if tensor.shape.rank else Shape(None)
        spec = TensorSpec.of(shape, tensor.dtype)
    return inner.input(f"{call.name}/state", spec)


def _growing(inner: GraphBuilder, call: NodeView, value: Reserved, rank: int) -> Growing:
    """The body's input for a list of elements of unknown shape."""
    spec = TensorSpec.of(Shape([None] * (rank + 1)), value.dtype)
    return Growing(inner.input(f"{call.name}/state", spec), value.count)


def _written_rank(body: graph.Graph, i: int, value: Value) -> int | None:
    """The rank of the elements that a loop writes to list i; None if it need not grow."""
    write = body.outputs[i].node
    is_known = not isinstance(value, Reserved) or value.element.is_fully_defined()
    if is_known or write.op.name != "TensorListSetItem" or value.dtype is dtypes.string:
        return None
    if write.attrs.get("resize_if_index_out_of_bounds"):
        return None
    rank: int | None = write.inputs[-1].shape.rank
    return rank


def _carried_spec(inside: Value, spec: TensorSpec) -> TensorSpec:
    return TensorSpec.of(inside.shape, inside.dtype) if spec.dtype.onnx is None else spec


def _unknown(element: Value) -> Shape:
    return Shape(None) if element.shape.rank is None else Shape([None] * element.shape.rank)


def _many(element: Value) -> Shape:
    """The shape of concatenated elements."""
    return Shape([None, *list(element.shape)[1:]]) if element.shape.rank else Shape(None)


def _none_of(g: GraphBuilder, call: NodeView, element: Value) -> Value:
    """An empty tensor of rows as wide as an element."""
    sizes = list(element.shape)[1:] if element.shape.rank else [None]
    if None in sizes:
        call.fail(
            "all sizes but the first must be known for elements that are concatenated afterwards"
        )
    return g.constant(np.zeros((0, *sizes), element.dtype.numpy), dtype=element.dtype)


def _scan_spec(element: Value) -> TensorSpec:
    if element.shape.rank is None:
        return TensorSpec.of(Shape(None), element.dtype)
    return TensorSpec.of(Shape([None, *element.shape]), element.dtype)


def _before_first(g: GraphBuilder, value: Value, element: Value) -> Value:
    """The element before the first iteration: zeros, which remain if there is no iteration.

    If its sizes are unknown, it is empty and must not be read before it is written: ONNX allows
    sizes to change.
    """
    if isinstance(value, Reserved) and value.element.is_fully_defined():
        return g.squeeze(dense(g, value), 0)
    return g.constant(np.zeros((0,) * element.rank, element.dtype.numpy), dtype=element.dtype)


def _result(g: GraphBuilder, value: Value, made: Value | None, kind: str, plan: _Plan) -> Value:
    """A loop variable after the loop."""
    if kind == COUNTER and plan.trips is not None:
        return g.cast(plan.trips, value.dtype)
    if made is None:
        return value
    if kind == LAST:
        return g.unsqueeze(made, 0)
    if kind == SCANNED and isinstance(value, Reserved) and not _is_full(value, plan):
        # The loop may end before all elements are written.
        return filled(g, made, g.reshape(value.count, [1]))
    return made


def _is_full(value: Reserved, plan: _Plan) -> bool:
    """Whether all elements of a scanned list are provably written after the loop."""
    if value.count.array is not None and not value.count.array:
        return True
    return plan.trips is not None and same_number(plan.trips, value.count)


# Classification of loop variables.


def _planned(
    g: GraphBuilder, call: NodeView, test: graph.Graph, body: graph.Graph, state: Sequence[Value]
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
            kind = _list_kind(body, i, counters, value)
            # Elements of one shape are concatenated by a Reshape, including unwritten ones.
            joins = kind == SCANNED and not value.element.is_fully_defined()
            if kind == CARRIED and _written_rank(body, i, value) is not None:
                kind = GROWING
            kinds.append(JOINED if joins and _is_joined(call, i) else kind)
        else:
            kinds.append(CARRIED)
    return _Plan(kinds, None if bound is None else _trips(g, call, bound))


def _trips(g: GraphBuilder, call: NodeView, bounds: list[graph.Value | int]) -> Value:
    """The number of iterations: until the first bound is reached."""
    known = [bound for bound in bounds if isinstance(bound, int)]
    parts: list[Value] = []
    for bound in bounds:
        if not isinstance(bound, int):
            part = g.reshape(g.as_int64(call.values[bound]), [])
            if not any(same_number(part, other) for other in parts):
                parts.append(part)
    sizes = not known and all(part.is_size for part in parts)
    if known:
        parts.append(g.index(max(0, min(known))))
    trips = g.op("Min", *parts) if len(parts) > 1 else parts[0]
    return trips if sizes or trips.array is not None else g.op("Max", trips, g.index(0))


def _counts(call: NodeView, body: graph.Graph, i: int) -> bool:
    """Whether variable i is a counter: 0 at first, plus 1 in every iteration."""
    start = constant_of(call.node.inputs[i])
    add = body.outputs[i].node
    if start is None or start.ndim or start != 0 or add.op.name not in {"AddV2", "Add"}:
        return False
    ones = [constant_of(value) for value in add.inputs]
    return body.inputs[i] in add.inputs and any(one is not None and one == 1 for one in ones)


def _bound(
    call: NodeView, test: graph.Graph, counters: set[int], body: graph.Graph
) -> list[graph.Value | int] | None:
    """The bounds of counters in the condition; the smallest is the number of iterations."""
    found: list[graph.Value | int] = []
    queue = [test.outputs[0]]
    while queue:
        value = queue.pop()
        node = value.node
        if node.op.name == "LogicalAnd":
            queue.extend(node.inputs)
            continue
        always = constant_of(value)
        if always is not None and always.dtype == bool and always.all():
            continue
        if node.op.name not in {"Less", "Greater"}:
            return None
        counter, limit = node.inputs if node.op.name == "Less" else node.inputs[::-1]
        if counter not in test.inputs or test.inputs.index(counter) not in counters:
            return None
        bound = _outside(call, test, limit, body)
        if bound is None:
            return None
        found.append(bound)
    return found or None


def _outside(
    call: NodeView, test: graph.Graph, value: graph.Value, body: graph.Graph
) -> graph.Value | int | None:
    """A loop-invariant operand of a comparison: an outer value, or a number; else None."""
    known = constant_of(value)
    if known is not None and not known.ndim and known.dtype.kind in "iu":
        return int(known)
    if value not in test.inputs:
        return None
    i = test.inputs.index(value)
    if body.outputs[i] is not body.inputs[i]:
        return None
    known = constant_of(call.node.inputs[i])
    return call.node.inputs[i] if known is None or known.ndim else int(known)


def _is_joined(call: NodeView, i: int) -> bool:
    """Whether list i is only used to concatenate its elements."""
    takers = call.takers.get(call.node.outputs[i], ())
    return bool(takers) and all(
        node is not None and node.op.name in {"TensorListConcat", "TensorListConcatV2"}
        for node in takers
    )


def _bare(value: graph.Value) -> graph.Value:
    """A number without an addition of 0 or a product with 1."""
    while True:
        node = value.node
        if node.op.name in {"Identity", "Cast"}:
            value = node.inputs[0]
            continue
        neutral = {"AddV2": 0, "Add": 0, "Mul": 1}.get(node.op.name)
        if neutral is None:
            return value
        known = [constant_of(part) for part in node.inputs]
        idle = [number is not None and not number.ndim and number == neutral for number in known]
        if idle.count(True) == 0:
            return value
        value = node.inputs[1 if idle[0] else 0]


def _is_length(index: graph.Value, uses: Sequence[graph.Node]) -> bool:
    """Whether an index is the list's length, which has no other users."""
    node = index.node
    return node.op.name == "TensorListLength" and node in uses and len(uses) == 2


def _list_kind(body: graph.Graph, i: int, counters: set[int], value: Reserved) -> str:
    argument, write = body.inputs[i], body.outputs[i].node
    if write.op.name not in {"TensorListSetItem", "TensorListPushBack"}:
        return CARRIED
    uses = [node for node in ordered(body) for taken in node.inputs if taken is argument]
    begins_empty = value.count.array is not None and not int(value.count.array)
    if begins_empty and write.op.name == "TensorListSetItem" and _is_length(write.inputs[1], uses):
        uses = [write]  # an element is appended, as by AutoGraph's `append`
        is_pushed = True
    else:
        is_pushed = write.op.name == "TensorListPushBack"
    if write.inputs[0] is not argument or len(uses) != 1:
        return CARRIED
    if is_pushed:
        return SCANNED if begins_empty else CARRIED
    index = _bare(write.inputs[1])
    if index in body.inputs and body.inputs.index(index) in counters:
        return SCANNED
    place = constant_of(index)
    single = value.count.array is not None and int(value.count.array) == 1
    return LAST if single and place is not None and not place else CARRIED
