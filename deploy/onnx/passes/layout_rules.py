"""The layout rule of each operator, and its rewriting to channels first."""

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input, rank_of
from pinnace.deploy.onnx.passes import shape_layout_rules
from pinnace.deploy.onnx.passes.layout_roles import (
    ANY,
    FIRST,
    LAST,
    OWN,
    Chosen,
    Roles,
    Rule,
    constant_first,
    first_axes,
    moved_axis,
)


def roles_of(node: Node, users: dict[Value, list[Node]], results: set[Value]) -> Roles:
    """The roles of a node."""
    count = len(node.inputs)
    if node.moved:
        takes = [LAST] * count
        takes[node.moved_input] = OWN
        return Roles(takes, {node.outputs[0]}, FIRST)
    if node.kind == "Reshape":
        found = shape_layout_rules.reshape(node, users, results)
    else:
        found = _RULES[node.kind](node) if node.kind in _RULES else None
    return Roles([LAST] * count) if found is None else found


def rewrite(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
    """Rewrite the node for the chosen layouts."""
    change = chosen.roles.rewrite
    if change is not None and (chosen.is_first or any(chosen.forms)):
        change(g, node, chosen)


# Rules; None stands for nodes that only work in channels last.


def _elementwise(node: Node) -> Roles | None:
    rank = rank_of(node.outputs[0])
    if rank < 3:
        return None
    takes = []
    for value in node.inputs:
        if value is None or value.array is not None or rank_of(value) == 0:
            takes.append(ANY)
        elif rank_of(value) == rank:
            takes.append(OWN)
        else:
            return None
    if OWN not in takes:
        return None
    return Roles(takes, set(node.outputs), rewrite=_rewrite_operands)


def _rewrite_operands(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
    if not chosen.is_first:
        return
    rank = rank_of(node.outputs[0])
    for index, value in enumerate(node.inputs):
        if value is not None and value.array is not None:
            node.inputs[index] = g.constant(
                constant_first(value.array, rank), value.name, value.dtype
            )


def _axis_attribute(node: Node) -> Roles | None:
    """Concat, Split, Softmax: an axis as an attribute; all tensors have the same rank."""
    rank = rank_of(node.outputs[0])
    if rank < 3:
        return None
    takes = []
    for index, value in enumerate(node.inputs):
        if value is None or (node.kind == "Split" and index == 1) or value.array is not None:
            takes.append(ANY)
        else:
            takes.append(OWN)
    return Roles(takes, set(node.outputs), rewrite=_rewrite_axis)


def _rewrite_axis(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
    if not chosen.is_first:
        return
    rank = rank_of(node.outputs[0])
    default = -1 if node.kind in {"Softmax", "LogSoftmax"} else 0
    node.attrs["axis"] = moved_axis(int(node.attrs.get("axis", default)), rank)
    if node.kind == "Concat":
        for index, value in enumerate(node.inputs):
            if value is not None and value.array is not None:
                turned = value.array.transpose(first_axes(rank))
                node.inputs[index] = g.constant(turned, value.name, value.dtype)


def _gather(node: Node) -> Roles | None:
    """Gather with a vector of indices, which keeps the position of the axis."""
    rank = rank_of(node.outputs[0])
    if rank < 3 or rank_of(node.inputs[1]) != 1:
        return None
    return Roles([OWN, ANY], set(node.outputs), rewrite=_rewrite_axis)


def _reduction(node: Node) -> Roles | None:
    """Reduce*: axes as input 1; ArgMax and ArgMin: an axis as an attribute."""
    rank = rank_of(node.inputs[0])
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
    array = constant_input(node, 1)
    return None if array is None or rank <= 0 else [int(axis) % rank for axis in array]


def _rewrite_reduction(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
    shape = chosen.shapes[0]
    if not chosen.is_first or shape is None or shape.rank is None:
        return
    rank = shape.rank
    axes = sorted(moved_axis(axis, rank) for axis in _reduced_axes(node, rank) or [])
    if node.kind in {"ArgMax", "ArgMin"}:
        node.attrs["axis"] = axes[0]
    else:
        node.inputs[1] = g.ints(*axes)


def _axes_input(index: int) -> Rule:
    """Slice and CumSum: the axes are an input; values per axis are unchanged."""

    def rule(node: Node) -> Roles | None:
        rank = rank_of(node.outputs[0])
        if rank < 3 or constant_input(node, index) is None:
            return None
        return Roles([OWN, *[ANY] * (len(node.inputs) - 1)], set(node.outputs), rewrite=turned)

    def turned(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
        array = constant_input(node, index)
        if chosen.is_first and array is not None:
            rank = rank_of(node.outputs[0])
            axes = [moved_axis(int(axis), rank) for axis in array.reshape(-1)]
            node.inputs[index] = g.constant(np.array(axes, np.int64).reshape(array.shape))

    return rule


def _per_axis(index: int) -> Rule:
    """Pad, Expand, Tile: a constant with entries per axis, for Pad all begins, then all ends."""

    def rule(node: Node) -> Roles | None:
        rank = rank_of(node.outputs[0])
        array = constant_input(node, index)
        if rank < 3 or array is None or array.size % rank or rank_of(node.inputs[0]) != rank:
            return None
        if node.kind == "Pad" and len(node.inputs) > 3 and node.inputs[3] is not None:
            return None
        return Roles([OWN, *[ANY] * (len(node.inputs) - 1)], set(node.outputs), rewrite=turned)

    def turned(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
        array = constant_input(node, index)
        if chosen.is_first and array is not None:
            rank = rank_of(node.outputs[0])
            node.inputs[index] = g.constant(
                array.reshape(-1, rank)[:, first_axes(rank)].reshape(-1)
            )

    return rule


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
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys(_REDUCTIONS.split(), _reduction),
    **dict.fromkeys(("Concat", "Split", "Softmax", "LogSoftmax"), _axis_attribute),
    "CumSum": _axes_input(1),
    "Slice": _axes_input(3),
    "Expand": _per_axis(1),
    "Gather": _gather,
    "Pad": _per_axis(1),
    "Tile": _per_axis(1),
    "MatMul": shape_layout_rules.product,
    "Shape": shape_layout_rules.sizes,
    "Squeeze": shape_layout_rules.squeeze,
    "Transpose": shape_layout_rules.transpose,
    "Unsqueeze": shape_layout_rules.unsqueeze,
}
