"""Layout rules of operators that change the rank or the order of axes."""

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input, rank_of
from pinnace.deploy.onnx.passes.layout_roles import (
    ANY,
    LAST,
    OWN,
    Chosen,
    Roles,
    first_axes,
    is_free,
    moved_axis,
)
from pinnace.framework import dtypes

# Rules; None stands for nodes that only work in channels last.


def squeeze(node: Node) -> Roles | None:
    """Squeeze: the remaining axes must be in order, or include channels."""
    rank = rank_of(node.inputs[0])
    array = constant_input(node, 1)
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


def _rewrite_squeeze(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
    array, shape = constant_input(node, 1), chosen.shapes[0]
    if chosen.is_first and array is not None and shape is not None and shape.rank is not None:
        rank = shape.rank
        node.inputs[1] = g.ints(*sorted(moved_axis(int(axis), rank) for axis in array))


def unsqueeze(node: Node) -> Roles | None:
    """Unsqueeze of spatial axes: [n, c] to [n, 1, 1, c], [n, w, c] to [n, 1, w, c]."""
    rank, before = rank_of(node.outputs[0]), rank_of(node.inputs[0])
    array = constant_input(node, 1)
    if rank < 3 or before < 2 or array is None:
        return None
    axes = {int(axis) % rank for axis in array}
    if 0 in axes or rank - 1 in axes:
        return None
    take = OWN if before > 2 else ANY
    return Roles([take, ANY], set(node.outputs), rewrite=_rewrite_unsqueeze)


def _rewrite_unsqueeze(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
    array = constant_input(node, 1)
    if chosen.is_first and array is not None:
        rank = rank_of(node.outputs[0])
        node.inputs[1] = g.ints(*sorted(moved_axis(int(axis), rank) for axis in array))


def reshape(node: Node, users: dict[Value, list[Node]], results: set[Value]) -> Roles | None:
    """Reshape of values with the same order in both layouts, and flattenings."""
    source, target = node.inputs[0], node.outputs[0]
    sizes = constant_input(node, 1)
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
    if rank_of(target) >= 3 and take == ANY and all(size == 1 for size in list(target.shape)[1:-1]):
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
    """The products that a flattening [n, ..., c] -> [n, all] feeds, if it has no other users."""
    sizes = list(source.shape)
    if target in results or rank_of(target) != 2 or None in sizes[1:] or target.size(1) is None:
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


def _rewrite_reshape(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
    shape, sizes = chosen.shapes[0], constant_input(node, 1)
    if chosen.is_first and node.outputs[0] in chosen.roles.gives and sizes is not None:
        node.inputs[1] = g.ints(*[int(sizes[axis]) for axis in first_axes(sizes.size)])
    if not (chosen.roles.feeds and chosen.forms[0]) or shape is None:
        return
    inner = [int(size) for size in list(shape)[1:] if size is not None]
    for product in chosen.roles.feeds:
        weights = product.inputs[1]
        if weights is None or weights.array is None:
            continue
        array = weights.array.T if product.attrs.get("transB", 0) else weights.array
        columns = array.shape[1]
        rank = len(inner)
        turned_rows = array.reshape(*inner, columns).transpose(rank - 1, *range(rank - 1), rank)
        if product.attrs.get("transB", 0):
            turned = g.constant(turned_rows.reshape(-1, columns).T, weights.name, weights.dtype)
        else:
            # A view with the rows in another order; it is never copied.
            turned = Value(weights.name, weights.dtype, weights.shape, turned_rows)
        product.inputs[1] = turned


def transpose(node: Node) -> Roles | None:
    """Transpose takes any layout, and returns channels last."""
    if rank_of(node.inputs[0]) < 3:
        return None
    return Roles([ANY], rewrite=_rewrite_transpose)


def _rewrite_transpose(_: GraphBuilder, node: Node, chosen: Chosen) -> None:
    shape = chosen.shapes[0]
    if chosen.forms[0] and shape is not None and shape.rank is not None:
        rank = shape.rank
        node.attrs["perm"] = [moved_axis(int(axis), rank) for axis in node.attrs["perm"]]


def sizes(node: Node) -> Roles | None:
    """Shape takes any layout, and returns the sizes of channels last."""
    if rank_of(node.inputs[0]) < 3:
        return None
    return Roles([ANY], rewrite=_rewrite_sizes)


def _rewrite_sizes(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
    value, shape = node.inputs[0], chosen.shapes[0]
    if not chosen.forms[0] or value is None or shape is None or shape.rank is None:
        return
    told = slice(node.attrs.get("start", 0), node.attrs.get("end"))
    places = [moved_axis(axis, shape.rank) for axis in range(shape.rank)[told]]
    first = places[0] if places else 0
    if places == list(range(first, first + len(places))):
        node.attrs = {"start": first, "end": first + len(places)}
        return
    with g.scope(node.origin):
        whole = g.op("Shape", value)
    whole.is_size = True
    node.kind, node.inputs = "Gather", [whole, g.ints(*places)]
    node.attrs = {"axis": 0}


def product(node: Node) -> Roles | None:
    """`x @ w` along the channels is a convolution with window 1."""
    value, weights = node.inputs[0], node.inputs[1]
    if rank_of(value) < 3 or value is None or weights is None:
        return None
    if weights.array is None or weights.rank != 2 or value.dtype is not dtypes.float32:
        return None
    return Roles([OWN, ANY], set(node.outputs), rewrite=_rewrite_product)


def _rewrite_product(g: GraphBuilder, node: Node, chosen: Chosen) -> None:
    weights, shape = node.inputs[1], chosen.shapes[0]
    if (
        not chosen.is_first
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
