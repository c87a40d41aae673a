"""Matrix products and Einsum."""

import math
from collections.abc import Sequence

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.graph.graph import Value


@rule("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(r: Rewrite) -> Value | None:
    """A batched product; TensorFlow.js broadcasts only whole operands, so batches are expanded."""
    a, b = r.inputs
    attrs = {name: r.attr(name) for name in ("adj_x", "adj_y")}
    r.needs(not a.dtype.is_complex, "of complex numbers")
    r.needs(a.dtype is b.dtype is r.node.outputs[0].dtype, "of numbers of two types")
    r.needs(
        a.shape.rank is not None and b.shape.rank is not None,
        "its operands have unknown rank",
    )
    left, right = list(a.shape)[:-2], list(b.shape)[:-2]
    if left == right and None not in left[1:]:
        return None if r.node.op.name != "BatchMatMulV3" else r.op("BatchMatMulV2", a, b, **attrs)
    if not (_repeats(left, right) or _repeats(right, left)):
        a, b = _spread(r, a, b)
    return r.op("BatchMatMulV2", a, b, **attrs)


def _repeats(longer: list[int | None], shorter: list[int | None]) -> bool:
    """Whether TensorFlow.js broadcasts `shorter`: its last sizes equal, all others are 1.

    A first axis of unknown size may be 1 in either.
    """
    known = list(shorter)
    if len(longer) == len(shorter) and None in (longer[:1] + shorter[:1]):
        return list(longer)[1:] == known[1:] and None not in known[1:]
    while known and known[0] == 1:
        known.pop(0)
    tail = list(longer)[max(len(longer) - len(known), 0) :]
    return tail == known and None not in known


def _spread(r: Rewrite, a: Value, b: Value) -> tuple[Value, Value]:
    """Both operands broadcast to the same batch shape."""
    shapes = [r.op("Shape", x) for x in (a, b)]
    heads = [_cut(r, shape, 0, -2) for shape in shapes]
    stack = r.op("BroadcastArgs", *heads)
    axis = r.constant(0, np.int32)
    made = [
        r.op("BroadcastTo", x, r.op("ConcatV2", stack, _cut(r, shape, -2, 0), axis))
        for x, shape in zip((a, b), shapes, strict=True)
    ]
    return made[0], made[1]


def _cut(r: Rewrite, x: Value, begin: int, end: int) -> Value:
    """x[begin:end]; 0 as `end` stands for the end of the axis."""
    limits = [r.constant([number], np.int32) for number in (begin, end, 1)]
    return r.op("StridedSlice", x, *limits, end_mask=0 if end else 1)


@rule("MatMul")
def matmul(r: Rewrite) -> None:
    """Refuse operands of a rank other than 2."""
    r.needs(not r.inputs[0].dtype.is_complex, "of complex numbers")


@rule("Einsum")
def einsum(r: Rewrite) -> Value:
    """Sums, then one batched matrix product, or products of all elements for unknown sizes."""
    equation = r.attr("equation").replace(" ", "")
    terms, arrow, result = equation.partition("->")
    operands = terms.split(",")
    r.needs("." not in equation, f"{equation!r}, with an ellipsis")
    r.needs(
        all(len(set(term)) == len(term) for term in (*operands, result)),
        f"{equation!r} takes a diagonal",
    )
    r.needs(len(operands) <= 2, f"{equation!r}, of more than two tensors")
    r.needs(arrow, f"{equation!r}, without a result")
    r.needs(all(x.shape.rank is not None for x in r.inputs), "of an unknown number of axes")
    r.needs(not r.inputs[0].dtype.is_complex, "of complex numbers")
    if len(operands) == 1:
        x, term = _summed(r, r.inputs[0], operands[0], result)
        return _turned(r, x, term, result)
    (a, left), (b, right) = (
        _summed(r, x, term, result + other)
        for x, term, other in zip(r.inputs, operands, reversed(operands), strict=True)
    )
    made = _as_product(r, a, b, left, right, result)
    return _by_numbers(r, a, b, left, right, result) if made is None else made


def _summed(r: Rewrite, x: Value, term: str, needed: str) -> tuple[Value, str]:
    """The sum over indices that occur nowhere else."""
    alone = [axis for axis, letter in enumerate(term) if letter not in needed]
    if not alone:
        return x, term
    kept = "".join(letter for letter in term if letter in needed)
    return r.op("Sum", x, r.constant(alone, np.int32)), kept


def _turned(r: Rewrite, x: Value, term: str, result: str) -> Value:
    order = [term.index(letter) for letter in result]
    return r.op("Identity", x) if order == sorted(order) else r.transposed(x, order)


def _by_numbers(r: Rewrite, a: Value, b: Value, left: str, right: str, result: str) -> Value:
    """All products of elements, then their sums."""
    letters = result + "".join(one for one in left if one not in result)
    parts = []
    for x, term in ((a, left), (b, right)):
        turned = _turned(r, x, term, "".join(one for one in letters if one in term))
        for axis, letter in enumerate(letters):
            if letter not in term:
                turned = r.op("ExpandDims", turned, r.constant(axis, np.int32))
        parts.append(turned)
    product = r.op("Mul", *parts)
    if len(letters) == len(result):
        return product
    return r.op("Sum", product, r.constant(range(len(result), len(letters)), np.int32))


def _as_product(r: Rewrite, a: Value, b: Value, left: str, right: str, result: str) -> Value | None:
    """[batch, rows, summed] times [batch, summed, columns]; None if sizes are unknown."""
    sizes: dict[str, int | None] = {}
    for term, value in ((left, a), (right, b)):
        for letter, size in zip(term, value.shape, strict=True):
            if sizes.get(letter) is None:
                sizes[letter] = size
    batch = [one for one in result if one in left and one in right]
    rows = [one for one in result if one in left and one not in right]
    columns = [one for one in result if one in right and one not in left]
    summed = [one for one in left if one in right and one not in result]
    if not summed or any(sizes[one] in (None, 0) for one in summed):
        return None
    # A reshape may have one unknown size at most.
    if [sizes[one] for one in (*batch, *rows, *columns)].count(None) > 1:
        return None
    first = _merged(r, a, left, (batch, rows, summed), sizes)
    second = _merged(r, b, right, (batch, summed, columns), sizes)
    made = r.op("BatchMatMulV2", first, second)
    order = "".join([*batch, *rows, *columns])
    known = [sizes[one] for one in order]
    apart = r.reshaped(made, [-1 if size is None else size for size in known])
    return _turned(r, apart, order, result) if order != result else apart


def _merged(
    r: Rewrite,
    x: Value,
    term: str,
    groups: Sequence[Sequence[str]],
    sizes: dict[str, int | None],
) -> Value:
    """The tensor with its axes merged into three groups."""
    order = [term.index(one) for group in groups for one in group]
    if order != sorted(order):
        x = r.transposed(x, order)
    lengths = []
    for group in groups:
        known = [sizes[one] for one in group]
        lengths.append(-1 if None in known else math.prod(size or 0 for size in known))
    return r.reshaped(x, lengths)


@rule("_FusedConv2D", "_FusedDepthwiseConv2dNative", "_FusedMatMul")
def fused(r: Rewrite) -> Value:
    """The product, bias and activation; they are fused again for TensorFlow.js later."""
    name = r.node.op.name
    product = name.removeprefix("_Fused")
    names: tuple[str, ...] = (
        *("strides", "padding", "explicit_paddings", "data_format", "dilations"),
    )
    if name == "_FusedMatMul":
        names = ("transpose_a", "transpose_b")
    attrs = {one: r.attr(one) for one in names if one in r.node.attrs}
    r.needs(attrs.get("data_format", "NHWC") == "NHWC", "with channels first")
    r.needs(r.node.attrs.get("filter_format", "HWIO") == "HWIO", "with another filter")
    x, weights, *rest = r.inputs
    value = r.op(product, x, weights, **attrs)
    for one in r.attr("fused_ops"):
        kind = one.decode() if isinstance(one, bytes) else one
        if kind == "BiasAdd":
            value = r.op("BiasAdd", value, rest.pop(0))
        elif kind == "LeakyRelu":
            value = r.op("LeakyRelu", value, alpha=r.attr("leakyrelu_alpha"))
        else:
            r.needs(kind in ("Relu", "Relu6", "Elu", "Tanh", "Sigmoid"), f"with {kind}")
            value = r.op(kind, value)
    return value
