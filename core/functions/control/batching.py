"""A function of one row, computed for all rows at once: each op of its graph gets a batch axis.

An op is given its axis by a rule: it computes the same for rows stacked along a new first axis.
What does not depend on a row is computed once, without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.passes.inline import inline
from pinnace.framework import dtypes, structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.specs import TensorSpec
from pinnace.functions.control import branches
from pinnace.graph.graph import constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.array import casting, gathering, joining, reshaping, shapes
from pinnace.ops.array.constants import CONST
from pinnace.ops.execute import execute
from pinnace.ops.math import products
from pinnace.ops.registry import broadcast, one_shape, same_as_input

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.opdef import OpDef


class NoRuleError(Exception):
    """An op cannot be given a batch axis."""


class _Entry:
    """What stands for a value of the row's graph: a tensor, with or without the batch axis."""

    __slots__ = ("batched", "tensor")

    def __init__(self, tensor: Tensor, batched: bool) -> None:
        self.tensor = tensor
        self.batched = batched


def batched_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """`fn` of every row, stacked, computed for all rows at once.

    Args:
        fn: takes a row, gives tensors in any structure.
        elems: [n, ...] tensors in any structure; a first axis of 1 is the same row in all.

    Raises:
        NoRuleError: an op of `fn` cannot be given a batch axis; the message names it.
        ValueError: the tensors do not have one first axis.
    """
    tensors = [convert_to_tensor(leaf) for leaf in structure.flatten(elems)]
    if not tensors:
        message = "vectorized_map: elems must hold at least one tensor"
        raise ValueError(message)
    if any(tensor.shape.rank == 0 for tensor in tensors):
        message = "vectorized_map: elems must have at least one axis, got a scalar"
        raise ValueError(message)
    if any(not tensor.shape.rank for tensor in tensors):
        message = "a tensor of unknown rank"
        raise NoRuleError(message)
    sizes = {tensor.shape[0] for tensor in tensors}
    known = sorted(size for size in sizes if size not in {None, 1})
    if len(known) > 1:
        message = f"vectorized_map: all elems must have one first axis, got {known}"
        raise ValueError(message)
    repeated = [bool(sizes - {1}) and tensor.shape[0] == 1 for tensor in tensors]
    specs = [TensorSpec.of(tensor.shape[1:], tensor.dtype) for tensor in tensors]
    traced = branches.trace_branch(
        lambda *rows: fn(structure.pack_sequence_as(elems, rows)), "vectorized_map", specs
    )
    graph = inline(traced.graph)
    first = next(x for x, same in zip(tensors, repeated, strict=True) if not same)
    count = first.shape[0] if first.shape[0] is not None else shapes.shape(first)[0]
    found: dict[Value, _Entry] = {}
    for value, tensor, same in zip(graph.inputs, tensors, repeated, strict=False):
        found[value] = _Entry(tensor[0] if same else tensor, not same)
    for value, tensor in zip(graph.inputs[len(tensors) :], traced.captured, strict=True):
        found[value] = _Entry(tensor, False)
        branches.watch_variable_behind(tensor)
    run = _Run(count, found)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node not in arguments:
            run.compute(node)
    results = [run.tiled(value) for value in graph.outputs]
    return structure.pack_sequence_as(traced.results, results, expand_composites=True)


class _Run:
    """The graph of a row, computed for all rows."""

    def __init__(self, count: Any, entries: dict[Value, _Entry]) -> None:
        self.count = count
        self.entries = entries

    def compute(self, node: Node) -> None:
        """Find the outputs of one node."""
        inputs = [self.entries[value] for value in node.inputs]
        if node.op is CONST:
            constant = execute(CONST, value=node.attrs["value"], dtype=node.attrs["dtype"])
            self.entries[node.outputs[0]] = _Entry(constant, False)
            return
        if node.op.effect not in {None, "read"}:
            raise NoRuleError(_named(node, "has effects"))
        if not any(one.batched for one in inputs):
            outputs, batched = self._apply(node, [one.tensor for one in inputs]), False
        else:
            rule = _RULES.get(node.op.name) or _by_element(node.op)
            if rule is None:
                raise NoRuleError(_named(node, "has no rule for a batch axis"))
            outputs, batched = rule(self, node), node.op.name not in _SAME_IN_ALL_ROWS
        for value, tensor in zip(node.outputs, outputs, strict=True):
            self.entries[value] = _Entry(tensor, batched)

    def _apply(self, node: Node, tensors: Sequence[Tensor], **attrs: Any) -> list[Tensor]:
        """The node's op, with its own attributes but for those given."""
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

    def rank(self, value: Value) -> int:
        """The number of axes of a row."""
        rank: int | None = value.spec.shape.rank
        if rank is None:
            raise NoRuleError(f"{value.node.name!r} has an unknown number of axes")
        return rank

    def fixed(self, node: Node, index: int) -> Any:
        """The value of an input that must be known before the run."""
        array = constant_of(node.inputs[index])
        if array is None:
            raise NoRuleError(_named(node, "has an argument that only the run will tell"))
        return np.asarray(array)

    def tiled(self, value: Value) -> Tensor:
        """A value with the batch axis, repeated if it is the same in all rows."""
        entry = self.entries[value]
        if entry.batched:
            return entry.tensor
        sizes = joining.concat([[self.count], shapes.shape(entry.tensor)], 0)
        return reshaping.broadcast_to(entry.tensor, sizes)

    def aligned(self, value: Value, rank: int) -> Tensor:
        """A value whose rows are seen as of `rank` axes: those in front have the size 1."""
        entry, own = self.entries[value], self.rank(value)
        if not entry.batched or own == rank:
            return entry.tensor
        sizes = shapes.shape(entry.tensor)
        ones = np.ones(rank - own, np.int32)
        return reshaping.reshape(entry.tensor, joining.concat([sizes[:1], ones, sizes[1:]], 0))


def _named(node: Node, what: str) -> str:
    return f"{node.op.name} {what} (node {node.name!r})"


def _broadcasting(run: _Run, node: Node) -> list[Tensor]:
    rank = max(run.rank(value) for value in node.inputs)
    return run._apply(node, [run.aligned(value, rank) for value in node.inputs])


def _tiled(run: _Run, node: Node) -> list[Tensor]:
    return run._apply(node, [run.tiled(value) for value in node.inputs])


def _plain(run: _Run, node: Node) -> list[Tensor]:
    return run._apply(node, [run.entries[value].tensor for value in node.inputs])


def _row_axes(axes: Any, rank: int) -> Any:
    """Axes of a row as axes of the stacked rows."""
    return np.where(axes < 0, axes + rank, axes) + 1


def _reduction(run: _Run, node: Node) -> list[Tensor]:
    axes = _row_axes(run.fixed(node, 1).reshape(-1), run.rank(node.inputs[0]))
    return run._apply(node, [run.entries[node.inputs[0]].tensor, convert_to_tensor(axes)])


def _arg_extreme(run: _Run, node: Node) -> list[Tensor]:
    axis = _row_axes(run.fixed(node, 1), run.rank(node.inputs[0]))
    return run._apply(node, [run.entries[node.inputs[0]].tensor, convert_to_tensor(axis)])


def _reshape(run: _Run, node: Node) -> list[Tensor]:
    x, sizes = (run.entries[value] for value in node.inputs)
    if sizes.batched:
        raise NoRuleError(_named(node, "has another shape in every row"))
    whole = joining.concat([[run.count], casting.cast(sizes.tensor, dtypes.int32)], 0)
    return [reshaping.reshape(x.tensor, whole)]


def _expand_dims(run: _Run, node: Node) -> list[Tensor]:
    axis = int(run.fixed(node, 1).reshape(-1)[0])
    return [reshaping.expand_dims(run.entries[node.inputs[0]].tensor, axis + (axis >= 0))]


def _squeeze(run: _Run, node: Node) -> list[Tensor]:
    shape = node.inputs[0].spec.shape
    axes = node.attrs.get("squeeze_dims") or ()
    if not axes:
        if not shape.is_fully_defined():
            raise NoRuleError(_named(node, "does not say which axes"))
        axes = tuple(axis for axis, size in enumerate(shape) if size == 1)
    moved = tuple(int(n) for n in _row_axes(np.array(axes, int), run.rank(node.inputs[0])))
    x = run.entries[node.inputs[0]].tensor
    return run._apply(node, [x], squeeze_dims=moved) if moved else [x]


def _transpose(run: _Run, node: Node) -> list[Tensor]:
    perm = run.fixed(node, 1)
    order = [0, *(int(n) % len(perm) + 1 for n in perm)]
    return [reshaping.transpose(run.entries[node.inputs[0]].tensor, order)]


def _concat(run: _Run, node: Node) -> list[Tensor]:
    axis = int(_row_axes(run.fixed(node, len(node.inputs) - 1), run.rank(node.inputs[0])))
    return [joining.concat([run.tiled(value) for value in node.inputs[:-1]], axis)]


def _pack(run: _Run, node: Node) -> list[Tensor]:
    axis = node.attrs["axis"]
    parts = [run.tiled(value) for value in node.inputs]
    return [joining.stack(parts, axis + (axis >= 0))]


def _unpack(run: _Run, node: Node) -> list[Tensor]:
    axis = node.attrs["axis"]
    return run._apply(node, [run.entries[node.inputs[0]].tensor], axis=axis + (axis >= 0))


def _matmul(run: _Run, node: Node) -> list[Tensor]:
    a, b = (run.entries[value].tensor for value in node.inputs)
    flags = {name: node.attrs.get(name, False) for name in ("transpose_a", "transpose_b")}
    return [products.matmul(a, b, **flags)]


def _batch_matmul(run: _Run, node: Node) -> list[Tensor]:
    rank = max(run.rank(value) for value in node.inputs)
    return run._apply(node, [run.aligned(value, rank) for value in node.inputs])


def _strided_slice(run: _Run, node: Node) -> list[Tensor]:
    if any(run.entries[value].batched for value in node.inputs[1:]):
        raise NoRuleError(_named(node, "takes another part of every row"))
    vectors = [
        joining.concat([np.array([first], value.spec.dtype.numpy), run.entries[value].tensor], 0)
        for first, value in zip((0, 0, 1), node.inputs[1:], strict=True)
    ]
    masks = {
        name: (node.attrs[name] << 1) | (name in {"begin_mask", "end_mask"})
        for name in (
            "begin_mask",
            "end_mask",
            "ellipsis_mask",
            "new_axis_mask",
            "shrink_axis_mask",
        )
    }
    return run._apply(node, [run.entries[node.inputs[0]].tensor, *vectors], **masks)


def _gather(run: _Run, node: Node) -> list[Tensor]:
    params, indices = (run.entries[value] for value in node.inputs[:2])
    axis = int(run.fixed(node, 2).reshape(-1)[0])
    rank, batch = run.rank(node.inputs[0]), node.attrs.get("batch_dims", 0)
    axis += rank * (axis < 0)
    batch += run.rank(node.inputs[1]) * (batch < 0)
    if not params.batched and not (axis == 0 and batch == 0):
        params = _Entry(run.tiled(node.inputs[0]), True)
    if not params.batched:
        return [gathering.gather(params.tensor, indices.tensor)]
    if not indices.batched and not batch:
        return [gathering.gather(params.tensor, indices.tensor, axis=axis + 1)]
    places = run.tiled(node.inputs[1])
    return [gathering.gather(params.tensor, places, axis=axis + 1, batch_dims=batch + 1)]


def _leading(first: Any) -> Callable[[_Run, Node], list[Tensor]]:
    """A rule for ops with an entry per axis in their second argument; `first` is the new one's."""

    def rule(run: _Run, node: Node) -> list[Tensor]:
        if any(run.entries[value].batched for value in node.inputs[1:]):
            raise NoRuleError(_named(node, "has another argument in every row"))
        own = run.entries[node.inputs[1]].tensor
        head = np.array([first], node.inputs[1].spec.dtype.numpy)
        rest = [run.entries[value].tensor for value in node.inputs[2:]]
        x = run.entries[node.inputs[0]].tensor
        return run._apply(node, [x, joining.concat([head, own], 0), *rest])

    return rule


def _folded(run: _Run, node: Node) -> list[Tensor]:
    """A rule for ops that treat the rows of their first argument one by one: more rows will do."""
    if any(run.entries[value].batched for value in node.inputs[1:]):
        raise NoRuleError(_named(node, "has another argument in every row"))
    if str(node.attrs.get("data_format", "NHWC")) not in {"NHWC", "NDHWC"}:
        raise NoRuleError(_named(node, "has its channels in front"))
    x, *rest = (run.entries[value].tensor for value in node.inputs)
    outer = shapes.shape(x)[:2]
    merged = reshaping.reshape(x, joining.concat([[-1], shapes.shape(x)[2:]], 0))
    (y,) = run._apply(node, [merged, *rest])
    made = reshaping.reshape(y, joining.concat([outer, shapes.shape(y)[1:]], 0))
    made.set_shape([x.shape[0], *node.outputs[0].spec.shape])
    return [made]


def _einsum(run: _Run, node: Node) -> list[Tensor]:
    left, right = str(node.attrs["equation"]).split("->")
    letter = next(one for one in "zyxwvutsrqponmlkjihgfedcbaZ" if one not in left)
    terms = [
        letter + term if run.entries[value].batched else term
        for term, value in zip(left.split(","), node.inputs, strict=True)
    ]
    equation = f"{','.join(terms)}->{letter}{right}"
    tensors = [run.entries[value].tensor for value in node.inputs]
    return run._apply(node, tensors, equation=equation)


def _shape(run: _Run, node: Node) -> list[Tensor]:
    kind = node.attrs.get("out_type", dtypes.int32)
    return [shapes.shape(run.entries[node.inputs[0]].tensor, kind)[1:]]


def _size(run: _Run, node: Node) -> list[Tensor]:
    kind = node.attrs.get("out_type", dtypes.int32)
    x = run.entries[node.inputs[0]].tensor
    return [shapes.size(x[0], kind)]


def _select(run: _Run, node: Node) -> list[Tensor]:
    condition, yes, no = node.inputs
    rank = run.rank(yes)
    if run.rank(condition) not in {0, rank}:
        raise NoRuleError(_named(node, "chooses whole rows by a vector"))
    return run._apply(
        node,
        [run.tiled(condition), run.tiled(yes), run.tiled(no)]
        if run.rank(condition) == rank or run.entries[condition].batched
        else [run.entries[condition].tensor, run.tiled(yes), run.tiled(no)],
    )


Rule = Any
_SAME_IN_ALL_ROWS = frozenset({"Shape", "Size"})


def _by_element(op: OpDef) -> Rule | None:
    """The rule of an op that treats each element by itself."""
    if op.infer is one_shape:  # the backward halves of such ops
        return _tiled
    if not op.elementwise:
        return None
    if op.infer is same_as_input and len(op.inputs) == 1:
        return _plain
    return _broadcasting if op.infer is broadcast else None


_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any", "EuclideanNorm"), _reduction
    ),
    **dict.fromkeys(("ArgMax", "ArgMin", "Cumsum", "Cumprod"), _arg_extreme),
    **dict.fromkeys(
        (
            "Cast",
            "OnesLike",
            "ZerosLike",
            "Softmax",
            "LogSoftmax",
            "Cholesky",
            "MatrixInverse",
            "MatrixDeterminant",
            "LogMatrixDeterminant",
        ),
        _plain,
    ),
    **dict.fromkeys(("AddN", "MatrixSolve", "MatrixTriangularSolve"), _tiled),
    **dict.fromkeys(("Equal", "NotEqual"), _broadcasting),
    **dict.fromkeys(("AvgPool", "BiasAdd", "Conv2D", "DepthwiseConv2dNative", "MaxPool"), _folded),
    "Einsum": _einsum,
    "BatchMatMulV2": _batch_matmul,
    "ConcatV2": _concat,
    "ExpandDims": _expand_dims,
    "GatherV2": _gather,
    "MatMul": _matmul,
    "Pack": _pack,
    "Pad": _leading([0, 0]),
    "Reshape": _reshape,
    "Select": _select,
    "Shape": _shape,
    "Size": _size,
    "Squeeze": _squeeze,
    "StridedSlice": _strided_slice,
    "Tile": _leading(1),
    "Transpose": _transpose,
    "Unpack": _unpack,
}
