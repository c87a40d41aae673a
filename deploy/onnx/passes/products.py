"""Matrix products of flattened rows, and reshapes with redundant sizes.

x [..., k] reshaped to rows, times a matrix, and reshaped back is MatMul of x itself; sizes that are
copied, or follow from the others, need not be computed.
"""

from typing import NamedTuple

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Node, Value
from pinnace.deploy.onnx.ir.size_origins import Size, elements, origin
from pinnace.deploy.onnx.passes.replacing import Places, replace_values


class _Product(NamedTuple):
    """A product of rows.

    Attributes:
        x: the value before it was reshaped to rows.
        lead: the number of its leading axes that the result keeps.
        inner: the sizes of the result's other axes.
        weights: [k, m].
        shift: the summand, [m].
    """

    x: Value
    lead: int
    inner: list[int]
    weights: Value
    shift: Value | None


def unfold_products(g: GraphBuilder) -> None:
    """Rewrite the graph, including the bodies of its nodes."""

    def change(node: Node, _: Places) -> Value | None:
        product = _product_of(node)
        shifted = _shifted(node)
        if product is not None:
            return _written(g, product)
        if shifted is not None:
            return _turned(g, *shifted)
        _say_less(g, node)
        return None

    replace_values(g, change, unfold_products)


def _product_of(node: Node) -> _Product | None:
    """The result of a Reshape, as a product of a value with the same leading axes."""
    rows = node.inputs[0] if node.kind == "Reshape" else None
    product = rows.node if rows is not None else None
    if rows is None or product is None or product.kind not in {"MatMul", "Gemm"} or rows.rank != 2:
        return None
    flat, weights = product.inputs[:2]
    before = flat.node if flat is not None else None
    if product.attrs or weights is None or before is None or before.kind != "Reshape":
        return None
    x, target, sizes = before.inputs[0], node.outputs[0], node.inputs[1]
    if x is None or sizes is None or x.shape.rank is None or target.shape.rank is None:
        return None
    if weights.array is None or weights.rank != 2 or target.rank < 3:
        return None
    k, m = (int(size or 0) for size in weights.shape)
    for lead in range(min(x.rank, target.rank) - 1, 0, -1):
        if x.shape[lead:].num_elements() == k and target.shape[lead:].num_elements() == m:
            break
    else:
        return None
    wanted = elements(sizes)
    unsure = 0
    for axis in range(lead):
        known = target.size(axis)
        told: Size = known if known is not None else wanted[axis] if wanted else None
        unsure += told is None or told != origin(x, axis)
    # Both sides have the same number of elements: one unproved size follows from the others.
    if unsure > 1:
        return None
    inner = [int(size) for size in target.shape[lead:] if size is not None]
    shift = product.inputs[2] if len(product.inputs) > 2 else None
    return _Product(x, lead, inner, weights, shift)


def _written(g: GraphBuilder, product: _Product) -> Value:
    x, lead = product.x, product.lead
    kept = [0] * lead
    if x.rank != lead + 1:
        x = g.op("Reshape", x, g.ints(*kept, int(product.weights.shape[0] or 0)))
    made = g.op("MatMul", x, product.weights)
    if product.shift is not None:
        made = g.op("Add", made, product.shift)
    if len(product.inner) == 1:
        return made
    return g.op("Reshape", made, g.ints(*kept, *product.inner))


def _shifted(node: Node) -> tuple[Value, Value, Value] | None:
    """A constant added to a split last axis: the value, the sizes, and the constant."""
    if node.kind != "Add":
        return None
    for place in (0, 1):
        constant, split = node.inputs[place], node.inputs[1 - place]
        before = split.node if split is not None else None
        if constant is None or constant.array is None or before is None or before.kind != "Reshape":
            continue
        x, sizes = before.inputs[0], before.inputs[1]
        array = sizes.array if sizes is not None else None
        if x is None or sizes is None or array is None or x.shape.rank is None:
            continue
        lead = x.rank - 1
        inner = [int(n) for n in array[lead:]]
        whole = constant.shape.as_list() == inner and len(inner) > 1
        if whole and not np.any(array[:lead]) and "allowzero" not in before.attrs:
            return x, sizes, constant
    return None


def _turned(g: GraphBuilder, x: Value, sizes: Value, constant: Value) -> Value:
    """The constant added before the split."""
    return g.op("Reshape", g.op("Add", x, g.op("Reshape", constant, g.ints(-1))), sizes)


def _say_less(g: GraphBuilder, node: Node) -> None:
    """Replace sizes of a Reshape that are copied, or follow from the others, by 0 and -1."""
    sizes = node.inputs[1] if node.kind == "Reshape" else None
    x = node.inputs[0]
    if sizes is None or sizes.array is not None or x is None or x.shape.rank is None:
        return
    wanted, target = elements(sizes), node.outputs[0].shape
    if wanted is None or target.rank != len(wanted):
        return
    said: list[int] = []
    for axis, told in enumerate(wanted):
        size = target[axis] if told is None else told
        if isinstance(size, int):
            if size <= 0:
                return  # 0 would copy the size
            said.append(size)
        elif size is not None and axis < x.rank and size == origin(x, axis):
            said.append(0)
        else:
            said.append(-1)
    # Beside a copied size, which may be 0, no other size can follow from the rest.
    if said.count(-1) + (0 in said and -1 in said) <= 1:
        node.inputs[1] = g.ints(*said)
        node.attrs.pop("allowzero", None)
