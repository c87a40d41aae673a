"""A normal form of loop bodies: sums of products, equal for equal cells however they are written.

In a step, a value is a row per example. It becomes a `Sum`: constants times atoms, plus a constant.
Atoms are states, rows of sequences, and values that are not sums: activations and products of two
values. Equal atoms are one object, so forms are compared by identity.

Subclasses of `Forms` interpret the operators of a particular kind of graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from pinnace.deploy.refusals import UnconvertibleError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.framework.tensor import Array

STATE, ITEM, OTHER, NAMED = "state", "item", "other", "named"
PART, LINE = "part", "line"
PRODUCT, CHOICE = "product", "choice"
# Activations of ONNX's recurrent operators, and Clip, which is part of one.
UNARY = frozenset({"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus", "Elu", "LeakyRelu", "Clip"})
_ROUNDING = 1e-6  # the tolerance of a float32 constant 1 / 6
V = TypeVar("V")


class Atom:
    """A term of a sum; `kind` determines the meaning of `of`.

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
    """A linear combination of atoms, plus a constant.

    Attributes:
        terms: atom -> a factor per column, or a matrix [columns of the atom, columns].
        shift: the constant, per column.
    """

    terms: dict[Atom, Array]
    shift: Array

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.shift.shape[0])


class Forms(ABC, Generic[V]):
    """The values of a body as sums.

    Args:
        states: value of the body -> index and size of the state that it is, for rows.
        named: values of the body that remain atoms where other values use them.

    Attributes:
        meanings: NAMED atom -> its value as a sum.
    """

    def __init__(self, states: Mapping[V, tuple[int, int]], named: Collection[V]) -> None:
        self.meanings: dict[Atom, Sum] = {}
        self._named = set(named)
        self._atoms: dict[object, Atom] = {}
        self._states = {
            place: self.atom(STATE, (place,), width) for place, width in states.values()
        }
        self._sums: dict[V, Sum] = {
            value: self.one(self._states[place]) for value, (place, _) in states.items()
        }

    @abstractmethod
    def made(self, value: V) -> Sum:
        """The sum that the operator behind a value computes.

        Raises:
            UnconvertibleError: the operator is not known, or computes no sum.
        """

    @abstractmethod
    def is_inside(self, value: V) -> bool:
        """Whether a value is computed in the body, or is an argument that changes in each step."""

    # Construction of atoms and sums.

    def atom(self, kind: str, of: tuple[Any, ...], width: int) -> Atom:
        """The atom of a kind; equal atoms are the same object."""
        key = (kind, width, *(_key(part) for part in of))
        found = self._atoms.get(key)
        if found is None:
            found = self._atoms[key] = Atom(kind, of, width, len(self._atoms))
        return found

    def state(self, place: int) -> Atom:
        """The atom of a state.

        Raises:
            UnconvertibleError: the state is not a row of known size.
        """
        found = self._states.get(place)
        if found is None:
            raise UnconvertibleError
        return found

    def one(self, atom: Atom) -> Sum:
        """An atom as a sum."""
        return Sum({atom: np.ones(atom.width)}, np.zeros(atom.width))

    def of(self, value: V) -> Sum:
        """A value of the body as a sum.

        Raises:
            UnconvertibleError: the value is not a sum.
        """
        found = self._sums.get(value)
        if found is None:
            found = self.made(value)
            if value in self._named and self.is_inside(value):
                atom = self.atom(NAMED, (value,), found.width)
                self.meanings[atom] = found
                found = self.one(atom)
            self._sums[value] = found
        return found

    def product(self, parts: Sequence[Sum], weights: Array) -> Sum:
        """The concatenation of rows times a matrix.

        Raises:
            UnconvertibleError: the sizes do not match.
        """
        total, start = None, 0
        for part in parts:
            rows = weights[start : start + part.width]
            start += part.width
            made = times(part, rows)
            total = made if total is None else added(total, made)
        if total is None or start != weights.shape[0]:
            raise UnconvertibleError
        return total

    def ratio(self, a: Sum, b: Sum) -> Sum:
        """A sum divided by constants other than 0.

        Raises:
            UnconvertibleError: the divisor is not constant, or contains 0.
        """
        if b.terms or not np.all(b.shift):
            raise UnconvertibleError
        return self.weighed(a, 1 / b.shift)

    def both(self, a: Sum, b: Sum) -> Sum:
        """The product of two sums, one of which may be constant."""
        if not a.terms or not b.terms:
            return self.weighed(b, a.shift) if not a.terms else self.weighed(a, b.shift)
        return self.multiplied(a, b)

    def activated(self, kind: str, total: Sum, *numbers: float) -> Sum:
        """An activation applied to a sum."""
        return self.one(self.atom(kind, (total, *numbers), total.width))

    def chosen(self, where: V, one: Sum, other: Sum) -> Sum:
        """A selection between two sums.

        Args:
            where: the sequence of bools.
            one: the sum where they are true.
            other: the sum where they are false.
        """
        if one.width != other.width:
            raise UnconvertibleError
        return self.one(self.atom(CHOICE, (where, one, other), one.width))

    def weighed(self, total: Sum, factor: Array) -> Sum:
        """A sum times constants; a ramp from 0 to 1 becomes a hard sigmoid."""
        atom = alone(total)
        if atom is not None and atom.kind == "Clip" and np.all(factor == factor[:1]):
            inner, low, high = atom.of
            if low == 0 and abs(high * factor[0] - 1) < _ROUNDING:
                ramp = self.atom("HardSigmoid", (inner, float(factor[0]), 0.0), atom.width)
                return self.one(ramp)
        return scaled(total, factor)

    def multiplied(self, a: Sum, b: Sum) -> Sum:
        """The product of two sums, expanded if a factor is a short sum such as 1 - z."""
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
        """A sum as a single atom."""
        found = alone(total)
        return self.atom(LINE, (total,), total.width) if found is None else found

    # Columns.

    def columns(self, total: Sum, start: int, stop: int) -> Sum:
        """A range of columns of a sum."""
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
    """Every column times a constant."""
    return Sum(
        {atom: part * factor for atom, part in total.terms.items() if np.any(factor)},
        total.shift * factor,
    )


def times(total: Sum, weights: Array) -> Sum:
    """A sum times a matrix."""
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
    """The atom if a sum is a single one with factor 1, else None."""
    if len(total.terms) != 1 or np.any(total.shift):
        return None
    ((atom, factor),) = total.terms.items()
    return atom if factor.ndim == 1 and np.all(factor == 1) else None


def same(a: Sum, b: Sum) -> bool:
    """Whether two sums are equal."""
    return _key(a) == _key(b)


def _is_short(total: Sum) -> bool:
    """Whether to expand products with it: scalars times atoms that are no rows, plus a scalar."""
    if alone(total) is not None or not np.all(total.shift == total.shift[:1]):
        return False
    return all(
        factor.ndim == 1 and np.all(factor == factor[0]) and atom.kind not in {ITEM, PART, OTHER}
        for atom, factor in total.terms.items()
    )


def _matrix(factor: Array) -> Array:
    return np.diag(factor) if factor.ndim == 1 else factor


def constant(array: Array | None, width: int) -> Sum:
    """A constant as a sum, with one number per column, or one for all.

    Raises:
        UnconvertibleError: the array is unknown, or has another size.
    """
    if array is None or array.ndim > 2 or array.size not in {1, width}:
        raise UnconvertibleError
    if array.size == width != 1 and array.shape[-1] != width:
        raise UnconvertibleError
    return Sum({}, np.broadcast_to(array.reshape(-1).astype(np.float64), (width,)))


def _key(part: object) -> object:
    if isinstance(part, Sum):
        terms = sorted((atom.number, _bytes(factor)) for atom, factor in part.terms.items())
        return (tuple(terms), _bytes(part.shift))
    if isinstance(part, Atom):
        return ("atom", part.number)
    return part if isinstance(part, (int, float)) else id(part)


def _bytes(array: Array) -> tuple[Sequence[int], bytes]:
    import hashlib  # imported here: it loads OpenSSL, three megabytes, and only loops need it

    plain = np.ascontiguousarray(array + 0.0, np.float64)  # + 0.0 turns -0 into 0
    return plain.shape, hashlib.blake2b(plain.tobytes(), digest_size=16).digest()
