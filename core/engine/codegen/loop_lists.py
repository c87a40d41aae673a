"""The tensor lists that a loop carries, and how an iteration uses each.

An iteration may read elements of a list, pop the last one, push one, set some, or add to some. The
versions of a list must form a chain: an older version that is still used would have to be kept
beside the newer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.steps import uses_of
from pinnace.framework import dtypes
from pinnace.ops.state.list_values import TensorList

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Dtypes of elements that are scalars; bytes per number of elements that are arrays.
_NUMBERS = frozenset({"bool", "float32", "float64", "int32", "int64"})
BYTES = {"bool": 1, "float32": 4, "int32": 4}


class Lists:
    """The uses of lists in an iteration; a list is identified by its loop variable's index.

    Args:
        body: the plan of an iteration.
        values: the loop variables.
        sizes: the shape of each value of an iteration.

    Attributes:
        used: the lists that steps use.
        read, popped, pushed, changed: the lists that an iteration reads from, pops from, pushes
            to, and sets elements of.
        same: the read lists whose elements are all the same array.
        looked_at: the changed lists that are read, too.
        items: the shape of each list's elements.
        twins: for a changed list, others that must have the same length.
        repeated: lists that get the same element in each iteration; see `take_repeated`.
        steps: every step on lists.
        gets: the list of each step that reads an element.
        pops: the list of each step that pops.
        writes: (kind, step) for each written list: "push", "pop", "set" or "add".

    Raises:
        UnsupportedError: the lists are used in another way.
    """

    def __init__(
        self, body: Plan, values: Sequence[Array], sizes: Mapping[Value, tuple[int, ...]]
    ) -> None:
        self._sizes = sizes
        self._inputs, self._outputs = body.graph.inputs, body.graph.outputs
        self._place = {
            value: place
            for place, value in enumerate(self._inputs)
            if value.dtype is dtypes.variant
        }
        # The newest version of each list so far; the lists of zeros with a list's length; those of
        # them with one element set.
        self._now = dict(self._place)
        self._zeros: dict[Value, int] = {}
        self._alone: dict[Value, tuple[int, Node]] = {}
        self._kinds: dict[int, str] = {}
        self.used: list[int] = []
        self.items: dict[int, tuple[int, ...]] = {}
        self.twins: dict[int, list[int]] = {}
        self.repeated: dict[int, int] = {}
        self.steps: set[Node] = set()
        self.gets: dict[Node, int] = {}
        self.pops: dict[Node, int] = {}
        self.writes: dict[int, list[tuple[str, Node]]] = {}
        for step in body.steps:
            node = step.node
            if any(value.dtype is dtypes.variant for value in (*node.inputs, *node.outputs)):
                self.steps.add(node)
                self._take(node)
        self._check_versions()
        self._sort(uses_of(body.steps))
        self._look(values)

    def _take(self, node: Node) -> None:
        """Record the effect of a step."""
        name, handle = node.op.name, node.inputs[0]
        place = self._place.get(handle)
        if name == "ZerosLike" and place is not None:
            self._zeros[node.outputs[0]] = place
        elif name == "TensorListGetItem" and place is not None:
            self.gets[node] = place
            self._note(place, node.outputs[0])
        elif name == "TensorListSetItem" and handle in self._zeros:
            self._alone[node.outputs[0]] = (self._zeros[handle], node)
        elif name == "TensorListSetItem" and handle in self._now:
            self._change(handle, node, "set", node)
        elif name == "TensorListPushBack" and place is not None and handle in self._now:
            self._change(handle, node, "push", node)
        elif name == "TensorListPopBack" and place is not None and handle in self._now:
            self.pops[node] = place
            self._change(handle, node, "pop", node)
        elif node.op.sums and len(node.inputs) == 2:
            self._take_sum(node)
        else:
            raise UnsupportedError(f"{node}: a list operation without a statement")

    def _take_sum(self, node: Node) -> None:
        """Record the sum of a list and one with a single element set."""
        first, second = node.inputs
        if second in self._now:
            first, second = second, first
        if first not in self._now or second not in self._alone:
            raise UnsupportedError(f"{node}: a sum of lists other than a gradient's")
        other, item = self._alone[second]
        self.twins.setdefault(self._now[first], []).append(other)
        self._change(first, node, "add", item)

    def _note(self, place: int, item: Value) -> None:
        """Record the shape of a list's elements."""
        shape, kind = self._sizes[item], item.dtype.name
        if self.items.setdefault(place, shape) != shape:
            raise UnsupportedError(f"list {place} has elements of several shapes")
        if place not in self.used:
            self.used.append(place)
        self._kinds[place] = kind
        if kind not in (BYTES if shape else _NUMBERS) or not math.prod(shape):
            raise UnsupportedError(f"list {place} has elements {kind}{list(shape)}")

    def _change(self, handle: Value, node: Node, kind: str, source: Node) -> None:
        """Record a newer version of a list; `source` has the index and the element."""
        place = self._now.pop(handle)
        self._now[node.outputs[0]] = place
        if source.attrs.get("resize_if_index_out_of_bounds"):
            raise UnsupportedError(f"{source}: the list may grow")
        self._note(place, source.outputs[-1] if kind == "pop" else source.inputs[-1])
        if kind == "add" and self.items[place] and self._kinds[place] != "float32":
            raise UnsupportedError(f"{node}: only lists of float32 can be summed")
        self.writes.setdefault(place, []).append((kind, source))

    def _check_versions(self) -> None:
        """Check that no version is used once there is a newer one."""
        for value, place in self._now.items():
            if self._outputs[place] is not value:
                raise UnsupportedError(f"list {place} is not returned as the same loop variable")
            if sum(one is value for one in self._outputs) != 1:
                raise UnsupportedError(f"list {place} is returned twice")
        if any(self._inputs[place] in self._outputs for place in self.writes):
            raise UnsupportedError("the loop returns an earlier version of a list")

    def _sort(self, users: Mapping[Value, Sequence[int]]) -> None:
        self.popped: list[int] = []
        self.pushed: list[int] = []
        self.changed: list[int] = []
        for place, writes in self.writes.items():
            kinds = {kind for kind, _ in writes}
            if not kinds & {"push", "pop"}:
                self.changed.append(place)
                continue
            if len(writes) > 1 or len(users[self._inputs[place]]) > 1:
                raise UnsupportedError(f"list {place}: a push or pop is not its only use")
            (self.pushed if "push" in kinds else self.popped).append(place)
        got = set(self.gets.values())
        self.looked_at = {place for place in self.changed if place in got or not self.items[place]}
        self.read = [place for place in self.used if place in got - {*self.changed}] + self.popped
        for twins in self.twins.values():
            if {*twins} & {*self.pushed, *self.popped}:
                raise UnsupportedError("a list that grows or shrinks is summed with another")
            self.used += [twin for twin in dict.fromkeys(twins) if twin not in self.used]

    def _look(self, values: Sequence[Array]) -> None:
        """Record which of the given lists repeat one array."""
        self.same: set[int] = set()
        for place in self._place.values():
            held: object = values[place][()]
            if not isinstance(held, TensorList):
                raise UnsupportedError(f"loop variable {place} is not a list")
            if place in self.read and self.is_strided(place) and is_same(held):
                self.same.add(place)

    def take_repeated(self, fixed: Mapping[Value, int]) -> None:
        """Mark lists that get the same array in each iteration, which need no copies.

        Args:
            fixed: indices of the invariant values; `repeated` gets such an index for each of these
                lists.
        """
        for place in list(self.pushed):
            ((_, node),) = self.writes[place]
            item = node.inputs[1]
            if item in fixed and self.items[place]:
                self.repeated[place] = fixed[item]
                self.pushed.remove(place)
                del self.writes[place]

    def length(self, place: int) -> str:
        """The name of a list's length before the first iteration."""
        return f"lengths[{self.used.index(place)}]"

    def holds(self, place: int) -> str:
        """The dtype of a list's elements."""
        return self._kinds[place]

    def is_strided(self, place: int) -> bool:
        """Whether rows of a list's elements may have a stride: transposed arrays are not copied."""
        return len(self.items[place]) == 2 and self._kinds[place] == "float32"


def form_of(values: Sequence[Array]) -> Hashable:
    """The key of loop variables that can share a kernel: their shapes, and those of elements."""
    return tuple([_form(value) for value in values])


def _form(value: Array) -> Hashable:
    held = value[()] if value.dtype.kind == "O" and not value.ndim else None
    if isinstance(held, TensorList):
        return held.dtype, held.shape.dims, held.item_shape(), is_same(held)
    shape: tuple[int, ...] = value.shape
    return shape


def is_same(held: TensorList) -> bool:
    """Whether a list is known to have the same array at every index."""
    return held.whole is not None and held.length > 1 and held.whole.strides[0] == 0
