"""`keras.preprocessing.sequence`: skip-grams, windows of time series, padding."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.keras.py_dataset import PyDataset
from pinnace.keras.sequences import pad_sequences as pad_sequences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

_EULER = 0.577


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> Array:
    """The probability of keeping a word, by its rank: float64 [size].

    Args:
        size: number of words.
        sampling_factor: the larger, the more of frequent words is kept.

    Source:
        Keras `make_sampling_table`: min(1, √(factor · rank · (ln rank + γ) + …)), with a word's
        frequency taken from Zipf's law; number 0 is no word.
    """
    rank = np.arange(size, dtype=np.float64)
    rank[:1] = 1
    inverse = rank * (np.log(rank) + _EULER) + 0.5 - 1.0 / (12.0 * rank)
    return np.minimum(1.0, np.sqrt(sampling_factor * inverse))


def skipgrams(
    sequence: Sequence[int],
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Pairs of a word and a nearby one, and pairs with random words.

    Args:
        sequence: numbers of words; 0 is no word.
        vocabulary_size: one more than the largest number.
        window_size: how far apart the words of a pair may be.
        negative_samples: random pairs for each true one.
        shuffle: whether the pairs are mixed.
        categorical: whether labels are [0, 1] and [1, 0] instead of 1 and 0.
        sampling_table: how likely each word is kept; None keeps all.
        seed: seed of the order.

    Returns:
        Pairs, and their labels: 1 for words that are near each other.
    """
    right, wrong = ([0, 1], [1, 0]) if categorical else (1, 0)
    pairs: list[list[int]] = []
    for place, word in enumerate(sequence):
        if not word:
            continue
        if sampling_table is not None and sampling_table[word] < random.random():
            continue
        first, last = max(0, place - window_size), min(len(sequence), place + window_size + 1)
        pairs += [
            [word, other]
            for other in (sequence[i] for i in range(first, last) if i != place)
            if other
        ]
    labels: list[Any] = [right] * len(pairs)
    if negative_samples > 0 and pairs:
        words = [word for word, _ in pairs]
        random.shuffle(words)
        count = int(len(pairs) * negative_samples)
        pairs += [
            [words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)
        ]
        labels += [wrong] * count
    if shuffle:
        order = list(range(len(pairs)))
        random.Random(random.randint(0, 10_000_000) if seed is None else seed).shuffle(order)
        pairs, labels = [pairs[i] for i in order], [labels[i] for i in order]
    return pairs, labels


class TimeseriesGenerator(PyDataset):
    """Windows of a time series with the values that follow, in batches.

    Args:
        data: [time, ...].
        targets: the target of each point in time, as many.
        length: how far back a window reaches.
        sampling_rate: distance of the points in a window.
        stride: distance of windows.
        start_index: the first point that is used.
        end_index: the last one; that of the series if None.
        shuffle: whether windows are drawn at random.
        reverse: whether each window runs backwards.
        batch_size: windows in a batch.

    Shapes:
        [b, length / sampling_rate, ...] and [b, ...]

    Raises:
        ValueError: no window fits.
    """

    def __init__(
        self,
        data: Any,
        targets: Any,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        super().__init__()
        if len(data) != len(targets):
            raise ValueError(
                f"TimeseriesGenerator: there must be one target per point, {len(data)}, got "
                f"{len(targets)}"
            )
        self.data, self.targets = data, targets
        self.length, self.sampling_rate, self.stride = length, sampling_rate, stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"TimeseriesGenerator: no window of {length} fits between points {start_index} and "
                f"{self.end_index}"
            )

    def __len__(self) -> int:
        """The number of batches."""
        points = self.end_index - self.start_index + self.batch_size * self.stride
        return points // (self.batch_size * self.stride)

    def __getitem__(self, index: int) -> tuple[Array, Array]:
        """Batch `index`: windows and their targets."""
        if self.shuffle:
            ends = np.random.default_rng().integers(
                self.start_index, self.end_index + 1, self.batch_size
            )
        else:
            first = self.start_index + self.batch_size * self.stride * index
            last = min(first + self.batch_size * self.stride, self.end_index + 1)
            ends = np.arange(first, last, self.stride)
        windows = np.array(
            [self.data[end - self.length : end : self.sampling_rate] for end in ends]
        )
        targets = np.array([self.targets[end] for end in ends])
        return (windows[:, ::-1, ...] if self.reverse else windows), targets
