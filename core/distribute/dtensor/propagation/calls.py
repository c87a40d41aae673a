"""What a rule is told of an op, and the table of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pinnace.distribute.dtensor.layout import UNSHARDED
from pinnace.ops.registry import one_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import OpDef

# For each axis a dimension of the mesh, or UNSHARDED.
Specs: TypeAlias = tuple[str, ...]
# The sizes of the axes; None where a graph does not know one.
Sizes: TypeAlias = tuple[int | None, ...]


class Operand(NamedTuple):
    """An input: its specs, its sizes, and its value as far as it is known."""

    specs: Specs
    sizes: Sizes
    value: Array | None = None

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.specs)


class Call(NamedTuple):
    """An op that is run.

    Attributes:
        op: the op.
        inputs: its inputs, those of lists one by one.
        attrs: its attributes.
        sizes: for each output its sizes.
    """

    op: OpDef
    inputs: tuple[Operand, ...]
    attrs: dict[str, Any]
    sizes: tuple[Sizes, ...]

    def attr(self, name: str) -> Any:
        """An attribute, its default if it was not given."""
        return self.attrs[name] if name in self.attrs else self.op.default(name)


# From a call to the specs of its outputs, or of the first: the others have the same.
Rule: TypeAlias = "Callable[[Call], Sequence[Specs] | Specs]"
_rules: dict[str, Rule] = {}


def rule_of(*names: str) -> Callable[[Rule], Rule]:
    """Make the function that follows the rule of the ops of these names."""

    def register(rule: Rule) -> Rule:
        for name in names:
            _rules[name] = rule
        return rule

    return register


def found_rule(op: OpDef) -> Rule | None:
    """The rule of an op, None if it has none: its outputs are whole on every device."""
    rule = _rules.get(op.name)
    if rule is None and (op.elementwise or op.infer is one_shape):
        return _rules["AddV2"]
    return rule


def whole(rank: int) -> Specs:
    """The specs of a tensor that is not divided."""
    return (UNSHARDED,) * rank


def merged(rank: int, all_specs: Sequence[Specs]) -> Specs:
    """What operands that are broadcast to each other amount to.

    The first operand that divides an axis says along what. A dimension of the mesh that divides
    different axes of different operands divides none of them.
    """
    found = [UNSHARDED] * rank
    axes: dict[str, set[int]] = {}
    for specs in all_specs:
        for axis, spec in enumerate(specs, rank - len(specs)):
            if spec == UNSHARDED:
                continue
            if found[axis] == UNSHARDED:
                found[axis] = spec
            axes.setdefault(spec, set()).add(axis)
    for places in axes.values():
        if len(places) > 1:
            for axis in places:
                found[axis] = UNSHARDED
    return tuple(found)


def distinct(specs: Sequence[str]) -> Specs:
    """The specs, without dimensions of the mesh that stand more than once."""
    return tuple(spec if list(specs).count(spec) == 1 else UNSHARDED for spec in specs)


def normalized(axes: Sequence[int], rank: int) -> set[int]:
    """Axes counted from the front."""
    return {int(axis) % rank for axis in axes} if rank else set()
