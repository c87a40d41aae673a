"""Gamma, Poisson and binomial distributions.

Source: see `core/ops/kernels/rejection.py`.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from pinnace.deploy.onnx.converters.math.exponents import log_of_sum
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.random import philox
from pinnace.deploy.onnx.converters.random.streams import Streams, until_none
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.ops.kernels import rejection

_Draw = Callable[..., Value]


@converts("StatelessRandomGammaV2")
def gamma(g: GraphBuilder, call: NodeView, shape: Value, seed: Value, alpha: Value) -> Value:
    """Marsaglia and Tsang's method."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), [alpha], _gamma)


@converts("StatelessRandomGammaV3")
def gamma_of_key(
    g: GraphBuilder,
    call: NodeView,
    shape: Value,
    key: Value,
    counter: Value,
    alg: Value,
    alpha: Value,
) -> Value:
    """Marsaglia and Tsang's method."""
    del alg
    start = philox.of_arrays(g, call, key, counter, 3)
    return _shaped(g, call, shape, start, [alpha], _gamma)


@converts("StatelessRandomPoisson")
def poisson(g: GraphBuilder, call: NodeView, shape: Value, seed: Value, rate: Value) -> Value:
    """Knuth's method for few events, Hörmann's for many."""
    return _shaped(g, call, shape, philox.of_seed(g, seed), [rate], _poisson)


@converts("StatelessRandomBinomial")
def binomial(
    g: GraphBuilder, call: NodeView, shape: Value, seed: Value, counts: Value, probs: Value
) -> Value:
    """Sums of geometric numbers for few successes, Hörmann's method for many."""
    sizes = g.op("Shape", g.op("Add", counts, probs))
    given = [g.op("Expand", value, sizes) for value in (counts, probs)]
    return _shaped(g, call, shape, philox.of_seed(g, seed), given, _binomial)


def _shaped(
    g: GraphBuilder,
    call: NodeView,
    shape: Value,
    start: philox.Start,
    parameters: Sequence[Value],
    draw: _Draw,
) -> Value:
    """The samples in the result's shape, whose last axes are those of the parameters.

    The samples of each parameter are consecutive.
    """
    flat = [g.reshape(g.cast(value, dtypes.float64), [-1]) for value in parameters]
    total = philox.count_of(g, shape)
    groups = g.size_of(flat[0], 0)
    samples = g.op("Div", total, g.binary("Max", g.scalar(groups), 1))
    index = g.iota(total)
    which = g.op("Div", index, g.binary("Max", samples, 1))
    wide = [g.op("Gather", value, which, axis=0) for value in flat]
    drawn = draw(g, start, index, *wide)
    sizes = g.joined(groups, g.reshape(samples, [1]))
    turned = g.op("Transpose", g.reshape(drawn, sizes), perm=[1, 0])
    return g.cast(g.reshape(turned, g.as_int64(shape)), call.dtype("dtype"))


def _every(g: GraphBuilder, kind: str, *values: Value) -> Value:
    found = values[0]
    for value in values[1:]:
        found = g.op(kind, found, value)
    return found


def _and(g: GraphBuilder, *values: Value) -> Value:
    return _every(g, "And", *values)


def _sum(g: GraphBuilder, *values: Value) -> Value:
    return _every(g, "Add", *values)


def _gamma(g: GraphBuilder, start: philox.Start, index: Value, alpha: Value) -> Value:
    streams = Streams(g, start, g.binary("Mul", index, rejection.SKIP), ("uniform", "normal"))
    is_one = g.binary("Equal", alpha, 1)
    small = g.binary("Less", alpha, 1)
    none = g.binary("Equal", alpha, 0)
    # 1 minus a fraction is exact, and so is its logarithm near 0.
    u = streams.draw("uniform", is_one)
    single = g.op("Neg", g.op("Log", g.op("Sub", g.like(u, 1), u)))
    out = g.where(none, g.like(alpha, 0), g.like(alpha, np.nan))
    out = g.where(is_one, single, out)
    d = g.op("Add", alpha, g.where(small, g.like(alpha, 2 / 3), g.like(alpha, -1 / 3)))
    c = g.op("Div", g.like(d, 1 / 3), g.op("Sqrt", d))
    power = g.op("Div", g.like(alpha, 1), alpha)

    def step(g: GraphBuilder, streams: Streams, pending: Value, out: Value) -> tuple[Value, Value]:
        x = streams.draw("normal", pending)
        root = g.binary("Add", g.op("Mul", c, x), 1)
        inside = g.op("And", pending, g.binary("Greater", root, 0))
        v = g.op("Mul", g.op("Mul", root, root), root)
        u = streams.draw("uniform", inside)
        square = g.op("Mul", x, x)
        quick = g.binary("Mul", g.op("Mul", square, square), -0.0331)
        bound = g.op("Mul", d, g.op("Add", g.op("Sub", g.like(v, 1), v), g.op("Log", v)))
        bound = g.op("Add", g.binary("Mul", square, 0.5), bound)
        accepted = g.op(
            "Or", g.op("Less", u, g.binary("Add", quick, 1)), g.op("Less", g.op("Log", u), bound)
        )
        accepted = g.op("And", inside, accepted)
        less = g.op("And", accepted, small)
        factor = g.op("Pow", streams.draw("uniform", less), power)
        made = g.op("Mul", d, v)
        made = g.where(less, g.op("Mul", made, factor), made)
        return _and(g, pending, g.op("Not", accepted)), g.where(accepted, made, out)

    pending = g.op("And", g.op("Not", is_one), g.binary("Greater", alpha, 0))
    return until_none(g, streams, pending, [out], step)[0]


def _poisson(g: GraphBuilder, start: philox.Start, index: Value, rate: Value) -> Value:
    origin = g.binary("Mul", index, rejection.SKIP)
    low = g.binary("Less", rate, 10)
    few = g.op("And", low, g.binary("GreaterOrEqual", rate, 0))
    many = g.op("And", g.binary("GreaterOrEqual", rate, 10), g.binary("Less", rate, np.inf))
    streams = Streams(g, start, origin, ("uniform",))
    out = g.where(few, g.like(rate, 0), g.like(rate, np.nan))
    limit = g.op("Exp", g.op("Neg", rate))

    def multiplied(
        g: GraphBuilder, streams: Streams, pending: Value, product: Value, out: Value
    ) -> tuple[Value, ...]:
        product = g.op("Mul", product, streams.draw("uniform", pending))
        left = g.op("And", pending, g.op("Greater", product, limit))
        return left, product, g.op("Add", out, g.cast(left, dtypes.float64))

    ones = g.fill(g.shape_of(rate), g.like(rate, 1))
    _, out = until_none(g, streams, few, [ones, out], multiplied)
    b = g.binary("Add", g.binary("Mul", g.op("Sqrt", rate), 2.53), 0.931)
    a = g.binary("Add", g.binary("Mul", b, 0.02483), -0.059)
    inverse = g.binary("Add", g.op("Div", g.like(b, 1.1328), g.binary("Sub", b, 3.4)), 1.1239)
    close = g.op("Div", g.like(b, -3.6224), g.binary("Sub", b, 2))
    close = g.binary("Add", close, 0.9277)
    log_rate = g.op("Log", rate)

    def transformed(
        g: GraphBuilder, streams: Streams, pending: Value, out: Value
    ) -> tuple[Value, Value]:
        hat = _Hat(g, streams, pending, a, b)
        k = hat.place(g.binary("Add", rate, 0.43))
        s = hat.height(inverse)
        t = _sum(g, g.op("Neg", rate), g.op("Mul", k, log_rate), g.op("Neg", _log_factorial(g, k)))
        narrow = _and(g, g.binary("Less", hat.edge, 0.013), g.op("Greater", hat.v, hat.edge))
        refused = g.op("Or", g.binary("Less", k, 0), narrow)
        slow = g.op("And", g.op("Not", refused), g.op("LessOrEqual", s, t))
        accepted = _and(g, pending, g.op("Or", hat.is_quick(close), slow))
        return _and(g, pending, g.op("Not", accepted)), g.where(accepted, k, out)

    return until_none(g, Streams(g, start, origin, ("uniform",)), many, [out], transformed)[0]


class _Hat:
    """Hörmann's transformed rejection: two uniform numbers, and values derived from them.

    Attributes:
        u: in [-1/2, 1/2].
        v: in [0, 1].
        edge: the distance of `u` from the ends of its range.
    """

    def __init__(
        self, g: GraphBuilder, streams: Streams, pending: Value, a: Value, b: Value
    ) -> None:
        self.g, self.a, self.b = g, a, b
        self.u = g.binary("Sub", streams.draw("uniform", pending), 0.5)
        self.v = streams.draw("uniform", pending)
        self.edge = g.op("Sub", g.like(self.u, 0.5), g.op("Abs", self.u))

    def place(self, middle: Value) -> Value:
        """The proposed sample."""
        g = self.g
        slope = g.op("Add", g.op("Div", g.binary("Mul", self.a, 2), self.edge), self.b)
        return g.op("Floor", g.op("Add", g.op("Mul", slope, self.u), middle))

    def is_quick(self, most: Value) -> Value:
        """Whether a sample is accepted without evaluating the density."""
        g = self.g
        wide = g.binary("GreaterOrEqual", self.edge, 0.07)
        return g.op("And", wide, g.op("LessOrEqual", self.v, most))

    def height(self, factor: Value) -> Value:
        """The bound for the logarithm of the density."""
        g = self.g
        steep = g.op("Div", self.a, g.op("Mul", self.edge, self.edge))
        return g.op("Log", g.op("Div", g.op("Mul", self.v, factor), g.op("Add", steep, self.b)))


def _log_factorial(g: GraphBuilder, k: Value) -> Value:
    """log k! by Stirling's formula; for negative k that of 0."""
    k = g.binary("Max", k, 0)
    above = g.binary("Add", k, 1)
    power = g.op("Mul", g.binary("Add", k, 0.5), g.op("Log", above))
    rest = g.op("Sub", _tail(g, k), above)
    return _sum(g, power, rest, g.like(k, 0.5 * math.log(2 * math.pi)))


def _tail(g: GraphBuilder, k: Value) -> Value:
    """The remainder of Stirling's formula for log k!."""
    table = rejection.TAIL
    near = g.op("Min", g.op("Max", k, g.like(k, 0)), g.like(k, len(table) - 1))
    known = g.op("Gather", g.constant(table), g.as_int64(near), axis=0)
    above = g.binary("Add", k, 1)
    square = g.op("Mul", above, above)
    far = g.op("Sub", g.like(k, 1 / 360), g.op("Div", g.like(k, 1 / 1260), square))
    far = g.op("Sub", g.like(k, 1 / 12), g.op("Div", far, square))
    return g.where(g.binary("LessOrEqual", k, len(table) - 1), known, g.op("Div", far, above))


def _binomial(
    g: GraphBuilder, start: philox.Start, index: Value, count: Value, chance: Value
) -> Value:
    never = g.op("Or", g.binary("LessOrEqual", count, 0), g.binary("LessOrEqual", chance, 0))
    always = g.op("And", g.op("Not", never), g.binary("GreaterOrEqual", chance, 1))
    usual = _and(g, g.op("Not", never), g.op("Not", always), g.op("Not", g.op("IsNaN", chance)))
    other = g.binary("Greater", chance, 0.5)
    p = g.where(other, g.op("Sub", g.like(chance, 1), chance), chance)
    is_many = g.binary("GreaterOrEqual", g.op("Mul", count, p), 10)
    many = g.op("And", usual, is_many)
    few = g.op("And", usual, g.op("Not", is_many))
    zeros = g.op("Sub", index, index)
    found = g.cast(zeros, dtypes.float64)
    origins = [g.binary("Mul", index, skip) for skip in (rejection.SKIP, rejection.SKIP_FEW)]
    found = _many_successes(g, Streams(g, start, origins[0], ("uniform",)), many, count, p, found)
    found = _few_successes(g, Streams(g, start, origins[1], ("uniform",)), few, count, p, found)
    found = g.where(other, g.op("Sub", count, found), found)
    out = g.where(usual, found, g.like(found, np.nan))
    return g.where(never, g.like(found, 0), g.where(always, count, out))


def _few_successes(
    g: GraphBuilder, streams: Streams, who: Value, count: Value, p: Value, out: Value
) -> Value:
    """Geometric numbers are added until they exceed the number of trials."""
    failure = log_of_sum(g, g.op("Neg", p))

    def step(
        g: GraphBuilder, streams: Streams, pending: Value, total: Value, out: Value
    ) -> tuple[Value, ...]:
        u = streams.draw("uniform", pending)
        total = g.op("Add", total, g.op("Ceil", g.op("Div", g.op("Log", u), failure)))
        left = g.op("And", pending, g.op("LessOrEqual", total, count))
        return left, total, g.op("Add", out, g.cast(left, dtypes.float64))

    total = g.op("Mul", out, g.like(out, 0))
    return until_none(g, streams, who, [total, out], step)[1]


def _many_successes(
    g: GraphBuilder, streams: Streams, who: Value, count: Value, p: Value, out: Value
) -> Value:
    one = g.like(p, 1)
    fails = g.op("Sub", one, p)
    mean = g.op("Mul", count, p)
    spread = g.op("Sqrt", g.op("Mul", mean, fails))
    b = g.binary("Add", g.binary("Mul", spread, 2.53), 1.15)
    a = _sum(g, g.binary("Mul", b, 0.0248), g.binary("Mul", p, 0.01), g.like(p, -0.0873))
    ratio = g.op("Div", p, fails)
    alpha = g.op("Mul", g.binary("Add", g.op("Div", g.like(b, 5.1), b), 2.83), spread)
    m = g.op("Floor", g.op("Mul", g.binary("Add", count, 1), p))
    close = g.op("Sub", g.like(b, 0.92), g.op("Div", g.like(b, 4.2), b))
    above = g.binary("Add", g.op("Sub", count, m), 1)
    first = g.op("Mul", g.binary("Add", m, 0.5), _log_ratio(g, g.binary("Add", m, 1), ratio, above))
    fixed = _sum(g, first, _tail(g, m), _tail(g, g.op("Sub", count, m)))

    def step(g: GraphBuilder, streams: Streams, pending: Value, out: Value) -> tuple[Value, Value]:
        hat = _Hat(g, streams, pending, a, b)
        k = hat.place(g.binary("Add", mean, 0.5))
        inside = _and(g, g.binary("GreaterOrEqual", k, 0), g.op("LessOrEqual", k, count))
        rest = g.op("Sub", count, k)
        behind = g.binary("Add", rest, 1)
        fits = g.op("Log", g.op("Div", above, behind))
        shares = g.op("Log", g.op("Div", g.op("Mul", ratio, behind), g.binary("Add", k, 1)))
        bound = _sum(
            g,
            fixed,
            g.op("Mul", g.binary("Add", count, 1), fits),
            g.op("Mul", g.binary("Add", k, 0.5), shares),
            g.op("Neg", _tail(g, k)),
            g.op("Neg", _tail(g, rest)),
        )
        near = g.op("LessOrEqual", hat.height(alpha), bound)
        accepted = g.op("Or", hat.is_quick(close), g.op("And", inside, near))
        accepted = g.op("And", pending, accepted)
        return _and(g, pending, g.op("Not", accepted)), g.where(accepted, k, out)

    return until_none(g, streams, who, [out], step)[0]


def _log_ratio(g: GraphBuilder, top: Value, *bottom: Value) -> Value:
    return g.op("Log", g.op("Div", top, _every(g, "Mul", *bottom)))
