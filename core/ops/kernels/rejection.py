"""Gamma, Poisson and binomial numbers from Philox, as in TensorFlow.

Each needs an unknown number of uniform numbers, so each has a separate stream: number i starts 256
blocks (42 for a binomial with few successes) times i after the start. All are drawn at once, until
none is rejected.

Source: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; Hörmann, "The
transformed rejection method for generating Poisson random variables", 1993, and "The generation of
binomial random variates", 1993; TensorFlow stateless_random_gamma_op.cc, random_poisson_op.cc and
random_binomial_op.cc.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels import philox, special_functions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.kernels.philox import KeyCounter
    from pinnace.ops.kernels.precision import Array

SKIP = 256
SKIP_FEW = 42
# Tails of Stirling's formula: log k! less its first terms.
TAIL = np.array(
    [
        *(0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509),
        *(0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720),
        *(0.00925546218271273, 0.00833056343336287),
    ]
)


class _Streams:
    """A stream per number; each block gives two values, the second one first."""

    def __init__(self, start: KeyCounter, index: Array, skip: int) -> None:
        self._start = start
        self._origin = index.astype(np.int64) * skip
        self._used = np.zeros(len(index), np.int64)
        self._kept = {"uniform": np.zeros((len(index), 2)), "normal": np.zeros((len(index), 2))}
        self._left = {name: np.zeros(len(index), np.int64) for name in self._kept}

    def draw(self, kind: str, who: Array) -> Array:
        """The next value of each stream in `who`."""
        left, kept = self._left[kind], self._kept[kind]
        empty = who[left[who] == 0]
        if len(empty):
            at = self._origin[empty] + self._used[empty]
            kept[empty] = philox.doubles_at(self._start, at, normal=kind == "normal")
            self._used[empty] += 1
            left[empty] = 2
        left[who] -= 1
        return kept[who, left[who]]


def gamma(start: KeyCounter, alpha: Array, index: Array) -> Array:
    """Gamma numbers of shape `alpha` and scale 1; element i draws from stream `index[i]`."""
    streams = _Streams(start, index, SKIP)
    out = np.full(len(alpha), np.nan)
    out[alpha == 0] = 0
    one = np.flatnonzero(alpha == 1)
    if len(one):
        out[one] = -np.log1p(-streams.draw("uniform", one))
    small = alpha < 1
    d = alpha + np.where(small, 2 / 3, -1 / 3)
    with np.errstate(all="ignore"):
        c = 1 / 3 / np.sqrt(d)
    pending = np.flatnonzero((alpha != 1) & (alpha > 0))
    while len(pending):
        x = streams.draw("normal", pending)
        v = 1 + c[pending] * x
        inside = v > 0
        tried, x, v = pending[inside], x[inside], v[inside] ** 3
        u = streams.draw("uniform", tried)
        with np.errstate(all="ignore"):
            accepted = (u < 1 - 0.0331 * x**4) | (
                np.log(u) < 0.5 * x * x + d[tried] * (1 - v + np.log(v))
            )
        done = tried[accepted]
        out[done] = d[done] * v[accepted]
        less = done[small[done]]
        if len(less):
            out[less] *= streams.draw("uniform", less) ** (1 / alpha[less])
        pending = np.setdiff1d(pending, done, assume_unique=True)
    return out


def poisson(start: KeyCounter, rate: Array, index: Array) -> Array:
    """Poisson numbers; element i draws from stream `index[i]`."""
    streams = _Streams(start, index, SKIP)
    out = np.where(rate < 0, 0, rate)  # infinity and NaN draw themselves
    _few_events(streams, rate, out)
    _many_events(streams, rate, out)
    return out


def _few_events(streams: _Streams, rate: Array, out: Array) -> None:
    """Knuth's method: multiply uniform numbers until they fall below exp(-rate)."""
    pending = np.flatnonzero((rate >= 0) & (rate < 10))
    out[pending] = 0
    product = np.ones(len(rate))
    limit = np.exp(-rate)
    while len(pending):
        product[pending] *= streams.draw("uniform", pending)
        pending = pending[product[pending] > limit[pending]]
        out[pending] += 1


def _many_events(streams: _Streams, rate: Array, out: Array) -> None:
    pending = np.flatnonzero((rate >= 10) & np.isfinite(rate))
    while len(pending):
        mean = rate[pending]
        b = 0.931 + 2.53 * np.sqrt(mean)
        a = -0.059 + 0.02483 * b
        inverse = 1.1239 + 1.1328 / (b - 3.4)
        u = streams.draw("uniform", pending) - 0.5
        v = streams.draw("uniform", pending)
        edge = 0.5 - np.abs(u)
        k = np.floor((2 * a / edge + b) * u + mean + 0.43)
        with np.errstate(all="ignore"):
            quick = (edge >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
            refused = (k < 0) | ((edge < 0.013) & (v > edge))
            s = np.log(v * inverse / (a / (edge * edge) + b))
            t = -mean + k * np.log(mean) - special_functions.lgamma(np.maximum(k, 0) + 1)
        accepted = quick | (~refused & (s <= t))
        out[pending[accepted]] = k[accepted]
        pending = pending[~accepted]


def binomial(start: KeyCounter, count: Array, chance: Array, index: Array) -> Array:
    """Numbers of successes in `count` trials; element i draws from stream `index[i]`."""
    out = np.full(len(count), np.nan)
    never = (count <= 0) | (chance <= 0)
    always = ~never & (chance >= 1)
    out[never] = 0
    out[always] = count[always]
    open_ = ~never & ~always & ~np.isnan(chance)
    other = chance > 0.5
    p = np.where(other, 1 - chance, chance)
    many = open_ & (count * p >= 10)
    groups: list[tuple[Array, int, Callable[..., None]]] = [
        (np.flatnonzero(many), SKIP, _many_successes),
        (np.flatnonzero(open_ & ~many), SKIP_FEW, _few_successes),
    ]
    for who, skip, draw in groups:
        if len(who):
            found = np.zeros(len(who))
            draw(_Streams(start, index[who], skip), count[who], p[who], found)
            out[who] = np.where(other[who], count[who] - found, found)
    return out


def _few_successes(streams: _Streams, count: Array, p: Array, out: Array) -> None:
    """Add geometric numbers until they exceed the count."""
    total = np.zeros(len(count))
    pending = np.arange(len(count))
    while len(pending):
        with np.errstate(all="ignore"):
            u = streams.draw("uniform", pending)
            total[pending] += np.ceil(np.log(u) / np.log1p(-p[pending]))
        pending = pending[total[pending] <= count[pending]]
        out[pending] += 1


def _tail(k: Array) -> Array:
    squared = (k + 1) ** 2
    far = (1 / 12 - (1 / 360 - 1 / 1260 / squared) / squared) / (k + 1)
    return np.where(k <= 9, TAIL[np.clip(k, 0, 9).astype(np.int64)], far)


def _many_successes(streams: _Streams, count: Array, p: Array, out: Array) -> None:
    pending = np.arange(len(count))
    while len(pending):
        n, q = count[pending], p[pending]
        spread = np.sqrt(n * q * (1 - q))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * q
        ratio = q / (1 - q)
        alpha = (2.83 + 5.1 / b) * spread
        m = np.floor((n + 1) * q)
        u = streams.draw("uniform", pending)
        v = streams.draw("uniform", pending)
        u = u - 0.5
        edge = 0.5 - np.abs(u)
        with np.errstate(all="ignore"):
            k = np.floor((2 * a / edge + b) * u + n * q + 0.5)
            quick = (edge >= 0.07) & (v <= 0.92 - 4.2 / b)
            inside = (k >= 0) & (k <= n)
            bound = (
                (m + 0.5) * np.log((m + 1) / (ratio * (n - m + 1)))
                + (n + 1) * np.log((n - m + 1) / (n - k + 1))
                + (k + 0.5) * np.log(ratio * (n - k + 1) / (k + 1))
                + _tail(m)
                + _tail(n - m)
                - _tail(k)
                - _tail(n - k)
            )
            near = np.log(v * alpha / (a / (edge * edge) + b)) <= bound
        accepted = quick | (inside & near)
        out[pending[accepted]] = k[accepted]
        pending = pending[~accepted]


def laid_out(total: int, groups: int) -> Array:
    """[total]: the parameter index of each number; numbers of one parameter are adjacent."""
    return np.arange(total) // max(total // groups, 1)


def in_shape(drawn: Array, shape: tuple[int, ...], groups: int) -> Array:
    """Numbers in their shape, whose last axes are the parameters' axes."""
    samples = math.prod(shape) // max(groups, 1)
    return drawn.reshape(groups, samples).T.reshape(shape)
