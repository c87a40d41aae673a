"""The recurrent cell of a loop body: LSTM, GRU or plain, recognised by its computation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.deploy.program.recurrences.sums import (
    CHOICE,
    ITEM,
    LINE,
    NAMED,
    PART,
    PRODUCT,
    STATE,
    UNARY,
    Atom,
    Sum,
    alone,
    scaled,
)
from pinnace.deploy.refusals import UnconvertibleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.program.recurrences.sums import Forms
    from pinnace.framework.tensor import Array


class Activation(NamedTuple):
    """An activation of ONNX's recurrent operators, and its parameters."""

    name: str
    alpha: float | None = None
    beta: float | None = None


class Rows(NamedTuple):
    """Columns of a given row, times constants."""

    source: Atom
    start: int
    stop: int
    factor: Array


class Gate(NamedTuple):
    """The argument of a gate's activation: weighted inputs, the previous state, and a constant.

    Attributes:
        rows: the weighted inputs.
        recurrent: [units, units].
        shift: [units].
        inner: the constant that is added to the state's part only.
    """

    rows: list[Rows]
    recurrent: Array
    shift: Array
    inner: Array


class Cell(NamedTuple):
    """A recurrent cell.

    Attributes:
        kind: LSTM, GRU or RNN.
        hidden: the index of its state among the loop's.
        memory: the index of an LSTM's cell state.
        mask: the sequence of bools that tells in which steps the states change; None for all.
        output: the state's value after a step, as an atom.
        gates: the gates, in ONNX's order.
        activations: the activations, in ONNX's order.
        is_reset_after: whether a GRU multiplies its state by the weights before the reset gate.
    """

    kind: str
    hidden: int
    memory: int | None
    mask: Any
    output: Atom
    gates: list[Gate]
    activations: list[Activation]
    is_reset_after: bool = False

    @property
    def units(self) -> int:
        """The size of its state."""
        return self.output.width


class Change(NamedTuple):
    """The change of a state to `name` where the mask is true."""

    mask: Any
    name: Atom
    meaning: Sum


class Body:
    """The cells of a loop body.

    Args:
        forms: the body's values as sums.
        after: the states after a step, by index.

    Attributes:
        forms: the argument.
        after: the argument.
        cells: the cells, in an order in which they can be computed.
    """

    def __init__(self, forms: Forms[Any], after: Sequence[Any]) -> None:
        self.forms = forms
        self.after = after
        self.cells: list[Cell] = []
        self._changes: dict[int, Change] = {}
        for place in range(len(after)):
            change = self._change(place)
            if change is not None:
                self._changes[place] = change
        left = set(self._changes)
        while True:
            found = next((cell for place in sorted(left) if (cell := self._cell(place))), None)
            if found is None:
                break
            self.cells.append(found)
            left -= {found.hidden, found.memory}

    def _change(self, place: int) -> Change | None:
        try:
            found = alone(self.forms.of(self.after[place]))
        except UnconvertibleError:
            return None
        if found is None or found.kind != NAMED:
            return None
        meaning = self.forms.meanings[found]
        choice = alone(meaning)
        if choice is None or choice.kind != CHOICE:
            return Change(None, found, meaning)
        mask, new, old = choice.of
        before, name = alone(old), alone(new)
        if before is None or before.kind != STATE or before.of != (place,):
            return None
        if name is None or name.kind != NAMED:
            return None
        return Change(mask, name, self.forms.meanings[name])

    def _cell(self, place: int) -> Cell | None:
        for match in (self._long, self._gated, self._plain):
            try:
                found = match(place, self._changes[place])
            except UnconvertibleError:
                continue
            if found is not None:
                return found
        return None

    # The kinds of cells.

    def _long(self, place: int, change: Change) -> Cell | None:
        """LSTM: h' = o * act(c'), c' = f * c + i * g."""
        product = alone(change.meaning)
        if product is None or product.kind != PRODUCT:
            return None
        for o, outer in (product.of, product.of[::-1]):
            last, inside = activation(outer)
            name = alone(inside)
            for other, theirs in self._changes.items():
                if other != place and name is theirs.name and theirs.mask is change.mask:
                    memory = self._memory(place, other, o, theirs.meaning)
                    if memory is not None:
                        gates, first, middle = memory
                        functions = [first, middle, last]
                        return Cell(
                            "LSTM", place, other, change.mask, change.name, gates, functions
                        )
        return None

    def _memory(
        self, place: int, other: int, o: Atom, meaning: Sum
    ) -> tuple[list[Gate], Activation, Activation] | None:
        products = [_factors(atom, factor, 1.0) for atom, factor in meaning.terms.items()]
        if len(products) != 2 or np.any(meaning.shift) or None in products:
            return None
        state = self._state(other)
        kept = [pair for pair in products if pair is not None and state in pair]
        new = [pair for pair in products if pair is not None and state not in pair]
        if len(kept) != 1 or len(new) != 1:
            return None
        f = kept[0][1] if kept[0][0] is state else kept[0][0]
        rule, forget = activation(f)
        output_rule, output = activation(o)
        for i, g in (new[0], new[0][::-1]):
            (input_rule, entry), (middle, middle_sum) = activation(i), activation(g)
            if not rule == output_rule == input_rule:
                continue
            sums = (entry, output, forget, middle_sum)
            return [self._gate(part, place) for part in sums], rule, middle
        return None

    def _gated(self, place: int, change: Change) -> Cell | None:
        """GRU: h' = z * h + (1 - z) * g, or the other way round."""
        terms, state = change.meaning.terms, self._state(place)
        if len(terms) != 3 or np.any(change.meaning.shift):
            return None
        ups = [atom for atom, factor in terms.items() if _is_all(factor, 1.0)]
        downs = [atom for atom, factor in terms.items() if _is_all(factor, -1.0)]
        if len(ups) != 2 or len(downs) != 1 or downs[0].kind != PRODUCT:
            return None
        for z, part in (downs[0].of, downs[0].of[::-1]):
            if part not in ups:
                continue
            rest = ups[0] if ups[1] is part else ups[1]
            other = _other(rest, z)
            if other is None or (part is not state and other is not state):
                continue
            rule, total = activation(z)
            if part is state:  # h - z * h + z * g: z stands for 1 - z
                if rule.name != "Sigmoid":
                    continue
                total = scaled(total, np.array(-1.0))
            found = self._candidate(place, other if part is state else part, rule)
            if found is not None:
                reset, new, middle, is_after = found
                return Cell(
                    "GRU",
                    place,
                    None,
                    change.mask,
                    change.name,
                    [self._gate(total, place), reset, new],
                    [rule, middle],
                    is_after,
                )
        return None

    def _candidate(
        self, place: int, g: Atom, rule: Activation
    ) -> tuple[Gate, Gate, Activation, bool] | None:
        """The reset gate, the new state's gate, and whether the reset comes after the product."""
        middle, total = activation(g)
        state = self._state(place)
        if state in total.terms:
            return None
        for atom, factor in total.terms.items():
            if atom.kind != PRODUCT:
                continue
            rest = Sum({a: f for a, f in total.terms.items() if a is not atom}, total.shift)
            for r, inner in (atom.of, atom.of[::-1]):
                reset_rule, reset = activation(r)
                if reset_rule != rule:
                    continue
                gate = self._gate(rest, place)
                if inner is state:
                    matrix = np.diag(factor) if factor.ndim == 1 else factor
                    new, is_after = gate._replace(recurrent=matrix), False
                elif inner.kind == LINE and _is_all(factor, 1.0):
                    line: Sum = inner.of[0]
                    if set(line.terms) != {state}:
                        continue
                    held = self._gate(line, place)
                    new = gate._replace(recurrent=held.recurrent, inner=held.shift)
                    is_after = True
                else:
                    continue
                return self._gate(reset, place), new, middle, is_after
        return None

    def _plain(self, place: int, change: Change) -> Cell | None:
        """A plain cell: h' = act(x W + h R + b)."""
        found = alone(change.meaning)
        if found is not None:
            rule, total = activation(found)
        else:
            rule, total = Activation("Affine", 1.0, 0.0), change.meaning
        if self._state(place) not in total.terms:
            return None
        gate = self._gate(total, place)
        return Cell("RNN", place, None, change.mask, change.name, [gate], [rule])

    # Parts of cells.

    def _state(self, place: int) -> Atom:
        return self.forms.state(place)

    def _gate(self, total: Sum, place: int) -> Gate:
        state, rows = self._state(place), []
        units = total.width
        recurrent: Array = np.zeros((units, units))
        if state.width != units:
            raise UnconvertibleError
        for atom, factor in total.terms.items():
            if atom is state:
                recurrent = np.diag(factor) if factor.ndim == 1 else factor
                continue
            base, start, stop = atom.of if atom.kind == PART else (atom, 0, atom.width)
            earlier = any(base is cell.output for cell in self.cells)
            if base.kind != ITEM and not earlier:
                raise UnconvertibleError
            rows.append(Rows(base, start, stop, factor))
        return Gate(rows, recurrent, total.shift, np.zeros(units))


def activation(atom: Atom) -> tuple[Activation, Sum]:
    """The activation that an atom is, and its argument; the identity for other atoms."""
    if atom.kind == LINE:
        return Activation("Affine", 1.0, 0.0), atom.of[0]
    if atom.kind == "Clip":
        total, low, high = atom.of
        if (low, high) != (0.0, 1.0):
            raise UnconvertibleError
        return Activation("HardSigmoid", 1.0, 0.0), total
    if atom.kind == "HardSigmoid" or atom.kind in UNARY:
        return Activation(atom.kind, *atom.of[1:]), atom.of[0]
    return Activation("Affine", 1.0, 0.0), Sum({atom: np.ones(atom.width)}, np.zeros(atom.width))


def _is_all(factor: Array, number: float) -> bool:
    return factor.ndim == 1 and bool(np.all(factor == number))


def _factors(atom: Atom, factor: Array, number: float) -> tuple[Atom, Atom] | None:
    if atom.kind != PRODUCT or not _is_all(factor, number):
        return None
    return atom.of[0], atom.of[1]


def _other(product: Atom, factor: Atom) -> Atom | None:
    """The other factor of a product."""
    if product.kind != PRODUCT or factor not in product.of:
        return None
    first: Atom = product.of[0]
    second: Atom = product.of[1]
    return second if first is factor else first


class Given(NamedTuple):
    """A value from outside the loop from which the rows of a given atom are computed.

    Attributes:
        width: the number of its columns; None if it is unknown.
        weights: the matrix that multiplies its rows; None for none.
        shift: the vector that is added then.
    """

    width: int | None
    weights: Array | None = None
    shift: Array | None = None


def entries(gate: Gate, given: Mapping[Atom, Given]) -> tuple[Array, Array]:
    """The weights [inputs, units] of one gate, and its bias."""
    blocks, shift = [], gate.shift
    for atom, one in given.items():
        width = int(one.width or _width(gate, atom, one))
        block: Array = np.zeros((width, gate.recurrent.shape[0]))
        for rows in gate.rows:
            if rows.source is not atom:
                continue
            if one.weights is None:
                block[rows.start : rows.stop] += (
                    np.diag(rows.factor) if rows.factor.ndim == 1 else rows.factor
                )
            else:
                block += _applied(one.weights[:, rows.start : rows.stop], rows)
                if one.shift is not None:
                    shift = shift + _applied(one.shift[None, rows.start : rows.stop], rows)[0]
        blocks.append(block)
    return np.concatenate(blocks), shift


def _width(gate: Gate, atom: Atom, one: Given) -> int:
    """The number of columns of a gate's input, if its shape is unknown."""
    if one.weights is not None:
        return int(one.weights.shape[0])
    return max((rows.stop for rows in gate.rows if rows.source is atom), default=0)


def _applied(left: Array, rows: Rows) -> Array:
    return left * rows.factor if rows.factor.ndim == 1 else left @ rows.factor
