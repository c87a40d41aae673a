"""Products of matrices, and sums of products."""

import math
from collections.abc import Sequence

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.graph.graph import Value


@rule("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(r: Rewrite) -> Value | None:
    """Stacks of matrices: TensorFlow.js repeats only one that is shorter as a whole."""
    a, b = r.inputs
    attrs = {name: r.attr(name) for name in ("adj_x", "adj_y")}
    r.needs(not a.dtype.is_complex, "of complex numbers")
    r.needs(a.dtype is b.dtype is r.node.outputs[0].dtype, "of numbers of two types")
    r.needs(
        a.shape.rank is not None and b.shape.rank is not None,
        "of tensors with an unknown number of axes",
    )
    left, right = list(a.shape)[:-2], list(b.shape)[:-2]
    if left == right and None not in left[1:]:
        return None if r.node.op.name != "BatchMatMulV3" else r.op("BatchMatMulV2", a, b, **attrs)
    if not (_repeats(left, right) or _repeats(right, left)):
        a, b = _spread(r, a, b)
    return r.op("BatchMatMulV2", a, b, **attrs)


def _repeats(longer: Sequence[int | None], shorter: Sequence[int | None]) -> bool:
    """Whether the one is the other, one after the other: the last axes agree, the others are one.

    What is unknown in the same place of both is taken for the same, or one: then it repeats, too,
    if it is the first axis.
    """
    known = list(shorter)
    while known and known[0] == 1:
        known.pop(0)
    tail = list(longer)[len(longer) - len(known) :]
    return len(tail) == len(known) and tail == known and None not in tail[1:]


def _spread(r: Rewrite, a: Value, b: Value) -> tuple[Value, Value]:
    """Both as stacks of as many matrices, which tensors that are so already stay."""
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
    """x[begin:end], without an end where that is zero."""
    limits = [r.constant([number], np.int32) for number in (begin, end, 1)]
    return r.op("StridedSlice", x, *limits, end_mask=0 if end else 1)


@rule("MatMul")
def matmul(r: Rewrite) -> None:
    """Two matrices."""
    r.needs(not r.inputs[0].dtype.is_complex, "of complex numbers")


@rule("Einsum")
def einsum(r: Rewrite) -> Value | None:
    """As one product of stacks of matrices where the sizes tell how; TensorFlow.js' own else."""
    equation = r.attr("equation").replace(" ", "")
    terms, _, result = equation.partition("->")
    operands = terms.split(",")
    r.needs("." not in equation, f"{equation!r}, with an ellipsis")
    r.needs(
        all(len(set(term)) == len(term) for term in operands), f"{equation!r}, with a diagonal"
    )
    r.needs(len(operands) <= 2, f"{equation!r}, of more than two tensors")
    r.needs("->" in equation, f"{equation!r}, without a result")
    if len(operands) != 2:
        return None
    return _as_product(r, operands[0], operands[1], result)


def _as_product(r: Rewrite, left: str, right: str, result: str) -> Value | None:
    """[batch, rows, summed] times [batch, summed, columns]; None where that is no help."""
    a, b = r.inputs
    sizes: dict[str, int | None] = {}
    for term, value in ((left, a), (right, b)):
        for letter, size in zip(term, value.shape, strict=True):
            if sizes.get(letter) is None:
                sizes[letter] = size
    batch = [one for one in result if one in left and one in right]
    rows = [one for one in result if one in left and one not in right]
    columns = [one for one in result if one in right and one not in left]
    summed = [one for one in left if one in right and one not in result]
    used = {*batch, *rows, *columns, *summed}
    if used != {*left, *right} or not summed:
        return None
    # What is laid out anew may have one unknown size in all.
    if [sizes[one] for one in used].count(None) > 1:
        return None
    if any(None in (sizes[one],) for one in summed):
        return None
    first = _merged(r, a, left, (batch, rows, summed), sizes)
    second = _merged(r, b, right, (batch, summed, columns), sizes)
    made = r.op("BatchMatMulV2", first, second)
    order = [*batch, *rows, *columns]
    apart = r.reshaped(made, [-1 if sizes[one] is None else int(sizes[one] or 0) for one in order])
    places = [order.index(one) for one in result]
    return apart if places == sorted(places) else r.transposed(apart, places)


def _merged(
    r: Rewrite,
    x: Value,
    term: str,
    groups: Sequence[Sequence[str]],
    sizes: dict[str, int | None],
) -> Value:
    """Its axes in three groups, each of them one."""
    order = [term.index(one) for group in groups for one in group]
    if order != sorted(order):
        x = r.transposed(x, order)
    lengths = [
        -1 if any(sizes[one] is None for one in group) else math.prod(sizes[one] or 0 for one in group)
        for group in groups
    ]
    return r.reshaped(x, lengths)
