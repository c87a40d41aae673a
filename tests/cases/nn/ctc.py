"""Cases of core/ops/nn/ctc.py: all paths through four steps, one by one."""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
STEPS, CLASSES = 4, 3
BLANK = CLASSES - 1
LENGTHS = np.array([4, 3], np.int32)


def ways(chances: Array) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], float]]:
    """Each path, its labels, and its probability."""
    for way in itertools.product(range(CLASSES), repeat=len(chances)):
        said = tuple(label for label, _ in itertools.groupby(way) if label != BLANK)
        yield way, said, float(np.prod(chances[range(len(chances)), way]))


def losses(x: Array, indices: Array, values: Array, lengths: Array) -> tuple[Array, Array]:
    loss, gradient = np.zeros(x.shape[1]), np.zeros(x.shape)
    for row, length in enumerate(lengths):
        chances = special.softmax(x[:length, row], axis=1)
        wanted = tuple(values[indices[:, 0] == row].tolist())
        total = 0.0
        spent = np.zeros(chances.shape)
        for way, said, chance in ways(chances):
            if said == wanted:
                total += chance
                spent[range(length), way] += chance
        loss[row] = -np.log(total)
        gradient[:length, row] = chances - spent / total
    return loss, gradient


def rows_of(found: list[tuple[int, ...]]) -> tuple[Array, Array, Array]:
    indices = [(row, n) for row, labels in enumerate(found) for n in range(len(labels))]
    values = [label for labels in found for label in labels]
    longest = max(map(len, found))
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array(values, np.int64),
        np.array([len(found), longest], np.int64),
    )


def greedy(x: Array, lengths: Array) -> tuple[Array, ...]:
    found, scores = [], []
    for row, length in enumerate(lengths):
        way = x[:length, row].argmax(1)
        found.append(tuple(int(label) for label, _ in itertools.groupby(way) if label != BLANK))
        scores.append([-x[:length, row].max(1).sum()])
    return (*rows_of(found), np.array(scores))


def likeliest(x: Array, lengths: Array) -> tuple[Array, ...]:
    found, scores = [], []
    for row, length in enumerate(lengths):
        sums: dict[tuple[int, ...], float] = defaultdict(float)
        for _, said, chance in ways(special.softmax(x[:length, row], axis=1)):
            sums[said] += chance
        best = max(sums, key=lambda said: sums[said])
        found.append(best)
        scores.append([np.log(sums[best])])
    return (*rows_of(found), np.array(scores))


def logits(rng: np.random.Generator) -> Array:
    return rng.normal(0, 2, (STEPS, 2, CLASSES))


CASES = [
    OpCase(
        "CTCLoss",
        random_arrays(
            lambda rng: (
                logits(rng),
                np.array([[0, 0], [0, 1], [1, 0]]),
                rng.integers(0, BLANK, 3).astype(np.int32),
                LENGTHS,
            )
        ),
        losses,
        # Its second output is the gradient of the first, and has no gradient: see
        # tests/golden/functions.
        differentiable=(),
    ),
    OpCase(
        "CTCGreedyDecoder",
        random_arrays(lambda rng: (logits(rng), LENGTHS)),
        greedy,
        attrs={"merge_repeated": True},
    ),
    OpCase(
        "CTCBeamSearchDecoder",
        random_arrays(lambda rng: (logits(rng), LENGTHS)),
        likeliest,
        # A beam wide enough for all paths.
        attrs={"beam_width": 100, "top_paths": 1, "merge_repeated": False},
    ),
]
