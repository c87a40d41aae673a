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
from pinnace.engine.codegen.places import PANEL, Place, Places
from pinnace.engine.codegen.product_sums import ProductSum, product_sums
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.graph import constant_of
from pinnace.ops.array import slicing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value


class Statements(Places):
    """The source of array steps, and the tables that it needs.

    Args:
        sizes: the shape of each value at one call.
        scalars: names of the scalars in registers, by value.
        known: what is the same at every call with these sizes, besides constants.

    Attributes:
        lines: the statements.
        sums: destinations that products are accumulated into, by the product's step.
        copies: further destinations of values. Elementwise steps write them directly.
        copied: those of `copies` that are written.
        may_leave: whether an iteration may be left after some of its statements.
    """

    def __init__(
        self,
        sizes: Mapping[Value, tuple[int, ...]],
        scalars: Mapping[Value, str],
        known: Mapping[Value, Array],
    ) -> None:
        super().__init__(sizes, scalars, known)
        self._parts: dict[Node, list[tuple[Value, Place]]] = {}
        self.lines: list[str] = []
        self.sums: dict[Node, Place] = {}
        self.copies: dict[Value, list[Place]] = {}
        self.copied: set[tuple[Value, Place]] = set()
        self.may_leave = False
        self._added: dict[Node, ProductSum] = {}
        self._packed: dict[tuple[Value, bool], str] = {}
        self._zeros = self._reserve(PANEL)
        self.before.append(f"fill({self._zeros}, {PANEL}, 0.0)")

    # Steps.

    def write(self, nodes: Sequence[Node], homes: dict[Value, Place], wanted: set[Value]) -> None:
        """Generate the statements of these steps.

        Args:
            nodes: in execution order.
            homes: destinations of some of the values.
            wanted: values that are used outside of these steps.

        Raises:
            UnsupportedError: one of them has no statement.
        """
        self._homes = homes
        self._wanted = wanted
        nodes = self._rearranged(nodes)
        uses: dict[Value, list[Node]] = {}
        for node in nodes:
            for value in node.inputs:
                uses.setdefault(value, []).append(node)
        self._uses = uses
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
                    raise UnsupportedError(f"{pending[0]}: cannot be reached")
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
        write = _writer(node)
        if write is None:
            raise UnsupportedError(f"{node.op.name} has no statement")
        takes_truths = node.op.view or node.op.moves == "repeat"
        kinds = {dtypes.float32, dtypes.bool} if takes_truths else {dtypes.float32}
        if any(value.dtype not in kinds for value in node.outputs):
            raise UnsupportedError(f"{node.op.name} does not give float32")
        write(self, node)

    def _home(self, value: Value) -> Place:
        """The destination of a value."""
        home = self._homes.get(value)
        if home is None:
            home = self.reserve(self.size(value))
        self.places[value] = home
        return home

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
        made = {node.outputs[0] for node in group}
        inside = set(group)
        shape = self.size(group[0].outputs[0])
        inputs = dict.fromkeys(
            value for node in group for value in numbers_used(node) if value not in made
        )
        kept = [
            value
            for value in made
            if value in self._wanted
            or any(user not in inside for user in self._uses.get(value, ()))
        ]
        kept.sort(key=[node.outputs[0] for node in group].index)
        names: dict[Value, str] = {}
        kinds = {}
        for value in inputs:
            if value in self._scalars:
                names[value] = f"T({self._scalars[value]})"
                continue
            array = constant_of(value)
            if array is not None and array.size == 1 and np.isfinite(array).all():
                names[value] = f"T({array.item()!r})"
                continue
            kinds[value] = lies_as(self.size(value), shape)
            names[value] = f"a{len(kinds)}"
        places = {value: self._place(value) for value in kinds}
        targets = [(value, self._home(value)) for value in kept]
        targets += [(value, place) for value in kept for place in self.copies.get(value, ())]
        self.copied.update(targets)
        flat = not {"row", "column"} & set(kinds.values()) and all(
            place.whole
            for value, place in (*places.items(), *targets)
            if kinds.get(value) != "scalar"
        )
        rows = 1 if flat else math.prod(shape[:-1])
        columns = math.prod(shape) if flat else (shape[-1] if shape else 1)
        width = columns
        outer: list[str] = []
        inner: list[str] = []
        ahead: list[str] = []
        for value, kind in kinds.items():
            place, name = places[value], names[value]
            view, bytes_each = ("truths", 1) if value.dtype is dtypes.bool else ("floats", 4)
            at = f"{place.address} + {bytes_each} * r * {place.step}"
            if kind == "scalar":
                ahead.append(f"{name} = {view}({place.address}, 1)[0]")
            elif kind == "row":
                ahead.append(f"x{name} = {view}({place.address}, {width})")
                inner.append(f"{name} = x{name}[c]")
            elif kind == "column":
                outer.append(f"{name} = {view}({at}, 1)[0]")
            else:
                outer.append(f"x{name} = {view}({at}, {width})")
                inner.append(f"{name} = x{name}[c]")
        for index, (_, place) in enumerate(targets):
            outer.append(f"z{index} = floats({place.address} + 4 * r * {place.step}, {width})")
        for index, node in enumerate(group):
            inner.append(
                f"t{index} = T({written(node, [names.get(value, '') for value in node.inputs])})"
            )
            names[node.outputs[0]] = f"t{index}"
        inner += [f"z{index}[c] = {names[value]}" for index, (value, _) in enumerate(targets)]
        down, across = self._spans(shape, flat, rows, width)
        self.lines += ahead
        self.lines.append(f"for r in range({down}):")
        self.lines += [f"    {line}" for line in outer]
        self.lines.append(f"    for c in range({across}):")
        self.lines += [f"        {line}" for line in inner]

    def _spans(self, shape: tuple[int, ...], flat: bool, rows: int, width: int) -> tuple[str, str]:
        """The ranges of an elementwise loop: rows and columns."""
        if not self.in_parts:
            return str(rows), str(width)
        if flat:
            return str(rows), self._part(math.prod(shape[1:]))
        return self._part(math.prod(shape[1:-1])), str(width)

    # Other steps.

    def _pass(self, node: Node) -> None:
        """A reshaped value is the same numbers."""
        source, value = self._place(node.inputs[0]), node.outputs[0]
        if math.prod(self.size(value)) != math.prod(self.size(node.inputs[0])):
            raise UnsupportedError(f"{node}: another size")
        if not source.whole:
            if value.dtype is dtypes.bool:
                raise UnsupportedError(f"{node}: part of truth values")
            whole = self.reserve(self.size(node.inputs[0]))
            self.lines.append(self.copy(node.inputs[0], whole))
            source = whole
        self._hand_on(value, self.at(source.address, self.size(value)))

    def _repeat(self, node: Node) -> None:
        """A broadcast value is stored once; elementwise steps broadcast it when they read."""
        source, value = node.inputs[0], node.outputs[0]
        if self.size(source) == self.size(value):
            self._pass(node)
            return
        lies_as(self.size(source), self.size(value))
        is_put = value in self._wanted or value in self._homes or value in self.copies
        if is_put or not all(map(is_elementwise, self._uses.get(value, ()))):
            raise UnsupportedError(f"{node}: repeated for more than elementwise steps")
        self.places[value] = self._place(source)
        self._narrow[value] = self.size(source)

    def _hand_on(self, value: Value, place: Place) -> None:
        """A view of a value; copied if it has a destination."""
        self.places[value] = place
        home = self._homes.get(value)
        if home is not None:
            self.lines.append(self.copy(value, home))
            self.places[value] = home

    def _split(self, node: Node) -> None:
        by_size = node.op.name == "SplitV"
        value = node.inputs[0 if by_size else 1]
        shape = self.size(value)
        axis = self._constant(node.inputs[2 if by_size else 0])
        if axis is None or not shape or int(axis.reshape(-1)[0]) % len(shape) != len(shape) - 1:
            raise UnsupportedError(f"{node}: only the last axis can be split")
        source, at = self._place(value), 0
        for output in node.outputs:
            place = Place(f"{source.address} + 4 * {at}", source.step, False)
            at += self.size(output)[-1]
            self._hand_on(output, place)

    def _slice(self, node: Node) -> None:
        """Contiguous columns."""
        value, *bounds = node.inputs
        output = node.outputs[0]
        shape = self.size(value)
        known = [self._constant(one) for one in bounds]
        if not shape or any(one is None for one in known):
            raise UnsupportedError(f"{node}: bounds that are not known")
        begin, end, strides = (np.asarray(one).tolist() for one in known)
        masks = tuple(node.attrs[name] for name in slicing.MASKS)
        try:
            *index, _ = slicing.index_of(node.op.name, shape, (begin, end, strides), masks)
        except InvalidArgumentError as error:
            raise UnsupportedError(str(error)) from None
        parts = [*index, *[slice(None)] * (len(shape) - len(index))]
        if len(parts) != len(shape) or not all(isinstance(part, slice) for part in parts):
            raise UnsupportedError(f"{node}: axes come or go")
        ranges = [part.indices(size) for part, size in zip(parts, shape, strict=True)]
        whole = [(0, size, 1) for size in shape]
        first, last, step = ranges[-1]
        if ranges[:-1] != whole[:-1] or step != 1 or last <= first:
            raise UnsupportedError(f"{node}: only columns side by side")
        source = self._place(value)
        at = f"{source.address} + 4 * {first}"
        self._hand_on(output, Place(at, source.step, source.whole and ranges == whole))

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

    def _stack(self, node: Node) -> None:
        """Values stacked along a new first axis."""
        value = node.outputs[0]
        if node.attrs["axis"] % len(self.size(value)) or not self.size(node.inputs[0]):
            raise UnsupportedError(f"{node}: only arrays, and along the first axis")
        home = self._home(value)
        if not home.whole:
            raise UnsupportedError(f"{node}: part of another value")
        for index, part in enumerate(node.inputs):
            start = 4 * index * math.prod(self.size(part))
            target = self.at(f"({home.address} + {start})", self.size(part))
            self.lines.append(self.copy(part, target))

    def _product(self, node: Node) -> None:
        a, b = node.inputs
        flip_a, flip_b = flips(node)
        if any(len(size) < 2 or math.prod(size[:-2]) != 1 for size in map(self.size, (a, b))):
            raise UnsupportedError(f"{node}: not two matrices")
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
            # Over the rows of both.
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
        """A product that is computed in advance for many left-hand matrices, one after the other.

        Args:
            node: the product, whose right-hand matrix does not change.
            address: of the first left-hand matrix.
            times: their number.
            target: for all results.

        Raises:
            UnsupportedError: they are transposed, or not matrices.
        """
        a, b = node.inputs
        flip_a, flip_b = flips(node)
        rows, k = self.size(a)
        if flip_a or len(self.size(b)) != 2:
            raise UnsupportedError(f"{node}: not rows by a matrix")
        n, many = self.size(b)[-2 if flip_b else -1], times * rows
        panels = self._panels(b, flip_b)
        step = k
        self.before.append(
            f"multiply({address}, {step}, 1, {panels}, {target.address}, {target.step}, "
            f"{many}, {step}, {n}, {self._zeros}, 0)"
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
            rows = k
            steps = f"1, {place.step}" if flip else f"{place.step}, 1"
            line = f"pack({place.address}, {steps}, {rows}, {n}, {address})"
            (self.before if steady else self.lines).append(line)
            found = self._packed[key] = f"{address}, ACROSS, {rows} * ACROSS"
        return found

    def _sum(self, node: Node) -> None:
        """Sums over all rows."""
        value = node.inputs[0]
        shape = self.size(value)
        if node.op.name == "BiasAddGrad":
            if node.attrs.get("data_format") == "NCHW":
                raise UnsupportedError(f"{node}: channels first")
        else:
            axes = self._constant(node.inputs[1])
            if axes is None or not shape:
                raise UnsupportedError(f"{node}: over axes that are not known")
            summed = {int(one) % len(shape) for one in axes.reshape(-1)}
            if all(shape[axis] == 1 for axis in summed):
                self._pass(node)
                return
            if len(shape) - 1 in summed or any(
                size > 1 for axis, size in enumerate(shape[:-1]) if axis not in summed
            ):
                raise UnsupportedError(f"{node}: only over all axes but the last")
        source, home = self._place(value), self._home(node.outputs[0])
        rows, width = math.prod(shape[:-1]), shape[-1]
        self.lines.append(
            f"sum_rows({source.address}, {source.step}, {home.address}, {rows}, {width})"
        )


_MOVERS = {
    "concatenate": Statements._concat,
    "stack": Statements._stack,
    "split": Statements._split,
    "slice": Statements._slice,
    "repeat": Statements._repeat,
}
_SUM = ("sum", "{total}")


def _writer(node: Node) -> Callable[[Statements, Node], None] | None:
    """The method for a step that is not elementwise."""
    op = node.op
    if op.product == "matrix":
        return Statements._product
    if op.view == "reshaped":
        return Statements._pass
    if op.moves in _MOVERS:
        return _MOVERS[op.moves]
    return Statements._sum if op.fuse_row == _SUM or op.name == "BiasAddGrad" else None


def is_known(node: Node) -> bool:
    """Whether there may be a statement for a step."""
    return _writer(node) is not None or is_elementwise(node)
