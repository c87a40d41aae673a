"""Permitted results of a graph: an interval for each number, from the rounding errors of each op.

Every op is computed on the ends of the intervals of its inputs in a wider type, by a formula that
is not its kernel, and widened by its own possible rounding errors, in units in the last place
(ulp). Results of any tier, plan or machine code, must lie inside. A number whose interval is empty
must be NaN; one that may be NaN is marked. Denormals count as zeros in runs (ADR 24), or keep their
value where an op only moves them. Results that depend on a comparison which rounding decides are
undecided, and do not count as compared.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from pinnace.graph.graph import constant_of
from pinnace.graph.walk import ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.graph.graph import Graph, Node, Value


class Undecided(Exception):  # noqa: N818 (no error: there is nothing to compare)
    """The graph's result depends on rounding, or there is no formula for it."""


class Precision:
    """A floating-point type, and the wider one in which its bounds are computed."""

    def __init__(self, kind: Any, wide: Any) -> None:
        facts = np.finfo(kind)
        self.kind, self.wide = kind, wide
        self.ulp = wide(facts.eps)
        self.most = wide(facts.max)
        self.least = wide(facts.smallest_subnormal)
        self.normal = wide(facts.smallest_normal)


SINGLE = Precision(np.float32, np.float64)
DOUBLE = Precision(np.float64, np.longdouble)
_OF = {np.dtype(np.float32): SINGLE, np.dtype(np.float64): DOUBLE}


class Bound:
    """An interval for each number, from `low` to `high`; with NaN as its ends the number is NaN.

    For bools, the ends are 0 and 1.
    """

    def __init__(self, low: Any, high: Any, maybe: Any, precision: Precision | None) -> None:
        self.low, self.high, self.maybe = low, high, maybe
        self.precision = precision

    @classmethod
    def of(cls, array: Any) -> Bound:
        """The bound of exactly known numbers."""
        array = np.asarray(array)
        precision = _OF.get(array.dtype)
        wide = array.astype(np.float64 if precision is None else precision.wide)
        return _flushed(cls(wide, wide, np.isnan(wide), precision))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(np.shape(self.low))

    @property
    def is_known(self) -> bool:
        """Whether each number is known exactly."""
        return bool(((self.low == self.high) | np.isnan(self.low)).all())

    def map(self, function: Callable[[Any], Any]) -> Bound:
        """Apply a function that only moves numbers."""
        parts = [np.asarray(function(part)) for part in (self.low, self.high, self.maybe)]
        return Bound(*parts, self.precision)


def _join(candidates: Sequence[Any], precision: Precision | None) -> Bound:
    low = high = candidates[0]
    maybe, plus, minus = np.isnan(low), False, False
    for one in candidates:
        low, high = np.fmin(low, one), np.fmax(high, one)
        maybe = maybe | np.isnan(one)
        zero = one == 0
        minus = minus | (zero & np.signbit(one))
        plus = plus | (zero & ~np.signbit(one))
    low = np.where(low == 0, np.where(minus, -0.0, 0.0).astype(low.dtype), low)
    high = np.where(high == 0, np.where(plus, 0.0, -0.0).astype(high.dtype), high)
    return Bound(low, high, maybe, precision)


def _points(x: Bound) -> list[Any]:
    """Numbers of an interval at which a function that is monotonic on each side of 0 is extreme."""
    found = [x.low]
    if not x.is_known or (np.signbit(x.low) != np.signbit(x.high)).any():
        found.append(x.high)
        around = (x.low <= 0) & (x.high >= 0)
        if around.any():
            kind = x.low.dtype
            found.append(np.where(around & np.signbit(x.low), kind.type(-0.0), x.low))
            found.append(np.where(around & ~np.signbit(x.high), kind.type(0.0), x.low))
    if (x.maybe & ~np.isnan(x.low)).any():
        found.append(np.where(x.maybe, x.low.dtype.type(np.nan), x.low))
    return found


def _spread(function: Callable[..., Any], *inputs: Bound, edges: Sequence[float] = ()) -> Bound:
    """The range of a function; `edges` are the ends of its domain."""
    precision = next((x.precision for x in inputs if x.precision is not None), None)
    points = [_points(x) for x in inputs]
    for x, found in zip(inputs, points, strict=True):
        if not x.is_known:
            found += [np.clip(x.low.dtype.type(edge), x.low, x.high) for edge in edges]
    combinations = itertools.product(*points)
    return _join([np.asarray(function(*one)) for one in combinations], precision)


def _round(x: Bound, ulps: float, *, floor: bool = False) -> Bound:
    """The bound widened by this many ulps; `floor`: denormal numbers may be 0 as well."""
    p = x.precision or SINGLE
    return _widen(x, ulps * p.ulp, p.normal if floor else ulps * p.least)


def _widen(x: Bound, relative: Any, absolute: Any) -> Bound:
    p = x.precision or SINGLE
    low, high = x.low, x.high
    below = np.where((low == 0) | np.isinf(low), low, low - relative * abs(low) - absolute)
    above = np.where((high == 0) | np.isinf(high), high, high + relative * abs(high) + absolute)
    # Rounding does not change the sign.
    below = np.where((low > 0) & (below <= 0), p.wide(0.0), below)
    above = np.where((high < 0) & (above >= 0), p.wide(-0.0), above)
    return _flushed(_overflown(Bound(below, above, x.maybe, x.precision)))


def _overflown(x: Bound) -> Bound:
    p = x.precision or SINGLE
    x.low = np.where(x.low < -p.most, -np.inf, x.low).astype(p.wide)
    x.high = np.where(x.high > p.most, np.inf, x.high).astype(p.wide)
    return x


def _flushed(x: Bound) -> Bound:
    """Denormal inputs and results count as 0 in a run; ops that only move numbers keep them."""
    p = x.precision
    if p is not None:
        x.low = np.where((x.low > 0) & (x.low < p.normal), p.wide(0.0), x.low)
        x.high = np.where((x.high < 0) & (x.high > -p.normal), p.wide(-0.0), x.high)
    return x


def _any_zero(x: Bound) -> Bound:
    """The bound with zeros of either sign."""
    x.low = np.where(x.low == 0, -0.0, x.low).astype(x.low.dtype)
    x.high = np.where(x.high == 0, 0.0, x.high).astype(x.high.dtype)
    return x


def _chosen(name: str, *x: Bound) -> Bound:
    """The larger or the smaller of two."""
    return _any_zero(_spread(np.maximum if name == "Maximum" else np.minimum, *x))


def _handed_on(name: str, given: Sequence[Bound], made: Bound) -> Bound:
    """Two numbers that count as 0 are equal: the selected one may be denormal, and stays so."""
    p = made.precision or SINGLE
    for x in given:
        if name == "Maximum":
            may = (made.low <= 0) & (made.low > -p.normal) & (x.low < 0) & (x.high > -p.normal)
            made.low = np.where(may, np.maximum(x.low, -p.normal), made.low)
        else:
            may = (made.high >= 0) & (made.high < p.normal) & (x.high > 0) & (x.low < p.normal)
            made.high = np.where(may, np.minimum(x.high, p.normal), made.high)
    return made


# Single ops: the formula, and the permitted error of kernels in ulp. Sums, products, quotients and
# roots have half an ulp; functions have that of NumPy's and the C library's (4), or that stated in
# `codegen.mathematics`, plus one for the constants.
_EXACT: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Ceil": np.ceil,
    "Floor": np.floor,
    "Neg": np.negative,
    "Rint": np.rint,
    "Round": np.rint,
    "Sign": np.sign,
}
_ROUNDED: dict[str, tuple[Callable[..., Any], float]] = {
    "Add": (np.add, 0.5),
    "AddV2": (np.add, 0.5),
    "Sub": (np.subtract, 0.5),
    "Mul": (np.multiply, 0.5),
    "RealDiv": (np.divide, 0.5),
    "Inv": (np.reciprocal, 0.5),
    "Reciprocal": (np.reciprocal, 0.5),
    "Sqrt": (np.sqrt, 0.5),
    "Square": (np.square, 0.5),
    "Exp": (np.exp, 4),
    "Expm1": (np.expm1, 4),
    "Log": (np.log, 4),
    "Log1p": (np.log1p, 4),
    "Rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "Tanh": (np.tanh, 5),
    "Sinh": (np.sinh, 5),
    "Cosh": (np.cosh, 5),
    "Asin": (np.arcsin, 5),
    "Acos": (np.arccos, 5),
    "Atan": (np.arctan, 5),
    "Atan2": (np.arctan2, 5),
    "Asinh": (np.arcsinh, 5),
    "Acosh": (np.arccosh, 5),
    "Atanh": (np.arctanh, 5),
    "Erf": (lambda x: special.erf(np.float64(x)), 9),
}
_EDGES = {"Acosh": (1,), "Asin": (-1, 1), "Acos": (-1, 1), "Atanh": (-1, 1), "Log1p": (-1,)}
# Functions that approach 0 by underflow of a term: below the normal numbers they may be 0.
_FLOORED: dict[str, tuple[Callable[..., Any], float]] = {
    # Not SciPy's, which is off by 260 ulp at 26, where this one is off by 1.
    "Erfc": (np.vectorize(math.erfc, [np.float64]), 18),
    "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 6),
}
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
}
_JOINED: dict[str, Callable[..., Any]] = {
    "LogicalAnd": np.minimum,
    "LogicalOr": np.maximum,
    "LogicalNot": lambda x: 1 - x,
}
_MOVES = frozenset(
    {
        "BroadcastTo",
        "ConcatV2",
        "ExpandDims",
        "GatherV2",
        "Identity",
        "Pack",
        "Reshape",
        "Split",
        "SplitV",
    }
    | {"Squeeze", "StridedSlice", "Transpose", "Unpack"}
)


def _number(like: Bound, value: float) -> Bound:
    kind = (like.precision or SINGLE).kind
    return Bound.of(kind(value))


class Evaluation:
    """The bounds of a graph's values for some inputs."""

    def __init__(self, graph: Graph, inputs: Sequence[Any]) -> None:
        self._values: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
        for node in ordered(graph):
            if node.outputs and node.outputs[0] not in self._values and node.op.name != "Const":
                made = self._node(node)
                self._values.update(zip(node.outputs, made, strict=False))
        self.outputs = [self._of(value) for value in graph.outputs]

    def _of(self, value: Value) -> Any:
        found = self._values.get(value)
        return constant_of(value) if found is None else found

    def _node(self, node: Node) -> Sequence[Any]:  # noqa: C901 (one case after the other)
        given = [self._of(value) for value in node.inputs]
        name = node.op.name
        if name in {"While", "StatelessWhile"}:
            return _loop(node, given)
        if name == "StatelessIf":
            return _branch(node, given)
        if name in {"PartitionedCall", "StatefulPartitionedCall"}:
            return Evaluation(node.attrs["f"].graph, given).outputs
        if name in _LISTS:
            return _LISTS[name](node, given)
        if given and isinstance(given[0], list):
            return [_of_lists(name, given)]
        if name == "ReadVariableOp":
            return [np.asarray(one) for one in _exactly(node, given)]
        floats = [np.asarray(one).dtype in _OF for one in given if not isinstance(one, Bound)]
        if not any(isinstance(one, Bound) for one in given) and not any(floats):
            return _exactly(node, given)
        if name in {"Shape", "Size", "Rank", "ZerosLike", "OnesLike"} and not isinstance(
            given[0], list
        ):
            like = node.inputs[0].dtype.numpy
            return _exactly(node, [np.zeros(np.shape(getattr(given[0], "low", given[0])), like)])
        if name in _MOVES:
            return _moved(node, given)
        write = getattr(self, f"_{name}", None)
        bounds = [one if isinstance(one, Bound) else Bound.of(one) for one in given]
        with np.errstate(all="ignore"):
            if name.startswith("FusedBatchNormGradV"):
                return _normalised_backward(node, bounds)
            if name.startswith("FusedBatchNormV"):
                return _normalised(node, bounds)
            made = elementwise(name, *bounds) if write is None else write(node, bounds)
            return [_begun(node, bounds, made)] if name in _SUMS else [made]

    # Ops that join numbers.

    def _Sum(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802 (names of ops)
        return _any_zero(_total(given[0], _axes(node, given[0]), node.attrs["keep_dims"]))

    def _Mean(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        x, axes = given[0], _axes(node, given[0])
        total = _total(x, axes, node.attrs["keep_dims"])
        count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
        return _any_zero(elementwise("RealDiv", total, _number(x, count)))

    def _Max(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        x = given[0]
        options = {"axis": _axes(node, x), "keepdims": node.attrs["keep_dims"]}
        maybe = x.maybe.any(**options)
        must = np.isnan(x.low).any(**options)
        low, high = (np.where(must, np.nan, part.max(**options)) for part in (x.low, x.high))
        return _any_zero(Bound(low, high, maybe, x.precision))

    def _Mul(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        made = elementwise("Mul", *given)
        factors = [constant_of(value) for value in node.inputs]
        # A factor of weights: their zeros add up to +0.
        has_zeros = any(one is not None and np.any(one == 0) for one in factors)
        return _any_zero(made) if has_zeros else made

    def _RealDiv(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        made = elementwise("RealDiv", *given)
        # Several constants become their reciprocals, as in Grappler.
        divisor = constant_of(node.inputs[1])
        return made if divisor is None or np.size(divisor) == 1 else _round(made, 1)

    def _Softmax(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        del node
        x = given[0]
        top = Bound(*(p.max(-1, keepdims=True) for p in (x.low, x.high, x.maybe)), x.precision)
        powers = elementwise("Exp", elementwise("Sub", x, top))
        total = _total(powers, (x.low.ndim - 1,), keepdims=True)
        # The quotient, or the product with the reciprocal.
        return _round(elementwise("RealDiv", powers, total), 1)

    def _BiasAddGrad(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        del node
        return _any_zero(_total(given[0], tuple(range(given[0].low.ndim - 1)), keepdims=False))

    def _BiasAdd(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        x, bias = given
        if node.attrs["data_format"] == "NCHW":
            bias = bias.map(lambda part: part.reshape(-1, *[1] * (x.low.ndim - 2)))
        return elementwise("AddV2", x, bias)

    def _AddN(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        del node
        stacked = Bound(
            *(np.stack([getattr(one, part) for one in given]) for part in ("low", "high", "maybe")),
            given[0].precision,
        )
        return _any_zero(_total(stacked, (0,), keepdims=False))

    def _MatMul(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        flip_a, flip_b = (bool(node.attrs[f"transpose_{one}"]) for one in "ab")
        return _product(given, flip_a, flip_b)

    def _BatchMatMulV2(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        return _product(given, bool(node.attrs["adj_x"]), bool(node.attrs["adj_y"]))

    def _Conv2D(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        filters = given[1].shape
        count = filters[0] * filters[1] * filters[2]
        return _bilinear(lambda a, b: _convolved(node, a, b), *given, count)

    def _DepthwiseConv2dNative(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        filters = given[1].shape
        count = filters[0] * filters[1]
        return _bilinear(lambda a, b: _convolved(node, a, b, depthwise=True), *given, count)

    def _Einsum(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        equation = node.attrs["equation"]
        left, _, _ = equation.partition("->")
        sizes: dict[str, int] = {}
        for labels, one in zip(left.split(","), given, strict=True):
            sizes.update(zip(labels, one.shape, strict=True))
        summed = set(left) - {","} - set(equation.partition("->")[2])
        count = int(np.prod([sizes[one] for one in summed], dtype=np.int64))
        return _bilinear(lambda a, b: np.einsum(equation, a, b), *given, count)

    def _Cast(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        target = np.dtype(node.attrs["DstT"].numpy)
        (x,) = given
        if target not in _OF or (not x.is_known and x.precision not in {None, _OF[target]}):
            raise Undecided("a cast")
        p = _OF[target]
        parts = (x.low.astype(p.wide), x.high.astype(p.wide), x.maybe)
        return _round(Bound(*parts, p), 0.5)

    def _SelectV2(self, node: Node, given: list[Bound]) -> Bound:  # noqa: N802
        del node
        condition, t, e = given
        sure, never = condition.low > 0, condition.high == 0
        shape = np.broadcast_shapes(condition.shape, t.shape, e.shape)
        tl, th, tm = (np.broadcast_to(part, shape) for part in (t.low, t.high, t.maybe))
        el, eh, em = (np.broadcast_to(part, shape) for part in (e.low, e.high, e.maybe))
        both = _join([tl, th, el, eh], t.precision)
        low = np.where(sure, tl, np.where(never, el, both.low))
        high = np.where(sure, th, np.where(never, eh, both.high))
        maybe = np.where(sure, tm, np.where(never, em, tm | em))
        return Bound(low, high, maybe, t.precision)


_SUMS = frozenset({"Add", "AddV2", "BiasAdd"})
_PRODUCTS = frozenset({"BatchMatMul", "BatchMatMulV2", "Conv2D", "DepthwiseConv2dNative", "MatMul"})


def _begun(node: Node, given: list[Bound], made: Bound) -> Bound:
    """A sum that a product may start with: each of its terms then also rounds the added value."""
    for value, other in zip(node.inputs, reversed(given), strict=True):
        while value.node.op.name == "Reshape":
            value = value.node.inputs[0]
        if value.node.op.name in _PRODUCTS:
            terms = value.node.inputs[0].shape.dims or (None,)
            flips = value.node.attrs.get("transpose_a") or value.node.attrs.get("adj_x")
            count = terms[-2 if flips and len(terms) > 1 else -1] or 1024
            if "Conv2" in value.node.op.name:
                count = int(np.prod(value.node.inputs[1].shape.dims))
            size = np.maximum(abs(other.low), abs(other.high))
            if node.attrs.get("data_format") == "NCHW":
                size = np.max(size, initial=0)
            extra = np.where(np.isfinite(size), size, 0) * count * SINGLE.ulp / 2
            made = Bound(made.low - extra, made.high + extra, made.maybe, made.precision)
    return made


def elementwise(name: str, *x: Bound) -> Bound:  # noqa: C901
    """One elementwise op; ops with several roundings are composed of their steps."""
    one = _number(x[0], 1)
    if name in _EXACT:
        return _spread(_EXACT[name], *x)
    if name in _ROUNDED:
        function, ulps = _ROUNDED[name]
        return _round(_spread(function, *x, edges=_EDGES.get(name, ())), ulps)
    if name in _FLOORED:
        function, ulps = _FLOORED[name]
        return _round(_spread(function, *x), ulps, floor=True)
    if name in _COMPARISONS:
        return _truth(_spread(lambda *a: _COMPARISONS[name](*a).astype(np.float64), *x))
    if name in {"Equal", "NotEqual"}:
        return _equal(*x, wanted=name == "Equal")
    if name in _JOINED:
        return _truth(_spread(_JOINED[name], *x))
    if name in {"Sin", "Cos", "Tan"}:
        # Extreme values inside an interval differ by at most the square of its width.
        made = _spread({"Sin": np.sin, "Cos": np.cos, "Tan": np.tan}[name], *x)
        if name == "Tan" and (x[0].high - x[0].low > 1e-3).any():
            raise Undecided("a pole")
        if not np.isfinite(x[0].low[~np.isnan(x[0].low)]).all() and not x[0].is_known:
            raise Undecided("the sine of what may be infinite")
        extra = np.where(np.isfinite(x[0].high - x[0].low), x[0].high - x[0].low, 2)
        extra = np.where(x[0].low == x[0].high, 0, extra)
        made = Bound(made.low - extra, made.high + extra, made.maybe, made.precision)
        return _round(made, 6)
    if name in {"Maximum", "Minimum"}:
        return _handed_on(name, x, _chosen(name, *x))
    if name == "Relu":  # which is never below 0
        return _chosen("Maximum", x[0], _number(x[0], 0))
    if name == "Relu6":
        return elementwise("Minimum", elementwise("Relu", *x), _number(x[0], 6))
    if name in {"ReluGrad", "Relu6Grad"}:
        return _kept(name, *x)
    if name in {"LeakyRelu", "LeakyReluGrad"}:
        return _leaking(x[0], x[-1])
    if name == "EluGrad":
        return _round(_sloping(*x, 1.0, 1.0), 1)
    if name == "SeluGrad":
        return _round(_sloping(*x, 1.7580993408473768, 1.0507009873554805), 1)
    if name == "ClipByValue":
        return elementwise("Maximum", elementwise("Minimum", x[0], x[2]), x[1])
    if name == "SquaredDifference":
        return elementwise("Square", elementwise("Sub", *x))
    parts = _COMPOSED.get(name)
    if parts is None:
        raise Undecided(f"{name}: no bound")
    # Kernels may compute the terms in another order: twice their rounding errors.
    return _round(parts(_e, one, *x), 1)


def _e(name: str, *x: Bound) -> Bound:
    return elementwise(name, *x)


def _power_grad(e: Any, one: Bound, y: Bound, dy: Bound) -> Bound:
    cube = e("Mul", e("Mul", y, y), y)
    return e("Mul", dy, e("Mul", _number(one, -0.5), cube))


# The steps get the upstream gradient, the number 1, and the inputs.
_COMPOSED: dict[str, Callable[..., Bound]] = {
    "SigmoidGrad": lambda e, one, y, dy: e("Mul", e("Mul", dy, y), e("Sub", one, y)),
    "TanhGrad": lambda e, one, y, dy: e("Mul", dy, e("Sub", one, e("Mul", y, y))),
    "InvGrad": lambda e, _one, y, dy: e("Mul", e("Mul", e("Neg", dy), y), y),
    "ReciprocalGrad": lambda e, _one, y, dy: e("Mul", e("Mul", e("Neg", dy), y), y),
    "SqrtGrad": lambda e, one, y, dy: e("RealDiv", e("Mul", dy, _number(one, 0.5)), y),
    "RsqrtGrad": _power_grad,
    "Softsign": lambda e, one, x: e("RealDiv", x, e("AddV2", e("Abs", x), one)),
    "SoftsignGrad": lambda e, one, dy, x: e(
        "RealDiv", dy, _round(e("Square", e("AddV2", e("Abs", x), one)), 2)
    ),
    "Softplus": lambda e, _one, x: e(
        "AddV2", e("Relu", x), e("Log1p", e("Exp", e("Neg", e("Abs", x))))
    ),
    "SoftplusGrad": lambda e, one, dy, x: e("RealDiv", dy, e("AddV2", e("Exp", e("Neg", x)), one)),
    "Elu": lambda e, _one, x: e("AddV2", e("Relu", x), e("Expm1", e("Minimum", x, _number(x, 0)))),
    "Selu": lambda e, _one, x: e(
        "AddV2",
        e("Mul", e("Relu", x), _number(x, 1.0507009873554805)),
        e("Mul", e("Expm1", e("Minimum", x, _number(x, 0))), _number(x, 1.7580993408473768)),
    ),
}


def _truth(x: Bound) -> Bound:
    x.maybe = np.zeros(x.shape, bool)
    x.precision = None
    return x


def _equal(x: Bound, y: Bound, *, wanted: bool) -> Bound:
    apart = (x.high < y.low) | (y.high < x.low) | np.isnan(x.low) | np.isnan(y.low)
    same = (x.low == x.high) & (y.low == y.high) & (x.low == y.low) & ~x.maybe & ~y.maybe
    low, high = same.astype(np.float64), 1.0 - apart
    if not wanted:
        low, high = 1 - high, 1 - low
    return Bound(low, high, np.zeros(np.shape(low), bool), None)


def _kept(name: str, dy: Bound, x: Bound) -> Bound:
    zero = _number(x, 0)
    positive = elementwise("Greater", x, zero)
    if name == "Relu6Grad":
        below = elementwise("Less", x, _number(x, 6))
        positive = elementwise("LogicalAnd", positive, below)
    # A kernel may multiply by 0 and 1: the 0 has either sign, and NaN or infinity remains.
    made = Evaluation._SelectV2(None, None, [positive, dy, zero])  # type: ignore[arg-type]
    return _any_zero(made)


def _leaking(dy: Bound, x: Bound) -> Bound:
    """dy where x is positive, elsewhere dy times 0.2, the op's default slope."""
    positive = elementwise("Greater", x, _number(x, 0))
    part = elementwise("Mul", dy, _number(dy, float(np.float32(0.2))))
    made = Evaluation._SelectV2(None, None, [positive, dy, part])  # type: ignore[arg-type]
    return _any_zero(made)


def _sloping(dy: Bound, y: Bound, alpha: float, scale: float) -> Bound:
    """dy (y + alpha) where y is below 0, elsewhere dy scale."""
    below = elementwise("Less", y, _number(y, 0))
    slope = elementwise("AddV2", y, _number(y, alpha))
    parts = elementwise("Mul", dy, slope), elementwise("Mul", dy, _number(dy, scale))
    return _any_zero(Evaluation._SelectV2(None, None, [below, *parts]))  # type: ignore[arg-type]


def _axes(node: Node, x: Bound) -> tuple[int, ...]:
    given = constant_of(node.inputs[1])
    if given is None:
        raise Undecided("axes that are not known")
    return tuple({int(axis) % x.low.ndim for axis in given.reshape(-1)}) if x.low.ndim else ()


def _total(x: Bound, axes: tuple[int, ...], keepdims: bool) -> Bound:
    """A sum in any order."""
    p = x.precision or SINGLE
    options = {"axis": axes, "keepdims": keepdims}
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    sizes = np.maximum(abs(x.low), abs(x.high))
    size = sizes.sum(**options)
    low, high = x.low.sum(**options), x.high.sum(**options)
    # A denormal partial sum is flushed to zero.
    error = (count + 1) * p.ulp / 2 * size + np.where(size > 0, count * p.normal, 0)
    must = np.isnan(x.low).any(**options)
    infinite = (x.high == np.inf).any(**options) & (x.low == -np.inf).any(**options)
    loose = (size > p.most * (1 - count * p.ulp)) | np.isnan(low) | np.isnan(high)
    # Certain infinities: then partial sums do not matter.
    up, down = (x.low == np.inf).any(**options), (x.high == -np.inf).any(**options)
    some_up, some_down = (x.high > p.most).any(**options), (x.low < -p.most).any(**options)
    finite = np.where(np.isinf(sizes), 0, sizes).sum(**options) <= p.most * (1 - count * p.ulp)
    low, high = low - error, high + error
    maybe = x.maybe.any(**options) | infinite | loose
    low, high = np.where(loose, -np.inf, low), np.where(loose, np.inf, high)
    plus = up & ~some_down & finite
    minus = down & ~some_up & finite
    low, high = np.where(plus, np.inf, low), np.where(minus, -np.inf, high)
    maybe = np.where(plus | minus, x.maybe.any(**options), maybe)
    must = must | (up & down)
    low, high = np.where(must, np.nan, low), np.where(must, np.nan, high)
    return _overflown(Bound(low.astype(p.wide), high.astype(p.wide), maybe | must, x.precision))


def _product(given: list[Bound], flip_a: bool, flip_b: bool) -> Bound:
    a, b = given
    if flip_a:
        a = a.map(lambda part: part.swapaxes(-1, -2))
    if flip_b:
        b = b.map(lambda part: part.swapaxes(-1, -2))
    return _bilinear(np.matmul, a, b, a.shape[-1])


def _convolved(node: Node, x: Any, filters: Any, *, depthwise: bool = False) -> Any:
    """A convolution of images, tap by tap."""
    _, step, along, _ = node.attrs["strides"]
    gaps = node.attrs["dilations"][1:3]
    rows, columns = filters.shape[:2]
    sizes, before = [], []
    for size, taps, stride, gap in zip(
        x.shape[1:3], (rows, columns), (step, along), gaps, strict=True
    ):
        reach = (taps - 1) * gap + 1
        if node.attrs["padding"] == "VALID":
            sizes.append(-(-(size - reach + 1) // stride))
            before.append((0, 0))
        else:
            sizes.append(-(-size // stride))
            pad = max((sizes[-1] - 1) * stride + reach - size, 0)
            before.append((pad // 2, pad - pad // 2))
    padded = np.pad(x, ((0, 0), *before, (0, 0)))
    total: Any = 0.0
    for i in range(rows):
        for j in range(columns):
            y, z = i * gaps[0], j * gaps[1]
            part = padded[
                :,
                y : y + (sizes[0] - 1) * step + 1 : step,
                z : z + (sizes[1] - 1) * along + 1 : along,
            ]
            if depthwise:
                total = total + (part[..., None] * filters[i, j]).reshape(*part.shape[:3], -1)
            else:
                total = total + part @ filters[i, j]
    return total


def _bilinear(times: Callable[[Any, Any], Any], a: Bound, b: Bound, count: int) -> Bound:
    """Sums of `count` products: centres and radii."""
    p = a.precision or SINGLE
    parts = []
    for x in (a, b):
        bad = ~np.isfinite(x.low) | ~np.isfinite(x.high) | x.maybe
        low, high = np.where(bad, 0, x.low), np.where(bad, 0, x.high)
        parts.append((low / 2 + high / 2, high / 2 - low / 2, bad, np.isnan(x.low)))
    (ca, ra, bad_a, nan_a), (cb, rb, bad_b, nan_b) = parts
    centre = times(ca, cb)
    size = times(abs(ca) + ra, abs(cb) + rb)
    radius = times(ra, abs(cb) + rb) + times(abs(ca), rb)
    radius = radius + (count + 2) * p.ulp * size + count * p.normal

    def touched(x: Any, y: Any) -> Any:
        ones = [np.ones(part.shape) for part in (x, y)]
        return (times(x.astype(np.float64), ones[1]) + times(ones[0], y.astype(np.float64))) > 0

    must = touched(nan_a, nan_b)
    loose = touched(bad_a, bad_b) | (size * (1 + count * p.ulp) > p.most)
    low = np.where(must, np.nan, np.where(loose, -np.inf, centre - radius))
    high = np.where(must, np.nan, np.where(loose, np.inf, centre + radius))
    return Bound(low, high, loose | must, a.precision)


def _normalised(node: Node, given: list[Bound]) -> list[Bound]:
    """A batch norm: (x - mean) * scale / sqrt(variance + epsilon) + offset."""
    x, scale, offset, mean, variance = given
    rank = x.low.ndim
    channel = 1 if node.attrs["data_format"] == "NCHW" else rank - 1
    axes = tuple(axis for axis in range(rank) if axis != channel)
    form = tuple(-1 if axis == channel else 1 for axis in range(rank))
    scale, offset = (one.map(lambda part: part.reshape(form)) for one in (scale, offset))
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    if node.attrs["is_training"]:
        if not count or not np.isfinite(x.low).all():
            raise Undecided("a batch norm of what is not finite")
        number = _number(x, count)
        mean = elementwise("RealDiv", _total(x, axes, keepdims=True), number)
        apart = elementwise("Square", elementwise("Sub", x, mean))
        variance = elementwise("RealDiv", _total(apart, axes, keepdims=True), number)
        # Kernels sum squares around an estimate of the mean, which has its own rounding error.
        size = np.square(x.low).mean(axes, keepdims=True) * SINGLE.ulp**2 * count
        variance = _round(variance, 8 + count)
        variance = Bound(
            np.maximum(variance.low - size, 0), variance.high + size, variance.maybe, SINGLE
        )
    else:
        mean, variance = (one.map(lambda part: part.reshape(form)) for one in (mean, variance))
    root = elementwise("AddV2", variance, _number(x, node.attrs["epsilon"]))
    factor = _round(elementwise("Mul", scale, elementwise("Rsqrt", root)), 1)
    made = elementwise("Mul", elementwise("Sub", x, mean), factor)
    mean, variance = (one.map(lambda part: part.reshape(-1)) for one in (mean, variance))
    unbiased = elementwise("Mul", variance, _number(x, count / max(count - 1, 1)))
    return [elementwise("AddV2", made, offset), mean, _round(unbiased, 2), mean, variance]


_LARGE = 1e12


def _normalised_backward(node: Node, given: list[Bound]) -> list[Bound]:
    """The gradients of x, scale and offset of a batch norm while training."""
    dy, x, scale, mean, variance = given[:5]
    if node.attrs["data_format"] == "NCHW" or not node.attrs["is_training"]:
        raise Undecided("a gradient of another batch norm")
    axes = tuple(range(x.low.ndim - 1))
    count = int(np.prod(x.shape[:-1], dtype=np.int64))
    if not count:
        raise Undecided("a batch norm of nothing")
    if any((np.maximum(abs(one.low), abs(one.high)) > _LARGE).any() for one in (dy, x, scale)):
        raise Undecided("products that may overflow before they are scaled")
    e, number = elementwise, _number(x, count)
    inverse = e("Rsqrt", e("AddV2", variance, _number(x, node.attrs["epsilon"])))
    # Kernels sum products with x - mean, and scale the sums: one more ulp for each step.
    apart = e("Mul", e("Sub", x, mean), inverse)
    offset = _round(_total(dy, axes, keepdims=False), 2)
    slope = _round(_total(e("Mul", dy, apart), axes, keepdims=False), 4)
    rest = e("AddV2", e("RealDiv", offset, number), e("Mul", apart, e("RealDiv", slope, number)))
    factor = _round(e("Mul", scale, inverse), 2)
    terms = [dy, e("RealDiv", offset, number), e("Mul", apart, e("RealDiv", slope, number))]
    parts = [e("Mul", one, factor) for one in terms]
    size = sum(np.maximum(abs(one.low), abs(one.high)) for one in parts) * 16 * SINGLE.ulp
    # A denormal term of the factor (scale by count, say) is 0, and so is its product.
    terms_size = sum(np.maximum(abs(one.low), abs(one.high)) for one in terms)
    size = size + count * SINGLE.normal * (1 + terms_size)
    made = e("Mul", e("Sub", dy, rest), factor)
    return [
        _any_zero(Bound(made.low - size, made.high + size, made.maybe, SINGLE)),
        _any_zero(slope),
        _any_zero(offset),
    ]


def _exactly(node: Node, given: Sequence[Any]) -> Sequence[Any]:
    """An op without rounding, computed by its kernel."""
    if node.op.kernel is None or node.op.wants_ctx:
        raise Undecided(f"{node.op.name}: no bound")
    packed = node.op.pack_inputs(tuple(map(np.asarray, given)), node.attrs)
    options = {name: node.attrs[name] for name in node.op.kernel_attrs}
    with np.errstate(all="ignore"):
        made = node.op.kernel(*packed, **options)
    return list(made) if isinstance(made, (tuple, list)) else [np.asarray(made)]


def _moved(node: Node, given: Sequence[Any]) -> Sequence[Any]:
    """An op that moves numbers, applied to the ends of their intervals."""
    bounds = [
        one if isinstance(one, Bound) or value.dtype.numpy not in _OF else Bound.of(one)
        for one, value in zip(given, node.inputs, strict=True)
    ]
    precision = next((one.precision for one in bounds if isinstance(one, Bound)), None)
    made = [
        _exactly(node, [getattr(one, part, one) for one in bounds])
        for part in ("low", "high", "maybe")
    ]
    return [Bound(*parts, precision) for parts in zip(*made, strict=True)]


# Loops, and the tensor lists that they carry.

_MOST_TURNS = 4096


def _loop(node: Node, given: list[Any]) -> list[Any]:
    cond, body = (node.attrs[name].graph for name in ("cond", "body"))
    values = given
    for _ in range(_MOST_TURNS):
        (decision,) = Evaluation(cond, values).outputs
        if isinstance(decision, Bound):
            if not decision.is_known:
                raise Undecided("a loop that rounding ends")
            decision = decision.low
        if not bool(decision):
            return values
        values = Evaluation(body, values).outputs
    raise Undecided("a long loop")


def _branch(node: Node, given: list[Any]) -> list[Any]:
    choice, *rest = given
    if isinstance(choice, Bound):
        if not choice.is_known:
            raise Undecided("a branch that rounding chooses")
        choice = choice.low
    taken = node.attrs["then_branch" if bool(choice) else "else_branch"].graph
    return list(Evaluation(taken, rest).outputs)


def _of_lists(name: str, given: list[Any]) -> list[Any]:
    """A list of zeros, or the sum of two lists; elements that were never set are 0."""
    if name == "ZerosLike":
        return [None] * len(given[0])
    if name not in {"Add", "AddV2", "AddN"} or len(given) != 2:
        raise Undecided(f"{name}: no bound")
    made = []
    for one, other in zip(*given, strict=True):
        known = [x if isinstance(x, Bound) else Bound.of(x) for x in (one, other) if x is not None]
        made.append(elementwise("AddV2", *known) if len(known) == 2 else (known or [None])[0])
    return made


def _list_get(_: Node, given: list[Any]) -> list[Any]:
    items, index = given[0], int(given[1])
    if not 0 <= index < len(items) or items[index] is None:
        raise Undecided("a list's element that is not there")
    return [items[index]]


def _list_set(_: Node, given: list[Any]) -> list[Any]:
    items, index = list(given[0]), int(given[1])
    if not 0 <= index < len(items):
        raise Undecided("a list's element that is not there")
    items[index] = given[2]
    return [items]


def _list_stack(_: Node, given: list[Any]) -> list[Any]:
    items = given[0]
    there = [one for one in items if one is not None]
    if not there:
        raise Undecided("an empty list")
    zeros = Bound.of(np.zeros(np.shape(getattr(there[0], "low", there[0])), np.float32))
    items = [zeros if one is None else one for one in items]
    bounds = [one if isinstance(one, Bound) else Bound.of(one) for one in items]
    parts = [np.stack([getattr(b, part) for b in bounds]) for part in ("low", "high", "maybe")]
    return [Bound(*parts, bounds[0].precision)]


def _list_of(_: Node, given: list[Any]) -> list[Any]:
    whole = given[0] if isinstance(given[0], Bound) else Bound.of(given[0])
    count = whole.shape[0]
    return [[whole.map(lambda part, i=i: part[i]) for i in range(count)]]


_LISTS: dict[str, Callable[[Node, list[Any]], list[Any]]] = {
    "TensorListFromTensor": _list_of,
    "TensorListReserve": lambda _, given: [[None] * int(given[1])],
    "EmptyTensorList": lambda *_: [[]],
    "TensorListGetItem": _list_get,
    "TensorListSetItem": _list_set,
    "TensorListStack": _list_stack,
    "TensorListPushBack": lambda _, given: [[*given[0], given[1]]],
    "TensorListPopBack": lambda _, given: [given[0][:-1], given[0][-1]],
    "TensorListLength": lambda _, given: [np.int32(len(given[0]))],
}


class Verdict:
    """The number of compared numbers, and the first one outside its interval."""

    def __init__(self, found: Any, bound: Any) -> None:
        found = np.asarray(found)
        self.numbers = found.size
        self.tight = self.undecided = 0
        self.worst: tuple[int, ...] | None = None
        self.told = ""
        if not isinstance(bound, Bound):
            same = found == np.asarray(bound)
            self._note(~same, found, np.asarray(bound), np.asarray(bound))
            self.tight = found.size
            return
        if found.shape != bound.shape:
            self.worst, self.told = (), f"shape {found.shape}, should be {bound.shape}"
            return
        p = bound.precision or SINGLE
        wide = found.astype(p.wide)
        with np.errstate(all="ignore"):
            inside = (wide >= bound.low) & (wide <= bound.high)
            exact = (bound.low == 0) & (bound.high == 0)
            signs = np.signbit(bound.low) == np.signbit(bound.high)
            inside &= ~(exact & signs & (np.signbit(wide) != np.signbit(bound.low)))
            right = np.where(np.isnan(wide), bound.maybe, inside)
            loose = np.isinf(bound.low) & np.isinf(bound.high) & (bound.low < bound.high)
            width = bound.high - bound.low
            size = np.maximum(abs(bound.low), abs(bound.high))
            narrow = (
                (width <= 1e-3 * size + p.normal) | np.isnan(bound.low) | (bound.low == bound.high)
            )
        self.undecided = int(np.sum(loose & bound.maybe))
        self.tight = int(np.sum(narrow))
        self._note(~right, wide, bound.low, bound.high)

    def _note(self, wrong: Any, found: Any, low: Any, high: Any) -> None:
        if np.any(wrong):
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            self.worst = at
            self.told = (
                f"{np.sum(wrong)} of {wrong.size} numbers; at {list(at)} {found[at]!r} is not from "
                f"{low[at]!r} to {high[at]!r}"
            )


def bounds_of(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """The bounds of the outputs.

    Raises:
        Undecided: there are no bounds.
    """
    given = [Bound.of(one) if np.asarray(one).dtype in _OF else one for one in inputs]
    with np.errstate(all="ignore"):
        return Evaluation(graph, given).outputs
