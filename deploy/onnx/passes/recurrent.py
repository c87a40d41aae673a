"""Loops that compute recurrent layers, replaced by LSTM, GRU and RNN: one operator for all steps.

If steps are masked, the valid steps are moved to the front first, so that the operator's lengths
describe any mask.
"""

from typing import Any, NamedTuple

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.element_types import computed_in
from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input
from pinnace.deploy.onnx.ir.size_origins import is_reversal, same_size
from pinnace.deploy.onnx.passes.gates import cells_of
from pinnace.deploy.program.recurrences.cells import Body, Cell, Given, entries
from pinnace.deploy.program.recurrences.sums import (
    CHOICE,
    ITEM,
    NAMED,
    OTHER,
    STATE,
    Atom,
    Sum,
    alone,
)
from pinnace.deploy.refusals import UnconvertibleError
from pinnace.framework import dtypes
from pinnace.framework.tensor import Array

_FORWARD, _REVERSE = "forward", "reverse"


class Track(NamedTuple):
    """A tensor with the steps along its first axis.

    Attributes:
        value: [steps, batch, columns].
        is_reversed: whether the loop takes the last row first.
        weights: the matrix that multiplies its rows first; None for none.
        shift: the vector that is added then.
    """

    value: Value
    is_reversed: bool = False
    weights: Array | None = None
    shift: Array | None = None


class Steps(NamedTuple):
    """The valid steps under a mask.

    Attributes:
        counts: int64 [steps, batch]: 1 for valid steps.
        total: the number of valid steps, int64 [batch].
        order: the steps with valid ones first: int64 [steps, batch].
    """

    counts: Value
    total: Value
    order: Value


def fuse_loops(g: GraphBuilder) -> None:
    """Replace every loop that computes a recurrent layer, including those in bodies."""
    nodes, g.nodes = g.nodes, []
    users: dict[Value, int] = {value: 1 for _, value in g.outputs}
    for node in nodes:
        for value in node.taken:
            users[value] = users.get(value, 0) + 1
    places: dict[Value, Value] = {}
    for node in nodes:
        node.inputs = [None if v is None else places.get(v, v) for v in node.inputs]
        for body in bodies_of(node):
            body.replace(places)
            fuse_loops(body)
        turned = _turned_twice(g, node)
        if turned is not None:
            places[node.outputs[0]] = turned
            continue
        made = _layer(g, node, users) if node.kind == "Loop" else None
        if made is None:
            g.nodes.append(node)
        else:
            places.update(made)
    g.outputs = [(name, places.get(value, value)) for name, value in g.outputs]
    g.prune()


def _turned_twice(g: GraphBuilder, node: Node) -> Value | None:
    """The value before two reversals, possibly with a transpose between them."""
    axis = is_reversal(node)
    first = node.inputs[0] if axis is not None else None
    before = first.node if first is not None else None
    if axis is None or before is None or before not in g.nodes:
        return None
    perm = None
    if before.kind == "Transpose":
        perm = before.attrs["perm"]
        source = before.inputs[0]
        before = source.node if source is not None else None
    if before is None or before not in g.nodes:
        return None
    if is_reversal(before) != (axis if perm is None else perm[axis]):
        return None
    value = before.inputs[0]
    return value if value is None or perm is None else g.transpose(value, perm)


def _layer(g: GraphBuilder, loop: Node, users: dict[Value, int]) -> dict[Value, Value] | None:
    """The loop's outputs, computed by recurrent operators; None if that is not possible."""
    body = bodies_of(loop)[0]
    go = body.outputs[0][1]
    if go.node is not None and go.node.kind == "Identity":
        go = go.node.inputs[0] or go
    if loop.inputs[1] is not None or go is not body.inputs[1] or loop.inputs[0] is None:
        return None
    found = cells_of(body)
    wanted = [index for index, value in enumerate(loop.outputs) if users.get(value)]
    kinds = {
        cell.kind: value.dtype for cell in found.cells for value in [body.inputs[2 + cell.hidden]]
    }
    if not kinds or any(computed_in(kind, dtype) is not dtype for kind, dtype in kinds.items()):
        return None
    layer = _Layer(g, loop, found, users)
    before = len(g.nodes)
    try:
        with g.scope(loop.name.rpartition("/")[0] or loop.name):
            for cell in found.cells:
                layer.add(cell)
            return {loop.outputs[index]: layer.result(index) for index in wanted}
    except UnconvertibleError:
        del g.nodes[before:]
        return None


class _Layer:
    """The operators that replace a loop.

    Args:
        g: the builder to add them to.
        loop: the loop; its number of steps comes from outside.
        body: its cells.
        users: the number of users of each value.
    """

    def __init__(self, g: GraphBuilder, loop: Node, body: Body, users: dict[Value, int]) -> None:
        self.g = g
        self.body = body
        self.starts = loop.inputs[2:]
        self.scans = [value for _, value in bodies_of(loop)[0].outputs[1 + len(self.starts) :]]
        self.olds = loop.outputs
        self._users = users
        self._trips = loop.inputs[0]
        self._outputs: dict[Atom, Track] = {}  # of cells, with valid steps first
        self._finals: dict[int, Value] = {}  # index of a state -> its final value
        self._steps: dict[Atom, Steps | None] = {}

    # Operators.

    def add(self, cell: Cell) -> None:
        """Add the operator for a cell."""
        g = self.g
        tracks = self._given(cell)
        whole = None if cell.mask is None else self._whole(Track(cell.mask))
        mask = None if whole is None else self._bare(whole)
        if len({track.is_reversed for track in (*tracks.values(), *((mask,) if mask else ()))}) > 1:
            tracks = {atom: self._plain(atom) for atom in tracks}
            mask = whole
        is_reversed = next(iter(tracks.values())).is_reversed
        x = g.concat([track.value for track in tracks.values()], 2)
        steps = None if mask is None else self._counted(mask.value)
        if steps is not None:
            x = g.op("GatherElements", x, self._wide(steps.order, x), axis=0)
        dtype = x.dtype
        lengths = None if steps is None else g.cast(steps.total, dtypes.int32)
        operands: list[Value | None] = [
            g.constant(part[None].astype(dtype.numpy), dtype=dtype)
            for part in _weights(cell, tracks)
        ]
        operands += [None] * (3 - len(operands))
        states = [self._start(cell.hidden)]
        if cell.memory is not None:
            states.append(self._start(cell.memory))
        attrs: dict[str, Any] = {"hidden_size": cell.units}
        if is_reversed:
            attrs["direction"] = _REVERSE
        if cell.is_reset_after:
            attrs["linear_before_reset"] = 1
        attrs.update(_functions(cell))
        results = g.ops(cell.kind, 1 + len(states), x, *operands, lengths, *states, **attrs)
        self._outputs[cell.output] = Track(g.squeeze(results[0], 1), is_reversed)
        self._steps[cell.output] = steps
        places = [cell.hidden] if cell.memory is None else [cell.hidden, cell.memory]
        for place, final in zip(places, results[1:], strict=True):
            self._finals[place] = self._final(place, g.squeeze(final, 0), steps)

    def _given(self, cell: Cell) -> dict[Atom, Track]:
        """The input of the gates, without what the operator computes itself."""
        sources = {rows.source: None for gate in cell.gates for rows in gate.rows}
        if not sources:
            raise UnconvertibleError
        tracks = {}
        for atom in sources:
            if atom.kind == ITEM:
                tracks[atom] = self._bare(self._whole(Track(atom.of[0])), is_alone=True)
            elif self._steps[atom] is None:
                tracks[atom] = self._outputs[atom]
            else:
                raise UnconvertibleError
        return tracks

    def _plain(self, atom: Atom) -> Track:
        """The input of a gate, in the order of the steps."""
        if atom.kind == ITEM:
            return self._whole(Track(atom.of[0]))
        track = self._outputs[atom]
        return Track(self._reversed(track.value)) if track.is_reversed else track

    def _whole(self, track: Track) -> Track:
        """The rows of the executed steps."""
        trips = self._trips
        if trips is None or same_size(trips, track.value, 0):
            return track
        g = self.g
        count = g.reshape(trips, [1])
        return Track(g.slice(track.value, 0, 0, count))

    def _bare(self, track: Track, *, is_alone: bool = False) -> Track:
        """The value before reversals and, if `is_alone`, before constant products of its own."""
        bare, is_swapped = track, False
        while True:
            following = _turned(bare, is_swapped)
            if following is None and is_alone and bare.weights is None:
                product = self._multiplied(bare)
                following = None if product is None else (product, is_swapped)
            if following is None:
                break
            bare, is_swapped = following
        if bare is track or not is_swapped:
            return bare
        perm = [1, 0, *range(2, bare.value.rank)]
        return bare._replace(value=self.g.transpose(bare.value, perm))

    def _multiplied(self, track: Track) -> Track | None:
        """A value before constant weights and a shift that only this loop uses."""
        value, shift = track.value, None
        node = value.node
        if node is not None and node.kind == "Add" and self._users.get(value, 0) <= 1:
            place = 0 if constant_input(node, 0) is not None else 1
            added, product = constant_input(node, place), node.inputs[1 - place]
            if added is None or product is None or added.size != value.size(-1):
                return None
            shift, value = added.reshape(-1), product
            node = value.node
        if node is None or node.kind != "MatMul" or self._users.get(value, 0) > 1:
            return None
        weights, source = constant_input(node, 1), node.inputs[0]
        if weights is None or weights.ndim != 2 or source is None or source.shape.rank != 3:
            return None
        return Track(source, track.is_reversed, weights, shift)

    def _start(self, place: int) -> Value | None:
        """The initial value of a state; None for zeros."""
        value = self.starts[place]
        return None if value is None or _is_zero(value) else self.g.unsqueeze(value, 0)

    # Masked steps.

    def _counted(self, mask: Value) -> Steps:
        g = self.g
        if mask.rank == 3:
            mask = g.squeeze(mask, 2)
        counts = g.as_int64(mask)
        length = g.size_of(mask, 0)
        index = g.unsqueeze(g.iota(g.scalar(length)), 1)
        # Valid steps have positive keys, the first one the largest.
        key = g.op("Sub", g.op("Mul", counts, length), index)
        order = g.ops("TopK", 2, key, length, axis=0, largest=1, sorted=1)[1]
        return Steps(counts, g.op("ReduceSum", counts, g.ints(0), keepdims=0), order)

    def _wide(self, places: Value, like: Value) -> Value:
        """Indices [steps, batch] expanded to [steps, batch, columns]."""
        g = self.g
        return g.expand(g.unsqueeze(places, 2), g.joined(g.ints(1, 1), g.size_of(like, 2)))

    def _final(self, place: int, final: Value, steps: Steps | None) -> Value:
        start = self.starts[place]
        if steps is None or start is None:
            return final
        # For rows without steps, ONNX Runtime returns zeros.
        if _is_zero(start):
            return final
        some = self.g.unsqueeze(self.g.op("Greater", steps.total, self.g.index(0)), 1)
        return self.g.where(some, final, start)

    def _held(self, atom: Atom, start: Value | None) -> Track:
        """A cell's outputs; in masked steps, that of the previous step."""
        g = self.g
        track, steps = self._outputs[atom], self._steps[atom]
        if steps is None:
            raise UnconvertibleError
        y = track.value
        first = self._first(y, start)
        rows = g.concat([first, y], 0)
        done = g.op("CumSum", steps.counts, g.index(0))
        if track.is_reversed:
            # The previous valid step comes next.
            here = g.op("Sub", done, steps.counts)
            some = g.op("Less", here, steps.total)
            done = g.where(some, g.op("Add", here, g.index(1)), g.index(0))
        return Track(g.op("GatherElements", rows, self._wide(done, y), axis=0), track.is_reversed)

    def _first(self, y: Value, start: Value | None) -> Value:
        """The value before the first valid step, as a row."""
        g = self.g
        if start is not None and not _is_zero(start):
            return g.unsqueeze(start, 0)
        return g.fill(g.joined(g.ints(1), g.shape_of(y, 1, 3)), g.like(y, 0))

    def _blank(self, atom: Atom) -> Track:
        """A cell's outputs; zeros in masked steps."""
        held = self._held(atom, None)
        steps = self._steps[atom]
        if steps is None:
            raise UnconvertibleError
        g = self.g
        counts = g.unsqueeze(g.cast(steps.counts, dtypes.bool), 2)
        return held._replace(value=g.where(counts, held.value, g.like(held.value, 0)))

    # The loop's outputs.

    def result(self, index: int) -> Value:
        """An output of the loop."""
        if index < len(self.starts):
            made = self._finals.get(index)
            if made is None:
                made = self._last(self.body.after[index], index)
        else:
            track = self._sequence(self.scans[index - len(self.starts)])
            made = self._reversed(track.value) if track.is_reversed else track.value
        made.refine(self.olds[index].shape)
        return made

    def _last(self, value: Value, place: int) -> Value:
        """The output of the last step."""
        name = alone(self.body.forms.of(value))
        for cell in self.body.cells:
            unmasked = cell.mask is None and cell.output is name
            if unmasked or value is self.body.after[cell.hidden]:
                return self._finals[cell.hidden]
            held = self._choice(value)
            if held is not None and held[0] is cell.output and self._same_start(place, cell):
                before = alone(held[1])
                if before is not None and before.kind == STATE and before.of == (place,):
                    return self._finals[cell.hidden]
        track = self._sequence(value)
        return self.g.op(
            "Gather", track.value, self.g.index(0 if track.is_reversed else -1), axis=0
        )

    def _same_start(self, place: int, cell: Cell) -> bool:
        values = [self.starts[place], self.starts[cell.hidden]]
        return values[0] is values[1] or all(v is not None and _is_zero(v) for v in values)

    def _sequence(self, value: Value) -> Track:
        """The outputs of all steps."""
        name = alone(self.body.forms.of(value))
        if name in self._outputs and self._steps[name] is None:
            return self._outputs[name]
        choice = self._choice(value)
        if choice is None:
            raise UnconvertibleError
        atom, old = choice
        before = alone(old)
        if _is_blank(old):
            return self._blank(atom)
        if before is None or before.kind != STATE:
            raise UnconvertibleError
        place = before.of[0]
        if self.body.after[place] is not value:
            raise UnconvertibleError
        return self._held(atom, self.starts[place])

    def _choice(self, value: Value) -> tuple[Atom, Sum] | None:
        """A cell's output, and its replacement in masked steps."""
        forms = self.body.forms
        atom = alone(forms.of(value))
        if atom is not None and atom.kind == NAMED:
            atom = alone(forms.meanings[atom])
        if atom is None or atom.kind != CHOICE:
            return None
        mask, new, old = atom.of
        output = alone(new)
        for cell in self.body.cells:
            if cell.output is output and cell.mask is mask:
                return cell.output, old
        return None

    def _reversed(self, value: Value) -> Value:
        ends = np.iinfo(np.int64)
        return self.g.slice(value, 0, int(ends.max), int(ends.min), -1)


def _turned(track: Track, is_swapped: bool) -> tuple[Track, bool] | None:
    """The track before a reversal or a transpose of batch and steps, and which of them it was."""
    node = track.value.node
    first = node.inputs[0] if node is not None and node.inputs else None
    if node is None or first is None:
        return None
    if is_reversal(node) == int(is_swapped):
        return track._replace(value=first, is_reversed=not track.is_reversed), is_swapped
    if node.kind == "Transpose" and list(node.attrs["perm"])[:2] == [1, 0]:
        return track._replace(value=first), not is_swapped
    return None


# Operands.


def _weights(cell: Cell, tracks: dict[Atom, Track]) -> tuple[Array, ...]:
    """W, R, and B if it is not zero."""
    given = {
        atom: Given(track.value.size(-1), track.weights, track.shift)
        for atom, track in tracks.items()
    }
    inputs, shifts = zip(*(entries(gate, given) for gate in cell.gates), strict=True)
    weights = np.concatenate([part.T for part in inputs])
    recurrent = np.concatenate([gate.recurrent.T for gate in cell.gates])
    shift = np.concatenate([*shifts, *(gate.inner for gate in cell.gates)])
    return (weights, recurrent, shift) if np.any(shift) else (weights, recurrent)


_USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


def _functions(cell: Cell) -> dict[str, Any]:
    """The attributes for the activations; none for the defaults."""
    names = [function.name for function in cell.activations]
    if names == _USUAL[cell.kind]:
        return {}
    found: dict[str, Any] = {"activations": names}
    alphas = [function.alpha for function in cell.activations if function.alpha is not None]
    betas = [function.beta for function in cell.activations if function.beta is not None]
    if alphas:
        found["activation_alpha"] = alphas
    if betas:
        found["activation_beta"] = betas
    return found


def _is_blank(total: Sum) -> bool:
    """Whether a sum is zero in every step."""
    atom = alone(total)
    if atom is not None and atom.kind == OTHER:
        return _is_zero(atom.of[0])
    return not total.terms and not np.any(total.shift)


def _is_zero(value: Value) -> bool:
    """Whether a value is full of zeros."""
    if value.array is not None:
        return not np.any(value.array)
    node = value.node
    if node is None or node.kind not in {"Expand", "ConstantOfShape"}:
        return False
    first = constant_input(node, 0)
    return first is not None and node.kind == "Expand" and not np.any(first)
