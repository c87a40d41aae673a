"""Candidate sampling: draws classes with TensorFlow's sequence of random bits."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pinnace.ops.kernels import philox
from pinnace.ops.memory import NUMBER, claim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.ops.kernels.precision import Array

_ALL = (1 << 64) - 1
_ALL_32 = (1 << 32) - 1
_CHUNK = 256


class Words:
    """The words of a random stream, and numbers computed from them.

    Source:
        TensorFlow `SimplePhilox` (core/lib/random/simple_philox.h).
    """

    def __init__(self, start: philox.KeyCounter) -> None:
        self._start = start
        self._words: list[int] = []

    def word(self) -> int:
        """The next 32 bits, as an integer."""
        if not self._words:
            self._words = philox.words(self._start, 4 * _CHUNK).tolist()[::-1]
            self._start = self._start.skip(_CHUNK)
        return self._words.pop()

    def below(self, count: int, bits: int = 64) -> int:
        """An integer in [0, count), from 32 or 64 random bits."""
        largest = _ALL if bits == 64 else _ALL_32
        # The lowest values are rejected, so that all results are equally likely.
        surplus = largest % count + 1 if count & (count - 1) else 0
        while True:
            drawn = self.word()
            if bits == 64:
                drawn |= self.word() << 32
            if drawn >= surplus:
                return drawn % count

    def double(self) -> float:
        """A float64 in [0, 1), from 52 bits."""
        high = self.word() & 0xFFFFF
        return ((high << 32) | self.word()) * 2.0**-52

    def single(self) -> float:
        """A float32 in [0, 1), from 23 bits."""
        return (self.word() & 0x7FFFFF) * 2.0**-23


class Distribution(Protocol):
    """A distribution over `size` classes, of which `count` have a positive probability."""

    size: int
    count: int

    def sample(self, words: Words) -> int:
        """A class."""

    def probability(self, classes: Array) -> Array:
        """The probability of each class, float64."""

    def learn(self, classes: Array) -> None:
        """Update the distribution with these true classes."""


class Uniform:
    """The uniform distribution."""

    def __init__(self, size: int) -> None:
        self.size = self.count = size

    def sample(self, words: Words) -> int:
        """A class."""
        return words.below(self.size)

    def probability(self, classes: Array) -> Array:
        """The probability of each class."""
        return np.full(classes.shape, np.float32(1 / self.size), np.float32).astype(np.float64)

    def learn(self, classes: Array) -> None:
        """Does nothing."""


class LogUniform:
    """A sampler by Zipf's law: class k is about as likely as 1 / (k + 1)."""

    def __init__(self, size: int) -> None:
        self.size = self.count = size
        self._range = math.log1p(size)

    def sample(self, words: Words) -> int:
        """A class."""
        return (int(math.exp(words.double() * self._range)) - 1) % self.size

    def probability(self, classes: Array) -> Array:
        """The probability of each class."""
        x = classes.astype(np.float64)
        return np.log((x + 2.0) / (x + 1.0)) / self._range

    def learn(self, classes: Array) -> None:
        """Does nothing."""


class Learned:
    """A sampler with probabilities proportional to the occurrences so far, plus one."""

    def __init__(self, size: int) -> None:
        self.size = self.count = size
        self._weights = np.ones(size, np.int64)
        self._lock = threading.Lock()

    def sample(self, words: Words) -> int:
        """A class."""
        with self._lock:
            ends = np.cumsum(self._weights)
        return int(np.searchsorted(ends, words.below(int(ends[-1]), bits=32), side="right"))

    def probability(self, classes: Array) -> Array:
        """The probability of each class."""
        return self._weights[classes] / self._weights.sum()  # type: ignore[no-any-return]

    def learn(self, classes: Array) -> None:
        """Count the occurrences of these classes."""
        with self._lock:
            np.add.at(self._weights, classes.reshape(-1), 1)


class Frequencies:
    """Sampling by given weights, with Walker's alias method.

    Source:
        TensorFlow `DistributionSampler` (core/lib/random/distribution_sampler.cc).
    """

    def __init__(self, weights: Sequence[float]) -> None:
        exact = np.array(weights, np.float32)
        self.size = len(exact)
        self.count = int(np.count_nonzero(exact))
        total = float(sum(exact.astype(np.float64).tolist()))
        self._probabilities = exact.astype(np.float64) / total
        shares = [float(w) * self.size / total for w in exact]
        self._others = list(range(self.size))
        low = [n for n, share in enumerate(shares) if share < 1.0]
        high = [n for n, share in enumerate(shares) if share >= 1.0]
        while high and low:
            less, more = low.pop(), high.pop()
            self._others[less] = more
            shares[more] -= 1.0 - shares[less]
            (low if shares[more] < 1.0 else high).append(more)
        for rest in (*high, *low):  # 1 but for rounding
            shares[rest] = 1.0
        self._shares = np.array(shares, np.float32).tolist()

    def sample(self, words: Words) -> int:
        """A class."""
        share = words.single()
        column = words.below(self.size, bits=32)
        return column if share < self._shares[column] else self._others[column]

    def probability(self, classes: Array) -> Array:
        """The probability of each class."""
        return self._probabilities[classes]

    def learn(self, classes: Array) -> None:
        """Does nothing."""


def frequencies_of_file(path: str) -> list[float]:
    """The last column of a CSV file."""
    import csv

    with open(path, newline="", encoding="utf-8") as file:  # noqa: PTH123 (paths are strings here)
        return [float(row[-1]) for row in csv.reader(file) if row]


def draw(chances: Distribution, words: Words, count: int, unique: bool) -> tuple[Array, int]:
    """Classes [count], int64, and the number of draws."""
    claim(count * NUMBER)
    if not unique:
        return np.array([chances.sample(words) for _ in range(count)], np.int64), count
    found: dict[int, None] = {}
    tries = 0
    while len(found) < count:
        found.setdefault(chances.sample(words))
        tries += 1
    return np.array(list(found), np.int64), tries


def expected_count(probability: Array, count: int, tries: int) -> Array:
    """The expected count of classes with this probability, for `count` samples in `tries` draws."""
    p = probability.astype(np.float32).astype(np.float64)
    expected = p * count if tries == count else -np.expm1(tries * np.log1p(-p))
    return expected.astype(np.float32)
