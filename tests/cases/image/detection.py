"""Cases of core/ops/image/detection.py: the greedy choice, box by box."""

from typing import Any

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]


def overlap(a: Array, b: Array) -> float:
    height = min(a[2], b[2]) - max(a[0], b[0])
    width = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(height, 0) * max(width, 0)
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return float(shared / (sum(areas) - shared)) if min(areas) > 0 else 0.0


def greedy(table: Array, scores: Array, most: int, limit: float, least: float) -> list[int]:
    kept: list[int] = []
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if len(kept) < most and scores[i] > least and all(table[i, j] <= limit for j in kept):
            kept.append(i)
    return kept


def table_of(boxes: Array) -> Array:
    count = len(boxes)
    return np.array([[overlap(a, b) for b in boxes] for a in boxes]).reshape(count, count)


def scores_of(rng: np.random.Generator, *shape: int) -> Array:
    """Scores without ties."""
    count = int(np.prod(shape))
    return (rng.permutation(count).reshape(shape) / max(count, 1)).astype(np.float32)


def corners(rng: np.random.Generator, *shape: int) -> Array:
    return np.sort(rng.random((*shape, 2, 2)), axis=-2).reshape(*shape, 4).astype(np.float32)


def scalar(value: float, dtype: Any = np.float32) -> Array:
    return np.array(value, dtype)


def combined_inputs(rng: np.random.Generator) -> tuple[Array, ...]:
    batch, count, classes = 2, int(rng.integers(1, 6)), int(rng.integers(1, 4))
    boxes = corners(rng, batch, count, int(rng.choice([1, classes]))) * np.float32(1.2)
    limits = scalar(int(rng.integers(1, 4)), np.int32), scalar(int(rng.integers(1, 7)), np.int32)
    return boxes, scores_of(rng, batch, count, classes), *limits, scalar(0.3), scalar(0.1)


def combined(pad: bool, clip: bool) -> Any:
    def reference(boxes: Array, scores: Array, *limits: Array) -> tuple[Array, ...]:
        per_class, total = int(limits[0]), int(limits[1])
        batch, _, classes = scores.shape
        rows = min(total, per_class * classes) if pad else total
        out = np.zeros((batch, rows, 6))
        counts = []
        for b in range(batch):
            found = []
            for c in range(classes):
                mine = boxes[b, :, min(c, boxes.shape[2] - 1)]
                chosen = greedy(table_of(mine), scores[b, :, c], per_class, *map(float, limits[2:]))
                found += [[scores[b, i, c], c, *mine[i]] for i in chosen]
            found = sorted(found, reverse=True)[:rows]
            counts.append(len(found))
            for i, line in enumerate(found):
                out[b, i] = line
        corners_ = np.clip(out[..., 2:], 0, 1) if clip else out[..., 2:]
        return corners_, out[..., 0], out[..., 1], np.array(counts)

    return reference


def with_overlaps(rng: np.random.Generator) -> tuple[Array, ...]:
    count = int(rng.integers(0, 6))
    half = rng.random((count, count)).astype(np.float32)
    most = scalar(int(rng.integers(0, 5)), np.int32)
    return half, scores_of(rng, count), most, scalar(0.4), scalar(0.1)


def plain(rng: np.random.Generator) -> tuple[Array, ...]:
    count = int(rng.integers(0, 6))
    return corners(rng, count), scores_of(rng, count), scalar(3, np.int32)


CASES = [
    OpCase(
        "CombinedNonMaxSuppression",
        random_arrays(combined_inputs),
        combined(pad, clip),
        attrs={"pad_per_class": pad, "clip_boxes": clip},
    )
    for pad, clip in ((False, True), (True, False))
] + [
    OpCase(
        "NonMaxSuppressionWithOverlaps",
        random_arrays(with_overlaps),
        lambda overlaps, scores, most, limit, least: np.array(
            greedy(overlaps, scores, int(most), float(limit), float(least)), np.int32
        ),
    ),
    OpCase(
        "NonMaxSuppression",
        random_arrays(plain),
        lambda boxes, scores, most: np.array(
            greedy(table_of(boxes), scores, int(most), 0.5, -np.inf), np.int32
        ),
    ),
]
