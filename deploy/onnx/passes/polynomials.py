"""Values as polynomials in other values, a normal form of formulas."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input

# Monomial -> factor; a monomial is a sorted tuple of values, repeated for powers.
Monomial: TypeAlias = tuple[Value, ...]
Polynomial: TypeAlias = dict[Monomial, float]

_MOST = 6  # the largest number of monomials, and of values in one
_CLOSE = 1e-5  # relative: constants are float32, and products of these


class Reader:
    """Reads values as polynomials.

    Args:
        atoms: values that are not expanded.
        inverses: value -> the atom that is its reciprocal.
    """

    def __init__(self, atoms: Collection[Value], inverses: Mapping[Value, Value] = {}) -> None:
        self._inverses = inverses
        self._known: dict[Value, Polynomial] = {value: {(value,): 1.0} for value in atoms}

    def of(self, value: Value) -> Polynomial:
        """A value as a polynomial; the value itself if it has no short one."""
        found = self._known.get(value)
        if found is None:
            found = self._read(value)
            if found is None or len(found) > _MOST or any(len(part) > _MOST for part in found):
                found = {(value,): 1.0}
            self._known[value] = found
        return found

    def _read(self, value: Value) -> Polynomial | None:
        if value.array is not None:
            single = value.array.size == 1 and value.dtype.is_floating
            return {(): float(value.array.reshape(-1)[0])} if single else None
        node = value.node
        if node is None or len(node.outputs) != 1:
            return None
        parts = [operand for operand in node.inputs if operand is not None]
        rule = _RULES.get(node.kind)
        if rule is not None:
            return rule(*(self.of(part) for part in parts))
        if node.kind == "Div":
            return self._divided(parts[0], parts[1])
        if node.kind == "Pow":
            return self._power(node)
        return None

    def _divided(self, a: Value, b: Value) -> Polynomial | None:
        inverse = self._inverses.get(b)
        if inverse is not None:
            return _product(self.of(a), {(inverse,): 1.0})
        below = self.of(b)
        if list(below) != [()] or not below[()]:
            return None
        return {part: factor / below[()] for part, factor in self.of(a).items()}

    def _power(self, node: Node) -> Polynomial | None:
        exponent, base = constant_input(node, 1), node.inputs[0]
        if exponent is None or base is None or exponent.size != 1:
            return None
        power = float(exponent.reshape(-1)[0])
        if power not in {2.0, 3.0}:
            return None
        first = self.of(base)
        total = _product(first, first)
        return _product(total, first) if power == 3.0 else total


def _sum(a: Polynomial, b: Polynomial, sign: float = 1.0) -> Polynomial:
    total = dict(a)
    for part, factor in b.items():
        total[part] = total.get(part, 0.0) + sign * factor
    return {part: factor for part, factor in total.items() if factor}


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for first, one in a.items():
        for second, other in b.items():
            part = monomial(*first, *second)
            total[part] = total.get(part, 0.0) + one * other
    return total


_RULES: dict[str, Callable[..., Polynomial]] = {
    "Add": _sum,
    "Sub": lambda a, b: _sum(a, b, -1.0),
    "Mul": _product,
    "Neg": lambda a: {part: -factor for part, factor in a.items()},
    "Identity": dict,
}
# The operators that polynomials are recognised in.
WRITTEN = frozenset({*_RULES, "Div", "Pow", "Reciprocal"})


def monomial(*values: Value) -> Monomial:
    """The product of values."""
    return tuple(sorted(values, key=id))


def close(a: Polynomial, b: Polynomial) -> bool:
    """Whether two polynomials are equal up to the rounding of constants."""
    return a.keys() == b.keys() and all(
        abs(factor - b[part]) <= _CLOSE * abs(b[part]) for part, factor in a.items()
    )


def built_on(
    start: Value, users: Mapping[Value, list[Node]], kinds: Collection[str], steps: int
) -> list[Value]:
    """The values computed from one by nodes of these kinds within a number of steps; in order."""
    found: dict[Value, None] = {}
    front = [start]
    for _ in range(steps):
        front = [
            output
            for value in front
            for user in users.get(value, ())
            if user.kind in kinds
            for output in user.outputs
        ]
        for value in front:
            found.pop(value, None)
            found[value] = None
    return list(found)
