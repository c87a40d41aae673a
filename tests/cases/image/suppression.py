"""Cases of core/ops/image/suppression.py: the definition, box by box."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import pinnace.ops.image  # noqa: F401 (registers the ops)
from cases.array.shapes import distinct, drawn, scalar
from pinnace.framework import dtypes
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]


def detections(draw: st.DrawFn) -> tuple[Any, ...]:
    count = draw(st.integers(0, 6))
    starts = [[draw(st.integers(0, 6)) for _ in range(2)] for _ in range(count)]
    low = np.array(starts, np.float64).reshape(count, 2)
    boxes = np.concatenate([low, low + draw(st.sampled_from([3.0, 5.0]))], axis=1)
    scores = draw(distinct([count]))
    return boxes, scores, scalar(draw(st.integers(0, 4)))


def overlap(a: Array, b: Array) -> float:
    sides = [max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0) for i in range(2)]
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    shared = sides[0] * sides[1]
    return float(shared / (sum(areas) - shared))


def suppress(boxes: Array, scores: Array, most: Array, iou: Array, least: float) -> list[int]:
    rest = [i for i in np.argsort(-scores).tolist() if scores[i] > least]
    kept: list[int] = []
    while rest and len(kept) < most:
        kept.append(rest[0])
        rest = [i for i in rest if overlap(boxes[i], boxes[kept[-1]]) <= iou and i != kept[-1]]
    return kept


def soft(
    boxes: Array, scores: Array, most: Array, sigma: float, least: float
) -> tuple[list[int], list[float]]:
    found: dict[int, float] = {}
    rest = {i: float(s) for i, s in enumerate(scores) if s > least}
    while rest and len(found) < most:
        best = max(rest, key=lambda i: rest[i])
        found[best] = rest.pop(best)
        for i in list(rest):
            rest[i] *= np.exp(-(overlap(boxes[i], boxes[best]) ** 2) / (2 * sigma))
        rest = {i: s for i, s in rest.items() if s > least}
    return list(found), list(found.values())


IOU = np.array(0.3)


def with_iou(draw: st.DrawFn) -> tuple[Any, ...]:
    return (*detections(draw), IOU)


def with_least(draw: st.DrawFn) -> tuple[Any, ...]:
    return (*with_iou(draw), np.array(draw(st.sampled_from([-100.0, -0.5]))))


def with_sigma(draw: st.DrawFn) -> tuple[Any, ...]:
    return (*with_iou(draw), np.array(0.25), np.array(0.5))


def v4(*xs: Any) -> tuple[Array, Array]:
    found = suppress(*xs)
    return np.array(found + [0] * (int(xs[2]) - len(found))), scalar(len(found))


def v5(boxes: Array, scores: Array, most: Array, _: Array, least: Any, sigma: Any) -> Any:
    found, values = soft(boxes, scores, most, float(sigma), float(least))
    return np.array(found), np.array(values), scalar(len(found))


def hard(boxes: Array, scores: Array, most: Array, overlap: Array, least: Any, _: Any) -> Any:
    found = suppress(boxes, scores, most, overlap, least)
    return np.array(found), scores[found], scalar(len(found))


FLOAT32 = (dtypes.float32,)

CASES = [
    OpCase(
        "NonMaxSuppressionV2",
        drawn(with_iou),
        lambda *xs: np.array(suppress(*xs, -np.inf)),
        dtypes=FLOAT32,
    ),
    OpCase(
        "NonMaxSuppressionV3",
        drawn(with_least),
        lambda *xs: np.array(suppress(*xs)),
        dtypes=FLOAT32,
    ),
    OpCase(
        "NonMaxSuppressionV4",
        drawn(with_least),
        v4,
        attrs={"pad_to_max_output_size": True},
        dtypes=FLOAT32,
    ),
    OpCase(
        "NonMaxSuppressionV5",
        drawn(with_sigma),
        v5,
        dtypes=FLOAT32,
        slack=64.0,
        reason="scores fall in float32",
    ),
    OpCase(
        "NonMaxSuppressionV5",
        drawn(with_least).map(lambda xs: (*xs, np.array(0.0))),
        hard,
        dtypes=FLOAT32,
    ),
]
