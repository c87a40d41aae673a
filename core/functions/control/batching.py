"""Vectorises a function of one row: each op of its graph gets a batch axis.

The op's `OpDef` says how (`ops.batch_rules`). Values that do not depend on a row are computed once,
without a batch axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from pinnace.engine.passes.inline import inline
from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.control import branches
from pinnace.graph.graph import constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.array import broadcasting, casting, joining, reshaping, shapes
from pinnace.ops.array.constants import CONST
from pinnace.ops.batch_rules import UnbatchableError
from pinnace.ops.execute import execute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node, Value


class Stacked(NamedTuple):
    """The replacement of a value in the row's graph: a tensor with or without the batch axis."""

    tensor: Tensor
    batched: bool


def batched_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """`fn` of every row, stacked, computed for all rows at once.

    Args:
        fn: takes a row, gives tensors in any structure.
        elems: [n, ...] tensors in any structure; a first axis of 1 is the same row in all.

    Raises:
        UnbatchableError: an op of `fn` cannot be given a batch axis; the message names it.
        ValueError: the tensors do not have one first axis.
    """
    tensors = [convert_to_tensor(leaf) for leaf in structure.flatten(elems)]
    if not tensors:
        raise ValueError("vectorized_map: elems must hold at least one tensor")
    if any(tensor.shape.rank == 0 for tensor in tensors):
        raise ValueError("vectorized_map: elems must have at least one axis, got a scalar")
    if any(not tensor.shape.rank for tensor in tensors):
        raise UnbatchableError("a tensor of unknown rank")
    sizes = {tensor.shape[0] for tensor in tensors}
    known = sorted(size for size in sizes if size not in {None, 1})
    if len(known) > 1:
        raise ValueError(f"vectorized_map: all elems must have one first axis, got {known}")
    repeated = [bool(sizes - {1}) and tensor.shape[0] == 1 for tensor in tensors]
    specs = [TensorSpec.of(tensor.shape[1:], tensor.dtype) for tensor in tensors]
    traced = branches.trace_branch(
        lambda *rows: fn(structure.pack_sequence_as(elems, rows)), "vectorized_map", specs
    )
    graph = inline(traced.graph)
    given = [
        Stacked(tensor[0] if same else tensor, not same)
        for tensor, same in zip(tensors, repeated, strict=True)
    ]
    for tensor in traced.captured:
        given.append(Stacked(tensor, False))
        branches.watch_variable_behind(tensor)
    rows = Rows(dict(zip(graph.inputs, given, strict=True)))
    rows.compute(graph)
    results = [rows.tiled(value) for value in graph.outputs]
    return structure.pack_sequence_as(traced.results, results, expand_composites=True)


class Rows:
    """The values of a row's graph, for all rows.

    Args:
        values: values of the graph's inputs; at least one is batched.
        exact: only rules whose rows are what one row gives, bit for bit, may be followed.
    """

    def __init__(self, values: dict[Value, Stacked], *, exact: bool = False) -> None:
        self.values = values
        self._exact = exact
        self._first = next(one.tensor for one in values.values() if one.batched)

    def compute(self, graph: Graph) -> None:
        """Find the values of all nodes.

        Raises:
            UnbatchableError: an op cannot be given a batch axis; the message names it.
        """
        arguments = {value.node for value in graph.inputs}
        for node in ordered(graph):
            if node not in arguments:
                self._compute(node)

    def _compute(self, node: Node) -> None:
        if node.op is CONST:
            constant = execute(CONST, value=node.attrs["value"], dtype=node.attrs["dtype"])
            self.values[node.outputs[0]] = Stacked(constant, False)
            return
        call = _RowCall(self, node)
        if node.op.effect not in {None, "read"}:
            call.refuse("has effects")
        batched = any(call.batched)
        rule = node.op.batch
        outputs: Sequence[Tensor]
        if not batched:
            outputs = call.apply(call.tensors)
        elif rule is None or (self._exact and not rule.exact):
            call.refuse("has no rule for a batch axis")
        else:
            outputs = rule.apply(call)
        for value, tensor in zip(node.outputs, outputs, strict=True):
            self.values[value] = Stacked(tensor, batched and not node.op.shape_query)

    def count(self) -> Any:
        """The number of rows."""
        size = self._first.shape[0]
        return shapes.shape(self._first)[0] if size is None else size

    def tiled(self, value: Value) -> Tensor:
        """A value with the batch axis, repeated if it is the same in all rows."""
        tensor, batched = self.values[value]
        if batched:
            return tensor
        sizes = joining.concat([[self.count()], shapes.shape(tensor)], 0)
        return broadcasting.broadcast_to(tensor, sizes)


class _Call:
    """The common base of calls: a node of the row's graph and its inputs."""

    def __init__(self, node: Node, batched: Sequence[bool]) -> None:
        self.node = node
        self.attrs: Mapping[str, Any] = node.attrs
        self.batched = batched
        self.inputs: Sequence[TensorSpec] = [value.spec for value in node.inputs]
        self.outputs: Sequence[TensorSpec] = [value.spec for value in node.outputs]

    def rank(self, index: int) -> int:
        rank: int | None = self.inputs[index].shape.rank
        if rank is None:
            raise UnbatchableError(
                f"{self.node.inputs[index].node.name!r} has an unknown number of axes"
            )
        return rank

    def fixed(self, index: int) -> Array:
        array = constant_of(self.node.inputs[index])
        return (
            self.refuse("has an argument that only the run will tell") if array is None else array
        )

    def refuse(self, why: str) -> NoReturn:
        raise UnbatchableError(f"{self.node.op.name} {why} (node {self.node.name!r})")


class _RowCall(_Call):
    """A call in the graph of a row, to be made for all rows at once."""

    def __init__(self, rows: Rows, node: Node) -> None:
        taken = [rows.values[value] for value in node.inputs]
        super().__init__(node, [one.batched for one in taken])
        self.tensors: Sequence[Any] = [one.tensor for one in taken]
        self.count = rows.count
        self._rows = rows

    def apply(self, tensors: Sequence[Any], **attrs: Any) -> list[Tensor]:
        node = self.node
        packed = node.op.pack_inputs(list(tensors), node.attrs)
        taken = {name: node.attrs[name] for name in node.op.attrs if name in node.attrs}
        told = {
            name
            for arg in node.op.inputs
            for name in (arg.type_attr, arg.list_attr, arg.number_attr)
        }
        taken |= {
            name: node.attrs[name]
            for name in (*node.op.type_sets, *node.op.number_attrs)
            if name not in told and name in node.attrs
        }
        found = execute(node.op, *packed, **{**taken, **attrs})
        return list(structure.flatten(found))

    def stacked_axes(self, index: int) -> Tensor:
        axes = self.fixed(index)
        return convert_to_tensor(np.where(axes < 0, axes, axes + 1))  # from the end: unchanged

    def tiled(self, index: int) -> Tensor:
        return self._rows.tiled(self.node.inputs[index])

    def aligned(self, index: int, rank: int) -> Tensor:
        tensor: Tensor = self.tensors[index]
        own = self.rank(index)
        if not self.batched[index] or own == rank:
            return tensor
        sizes = shapes.shape(tensor)
        ones = np.ones(rank - own, np.int32)
        return reshaping.reshape(tensor, joining.concat([sizes[:1], ones, sizes[1:]], 0))

    def extended(self, rest: Any, first: Any) -> Tensor:
        entries = convert_to_tensor(rest)
        front = first if isinstance(first, Tensor) else np.array(first, entries.dtype.numpy)
        return joining.concat([casting.cast(front, entries.dtype)[None], entries], 0)


def keeps_rows(graph: Graph, batches: Iterable[Value]) -> bool:
    """Whether each row of the results is computed exactly from that row of the arguments alone.

    Args:
        graph: a graph of batches, which has rows already.
        batches: the arguments that have rows.
    """
    many = set(batches)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node in arguments:
            continue
        if node.op.stateful:
            return False
        if any(value in many for value in node.inputs):
            if not _BatchedCall(node, many).keeps_rows():
                return False
            many.update(node.outputs)
    return all(value in many for value in graph.outputs)


class _BatchedCall(_Call):
    """A call on stacked rows; the rule must return the call for one row."""

    def __init__(self, node: Node, many: set[Value]) -> None:
        super().__init__(node, [value in many for value in node.inputs])
        self.inputs = [
            TensorSpec.of(spec.shape[1:], spec.dtype) if batched else spec
            for spec, batched in zip(self.inputs, self.batched, strict=True)
        ]
        self.tensors: Sequence[Any] = node.inputs

    def keeps_rows(self) -> bool:
        """Whether each row of the op's results depends on that row of its inputs only."""
        rule = self.node.op.batch
        try:
            return rule is not None and rule.exact and bool(rule.apply(self))
        except UnbatchableError:
            return False

    def apply(self, tensors: Sequence[Any], **attrs: Any) -> Sequence[Any]:
        same = all(one is other for one, other in zip(tensors, self.tensors, strict=True))
        if not same or any(value != self.attrs[name] for name, value in attrs.items()):
            self.refuse("is another one for stacked rows")
        return self.node.outputs

    def stacked_axes(self, index: int) -> Any:
        if np.any(self.fixed(index) <= 0):
            self.refuse("may be about the rows themselves")
        return self.tensors[index]

    def tiled(self, index: int) -> Any:
        return self.tensors[index] if self.batched[index] else self.refuse("takes no rows")

    def aligned(self, index: int, rank: int) -> Any:
        if self.batched[index] and self.rank(index) != rank:
            self.refuse("broadcasts rows")
        return self.tensors[index]

    def extended(self, rest: Any, first: Any) -> NoReturn:  # noqa: ARG002 (the protocol)
        self.refuse("has an entry per axis")

    def count(self) -> NoReturn:
        self.refuse("counts the rows")
