"""A loop body as sums of products, a normal form: equal cells look equal however written.

In one step a value is a row per example. It becomes a `Sum`: constants times atoms plus a constant.
Atoms are states, rows of sequences, and values that are not sums: activations and products of two
values. Equal atoms are one object, so that forms are compared by identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.deploy.onnx.ir.graph import constant_input
from pinnace.deploy.refusals import UnconvertibleError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pinnace.deploy.onnx.ir.graph import Node, OnnxGraph, Value
    from pinnace.framework.tensor import Array

STATE, ITEM, OTHER, NAMED = "state", "item", "other", "named"
PART, LINE = "part", "line"
PRODUCT, CHOICE = "product", "choice"
# Activations that ONNX's recurrent operators know, and Clip, of which one is made.
UNARY = frozenset({"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus", "Elu", "LeakyRelu", "Clip"})
_ROUNDING = 1e-6  # of a float32 that is to be 1 / 6
_DEFAULTS = {"Elu": 1.0, "LeakyRelu": 0.01}
# Operators that leave a column of truth values as it is, but for its sizes.
_SHAPED = frozenset({"Identity", "Tile", "Reshape", "Unsqueeze", "Squeeze", "Expand", "Cast"})


class Atom:
    """A term of a sum; `kind` says what `of` holds.

    - STATE: (place of the state), ITEM: (sequence), OTHER: (value), NAMED: (value of the body);
    - PART: (atom, first column, end), LINE: (sum);
    - an activation: (sum, *numbers), PRODUCT: (atom, atom), CHOICE: (sequence of truth values,
      sum, sum).
    """

    __slots__ = ("kind", "number", "of", "width")

    def __init__(self, kind: str, of: tuple[Any, ...], width: int, number: int) -> None:
        self.kind = kind
        self.of = of
        self.width = width
        self.number = number

    def __repr__(self) -> str:
        return f"{self.kind}#{self.number}"


class Sum(NamedTuple):
    """Atoms times constants, plus a constant.

    Attributes:
        terms: atom -> a factor per column, or a matrix [columns of the atom, columns].
        shift: what is added, per column.
    """

    terms: dict[Atom, Array]
    shift: Array

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.shift.shape[0])


class Forms:
    """The values of a body as sums.

    Args:
        body: of a Loop: its inputs are the number of the step, a condition, and the states.
        named: values that stay atoms where others use them.

    Attributes:
        meanings: what a NAMED atom is.
    """

    def __init__(self, body: OnnxGraph, named: Collection[Value]) -> None:
        self.meanings: dict[Atom, Sum] = {}
        self._named = set(named)
        self._atoms: dict[object, Atom] = {}
        self._sums: dict[Value, Sum] = {}
        self._joined: dict[Value, list[Sum]] = {}
        self._step = body.inputs[0]
        self._inside = {value for node in body.nodes for value in node.outputs}
        self._inside.update(body.inputs)
        for place, value in enumerate(body.inputs[2:]):
            width = value.size(-1) if value.shape.rank == 2 else None
            if width is not None:
                self._sums[value] = self.one(self.atom(STATE, (place,), width))

    # Making atoms and sums.

    def atom(self, kind: str, of: tuple[Any, ...], width: int) -> Atom:
        """The atom of that kind; the same object for equal ones."""
        key = (kind, width, *(_key(part) for part in of))
        found = self._atoms.get(key)
        if found is None:
            found = self._atoms[key] = Atom(kind, of, width, len(self._atoms))
        return found

    def one(self, atom: Atom) -> Sum:
        """An atom as a sum."""
        return Sum({atom: np.ones(atom.width)}, np.zeros(atom.width))

    def of(self, value: Value) -> Sum:
        """A value of the body as a sum.

        Raises:
            UnconvertibleError: it is none.
        """
        found = self._sums.get(value)
        if found is None:
            found = self._made(value)
            if value in self._named and value in self._inside:
                atom = self.atom(NAMED, (value,), found.width)
                self.meanings[atom] = found
                found = self.one(atom)
            self._sums[value] = found
        return found

    def _made(self, value: Value) -> Sum:
        if value.array is not None:
            raise UnconvertibleError
        if value not in self._inside:
            width = value.size(-1) if value.shape.rank == 2 else None
            if width is None:
                raise UnconvertibleError
            return self.one(self.atom(OTHER, (value,), width))
        node = value.node
        if node is None:
            raise UnconvertibleError
        if node.kind == "Split":
            return self._split(node, value)
        if node.kind in UNARY or node.kind == "HardSigmoid":
            return self._activation(node)
        rule = _RULES.get(node.kind)
        if rule is None:
            raise UnconvertibleError
        return rule(self, node)

    def _same(self, node: Node) -> Sum:
        return self.of(_input(node, 0))

    def _turned(self, node: Node) -> Sum:
        return scaled(self.of(_input(node, 0)), np.array(-1.0))

    def _sum(self, node: Node) -> Sum:
        return added(*self._both(node))

    def _difference(self, node: Node) -> Sum:
        a, b = self._both(node)
        return added(a, scaled(b, np.array(-1.0)))

    def _item(self, node: Node) -> Sum:
        sequence, index = _input(node, 0), _input(node, 1)
        width = sequence.size(-1) if sequence.shape.rank == 3 else None
        if sequence in self._inside or node.attrs.get("axis", 0) != 0 or width is None:
            raise UnconvertibleError
        if sequence.array is not None or not self._is_step_number(index):
            raise UnconvertibleError
        return self.one(self.atom(ITEM, (sequence,), width))

    def _is_step_number(self, value: Value) -> bool:
        while value.node is not None and value.node.kind in {"Cast", "Identity"}:
            value = _input(value.node, 0)
        return value is self._step

    def _product(self, node: Node) -> Sum:
        data, weights = _input(node, 0), constant_input(node, 1)
        if weights is None or weights.ndim != 2 or node.attrs.get("transA", 0):
            raise UnconvertibleError
        if node.attrs.get("transB", 0):
            weights = weights.T
        if node.attrs.get("alpha", 1.0) != 1.0 or node.attrs.get("beta", 1.0) != 1.0:
            raise UnconvertibleError
        total, start = None, 0
        for part in self._parts(data):
            rows = weights[start : start + part.width]
            start += part.width
            made = times(part, rows)
            total = made if total is None else added(total, made)
        if total is None or start != weights.shape[0]:
            raise UnconvertibleError
        if len(node.inputs) > 2 and node.inputs[2] is not None:
            total = added(total, _constant(constant_input(node, 2), total.width))
        return total

    def _parts(self, data: Value) -> list[Sum]:
        """The operands concatenated in a value."""
        node = data.node
        joins = node is not None and node.kind == "Concat" and data in self._inside
        if node is None or not joins or node.attrs["axis"] not in {-1, data.rank - 1}:
            return [self.of(data)]
        return [part for value in node.inputs if value is not None for part in self._parts(value)]

    def _both(self, node: Node) -> tuple[Sum, Sum]:
        a, b = _input(node, 0), _input(node, 1)
        if a.array is not None:
            other = self.of(b)
            return _constant(a.array, other.width), other
        one = self.of(a)
        other = self.of(b) if b.array is None else _constant(b.array, one.width)
        if one.width != other.width:
            raise UnconvertibleError
        return one, other

    def _scaled(self, node: Node) -> Sum:
        a, b = self._both(node)
        if node.kind == "Div":
            if b.terms or not np.all(b.shift):
                raise UnconvertibleError
            return self._weighed(a, 1 / b.shift)
        if not a.terms or not b.terms:
            return self._weighed(b, a.shift) if not a.terms else self._weighed(a, b.shift)
        return self.multiplied(a, b)

    def _weighed(self, total: Sum, factor: Array) -> Sum:
        """A sum times numbers; a ramp from 0 up to 1 is a hard sigmoid."""
        atom = alone(total)
        if atom is not None and atom.kind == "Clip" and np.all(factor == factor[:1]):
            inner, low, high = atom.of
            if low == 0 and abs(high * factor[0] - 1) < _ROUNDING:
                ramp = self.atom("HardSigmoid", (inner, float(factor[0]), 0.0), atom.width)
                return self.one(ramp)
        return scaled(total, factor)

    def multiplied(self, a: Sum, b: Sum) -> Sum:
        """The product, multiplied out where a factor is a short sum such as 1 - z."""
        if _is_short(b) and not _is_short(a):
            a, b = b, a
        if not _is_short(a):
            pair = sorted((self.single(a), self.single(b)), key=lambda atom: atom.number)
            return self.one(self.atom(PRODUCT, tuple(pair), a.width))
        total = scaled(b, a.shift)
        for atom, factor in a.terms.items():
            total = added(total, scaled(self.multiplied(self.one(atom), b), factor))
        return total

    def single(self, total: Sum) -> Atom:
        """A sum as one atom."""
        found = alone(total)
        return self.atom(LINE, (total,), total.width) if found is None else found

    def _activation(self, node: Node) -> Sum:
        total = self.of(_input(node, 0))
        kind = node.kind
        numbers: tuple[float, ...] = ()
        if kind == "Clip":
            ends = [constant_input(node, i) for i in (1, 2)]
            if ends[0] is None or ends[1] is None:
                raise UnconvertibleError
            numbers = (float(ends[0]), float(ends[1]))
        elif kind == "HardSigmoid":
            numbers = (node.attrs.get("alpha", 0.2), node.attrs.get("beta", 0.5))
        elif kind in _DEFAULTS:
            numbers = (float(node.attrs.get("alpha", _DEFAULTS[kind])),)
        return self.one(self.atom(kind, (total, *numbers), total.width))

    def _choice(self, node: Node) -> Sum:
        where = self._truth(_input(node, 0))
        first, second = _input(node, 1), _input(node, 2)
        if first.array is not None:
            raise UnconvertibleError
        one = self.of(first)
        other = self.of(second) if second.array is None else _constant(second.array, one.width)
        if one.width != other.width:
            raise UnconvertibleError
        return self.one(self.atom(CHOICE, (where, one, other), one.width))

    def _truth(self, value: Value) -> Value:
        """The sequence outside of which a column of truth values is an item."""
        if value.shape.rank == 2 and value.size(1) != 1:
            # Repeated along the columns: what is repeated decides.
            before = value.node
            if before is None or before.kind not in {"Tile", "Expand"}:
                raise UnconvertibleError
        while value.node is not None and value in self._inside and value.node.kind in _SHAPED:
            value = _input(value.node, 0)
        node = value.node
        if node is None or node.kind != "Gather" or value not in self._inside:
            raise UnconvertibleError
        sequence = _input(node, 0)
        sizes = list(sequence.shape) if sequence.shape.rank is not None else []
        plain = len(sizes) == 2 or (len(sizes) == 3 and sizes[2] == 1)
        known = sequence not in self._inside and sequence.array is None
        if (
            not plain
            or not known
            or not self._is_step_number(_input(node, 1))
            or not sequence.dtype.is_bool
        ):
            raise UnconvertibleError
        if node.attrs.get("axis", 0) != 0:
            raise UnconvertibleError
        return sequence

    # Columns.

    def _split(self, node: Node, value: Value) -> Sum:
        total = self.of(_input(node, 0))
        widths = [output.size(-1) for output in node.outputs]
        if node.attrs.get("axis", 0) not in {-1, 1} or None in widths:
            raise UnconvertibleError
        place = node.outputs.index(value)
        start = sum(width or 0 for width in widths[:place])
        return self.columns(total, start, start + (widths[place] or 0))

    def _slice(self, node: Node) -> Sum:
        total = self.of(_input(node, 0))
        ends = [constant_input(node, i) for i in (1, 2, 3)]
        steps = constant_input(node, 4) if len(node.inputs) > 4 else np.ones(1)
        if steps is None or np.any(steps != 1):
            raise UnconvertibleError
        known = [int(end[0]) for end in ends if end is not None and end.size == 1]
        if len(known) != len(ends) or known[2] not in {-1, 1}:
            raise UnconvertibleError
        first, last, _ = slice(known[0], known[1]).indices(total.width)
        return self.columns(total, first, last)

    def columns(self, total: Sum, start: int, stop: int) -> Sum:
        """Some columns of a sum."""
        if (start, stop) == (0, total.width):
            return total
        terms: dict[Atom, Array] = {}
        for atom, factor in total.terms.items():
            if factor.ndim == 2:
                terms[atom] = factor[:, start:stop]
            else:
                terms[self._part(atom, start, stop)] = factor[start:stop]
        return Sum(terms, total.shift[start:stop])

    def _part(self, atom: Atom, start: int, stop: int) -> Atom:
        width = stop - start
        if atom.kind == PRODUCT:
            a, b = (self._part(part, start, stop) for part in atom.of)
            pair = sorted((a, b), key=lambda part: part.number)
            return self.atom(PRODUCT, tuple(pair), width)
        if atom.kind == LINE:
            return self.single(self.columns(atom.of[0], start, stop))
        if atom.kind == CHOICE:
            where, a, b = atom.of
            pieces = (self.columns(a, start, stop), self.columns(b, start, stop))
            return self.atom(CHOICE, (where, *pieces), width)
        if atom.kind in UNARY or atom.kind == "HardSigmoid":
            return self.atom(
                atom.kind, (self.columns(atom.of[0], start, stop), *atom.of[1:]), width
            )
        if atom.kind == PART:
            base, first, _ = atom.of
            return self.atom(PART, (base, first + start, first + stop), width)
        return self.atom(PART, (atom, start, stop), width)


_RULES: dict[str, Callable[[Forms, Node], Sum]] = {
    "Add": Forms._sum,
    "Div": Forms._scaled,
    "Gather": Forms._item,
    "Gemm": Forms._product,
    "Identity": Forms._same,
    "MatMul": Forms._product,
    "Mul": Forms._scaled,
    "Neg": Forms._turned,
    "Slice": Forms._slice,
    "Sub": Forms._difference,
    "Where": Forms._choice,
}


# Arithmetic of sums.


def added(a: Sum, b: Sum) -> Sum:
    """a + b."""
    terms = dict(a.terms)
    for atom, factor in b.terms.items():
        before = terms.get(atom)
        if before is None:
            terms[atom] = factor
            continue
        total = _matrix(before) + _matrix(factor) if before.ndim != factor.ndim else before + factor
        terms[atom] = total
        if not np.any(total):
            del terms[atom]
    return Sum(terms, a.shift + b.shift)


def scaled(total: Sum, factor: Array) -> Sum:
    """Every column times a number."""
    return Sum(
        {atom: part * factor for atom, part in total.terms.items() if np.any(factor)},
        total.shift * factor,
    )


def times(total: Sum, weights: Array) -> Sum:
    """A matrix product."""
    terms: dict[Atom, Array] = {}
    for atom, factor in total.terms.items():
        if factor.ndim == 2:
            terms[atom] = factor @ weights
        elif np.all(factor == 1):
            terms[atom] = weights
        else:
            terms[atom] = factor[:, None] * weights
    shift = total.shift @ weights if np.any(total.shift) else np.zeros(weights.shape[1])
    return Sum(terms, shift)


def alone(total: Sum) -> Atom | None:
    """The atom that a sum is, if it is one."""
    if len(total.terms) != 1 or np.any(total.shift):
        return None
    ((atom, factor),) = total.terms.items()
    return atom if factor.ndim == 1 and np.all(factor == 1) else None


def same(a: Sum, b: Sum) -> bool:
    """Whether two sums are equal."""
    return _key(a) == _key(b)


def _is_short(total: Sum) -> bool:
    """Whether to multiply it out: scalars times atoms that are no rows, plus a scalar."""
    if alone(total) is not None or not np.all(total.shift == total.shift[:1]):
        return False
    return all(
        factor.ndim == 1 and np.all(factor == factor[0]) and atom.kind not in {ITEM, PART, OTHER}
        for atom, factor in total.terms.items()
    )


def _matrix(factor: Array) -> Array:
    return np.diag(factor) if factor.ndim == 1 else factor


def _constant(array: Array | None, width: int) -> Sum:
    if array is None or array.ndim > 2 or array.size not in {1, width}:
        raise UnconvertibleError
    if array.size == width != 1 and array.shape[-1] != width:
        raise UnconvertibleError
    return Sum({}, np.broadcast_to(array.reshape(-1).astype(np.float64), (width,)))


def _input(node: Node, index: int) -> Value:
    value = node.inputs[index]
    if value is None:
        raise UnconvertibleError
    return value


def _key(part: object) -> object:
    if isinstance(part, Sum):
        terms = sorted((atom.number, _bytes(factor)) for atom, factor in part.terms.items())
        return (tuple(terms), _bytes(part.shift))
    if isinstance(part, Atom):
        return ("atom", part.number)
    return part if isinstance(part, (int, float)) else id(part)


def _bytes(array: Array) -> tuple[Sequence[int], bytes]:
    import hashlib  # brings OpenSSL, three megabytes, and only loops need it

    plain = np.ascontiguousarray(array + 0.0, np.float64)  # + 0.0: there is one zero
    return plain.shape, hashlib.blake2b(plain.tobytes(), digest_size=16).digest()
