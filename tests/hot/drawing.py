"""Random graphs and inputs: one motif for each kind of region that the engine compiles.

The structure of a graph (its ops, and the shapes of its values relative to each other) comes from
one random stream, sizes and values from another.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import pinnace as tf
from pinnace.framework import dtypes
from pinnace.framework.errors import OpError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.variable import Variable
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Value
from pinnace.graph.walk import ordered
from pinnace.ops import registry
from pinnace.ops.array.constants import CONST, PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Ops that a cluster accepts, by their number of operands; the others with a fused form are for
# loops.
UNARY = ("Abs", "Erf", "Erfc", "Exp", "Inv", "Neg", "Reciprocal", "Relu", "Relu6", "Rsqrt")
UNARY += ("LeakyRelu", "Sigmoid", "Softsign", "Sqrt", "Square", "Tanh")
BINARY = ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference")
GRADIENTS = ("InvGrad", "ReciprocalGrad", "Relu6Grad", "ReluGrad", "RsqrtGrad", "SigmoidGrad")
GRADIENTS += ("EluGrad", "LeakyReluGrad", "SeluGrad", "SqrtGrad", "TanhGrad")
SLOW = ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Expm1")
SLOW += ("Floor", "Log", "Log1p", "Rint", "Round", "Selu", "Sign", "Sin", "Sinh", "Softplus", "Tan")
COMPARISONS = ("Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual")
LOGIC = ("LogicalAnd", "LogicalOr")
BITS = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
ODD = (1, 2, 3, 5, 7)
# Optional features of a motif, each in one of this many graphs.
_RARELY = 12


@dataclass
class Case:
    """A graph, its inputs, and the permitted operations on both.

    Attributes:
        kind: the motif.
        graph: the graph to build and run.
        inputs: one array for each of its inputs.
        rows: whether the first axis of every input is a batch with independent rows.
        exact: whether every way must give the same bits.
    """

    kind: str
    graph: Graph
    inputs: list[Any] = field(default_factory=list)
    rows: bool = False
    exact: bool = False


class Draft:
    """A graph under construction.

    Args:
        draw: random numbers for the structure.
        sizes: random numbers for sizes.
        name: of the graph.
    """

    def __init__(self, draw: random.Random, sizes: random.Random, name: str = "drawn") -> None:
        self.draw, self.sizes = draw, sizes
        self.graph = GraphBuilder(name)
        # Variables read from inputs.
        self.held: dict[Value, Variable] = {}

    def input(self, kind: Any, shape: Sequence[int | None]) -> Value:
        spec = TensorSpec(list(shape), kind)
        return self.graph.add_input(PLACEHOLDER, spec, f"x{len(self.graph.inputs)}")

    def constant(self, array: Any, kind: Any = None) -> Value:
        array = np.asarray(array)
        kind = kind or dtypes.from_numpy(array.dtype)
        return self.graph.add(CONST, (), {"value": array, "dtype": kind}, "const").outputs[0]

    def weights(self, array: Any, is_variable: bool) -> Value:
        """A constant, or the value of a variable."""
        if not is_variable:
            return self.constant(array)
        variable = Variable(array)
        spec = TensorSpec(list(array.shape), dtypes.float32)
        handle = TensorSpec([], dtypes.resource)
        value = self.graph.add_input(PLACEHOLDER, handle, f"v{len(self.graph.inputs)}", spec)
        self.held[value] = variable
        made: Value = self.op("ReadVariableOp", value, dtype=dtypes.float32)
        return made

    def op(self, name: str, *inputs: Any, **attrs: Any) -> Any:
        """The outputs of one op: a value, or several."""
        op = registry.lookup(name)
        flat: list[Value] = []
        for argument, given in zip(op.inputs, inputs, strict=True):
            values = list(given) if argument.is_list else [given]
            if argument.number_attr and argument.is_list:
                attrs.setdefault(argument.number_attr, len(values))
            if argument.list_attr:
                attrs.setdefault(argument.list_attr, tuple(value.dtype for value in values))
            elif argument.type_attr:
                attrs.setdefault(argument.type_attr, values[0].dtype)
            flat += values
        outputs = self.graph.add(op, flat, attrs).outputs
        return outputs[0] if len(outputs) == 1 else outputs

    def end(self, *outputs: Value) -> Graph:
        self.graph.set_outputs(outputs, [f"y{n}" for n in range(len(outputs))])
        return self.graph.finish()

    def size(self) -> int:
        """The size of a row axis."""
        return self.sizes.choice((1, 1, 2, 2, 3, 4, 5, 7, 9))

    def width(self) -> int:
        """The width of a row: clusters need at least 8 numbers."""
        if self.sizes.randrange(40) == 0:
            return self.sizes.choice((1, 2, 257, 1000))
        return self.sizes.choice((8, 8, 9, 11, 13, 16, 17))

    def number(self, kind: Any = np.float32) -> Any:
        """A constant."""
        d = self.draw
        if np.issubdtype(kind, np.floating):
            facts = np.finfo(kind)
            if d.randrange(6) == 0:
                odd = (np.inf, -np.inf, np.nan, -0.0, 0.0, facts.max, facts.tiny)
                return kind(d.choice((*odd, facts.smallest_subnormal, -facts.max)))
            return kind(d.choice((0.5, 1.0, 2.0, -1.0, 0.1, 3.7, -0.03)))
        if kind is np.bool_:
            return np.bool_(d.randrange(2))
        facts = np.iinfo(kind)
        return kind(
            d.choice((facts.min, facts.max, facts.min + 1, 0, 1, 2, 3, 5, 6, -facts.min // 2))
        )


# Clusters.

_FULL, _ROW, _COLUMN, _SCALAR = "full", "row", "column", "scalar"


def _shapes(d: Draft) -> dict[str, tuple[int, ...]]:
    """Compatible shapes: rows and width, each split into some axes."""
    ahead = tuple(d.size() for _ in range(d.draw.choice((1, 1, 1, 2, 3))))
    two = d.draw.randrange(5) == 0
    behind = (d.sizes.choice((2, 3)), d.width()) if two else (d.width(),)
    if d.sizes.randrange(60) == 0:
        ahead = (0, *ahead[1:])
    return {
        _FULL: (*ahead, *behind),
        _ROW: behind,
        _COLUMN: (*ahead, *[1] * len(behind)),
        _SCALAR: d.draw.choice([(), (1,), (1,) * (len(ahead) + len(behind))]),
        "axes": tuple(range(len(ahead), len(ahead) + len(behind))),
    }


def _soup(d: Draft, full: list[Value], parts: list[Value], axes: Any, steps: int) -> list[Value]:  # noqa: C901 (one case after the other)
    """Elementwise and row-wise steps; returns all values."""
    draw = d.draw
    made = list(full)
    rows: list[Value] = list(parts)  # one number for each row, or fewer

    def any_value() -> Value:
        if draw.randrange(3) == 0:
            return draw.choice(made)
        return made[-1 - min(int(draw.expovariate(1.0)), len(made) - 1)]

    for _ in range(steps):
        kind = draw.randrange(24)
        x = any_value()
        if kind < 7:
            made.append(d.op(draw.choice(UNARY), x))
        elif kind < 13:
            y = draw.choice(rows) if rows and draw.randrange(2) else any_value()
            x, y = (x, y) if draw.randrange(2) else (y, x)
            made.append(d.op(draw.choice(BINARY), x, y))
        elif kind < 15:
            made.append(d.op(draw.choice(GRADIENTS), x, any_value()))
        elif kind < 19 and axes:
            keep = draw.randrange(8) > 0
            which = axes if draw.randrange(8) else axes[:1]
            total = d.op(
                draw.choice(("Sum", "Mean", "Max")),
                x,
                d.constant(np.array(which, np.int32)),
                keep_dims=keep,
            )
            if keep and len(which) == len(axes):
                rows.append(total)
                if draw.randrange(2):
                    rows.append(d.op(draw.choice(UNARY), total))
                made.append(
                    d.op(draw.choice(("Sub", "Mul", "RealDiv", "AddV2")), any_value(), rows[-1])
                )
        elif kind < 21:
            made.append(d.op("Softmax", x))
        elif kind < 22:
            condition = d.op(draw.choice(COMPARISONS), x, any_value())
            made.append(d.op("SelectV2", condition, any_value(), any_value()))
        elif kind < 23:
            low, high = sorted((draw.choice((-1.0, -0.5, 0.0)), draw.choice((0.25, 1.0, 6.0))))
            low_, high_ = (d.constant(np.float32(one)) for one in (low, high))
            made.append(d.op("ClipByValue", x, low_, high_))
        else:
            made.append(d.op(draw.choice(SLOW), x))
    return made


def cluster(d: Draft) -> Case:
    """Elementwise steps with reductions of rows, over inputs of every form."""
    draw = d.draw
    shapes = _shapes(d)
    full: list[Value] = []
    parts: list[Value] = []
    for n in range(draw.choice((1, 2, 2, 3, 4))):
        kind = _FULL if n == 0 else draw.choice((_FULL, _FULL, _ROW, _COLUMN, _SCALAR))
        if kind == _FULL:
            full.append(d.input(dtypes.float32, shapes[_FULL]))
        else:
            parts.append(d.input(dtypes.float32, shapes[kind]))
    if draw.randrange(2):
        parts.append(d.constant(d.number()))
    if draw.randrange(4) == 0:  # a broadcast along neither rows nor columns
        shape = tuple(1 if draw.randrange(2) else size for size in shapes[_FULL])
        parts.append(d.input(dtypes.float32, shape))
    made = _soup(d, full, parts, shapes["axes"], draw.choice((2, 3, 4, 6, 8, 12)))
    outputs = {made[-1]: None}
    for value in made[len(full) :]:
        if draw.randrange(6) == 0:
            outputs[value] = None
    return Case("cluster", d.end(*outputs))


def pair(d: Draft) -> Case:
    """Two inputs and two steps: the smallest graphs, with every pair of ops."""
    draw = d.draw
    shape = (d.size(), d.width())
    x, y = (d.input(dtypes.float32, shape) for _ in range(2))
    first = d.op(draw.choice((*UNARY, "Softmax")), x)
    second = d.op(draw.choice((*UNARY, "Softmax")), draw.choice((y, first)))
    return Case("pair", d.end(d.op(draw.choice((*BINARY, *GRADIENTS)), first, second)), rows=True)


def broadcast(d: Draft) -> Case:
    """Broadcasting both ways, and axes of size 1 and 0."""
    draw = d.draw
    rank = draw.choice((1, 2, 3, 4))
    shape = tuple(
        d.sizes.choice((0, 1, 2, 3, 8, 9) if n < rank - 1 else (1, 8, 9, 24)) for n in range(rank)
    )
    values = []
    for _ in range(draw.choice((2, 3, 4))):
        cut = draw.randrange(rank + 1)
        values.append(
            d.input(dtypes.float32, tuple(1 if draw.randrange(3) == 0 else s for s in shape[cut:]))
        )
    for _ in range(draw.choice((2, 4, 6))):
        if draw.randrange(3):
            values.append(d.op(draw.choice(BINARY), values[-1], draw.choice(values)))
        else:
            values.append(d.op(draw.choice(UNARY), values[-1]))
    return Case("broadcast", d.end(values[-1], values[-2]))


# Products.


def _weights(d: Draft, *shape: int) -> Any:
    random_ = np.random.default_rng(d.sizes.randrange(2**32))
    return (random_.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def dense(d: Draft) -> Case:
    """Products with weights, their epilogues, and chains of both."""
    draw = d.draw
    batch = (d.size(),) if draw.randrange(3) else (d.size(), d.size())
    inner = d.sizes.choice((1, 3, 8, 17, 32))
    width = d.sizes.choice((32, 33, 40, 64))
    x = d.input(dtypes.float32, (*batch, inner))
    extra = d.input(dtypes.float32, (*batch, width))
    y: Value = x
    size = inner
    for layer in range(draw.choice((1, 2, 3))):
        weights = d.weights(_weights(d, size, width), draw.randrange(3) == 0)
        name = "MatMul" if len(batch) == 1 else "BatchMatMulV2"
        y = d.op(name, y, weights)
        size = width
        bias = d.constant(_weights(d, width))
        if draw.randrange(4):
            y = d.op(draw.choice(("BiasAdd", "AddV2")), y, bias)
        rest = [extra] if layer or draw.randrange(2) else []
        parts = [bias, d.constant(d.number())] if draw.randrange(2) else [bias]
        steps = draw.choice((0, 1, 1, 2, 4))
        y = _soup(d, [y, *rest], parts, (len(batch),), steps)[-1] if steps else y
    return Case("dense", d.end(y), rows=len(batch) == 1)


def convolution(d: Draft) -> Case:
    """Convolutions with constant weights, their epilogues, and strides, dilations and padding."""
    draw = d.draw
    inner, outer = d.sizes.choice((1, 3, 8)), d.sizes.choice((1, 5, 8, 16, 33))
    down, along = d.sizes.choice(((1, 1), (3, 3), (2, 3), (1, 5)))
    images = (d.size(), d.sizes.choice((1, 4, 7)), d.sizes.choice((3, 5, 8)), inner)
    x = d.input(dtypes.float32, images)
    step, gap = draw.choice(((1, 1), (2, 1), (1, 2)))
    options = {"strides": (1, step, step, 1), "dilations": (1, gap, gap, 1)}
    padding = "VALID" if (down - 1) * gap < images[1] and (along - 1) * gap < images[2] else "SAME"
    padding = draw.choice(("SAME", padding))
    if draw.randrange(3):
        weights = d.constant(_weights(d, down, along, inner, outer))
        y = d.op("Conv2D", x, weights, padding=padding, **options)
    else:
        outer = inner
        weights = d.constant(_weights(d, down, along, inner, 1))
        y = d.op("DepthwiseConv2dNative", x, weights, padding=padding, **options)
    form = draw.randrange(4)
    if form == 0:  # channels first from here on
        y = d.op("Transpose", y, d.constant(np.array([0, 3, 1, 2], np.int32)))
        y = d.op("BiasAdd", y, d.constant(_weights(d, outer)), data_format="NCHW")
    elif form < 3:
        y = d.op("BiasAdd", y, d.constant(_weights(d, outer)))
    for _ in range(draw.choice((0, 1, 2))):
        y = d.op(draw.choice(("Relu", "Relu6", "Sigmoid", "Tanh", "Neg")), y)
    return Case("convolution", d.end(y), rows=True)


def attention(d: Draft) -> Case:
    """Softmax, and optional steps, between two products."""
    draw = d.draw
    b, h, q, k, n = d.size(), d.size(), d.size(), d.width(), d.sizes.choice((1, 3, 8, 16))
    form = draw.randrange(3)
    if form == 0:
        first, second = "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd"
        shapes = [(b, q, h, n), (b, k, h, n), (b, k, h, n)]
    elif form == 1:
        first, second = "bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd"
        shapes = [(b, h, q, n), (b, h, k, n), (b, h, k, n)]
    else:
        first, second = "aecd,abcd->acbe", "acbe,aecd->abcd"  # the letters that Keras uses
        shapes = [(b, k, h, n), (b, q, h, n), (b, k, h, n)]
    x, y, z = (d.input(dtypes.float32, shape) for shape in shapes)
    scores = d.op("Einsum", [x, y], equation=first)
    if draw.randrange(2):
        scores = d.op("Mul", scores, d.constant(np.float32(0.25)))
    if draw.randrange(2):
        mask = d.input(dtypes.float32, (b, 1, 1, k) if draw.randrange(2) else (1, 1, q, k))
        scores = d.op("AddV2", scores, mask)
    if draw.randrange(3) == 0:
        scores = _soup(d, [scores], [], (3,), 2)[-1]
    weights = d.op("Softmax", scores)
    if draw.randrange(4) == 0:
        weights = d.op("Mul", weights, d.constant(np.float32(1.25)))
    order = [z, weights] if form != 0 and draw.randrange(2) else [weights, z]
    if order[0] is z:
        left, right = second.partition("->")[0].split(",")
        second = f"{right},{left}->{second.partition('->')[2]}"
    return Case("attention", d.end(d.op("Einsum", order, equation=second)))


def _normed(d: Draft, x: Value, width: int) -> Value:
    """A normalization of each row."""
    axis = d.constant(np.array([2], np.int32))
    mean = d.op("Mean", x, axis, keep_dims=True)
    apart = d.op("SquaredDifference", x, mean)
    variance = d.op("Mean", apart, axis, keep_dims=True)
    scale = d.op("Rsqrt", d.op("AddV2", variance, d.constant(np.float32(1e-3))))
    if d.draw.randrange(2):
        scale = d.op("Mul", scale, d.constant(_weights(d, width)))
    made: Value = d.op("Mul", d.op("Sub", x, mean), scale)
    return made


def transformer(d: Draft) -> Case:
    """Attention between products with constant weights, a residual, norms and a dense layer."""
    draw = d.draw
    b, t, h = d.size(), d.sizes.choice((1, 2, 5, 8, 9)), d.sizes.choice((1, 2, 3))
    n, c = d.sizes.choice((1, 3, 8)), d.sizes.choice((2, 8, 9, 17))
    is_held, scale, mask, is_late = (draw.randrange(n) for n in (3, 2, 4, 2))
    x = d.input(dtypes.float32, (b, t, c))

    def product(value: Value, rows: int, columns: int) -> Value:
        made: Value = d.op(
            "BatchMatMulV2", value, d.weights(_weights(d, rows, columns), not is_held)
        )
        return made

    def heads(y: Value) -> Value:
        y = d.op("Reshape", y, d.constant(np.array([b, t, h, n], np.int32)))
        return d.op("AddV2", y, d.constant(_weights(d, h, n))) if draw.randrange(2) else y

    before = _normed(d, x, c) if draw.randrange(2) else x
    query, key, value = (product(before, c, h * n) for _ in range(3))
    query, key = heads(query), heads(key)
    value = value if is_late else heads(value)
    scores = d.op("Einsum", [query, key], equation="btnh,bsnh->bnts")
    if scale:
        scores = d.op("Mul", scores, d.constant(np.float32(0.25)))
    if mask == 1:
        seen = d.input(dtypes.float32, (b, 1, 1, t) if draw.randrange(2) else (t, t))
        scores = d.op("AddV2", scores, seen)
    elif mask == 2:
        earlier = d.constant(np.tril(np.ones((t, t), bool)))
        scores = d.op("SelectV2", earlier, scores, d.constant(np.float32(-1e9)))
    chosen = d.op("Softmax", scores)
    value = heads(value) if is_late else value
    y = d.op("Einsum", [chosen, value], equation="bnts,bsnh->btnh")
    y = product(d.op("Reshape", y, d.constant(np.array([b, t, h * n], np.int32))), h * n, c)
    y = d.op("AddV2", x, y) if draw.randrange(2) else y
    y = _normed(d, y, c) if draw.randrange(2) else y
    if draw.randrange(2):
        y = d.op(draw.choice(("Relu", "Tanh", "Sigmoid")), product(y, c, 2 * c))
    return Case("transformer", d.end(y))


def _part(d: Draft, x: Value, number: int) -> Value:
    """A tensor's slice at an index of its second axis."""
    limits = ([0, number], [0, number + 1], [1, 1])
    begin, end, steps = (d.constant(np.array(one, np.int32)) for one in limits)
    masks = {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}
    made: Value = d.op("StridedSlice", x, begin, end, steps, **masks)
    return made


def decoder(d: Draft) -> Case:
    """A row written into a cache, or appended to it, attention of the row over it, and packing."""
    draw = d.draw
    b, t, h = d.size(), d.sizes.choice((1, 2, 8, 9, 33)), d.sizes.choice((1, 2, 3))
    n, c = d.sizes.choice((1, 3, 8)), d.sizes.choice((2, 8, 17))
    how, update, scale, ends = (draw.randrange(count) for count in (2, 4, 3, 4))
    f = dtypes.float32
    x, cache, here = d.input(f, (b, c)), d.input(f, (b, 2, h, t, n)), d.input(f, (b, 1, t, 1))
    y = d.op("MatMul", x, d.weights(_weights(d, c, 3 * h * n), draw.randrange(2) == 0))
    if how:
        parts = d.op("Split", d.constant(np.int32(1)), y, num_split=3)
        shape = d.constant(np.array([b, h, 1, n], np.int32))
        query, *rows = (d.op("Reshape", one, shape) for one in parts)
    else:
        y = d.op("Reshape", y, d.constant(np.array([b, 3, h, 1, n], np.int32)))
        query, *rows = (_part(d, y, number) for number in range(3))

    def kept(side: int) -> Value:
        before, row = _part(d, cache, side), rows[side]
        if update == 0:
            made: Value = d.op("ConcatV2", [before, row], d.constant(np.int32(2)))
        elif update == 1:
            made = d.op("AddV2", before, d.op("Mul", here, d.op("Sub", row, before)))
        else:
            gone = d.op("Mul", before, d.op("Sub", d.constant(np.float32(1)), here))
            pair = [gone, d.op("Mul", row, here)]
            made = d.op("AddV2", *pair[:: 1 if update == 2 else -1])
        return made

    keys, values = kept(0), kept(1)
    query = d.op("Mul", query, d.constant(np.float32(0.5))) if scale == 1 else query
    scores = d.op("BatchMatMulV2", query, keys, adj_y=True)
    scores = d.op("Mul", scores, d.constant(np.float32(0.25))) if scale == 2 else scores
    found = d.op("BatchMatMulV2", d.op("Softmax", scores), values)
    found = d.op("Reshape", found, d.constant(np.array([b, h * n], np.int32)))
    found = d.op("MatMul", found, d.constant(_weights(d, h * n, c)))
    more = {0: [], 1: [keys, values], 2: [d.op("Pack", [keys, values], axis=1)]}
    joined = d.op("ConcatV2", [keys, values], d.constant(np.int32(1)))
    return Case("decoder", d.end(found, *more.get(ends, [joined])))


def small_plan(d: Draft) -> Case:  # noqa: C901 (one case after the other)
    """A small network, each step of which has a statement."""
    draw = d.draw
    m, n, k = d.size(), d.sizes.choice((1, 2, 3, 5, 8, 33)), d.sizes.choice((1, 2, 4, 8, 17))
    f = dtypes.float32
    matrix: list[Value] = [d.input(f, (m, n)), d.input(f, (m, n))]
    weights = d.constant(_weights(d, n, k)) if draw.randrange(2) else d.input(f, (n, k))
    truth = d.input(dtypes.bool, (m, n)) if draw.randrange(3) == 0 else None
    rows = [d.input(f, (n,)), d.constant(d.number()), d.input(f, ())]
    outputs: list[Value] = []

    def value() -> Value:
        return matrix[-1 - min(int(draw.expovariate(0.7)), len(matrix) - 1)]

    codes = _codes_of(d, m) if draw.randrange(3) == 0 else []
    for _ in range(draw.choice((4, 6, 9))):
        kind = draw.randrange(16 if codes else 14)
        x = value()
        if kind < 3:
            matrix.append(d.op(draw.choice(UNARY), x))
        elif kind < 6:
            other = draw.choice(rows) if draw.randrange(2) else value()
            matrix.append(d.op(draw.choice(BINARY), x, other))
        elif kind == 6:
            there = d.op("MatMul", x, weights)
            outputs.append(there)
            matrix.append(d.op("MatMul", there, weights, transpose_b=True))
        elif kind == 7:
            square = d.op("MatMul", x, value(), transpose_a=True)
            outputs.append(square)
            matrix.append(d.op("MatMul", x, square))
        elif kind == 8 and n > 1:
            cut = draw.choice((1, max(1, n // 2)))
            sizes = d.constant(np.array([cut, n - cut], np.int32))
            first, second = d.op("SplitV", x, sizes, d.constant(np.int32(1)), num_split=2)
            joined = [second, first] if draw.randrange(2) else [first, d.op("Tanh", second)]
            matrix.append(
                d.op("ConcatV2", joined, d.constant(np.int32(-1 if draw.randrange(2) else 1)))
            )
        elif kind == 9:
            total = d.op(
                "Sum", x, d.constant(np.array([0], np.int32)), keep_dims=bool(draw.randrange(2))
            )
            outputs.append(total)
            matrix.append(d.op("AddV2", x, total))
        elif kind == 10:
            outputs.append(d.op("Pack", [x, value()], axis=0))
        elif kind == 11:
            matrix.append(d.op("AddN", [x, value(), value()]))
        elif kind == 12 and truth is not None:
            matrix.append(d.op("SelectV2", truth, x, draw.choice((value(), d.op("ZerosLike", x)))))
        elif kind == 12:
            outputs.append(d.op("BiasAddGrad", x))
        elif kind > 13:
            taken = _taken_by(d, codes, x)
            matrix.append(taken)
        else:
            flat = d.op("Reshape", x, d.constant(np.array([-1], np.int32)))
            outputs.append(flat)
            matrix.append(
                d.op(
                    "Reshape",
                    d.op(draw.choice(UNARY), flat),
                    d.constant(np.array([m, n], np.int32)),
                )
            )
    unique = dict.fromkeys([matrix[-1], *[value for value in outputs if draw.randrange(2)]])
    return Case("small plan", d.end(*unique))


def _codes_of(d: Draft, m: int) -> list[Value]:
    """Integers, one for each row, and arithmetic on them."""
    draw = d.draw
    kind = dtypes.as_dtype(draw.choice(("int32", "int64")))
    codes = [d.input(kind, (m,))]
    for _ in range(draw.choice((1, 2, 3))):
        x = draw.choice(codes)
        number = d.constant(kind.numpy.type(draw.choice((1, 3, -7, 100))))
        if draw.randrange(3):
            name = draw.choice(("AddV2", "Sub", "Mul", "Maximum", "Minimum", "FloorMod"))
            codes.append(d.op(name, x, number if name == "FloorMod" else draw.choice(codes)))
        else:
            name = draw.choice(("Less", "GreaterEqual", "Equal", "NotEqual"))
            codes.append(d.op("SelectV2", d.op(name, x, number), draw.choice(codes), x))
    return codes


def _taken_by(d: Draft, codes: Sequence[Value], x: Value) -> Value:
    """Rows of floats gathered by integers."""
    draw, (m, n) = d.draw, x.shape.dims or ()
    assert m is not None
    assert n is not None
    code = draw.choice(codes)
    which = draw.randrange(4)
    if which == 0 and m:
        held = d.op("FloorMod", code, d.constant(code.dtype.numpy.type(m)))
        return d.op("GatherV2", x, held, d.constant(np.int32(0)), batch_dims=0)
    if which == 1:
        size = d.constant(np.int32(n))
        on, off = d.constant(np.float32(2.0)), d.constant(np.float32(-0.5))
        return d.op("AddV2", x, d.op("OneHot", code, size, on, off, axis=-1))
    column = d.op("ExpandDims", code, d.constant(np.int32(1)))
    if which == 2:
        return d.op("Mul", x, d.op("Cast", column, DstT=dtypes.float32))
    zero = d.constant(code.dtype.numpy.type(0))
    return d.op("SelectV2", d.op("Greater", column, zero), x, d.op("ZerosLike", x))


def rectified(d: Draft) -> Case:
    """Batch normalizations with rectifiers, forward and backward; channels last and first."""
    draw = d.draw
    channels = d.sizes.choice((1, 3, 8, 17))
    first = draw.randrange(5) == 0
    shape = (d.size(), d.sizes.choice((1, 2, 4)), d.sizes.choice((1, 3, 5)), channels)
    shape = (shape[0], channels, *shape[1:3]) if first else shape
    x = d.input(dtypes.float32, shape)
    vectors = [d.input(dtypes.float32, (channels,)) for _ in range(2)]
    training = bool(draw.randrange(2))
    empty = (0,) if training else (channels,)
    moments = [d.input(dtypes.float32, empty) for _ in range(2)]
    made = d.op(
        "FusedBatchNormV3", x, *vectors, *moments,
        is_training=training, epsilon=0.01, data_format="NCHW" if first else "NHWC",
    )  # fmt: skip
    y = d.op("Relu", made[0])
    if not training or first or draw.randrange(2):
        return Case("rectified", d.end(y, made[1]))
    dy = d.op("ReluGrad", d.input(dtypes.float32, shape), y)
    gradients = d.op("FusedBatchNormGradV3", dy, x, vectors[0], *made[3:], epsilon=0.01)
    return Case("rectified", d.end(y, *gradients[:3]))


def extremes(d: Draft) -> Case:
    """Largest and smallest numbers along axes, and their gradients."""
    draw = d.draw
    middle = [d.sizes.choice((1, 2, 5, 9)) for _ in range(draw.choice((0, 1, 1, 2)))]
    shape = (d.size(), *middle, d.width())
    first = draw.randrange(len(shape))
    axes = list(range(first, draw.randrange(first, len(shape)) + 1))
    if draw.randrange(8) == 0:
        axes = sorted(draw.sample(range(len(shape)), draw.randrange(1, len(shape) + 1)))
    given = d.constant(np.array(axes, np.int32))
    reduced = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    is_rectified = bool(draw.randrange(2))
    x = d.input(dtypes.float32, shape)
    x = d.op("Relu", x) if is_rectified else x

    def kept(value: Value) -> Value:
        return d.op("Reshape", value, d.constant(np.array(reduced, np.int32)))  # type: ignore[no-any-return]

    limits = d.op(draw.choice(("Max", "Min")), x, given, keep_dims=False)
    sides = [x, kept(limits)]
    draw.shuffle(sides)
    hits = d.op("Cast", d.op("Equal", *sides), DstT=dtypes.float32)
    if draw.randrange(2):
        count = d.op("Sum", hits, given, keep_dims=True)
    else:
        count = kept(d.op("Sum", hits, given, keep_dims=False))
    share = d.op("RealDiv", hits, count)
    factors = [share, d.input(dtypes.float32, reduced)]
    draw.shuffle(factors)
    made = d.op("Mul", *factors)
    made = d.op("ReluGrad", made, x) if is_rectified else made
    wanted = [limits, made]
    if draw.randrange(2):
        wanted.append(d.op("BiasAddGrad", made))
    return Case("extremes", d.end(*wanted))


# Loops.

SCALARS = {"float32": np.float32, "float64": np.float64, "int32": np.int32, "int64": np.int64}
SCALARS["bool"] = np.bool_


def _branches(d: Draft, choice: Value, given: list[Value], depth: int) -> list[Value]:
    """The results of one of two branches."""
    made = []
    for name in ("then", "else"):
        branch = Draft(d.draw, d.sizes, name)
        inputs = [branch.input(one.dtype, ()) for one in given]
        values = list(inputs)
        _scalar_steps(branch, values, d.draw.choice((0, 1, 3)), depth)
        results = [[one for one in values if one.dtype is x.dtype][-1] for x in inputs]
        made.append(FunctionRef(name, branch.end(*results)))
    kinds = tuple(one.dtype for one in given)
    return list(
        d.op("StatelessIf", choice, given, then_branch=made[0], else_branch=made[1], Tout=kinds)
    )


def _scalar_steps(d: Draft, values: list[Value], steps: int, depth: int = 0) -> None:  # noqa: C901 (one case after the other)
    """Steps on scalars of any dtype."""
    draw = d.draw

    def of(kind: Any) -> Value:
        found = [value for value in values if value.dtype is kind]
        if not found or draw.randrange(4) == 0:
            return d.constant(d.number(SCALARS[kind.name]), kind)
        return draw.choice(found)

    for _ in range(steps):
        x = draw.choice(values)
        kind = x.dtype
        which = draw.randrange(10)
        if depth and draw.randrange(6) == 0:
            values += _branches(d, of(dtypes.bool), draw.choices(values, k=2), depth - 1)
        elif kind is dtypes.bool:
            name = draw.choice((*LOGIC, "LogicalNot", "Equal"))
            values.append(d.op(name, x) if name == "LogicalNot" else d.op(name, x, of(kind)))
        elif which < 4:
            names = BINARY if kind.is_floating else tuple(set(BINARY) - {"RealDiv"})
            names = names if kind.is_floating else (*sorted(names), *BITS)
            if not kind.is_floating:
                names = tuple(name for name in names if name != "Add" or kind is not None)
            values.append(d.op(draw.choice(names), x, of(kind)))
        elif which < 6:
            if kind.is_floating:
                values.append(d.op(draw.choice((*UNARY, *SLOW)), x))
            else:
                names = ("Abs", "Neg", "Square", "Invert", "Relu", "Relu6", "Round")
                values.append(d.op(draw.choice(names), x))
        elif which == 6:
            values.append(d.op(draw.choice(COMPARISONS), x, of(kind)))
        elif which == 7:
            values.append(d.op("SelectV2", of(dtypes.bool), x, of(kind)))
        elif which == 8:
            targets = [one for one in SCALARS if one != "bool" or not kind.is_floating]
            target = dtypes.as_dtype(draw.choice(targets))
            if not (kind.is_floating and not target.is_floating):
                values.append(d.op("Cast", x, DstT=target))
        elif kind.is_floating:
            name = draw.choice((*GRADIENTS, "SoftplusGrad", "Atan2"))
            values.append(d.op(name, x, of(kind)))
        else:
            values.append(d.op("ClipByValue", x, of(kind), of(kind)))


def scalar_loop(d: Draft) -> Case:
    """A while loop over scalars."""
    draw = d.draw
    kinds = [draw.choice(list(SCALARS)) for _ in range(draw.choice((1, 2, 3)))]
    # Most loops use one dtype, so that their steps can be combined.
    if draw.randrange(2):
        kinds = [kinds[0]] * len(kinds)
    names = ["int32", "int32", *kinds]
    specs = [dtypes.as_dtype(name) for name in names]
    test = Draft(draw, d.sizes, "cond")
    given = [test.input(kind, ()) for kind in specs]
    condition = test.end(test.op("Less", given[0], given[1]))
    body = Draft(draw, d.sizes, "body")
    given = [body.input(kind, ()) for kind in specs]
    values = given[2:]
    if draw.randrange(3) == 0:
        values.append(given[0])
    _scalar_steps(body, values, draw.choice((1, 2, 4, 7)), depth=draw.choice((0, 1, 2)))
    results = []
    for value in given[2:]:
        found = [one for one in values if one.dtype is value.dtype]
        results.append(found[-1 - min(int(draw.expovariate(1.0)), len(found) - 1)])
    step = body.constant(np.int32(1))
    turn = body.end(body.op("AddV2", given[0], step), given[1], *results)
    outer = [d.input(kind, ()) for kind in specs]
    made = d.op(
        "StatelessWhile",
        outer,
        cond=FunctionRef("cond", condition),
        body=FunctionRef("body", turn),
    )
    return Case("scalar loop", d.end(*made[2:]))


def recurrence(d: Draft) -> Case:
    """A loop that reads rows of one array and writes rows of another; some with row sums."""
    draw = d.draw
    turns, m, n = d.sizes.choice((1, 2, 3, 5)), d.size(), d.sizes.choice((1, 2, 3, 8, 16))
    f = dtypes.float32
    whole = _heard(d, turns, m, n) if draw.randrange(4) == 0 else d.input(f, (turns, m, n))
    state = [d.input(f, (m, n)) for _ in range(draw.choice((1, 2)))]
    weights = d.constant(_weights(d, n, n) * np.float32(0.5))
    bias = d.input(f, (n,))
    shape = d.constant(np.array([m, n], np.int32))
    source = d.op("TensorListFromTensor", whole, shape)
    target = d.op("TensorListReserve", shape, d.constant(np.int32(turns)), element_dtype=f)
    count = d.constant(np.int32(turns))
    start = d.constant(np.int32(0))
    given = [start, count, source, target, bias, weights, *state]
    test = Draft(draw, d.sizes, "cond")
    inner = [test.graph.add_input(PLACEHOLDER, v.spec, f"a{i}") for i, v in enumerate(given)]
    condition = test.end(test.op("Less", inner[0], inner[1]))
    body = Draft(draw, d.sizes, "body")
    inner = [body.graph.add_input(PLACEHOLDER, v.spec, f"a{i}") for i, v in enumerate(given)]
    i, n_, src, dst, b, w, *h = inner
    item = body.op(
        "TensorListGetItem", src, i, body.constant(np.array([m, n], np.int32)), element_dtype=f
    )
    values = [item, *h]
    made = body.op(
        "AddV2", body.op("MatMul", draw.choice(values), w), draw.choice((item, b, h[-1]))
    )
    values.append(made)
    uses_rows = draw.randrange(4) == 0
    calm = ("Tanh", "Sigmoid", "Erf", "Relu6", "Abs", "Neg", "Softsign")
    for _ in range(draw.choice((1, 2, 4, 6))):
        x = values[-1 - min(int(draw.expovariate(0.7)), len(values) - 1)]
        which = draw.randrange(6)
        if which < 3:
            values.append(body.op(draw.choice(calm), x))
        elif which < 5:
            name = draw.choice(("AddV2", "Sub", "Mul", "Maximum", "Minimum"))
            values.append(body.op(name, x, draw.choice((*values, b))))
        elif uses_rows:
            values.append(body.op("Softmax", x))
        else:
            values.append(body.op("Mul", x, body.constant(np.float32(0.5))))
    new = [values[-1], *[draw.choice(values[1:]) for _ in h[1:]]]
    if draw.randrange(4) == 0 and len(h) == 2:
        new[1] = h[0]
    put = body.op("TensorListSetItem", dst, i, draw.choice(values[1:]))
    step = body.constant(np.int32(1))
    turn = body.end(body.op("AddV2", i, step), n_, src, put, b, w, *new)
    made_ = d.op(
        "StatelessWhile",
        given,
        cond=FunctionRef("cond", condition),
        body=FunctionRef("body", turn),
    )
    stacked = d.op("TensorListStack", made_[3], shape, element_dtype=f)
    parts = _parted(d, stacked, (turns, m, n)) if draw.randrange(2) else [stacked]
    return Case("recurrence", d.end(*parts, *made_[6:]))


def _heard(d: Draft, turns: int, m: int, n: int) -> Value:
    """The results of a convolution over m spectra at each time step: [turns, m, n]."""
    x = d.input(dtypes.float32, (m, turns, n, 1))
    kernel = d.constant(_weights(d, d.sizes.choice((1, 3)), d.sizes.choice((1, 3)), 1, 1))
    y = d.op("Conv2D", x, kernel, padding="SAME", strides=(1, 1, 1, 1))
    y = d.op(d.draw.choice(("Relu", "Tanh")), y)
    flat = d.op("Reshape", y, d.constant(np.array([m, turns, n], np.int32)))
    return d.op("Transpose", flat, d.constant(np.array([1, 0, 2], np.int32)))


def _parted(d: Draft, stacked: Value, sizes: tuple[int, int, int]) -> list[Value]:
    """Slices of a loop's stacked results, and steps on them."""
    draw = d.draw
    turns, m, n = sizes
    which = draw.randrange(6)
    if which == 0 and turns > 1:
        parts = list(d.op("Unpack", stacked, num=turns, axis=0))
    elif which == 1 and turns > 1:
        parts = list(d.op("Split", d.constant(np.int32(0)), stacked, num_split=turns))
    elif which == 2 and n > 1:
        widths = d.constant(np.array([1, n - 1], np.int32))
        parts = list(d.op("SplitV", stacked, widths, d.constant(np.int32(2)), num_split=2))
    elif which == 3:
        parts = [d.op("ReverseV2", stacked, d.constant(np.array([0], np.int32)))]
    elif which == 4:
        turned = d.op("Transpose", stacked, d.constant(np.array([1, 0, 2], np.int32)))
        parts = [d.op("Reshape", turned, d.constant(np.array([m, turns * n], np.int32)))]
    else:
        axis, size = draw.choice(((0, turns), (1, m), (2, n)))
        begin, end = [0, 0, 0], [turns, m, n]
        begin[axis] = d.sizes.randrange(max(size, 1))
        end[axis] = begin[axis] + 1
        shrink = 1 << axis if draw.randrange(2) else 0
        bounds = (d.constant(np.array(one, np.int32)) for one in (begin, end, [1, 1, 1]))
        masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask"), 0)
        parts = [d.op("StridedSlice", stacked, *bounds, shrink_axis_mask=shrink, **masks)]
    calm = ("Tanh", "Sigmoid", "Abs", "Neg")
    return [d.op(draw.choice(calm), part) if draw.randrange(2) else part for part in parts]


def frames(d: Draft) -> Case:
    """A loop whose iterations convolve its state with constant weights."""
    draw = d.draw
    f = dtypes.float32
    turns, m, c = d.sizes.choice((1, 2, 3)), d.sizes.choice((1, 2)), d.sizes.choice((1, 3, 8))
    item = (m, d.sizes.choice((3, 4)), d.sizes.choice((3, 5)), c)
    whole, state = d.input(f, (turns, *item)), d.input(f, item)
    shape = d.constant(np.array(item, np.int32))
    source = d.op("TensorListFromTensor", whole, shape)
    kernel = d.weights(_weights(d, 3, 3, c, c) * np.float32(0.3), False)
    given = [d.constant(np.int32(0)), d.constant(np.int32(turns)), source, kernel, state]
    test = Draft(draw, d.sizes, "cond")
    inner = [test.graph.add_input(PLACEHOLDER, v.spec, f"a{i}") for i, v in enumerate(given)]
    condition = test.end(test.op("Less", inner[0], inner[1]))
    body = Draft(draw, d.sizes, "body")
    i, n, src, w, h = (
        body.graph.add_input(PLACEHOLDER, v.spec, f"a{i}") for i, v in enumerate(given)
    )
    here = body.constant(np.array(item, np.int32))
    x = body.op("TensorListGetItem", src, i, here, element_dtype=f)
    made = body.op("Conv2D", draw.choice((h, x)), w, padding="SAME", strides=(1, 1, 1, 1))
    made = body.op("AddV2", made, draw.choice((h, x)))
    if draw.randrange(2):
        gate = body.op("Sigmoid", body.op("Conv2D", h, w, padding="SAME", strides=(1, 1, 1, 1)))
        made = body.op("Mul", made, gate)
    made = body.op(draw.choice(("Tanh", "Softsign", "Relu6")), made)
    turn = body.end(body.op("AddV2", i, body.constant(np.int32(1))), n, src, w, made)
    found = d.op(
        "StatelessWhile",
        given,
        cond=FunctionRef("cond", condition),
        body=FunctionRef("body", turn),
    )
    return Case("frames", d.end(found[4]))


def turns(d: Draft) -> Case:
    """A loop whose iterations are a plan with clusters, since a step has no statement."""
    draw = d.draw
    f = dtypes.float32
    shape = (d.size(), d.width())
    x, y = d.input(f, shape), d.input(f, shape)
    given = [d.input(dtypes.int32, ()), d.input(dtypes.int32, ()), x, y]
    d.graph.set_inputs([given[0], given[1], x, y])
    test = Draft(draw, d.sizes, "cond")
    inner = [test.graph.add_input(PLACEHOLDER, v.spec, f"a{i}") for i, v in enumerate(given)]
    condition = test.end(test.op("Less", inner[0], inner[1]))
    body = Draft(draw, d.sizes, "body")
    i, n, a, b = (body.graph.add_input(PLACEHOLDER, v.spec, f"a{i}") for i, v in enumerate(given))
    made = _soup(body, [a, b], [], (1,), draw.choice((2, 4)))[-1]
    calm = body.op("Softmax", made)  # it has no statement, and keeps numbers small
    turn = body.end(body.op("AddV2", i, body.constant(np.int32(1))), n, calm, a)
    made_ = d.op(
        "StatelessWhile",
        given,
        cond=FunctionRef("cond", condition),
        body=FunctionRef("body", turn),
    )
    return Case("turns", d.end(*made_[2:]))


def backward(d: Draft) -> Case:
    """The gradient of a loop over arrays, as in recurrent layers."""
    draw = d.draw
    turns, m, n = d.sizes.choice((1, 2, 3, 5)), d.size(), d.sizes.choice((1, 2, 3, 8))
    calm = [draw.choice((tf.tanh, tf.sigmoid, tf.nn.relu, tf.nn.softsign)) for _ in range(2)]
    gate, with_bias, squared = (draw.randrange(2) for _ in range(3))
    weights = _weights(d, n, n) * np.float32(0.5)

    def loss(x: Any, h: Any, b: Any) -> Any:
        w = tf.constant(weights)
        with tf.GradientTape() as tape:
            tape.watch([x, h, b, w])
            items = tf.TensorArray(tf.float32, turns, element_shape=[m, n]).unstack(x)
            made = tf.TensorArray(tf.float32, turns, element_shape=[m, n])

            def turn(i: Any, h: Any, made: Any) -> Any:
                new = calm[0](items.read(i) + tf.matmul(h, w) + (b if with_bias else 0.0))
                new = new * calm[1](h) + h * 0.25 if gate else new
                return i + 1, new, made.write(i, new)

            _, last, made = tf.while_loop(lambda i, *_: i < turns, turn, [0, h, made])
            whole = made.stack()
            total = tf.reduce_sum(whole * whole if squared else whole) + tf.reduce_sum(last)
        return tape.gradient(total, [x, h, b, w], unconnected_gradients="zero")

    specs = [tf.TensorSpec(s, tf.float32) for s in ([turns, m, n], [m, n], [n])]
    options = tf.autograph.experimental.do_not_convert
    return Case("backward", tf.function(options(loss)).get_concrete_function(*specs).graph)


# Other dtypes are not compiled, but use plans, constant folding and workspaces, too.

_EXACT = ("float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16")
_EXACT += ("uint32", "uint64")


def other_dtype(d: Draft) -> Case:
    """Steps on arrays of another dtype, with its extreme numbers."""
    draw = d.draw
    kind = dtypes.as_dtype(draw.choice(_EXACT))
    shape = (d.size(), d.width())
    values = [
        d.input(kind, shape),
        d.input(kind, draw.choice((shape, shape[1:], (shape[0], 1), ()))),
    ]
    number = kind.numpy.type
    if kind.name == "bfloat16":
        values.append(
            d.constant(np.float32(draw.choice((0.5, np.inf, -0.0))).astype(kind.numpy), kind)
        )
    else:
        values.append(d.constant(d.number(number), kind))
    for _ in range(draw.choice((2, 4, 7))):
        x = values[-1] if draw.randrange(2) else draw.choice(values)
        which = draw.randrange(7)
        floats = kind.is_floating
        if which < 3:
            names = (
                "AddV2",
                "Sub",
                "Mul",
                "Maximum",
                "Minimum",
                *(("RealDiv",) if floats else BITS),
            )
            values.append(d.op(draw.choice(names), x, draw.choice(values)))
        elif which < 5:
            more = (*UNARY, *SLOW) if floats else ("Square", "Relu", "Relu6", "Invert")
            values.append(d.op(draw.choice(more), x))
        elif which == 5 and len(x.shape) == 2:
            name = draw.choice(("Sum", "Max", "Mean") if floats else ("Sum", "Max"))
            values.append(d.op(name, x, d.constant(np.array([1], np.int32)), keep_dims=True))
        else:
            condition = d.op(draw.choice(COMPARISONS), x, draw.choice(values))
            values.append(d.op("SelectV2", condition, x, draw.choice(values)))
    return Case("other dtype", d.end(*dict.fromkeys(values[-2:])), exact=True)


MOTIFS: dict[Callable[[Draft], Case], int] = {
    cluster: 30,
    pair: 8,
    broadcast: 8,
    dense: 12,
    attention: 6,
    transformer: 3,
    decoder: 3,
    small_plan: 12,
    rectified: 3,
    scalar_loop: 12,
    recurrence: 6,
    frames: 2,
    turns: 3,
    backward: 3,
    convolution: 4,
    other_dtype: 8,
    extremes: 4,
}


# Values, and their memory layout.


def _values(draw: random.Random, random_: Any, shape: tuple[int, ...], kind: Any) -> Any:
    """An array of a dtype, with its special numbers."""
    if kind == np.bool_:
        return random_.random(shape) < 0.5
    if np.issubdtype(kind, np.integer):
        facts = np.iinfo(kind)
        few = random_.integers(max(facts.min, -9), 9, shape, dtype=np.int64).astype(kind)
        if draw.randrange(2):
            extremes = np.array([facts.min, facts.max, 0, 1, facts.max // 2], kind)
            few = np.where(random_.random(shape) < 0.3, random_.choice(extremes, shape), few)
        return few.astype(kind)
    scale = draw.choice((1.0, 1.0, 1.0, 0.1, 30.0, 1e-3))
    made = (random_.standard_normal(shape) * scale).astype(kind)
    if draw.randrange(4) == 0:
        facts = np.finfo(kind) if kind.name != "bfloat16" else np.finfo(np.float32)
        odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, facts.max, -facts.max, facts.tiny]
        odd += [facts.smallest_subnormal, -facts.smallest_subnormal, 88.8, -88.8, -104.0, 1e4, -1e4]
        some = draw.sample(odd, draw.randrange(1, 4))
        share = draw.choice((0.02, 0.3))
        with np.errstate(all="ignore"):
            made = np.where(
                random_.random(shape) < share, random_.choice(some, shape).astype(kind), made
            )
    return made.astype(kind)


def _lay(draw: random.Random, array: Any) -> Any:
    """The same numbers, perhaps strided, reversed, transposed, unaligned or broadcast."""
    way = draw.randrange(14)
    if not array.ndim:
        return array
    if way == 0:  # every other one of a longer axis
        longer = np.repeat(array, 2, axis=-1)
        return longer[..., ::2]
    if way == 1:
        return np.flip(np.flip(array, -1).copy(), -1)
    if way == 2:
        return np.asfortranarray(array)
    if way == 3 and array.size:
        raw = np.empty(array.nbytes + 1, np.uint8)
        there = raw[1:].view(array.dtype).reshape(array.shape)
        there[...] = array
        return there
    if way == 4 and array.shape[0]:
        return np.broadcast_to(array[:1], array.shape)
    if way == 5:
        array = array.copy()
        array.setflags(write=False)
    return array


def inputs_for(case: Case, draw: random.Random, held: Mapping[Value, Variable]) -> list[Any]:
    """Arrays for a graph's inputs; `held` are the variables of some of them."""
    random_ = np.random.default_rng(draw.randrange(2**63))
    made = []
    for place, value in enumerate(case.graph.inputs):
        shape = tuple(size or 0 for size in value.shape.dims or ())
        kind = np.dtype(value.dtype.numpy)
        if value in held:
            made.append(held[value].handle._array)
            continue
        if case.kind in {"scalar loop", "turns"} and place < 2:
            count = draw.choice((0, 1, 2, 3, 5)) if place else 0
            made.append(np.int32(count if case.kind == "scalar loop" else min(count, 3)))
            continue
        array = np.asarray(_values(draw, random_, shape, kind))
        made.append(_lay(draw, array))
    if case.kind == "rectified" and made[3].size:
        made[4] = abs(made[4])  # a variance
    return [np.asarray(one) for one in made]


def drawn(seed: int, number: int) -> Case:
    """The graph with a number, always the same one.

    Args:
        seed: the seed of the run.
        number: the number of the graph.
    """
    draw = random.Random(f"{seed}/structure/{number}")
    sizes = random.Random(f"{seed}/sizes/{number}")
    motif = draw.choices(list(MOTIFS), list(MOTIFS.values()))[0]
    draft = Draft(draw, sizes)
    case = motif(draft)
    case.inputs = inputs_for(case, sizes, draft.held)
    case.rows = case.rows and not draft.held
    if sizes.randrange(3) == 0:
        case.graph = of_unknown_sizes(case.graph, sizes) or case.graph
    return case


def of_unknown_sizes(graph: Graph, draw: random.Random | None = None) -> Graph | None:
    """The graph with some input sizes unknown until the call; None if an op needs them.

    Args:
        graph: the graph.
        draw: selects the sizes; None takes the first one of every input.
    """
    copy = Copy(GraphBuilder(graph.name))
    for value in graph.inputs:
        sizes: list[int | None] = list(value.shape.dims or ())
        for axis in range(len(sizes)):
            if axis == 0 if draw is None else draw.randrange(2):
                sizes[axis] = None
        spec = TensorSpec(sizes, value.dtype)
        there = copy.target.add_input(PLACEHOLDER, spec, value.node.name, value.handle)
        copy.values[value] = there
    try:
        for node in ordered(graph):
            if node.outputs[0] not in copy.values:
                taken = [copy.values[value] for value in node.inputs]
                made = copy.target.add(node.op, taken, node.attrs, node.name)
                copy.values.update(zip(node.outputs, made.outputs, strict=True))
    except OpError:
        return None
    copy.target.set_outputs([copy.values[value] for value in graph.outputs], graph.output_names)
    return copy.target.finish()
