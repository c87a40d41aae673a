"""What each operator does with the form of a value, and how it is rewritten for channels first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.deploy.onnx.builder import GraphBuilder, Node, Value
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

# How an input is taken: in the node's own form, with channels last, or as it comes.
OWN, LAST, ANY = "own", "last", "any"
FIRST = "first"

Rewrite: TypeAlias = Callable[
    [GraphBuilder, Node, "Roles", bool, Sequence[bool], Sequence[Shape | None]], None
]


@dataclass(slots=True)
class Roles:
    """What a node does with forms.

    Attributes:
        takes: how it takes each input.
        gives: the outputs that come in the node's own form; the others have channels last.
        fixed: FIRST if its own form is channels first whatever it costs.
        rewrite: makes the node work in the forms chosen: `rewrite(g, node, roles, is_first, forms,
            shapes)`, where
            `forms` tells which inputs come with channels first and `shapes` are the inputs' with
            channels last.
        feeds: for a flattening: the matrix products it feeds.
    """

    takes: list[str]
    gives: set[Value] = field(default_factory=set)
    fixed: str = ""
    rewrite: Rewrite | None = None
    feeds: list[Node] = field(default_factory=list)


def first_axes(rank: int) -> list[int]:
    """The transposition that puts channels first."""
    return [0, rank - 1, *range(1, rank - 1)]


def last_axes(rank: int) -> list[int]:
    """The transposition that puts channels last."""
    return [0, *range(2, rank), 1]


def moved_axis(axis: int, rank: int) -> int:
    """Where an axis of the channels-last form is with channels first."""
    axis %= rank
    if axis == 0:
        return 0
    return 1 if axis == rank - 1 else axis + 1


def is_free(shape: Shape) -> bool:
    """Whether both forms have the elements in one order: one channel, or one place."""
    sizes = list(shape)
    return sizes[-1] == 1 or all(size == 1 for size in sizes[1:-1])


def roles_of(node: Node, users: dict[Value, list[Node]], results: set[Value]) -> Roles:
    """The roles of a node."""
    count = len(node.inputs)
    if node.moved:
        return Roles([OWN, *[LAST] * (count - 1)], {node.outputs[0]}, FIRST)
    rule = _RULES.get(node.kind)
    found = rule(node, users, results) if rule is not None else None
    return Roles([LAST] * count) if found is None else found


def rewrite(
    g: GraphBuilder,
    node: Node,
    roles: Roles,
    is_first: bool,
    forms: Sequence[bool],
    shapes: Sequence[Shape | None],
) -> None:
    """Make the node work in the forms chosen."""
    if roles.rewrite is not None and (is_first or any(forms)):
        roles.rewrite(g, node, roles, is_first, forms, shapes)


def constant_first(array: Array, rank: int) -> Array:
    """A constant operand that broadcasts against [n, ..., c], for [n, c, ...]."""
    if array.ndim == 0:
        return array
    whole = array.reshape((1,) * (rank - array.ndim) + array.shape).transpose(first_axes(rank))
    while whole.ndim and whole.shape[0] == 1:
        whole = whole[0]
    return whole


# Rules. Each answers None where the node can only work with channels last.


def _rank(value: Value | None) -> int:
    return -1 if value is None or value.shape.rank is None else value.shape.rank


def _elementwise(node: Node, users: object, results: object) -> Roles | None:
    del users, results
    rank = _rank(node.outputs[0])
    if rank < 3:
        return None
    takes = []
    for value in node.inputs:
        if value is None or value.array is not None or _rank(value) == 0:
            takes.append(ANY)
        elif _rank(value) == rank:
            takes.append(OWN)
        else:
            return None
    if OWN not in takes:
        return None
    return Roles(takes, set(node.outputs), rewrite=_rewrite_operands)


def _rewrite_operands(
    g: GraphBuilder,
    node: Node,
    roles: Roles,
    is_first: bool,
    forms: Sequence[bool],
    shapes: Sequence[Shape | None],
) -> None:
    del roles, forms, shapes
    if not is_first:
        return
    rank = _rank(node.outputs[0])
    for index, value in enumerate(node.inputs):
        if value is not None and value.array is not None:
            node.inputs[index] = g.constant(
                constant_first(value.array, rank), value.name, value.dtype
            )


def _axis_attribute(node: Node, users: object, results: object) -> Roles | None:
    """Concat, Split, Softmax: one axis, as an attribute; every tensor of one rank."""
    del users, results
    rank = _rank(node.outputs[0])
    if rank < 3:
        return None
    takes = []
    for index, value in enumerate(node.inputs):
        if value is None or (node.kind == "Split" and index == 1) or value.array is not None:
            takes.append(ANY)
        else:
            takes.append(OWN)
    return Roles(takes, set(node.outputs), rewrite=_rewrite_axis)


def _rewrite_axis(
    g: GraphBuilder,
    node: Node,
    roles: Roles,
    is_first: bool,
    forms: Sequence[bool],
    shapes: Sequence[Shape | None],
) -> None:
    del roles, forms, shapes
    if not is_first:
        return
    rank = _rank(node.outputs[0])
    default = -1 if node.kind in {"Softmax", "LogSoftmax"} else 0
    node.attrs["axis"] = moved_axis(int(node.attrs.get("axis", default)), rank)
    if node.kind == "Concat":
        for index, value in enumerate(node.inputs):
            if value is not None and value.array is not None:
                turned = value.array.transpose(first_axes(rank))
                node.inputs[index] = g.constant(turned, value.name, value.dtype)


def _constant_input(node: Node, index: int) -> Array | None:
    value = node.inputs[index] if index < len(node.inputs) else None
    return None if value is None else value.array


def _reduction(node: Node, users: object, results: object) -> Roles | None:
    """Reduce*: axes in input 1; ArgMax and ArgMin: one axis as an attribute."""
    del users, results
    rank = _rank(node.inputs[0])
    axes = _reduced_axes(node, rank)
    if rank < 3 or axes is None:
        return None
    takes = [OWN, *[ANY] * (len(node.inputs) - 1)]
    if node.attrs.get("keepdims", 1):
        return Roles(takes, set(node.outputs), rewrite=_rewrite_reduction)
    kept = [axis for axis in range(rank) if axis not in axes]
    places = [moved_axis(axis, rank) for axis in kept]
    if places != sorted(places):
        return None
    return Roles(takes, rewrite=_rewrite_reduction)


def _reduced_axes(node: Node, rank: int) -> list[int] | None:
    if node.kind in {"ArgMax", "ArgMin"}:
        return [int(node.attrs.get("axis", 0)) % rank] if rank > 0 else None
    array = _constant_input(node, 1)
    return None if array is None or rank <= 0 else [int(axis) % rank for axis in array]


def _rewrite_reduction(
    g: GraphBuilder,
    node: Node,
    roles: Roles,
    is_first: bool,
    forms: Sequence[bool],
    shapes: Sequence[Shape | None],
) -> None:
    del roles, forms
    shape = shapes[0]
    if not is_first or shape is None or shape.rank is None:
        return
    rank = shape.rank
    axes = sorted(moved_axis(axis, rank) for axis in _reduced_axes(node, rank) or [])
    if node.kind in {"ArgMax", "ArgMin"}:
        node.attrs["axis"] = axes[0]
    else:
        node.inputs[1] = g.ints(*axes)


def _axes_input(index: int) -> Callable[[Node, object, object], Roles | None]:
    """Slice and CumSum: axes in an input; what is given per axis stays as it is."""

    def rule(node: Node, users: object, results: object) -> Roles | None:
        del users, results
        rank = _rank(node.outputs[0])
        if rank < 3 or _constant_input(node, index) is None:
            return None
        return Roles([OWN, *[ANY] * (len(node.inputs) - 1)], set(node.outputs), rewrite=turned)

    def turned(
        g: GraphBuilder,
        node: Node,
        roles: Roles,
        is_first: bool,
        forms: Sequence[bool],
        shapes: Sequence[Shape | None],
    ) -> None:
        del roles, forms, shapes
        array = _constant_input(node, index)
        if is_first and array is not None:
            rank = _rank(node.outputs[0])
            axes = [moved_axis(int(axis), rank) for axis in array.reshape(-1)]
            node.inputs[index] = g.constant(np.array(axes, np.int64).reshape(array.shape))

    return rule


def _per_axis(index: int) -> Callable[[Node, object, object], Roles | None]:
    """Pad, Expand, Tile: a constant with an entry per axis, or all begins, then all ends."""

    def rule(node: Node, users: object, results: object) -> Roles | None:
        del users, results
        rank = _rank(node.outputs[0])
        array = _constant_input(node, index)
        if rank < 3 or array is None or array.size % rank or _rank(node.inputs[0]) != rank:
            return None
        if node.kind == "Pad" and len(node.inputs) > 3 and node.inputs[3] is not None:
            return None
        return Roles([OWN, *[ANY] * (len(node.inputs) - 1)], set(node.outputs), rewrite=turned)

    def turned(
        g: GraphBuilder,
        node: Node,
        roles: Roles,
        is_first: bool,
        forms: Sequence[bool],
        shapes: Sequence[Shape | None],
    ) -> None:
        del roles, forms, shapes
        array = _constant_input(node, index)
        if is_first and array is not None:
            rank = _rank(node.outputs[0])
            node.inputs[index] = g.constant(
                array.reshape(-1, rank)[:, first_axes(rank)].reshape(-1)
            )

    return rule


def _squeeze(node: Node, users: object, results: object) -> Roles | None:
    """Squeeze: what is left must be in order, or have channels itself."""
    del users, results
    rank = _rank(node.inputs[0])
    array = _constant_input(node, 1)
    if rank < 3 or array is None:
        return None
    axes = {int(axis) % rank for axis in array}
    kept = [axis for axis in range(rank) if axis not in axes]
    places = [moved_axis(axis, rank) for axis in kept]
    if places == sorted(places):
        return Roles([OWN, ANY], rewrite=_rewrite_squeeze)
    if 0 in axes or rank - 1 in axes:
        return None
    return Roles([OWN, ANY], set(node.outputs), rewrite=_rewrite_squeeze)


def _rewrite_squeeze(
    g: GraphBuilder,
    node: Node,
    roles: Roles,
    is_first: bool,
    forms: Sequence[bool],
    shapes: Sequence[Shape | None],
) -> None:
    del roles, forms
    array, shape = _constant_input(node, 1), shapes[0]
    if is_first and array is not None and shape is not None and shape.rank is not None:
        rank = shape.rank
        node.inputs[1] = g.ints(*sorted(moved_axis(int(axis), rank) for axis in array))


def _unsqueeze(node: Node, users: object, results: object) -> Roles | None:
    """Unsqueeze of places: [n, c] to [n, 1, 1, c], [n, w, c] to [n, 1, w, c]."""
    del users, results
    rank, before = _rank(node.outputs[0]), _rank(node.inputs[0])
    array = _constant_input(node, 1)
    if rank < 3 or before < 2 or array is None:
        return None
    axes = {int(axis) % rank for axis in array}
    if 0 in axes or rank - 1 in axes:
        return None
    take = OWN if before > 2 else ANY
    return Roles([take, ANY], set(node.outputs), rewrite=_rewrite_unsqueeze)


def _rewrite_unsqueeze(
    g: GraphBuilder,
    node: Node,
    roles: Roles,
    is_first: bool,
    forms: Sequence[bool],
    shapes: Sequence[Shape | None],
) -> None:
    del roles, forms, shapes
    array = _constant_input(node, 1)
    if is_first and array is not None:
        rank = _rank(node.outputs[0])
        node.inputs[1] = g.ints(*sorted(moved_axis(int(axis), rank) for axis in array))


def _reshape(node: Node, users: dict[Value, list[Node]], results: set[Value]) -> Roles | None:
    source, target = node.inputs[0], node.outputs[0]
    sizes = _constant_input(node, 1)
    if (
        source is None
        or sizes is None
        or source.shape.rank is None
        or 0 in sizes[1:]
        or "allowzero" in node.attrs
    ):
        return None
    take = LAST
    if source.shape.rank < 3 or is_free(source.shape):
        take = ANY
    gives: set[Value] = set()
    if _rank(target) >= 3 and take == ANY and all(size == 1 for size in list(target.shape)[1:-1]):
        gives = set(node.outputs)
    roles = Roles([take, ANY], gives, rewrite=_rewrite_reshape)
    if take == LAST and not gives:
        roles.feeds = _flattened_products(source, target, users, results)
        if not roles.feeds:
            return None
        roles.takes = [ANY, ANY]
    return roles


def _flattened_products(
    source: Value, target: Value, users: dict[Value, list[Node]], results: set[Value]
) -> list[Node]:
    """The products that a flattening [n, ..., c] -> [n, all] feeds, if it feeds nothing else."""
    sizes = list(source.shape)
    if target in results or _rank(target) != 2 or None in sizes[1:] or target.size(1) is None:
        return []
    if target.size(1) != int(np.prod([size for size in sizes[1:] if size is not None])):
        return []
    fed = users.get(target, [])
    for user in fed:
        plain = user.kind == "MatMul" or (user.kind == "Gemm" and not user.attrs.get("transA", 0))
        weights = user.inputs[1] if len(user.inputs) > 1 else None
        if (
            not plain
            or user.inputs[0] is not target
            or weights is None
            or weights.array is None
            or weights.rank != 2
        ):
            return []
    return list(dict.fromkeys(fed))


def _rewrite_reshape(
    g: GraphBuilder,
    node: Node,
    roles: Roles,
    is_first: bool,
    forms: Sequence[bool],
    shapes: Sequence[Shape | None],
) -> None:
    shape, sizes = shapes[0], _constant_input(node, 1)
    if is_first and node.outputs[0] in roles.gives and sizes is not None:
        node.inputs[1] = g.ints(*[int(sizes[axis]) for axis in first_axes(sizes.size)])
    if not (roles.feeds and forms[0]) or shape is None:
        return
    inner = [int(size) for size in list(shape)[1:] if size is not None]
    for product in roles.feeds:
        weights = product.inputs[1]
        if weights is None or weights.array is None:
            continue
        array = weights.array.T if product.attrs.get("transB", 0) else weights.array
        columns = array.shape[1]
        rank = len(inner)
        moved = (
            array.reshape(*inner, columns)
            .transpose(rank - 1, *range(rank - 1), rank)
            .reshape(-1, columns)
        )
        turned = moved.T if product.attrs.get("transB", 0) else moved
        product.inputs[1] = g.constant(np.ascontiguousarray(turned), weights.name, weights.dtype)


def _gather(node: Node, users: object, results: object) -> Roles | None:
    """Gather of places that are known, a vector of them: the axis stays where it is."""
    del users, results
    array = _constant_input(node, 1)
    rank = _rank(node.outputs[0])
    if rank < 3 or array is None or array.ndim != 1:
        return None
    return Roles([OWN, ANY], set(node.outputs), rewrite=_rewrite_axis)


def _transpose(node: Node, users: object, results: object) -> Roles | None:
    del users, results
    if _rank(node.inputs[0]) < 3:
        return None
    return Roles([ANY], rewrite=_rewrite_transpose)


def _rewrite_transpose(
    g: GraphBuilder,
    node: Node,
    roles: Roles,
    is_first: bool,
    forms: Sequence[bool],
    shapes: Sequence[Shape | None],
) -> None:
    del g, roles, is_first
    shape = shapes[0]
    if forms[0] and shape is not None and shape.rank is not None:
        rank = shape.rank
        node.attrs["perm"] = [moved_axis(int(axis), rank) for axis in node.attrs["perm"]]


def _product(node: Node, users: object, results: object) -> Roles | None:
    """X @ w along the channels is a convolution with a window of one place."""
    del users, results
    value, weights = node.inputs[0], node.inputs[1]
    if _rank(value) < 3 or value is None or weights is None:
        return None
    if weights.array is None or weights.rank != 2 or value.dtype is not dtypes.float32:
        return None
    return Roles([OWN, ANY], set(node.outputs), rewrite=_rewrite_product)


def _rewrite_product(
    g: GraphBuilder,
    node: Node,
    roles: Roles,
    is_first: bool,
    forms: Sequence[bool],
    shapes: Sequence[Shape | None],
) -> None:
    del roles, forms
    weights, shape = node.inputs[1], shapes[0]
    if (
        not is_first
        or weights is None
        or weights.array is None
        or shape is None
        or shape.rank is None
    ):
        return
    spatial = shape.rank - 2
    kernel = np.ascontiguousarray(weights.array.T).reshape(*weights.array.T.shape, *[1] * spatial)
    node.kind = "Conv"
    node.inputs[1] = g.constant(kernel, weights.name, weights.dtype)
    node.attrs = {"kernel_shape": [1] * spatial}


_ELEMENTWISE = """Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot
BitwiseOr BitwiseXor Cast
    Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid
    HardSwish Identity IsInf
    IsNaN LeakyRelu Less LessOrEqual Log Max Min Mish Mod Mul Neg Not Or Pow PRelu Reciprocal Relu
    Round Selu Sigmoid
    Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor"""
_REDUCTIONS = """ArgMax ArgMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
ReduceMin ReduceProd
    ReduceSum ReduceSumSquare"""
_RULES: dict[str, Callable[[Node, dict[Value, list[Node]], set[Value]], Roles | None]] = {
    **dict.fromkeys(_ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys(_REDUCTIONS.split(), _reduction),
    **dict.fromkeys(("Concat", "Split", "Softmax", "LogSoftmax"), _axis_attribute),
    "CumSum": _axes_input(1),
    "Slice": _axes_input(3),
    "Expand": _per_axis(1),
    "Gather": _gather,
    "Pad": _per_axis(1),
    "Tile": _per_axis(1),
    "MatMul": _product,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
