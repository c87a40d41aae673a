"""Float32 array steps as statements of one kernel: products, elementwise groups, views.

Elementwise steps of one shape become one loop, in any order: there are no effects here. The storage
of values is in `engine.codegen.places`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen.array_steps import (
    UnsupportedError,
    flips,
    is_elementwise,
    is_made,
    lies_as,
    numbers_used,
)
from pinnace.engine.codegen.behind_splits import BehindSplits
from pinnace.engine.codegen.forms import written
from pinnace.engine.codegen.nests import LOOP, VIEWS
from pinnace.engine.codegen.places import NO_SCALARS, PANEL, Place, Places
from pinnace.engine.codegen.product_sums import ProductSum, product_sums
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.graph.walk import users

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value


class Statements(Places):
    """The source of array steps, and the tables that it needs.

    Args:
        sizes, known, scalars: see `Places`.

    Attributes:
        lines: the statements.
        sums: destinations that products are accumulated into, by the product's step.
        copies: further destinations of values. Elementwise steps write them directly.
        copied: the values in `copies` that are written.
        may_leave: whether an iteration may be left after some of its statements.
        refuses: whether the kernel may return early, with 1, for unsupported numbers.
    """

    def __init__(
        self,
        sizes: Mapping[Value, tuple[int, ...]],
        known: Mapping[Value, Array],
        scalars: Mapping[Value, str] = NO_SCALARS,
    ) -> None:
        super().__init__(sizes, known, scalars)
        self._parts: dict[Node, list[tuple[Value, Place]]] = {}
        self.lines: list[str] = []
        self.sums: dict[Node, Place] = {}
        self.copies: dict[Value, list[Place]] = {}
        self.copied: set[tuple[Value, Place]] = set()
        self.may_leave = self.refuses = False
        self._names = 0
        self._added: dict[Node, ProductSum] = {}
        self._packed: dict[tuple[Value, bool], str] = {}
        self._zeros = self._reserve(PANEL)
        self.before.append(f"fill({self._zeros}, {PANEL}, 0.0)")

    # Steps.

    def write(self, nodes: Sequence[Node], homes: dict[Value, Place], wanted: set[Value]) -> None:
        """Generate the statements of these steps.

        Args:
            nodes: the steps in execution order.
            homes: destinations of some of the values.
            wanted: values that are used outside of these steps.

        Raises:
            UnsupportedError: one of them has no statement.
        """
        self._homes = homes
        self._wanted = wanted
        nodes = self._rearranged(nodes)
        self._uses = users(nodes)
        for node in nodes:
            if node.op.moves == "concatenate":
                self._prepare_concat(node)
        pending = list(nodes)
        while pending:
            ready = [
                node
                for node in pending
                if not is_elementwise(node) and all(map(self._is_there, self._needed(node)))
            ]
            for node in ready:
                self._single(node)
            if not ready:
                ready = self._group(pending)
                if not ready:
                    raise UnsupportedError(f"{pending[0]}: its inputs are never computed")
                self._elementwise(ready)
            done = set(ready)
            pending = [node for node in pending if node not in done]

    def _rearranged(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """The steps without product sums, and without splits of purely intermediate values."""
        kept = {*self._wanted, *self._homes, *self.copies}
        sums = product_sums(nodes, self.size, kept, self.sums)
        for one in sums:
            self._added[one.second] = one
            if one.total in self._homes:
                self._homes[one.first] = self._homes[one.total]
        totals = {one.total for one in sums}
        left = [node for node in nodes if not totals & set(node.outputs)]
        behind = BehindSplits(left, self.size, self._constant, kept)
        self._narrow.update(behind.shapes)
        return behind.nodes

    def _needed(self, node: Node) -> Sequence[Value]:
        """The pending steps that must precede a step that is not elementwise."""
        sum_of = self._added.get(node)
        return node.inputs if sum_of is None else (*node.inputs, sum_of.first)

    def _single(self, node: Node) -> None:
        """Generate the statements of a step that is not elementwise."""
        raise NotImplementedError

    def _home(self, value: Value) -> Place:
        """The destination of a value."""
        home = self._homes.get(value)
        if home is None:
            home = self.reserve(self.size(value))
        self.places[value] = home
        return home

    def _whole_home(self, value: Value) -> Place:
        """The destination of a value with contiguous rows."""
        home = self._home(value)
        if not home.whole:
            raise UnsupportedError(f"{value}: its rows are not contiguous")
        return home

    def _whole(self, value: Value) -> Place:
        """The storage of a value with contiguous rows."""
        place = self._place(value)
        if place.whole:
            return place
        if value.dtype is dtypes.bool:
            raise UnsupportedError(f"{value}: its rows of dtype bool are not contiguous")
        whole = self.reserve(self.size(value))
        self.lines.append(self.copy(value, whole))
        return whole

    # Elementwise steps.

    def _group(self, pending: Sequence[Node]) -> list[Node]:
        """Steps of one shape that depend only on each other and on available values."""
        group: list[Node] = []
        made: set[Value] = set()
        shape = None
        for node in pending:  # in execution order, so that one pass finds them all
            if not is_elementwise(node):
                continue
            own = self.size(node.outputs[0])
            if shape not in {None, own}:
                continue
            if all(value in made or self._is_there(value) for value in numbers_used(node)):
                group.append(node)
                made.add(node.outputs[0])
                shape = own
        return group

    def _elementwise(self, group: Sequence[Node]) -> None:
        lines: list[str] = []
        made = {node.outputs[0] for node in group}
        inside = set(group)
        shape = self.size(group[0].outputs[0])
        inputs = dict.fromkeys(
            value for node in group for value in numbers_used(node) if value not in made
        )
        kept = [
            value
            for value in (node.outputs[0] for node in group)
            if value in self._wanted
            or any(user not in inside for user in self._uses.get(value, ()))
        ]
        names: dict[Value, str] = {}
        kinds = {}
        for value in inputs:
            array = constant_of(value)
            if value in self._scalars:
                names[value] = f"a{len(names)}"
                lines.append(f"{names[value]} = T({self._scalars[value]})")
            elif array is not None and array.size == 1 and np.isfinite(array).all():
                names[value] = f"T({array.item()!r})"
            else:
                kinds[value] = lies_as(self.size(value), shape)
                names[value] = f"a{len(names)}"
        places = {value: self._place(value) for value in kinds}
        targets = [(value, self._home(value)) for value in kept]
        targets += [(value, place) for value in kept for place in self.copies.get(value, ())]
        self.copied.update(targets)
        flat = not {"row", "column"} & set(kinds.values()) and all(
            place.whole
            for value, place in (*places.items(), *targets)
            if kinds.get(value) != "scalar"
        )
        for value, kind in kinds.items():
            lines.append(f"{names[value]} = {_view(kind, places[value], value.dtype)}")
        for index, node in enumerate(group):
            text = written(node, [names.get(value, "") for value in node.inputs])
            names[node.outputs[0]] = f"t{index}"
            lines.append(f"t{index} = T({text})")
        for value, place in dict.fromkeys(targets):
            lines.append(f"{_view('full', place, value.dtype)} = {names[value]}")
        rows, columns = self._spans(shape, flat)
        self.lines.append(f"for r, c in {LOOP}(({rows}), ({columns})):")
        self.lines += [f"    {line}" for line in lines]

    def _spans(self, shape: tuple[int, ...], flat: bool) -> tuple[str, str]:
        """The ranges of an elementwise loop: rows and columns."""
        rows, width = math.prod(shape[:-1]), shape[-1] if shape else 1
        if not self.in_parts:
            return ("0, 1", f"0, {rows * width}") if flat else (f"0, {rows}", f"0, {width}")
        if flat:
            return "0, 1", self._part(math.prod(shape[1:]))
        return self._part(math.prod(shape[1:-1])), f"0, {width}"

    # Other steps.

    def _pass(self, node: Node) -> None:
        """Record a reshaped value, which has the same numbers."""
        source, value = node.inputs[0], node.outputs[0]
        if math.prod(self.size(value)) != math.prod(self.size(source)):
            raise UnsupportedError(f"{node}: the number of elements changes")
        self._hand_on(value, self.at(self._whole(source).address, self.size(value)))

    def _repeat(self, node: Node) -> None:
        """Store a broadcast value once; elementwise steps broadcast it when they read it."""
        source, value = node.inputs[0], node.outputs[0]
        if self.size(source) == self.size(value):
            self._pass(node)
            return
        lies_as(self.size(source), self.size(value))
        is_put = value in self._wanted or value in self._homes or value in self.copies
        if is_put or not all(map(is_elementwise, self._uses.get(value, ()))):
            raise UnsupportedError(f"{node}: its result is used by other than elementwise steps")
        self.places[value] = self._place(source)
        self._narrow[value] = self.size(source)

    def _hand_on(self, value: Value, place: Place) -> None:
        """Record a view of a value, or copy the value if it has a destination."""
        self.places[value] = place
        home = self._homes.get(value)
        if home is not None:
            self.lines.append(self.copy(value, home))
            self.places[value] = home

    def _prepare_concat(self, node: Node) -> None:
        """Compute the inputs of a concatenation in place, if possible."""
        *parts, axis = node.inputs
        value = node.outputs[0]
        shape = self.size(value)
        known = self._constant(axis)
        if known is None or not shape or int(known.reshape(-1)[0]) % len(shape) != len(shape) - 1:
            raise UnsupportedError(f"{node}: only along the last axis")
        whole = self._homes.get(value) or self.reserve(shape)
        self._homes[value] = whole
        self._parts[node] = []
        at = 0
        for part in parts:
            home = Place(f"{whole.address} + 4 * {at}", whole.step, False)
            at += self.size(part)[-1]
            if part not in self._homes and parts.count(part) == 1 and is_made(part.node):
                self._homes[part] = home
            self._parts[node].append((part, home))

    def _concat(self, node: Node) -> None:
        for part, home in self._parts[node]:
            if self.places.get(part) != home:
                self.lines.append(self.copy(part, home))
        self.places[node.outputs[0]] = self._homes[node.outputs[0]]

    def _product(self, node: Node) -> None:
        a, b = node.inputs
        flip_a, flip_b = flips(node)
        if any(len(size) < 2 or math.prod(size[:-2]) != 1 for size in map(self.size, (a, b))):
            raise UnsupportedError(f"{node}: an operand is not a matrix")
        k, m = self.size(a)[-2:] if flip_a else self.size(a)[:-3:-1]
        n = self.size(b)[-2 if flip_b else -1]
        if not k:
            raise UnsupportedError(f"{node}: an empty sum")
        left = self._place(a)
        steps = f"1, {left.step}" if flip_a else f"{left.step}, 1"
        c = self.sums.get(node)
        if node in self._added:
            _, _, total = self._added[node]
            c = self.places[total] = self.places[self._added[node].first]
        mode = int(c is not None)
        if c is None:
            c = self._home(node.outputs[0])
        from_a, into, rows = left.address, c.address, str(m)
        terms, panels = str(k), self._panels(b, flip_b)
        if self.in_parts and node in self.sums:
            # The sum is over the rows of both.
            right = self._place(b)
            from_a = f"{from_a} + 4 * first * {left.step}"
            panels = f"{right.address} + 4 * first * {right.step}, {right.step}, ACROSS"
            terms = "(end - first)"
        elif self.in_parts:
            from_a, into = f"{from_a} + 4 * first * {left.step}", f"{into} + 4 * first * {c.step}"
            rows = "(end - first)"
        self.lines.append(
            f"multiply({from_a}, {steps}, {panels}, {into}, {c.step}, "
            f"{rows}, {terms}, {n}, {self._zeros}, {mode})"
        )

    def is_steady(self, value: Value) -> bool:
        """Whether a matrix is available before the kernel starts, and does not change."""
        return value in self._steady or self._constant(value) is not None

    def multiply_ahead(self, node: Node, address: str, times: int, target: Place) -> None:
        """Compute a product in advance for many left-hand matrices, one after the other.

        Args:
            node: the product, whose right-hand matrix does not change.
            address: address of the first left-hand matrix.
            times: their number.
            target: the storage of all results.

        Raises:
            UnsupportedError: they are transposed, or not matrices.
        """
        a, b = node.inputs
        flip_a, flip_b = flips(node)
        rows, k = self.size(a)
        if flip_a or len(self.size(b)) != 2:
            raise UnsupportedError(f"{node}: not a product of rows with a matrix")
        n, many = self.size(b)[-2 if flip_b else -1], times * rows
        panels = self._panels(b, flip_b)
        self.before.append(
            f"multiply({address}, {k}, 1, {panels}, {target.address}, {target.step}, "
            f"{many}, {k}, {n}, {self._zeros}, 0)"
        )

    def _panels(self, b: Value, flip: bool) -> str:
        """The packed panels of a right-hand matrix, with strides."""
        shape, place = self.size(b), self._place(b)
        steady = b in self._steady
        if not flip and not steady:
            return f"{place.address}, {place.step}, ACROSS"
        key = (b, flip)
        found = self._packed.get(key)
        if found is None:
            k, n = shape[:-3:-1] if flip else shape[-2:]
            address = self._reserve(k * -(-n // PANEL) * PANEL)
            steps = f"1, {place.step}" if flip else f"{place.step}, 1"
            line = f"pack({place.address}, {steps}, {k}, {n}, {address})"
            (self.before if steady else self.lines).append(line)
            found = self._packed[key] = f"{address}, ACROSS, {k} * ACROSS"
        return found

    def _sum(self, node: Node) -> None:
        """Sum over all rows."""
        value = node.inputs[0]
        if node.attrs.get("data_format") == "NCHW":
            raise UnsupportedError(f"{node}: the format is channels first")
        shape = self.size(value)
        source, home = self._place(value), self._home(node.outputs[0])
        rows, width = math.prod(shape[:-1]), shape[-1]
        self.lines.append(
            f"sum_rows({source.address}, {source.step}, {home.address}, {rows}, {width})"
        )


def _view(kind: str, place: Place, dtype: DType) -> str:
    """A number of a value in an elementwise loop."""
    size = 1 if dtype is dtypes.bool else 4
    step = f", {size} * {place.step}" if kind in {"full", "column"} else ""
    return f'{VIEWS[dtype.name]}("{kind}", {place.address}{step})[r, c]'
