"""Cases only for the oracle, of ops whose random numbers are functions of their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from oracle.wide import Drawn, numbers, wide

if TYPE_CHECKING:
    from oracle.calls import Wide

SEEDS = st.integers(-(2**31), 2**31 - 1)
RATIOS = st.sampled_from([1.0, 1.25, 1.44, 1.5, 1.7320508, 2.0, 2.3, 3.0])


def shuffled(draw: st.DrawFn) -> Drawn:
    """One seed and range for all elements, or one for each; up to the ends of the types."""
    kind = draw(st.sampled_from([np.int32, np.int64, np.uint32, np.uint64]))
    most = np.iinfo(kind).max
    count = draw(st.integers(1, 4))
    single = draw(st.booleans())
    shape = () if single else (count,)
    lasts = st.one_of(st.integers(0, 300), st.integers(0, most), st.sampled_from([most, 2**16]))
    last = np.array([draw(lasts) for _ in range(int(np.prod(shape)))], kind).reshape(shape)
    highest = int(last.min())
    index = np.array([draw(st.integers(0, highest)) for _ in range(count)], kind)
    if draw(st.booleans()) and single:
        index = index[0].reshape(())
    seed = np.array([draw(SEEDS) for _ in range(3)], draw(st.sampled_from([np.int32, np.int64])))
    if index.ndim and draw(st.booleans()):
        seed = np.stack([seed + at for at in range(count)])
    return (index, seed, last), {"rounds": draw(st.sampled_from([4, 6, 8]))}


def pooled(draw: st.DrawFn) -> Drawn:
    height, width = draw(st.integers(3, 30)), draw(st.integers(3, 20))
    attrs: dict[str, Any] = {
        "pooling_ratio": (1.0, draw(RATIOS), draw(RATIOS), 1.0),
        "pseudo_random": draw(st.booleans()),
        "overlapping": draw(st.booleans()),
        "deterministic": True,
        "seed": draw(SEEDS),
        "seed2": draw(SEEDS),
    }
    x = numbers(draw, draw(st.integers(1, 2)), height, width, draw(st.integers(1, 2)))
    return (x,), attrs


def boxed(draw: st.DrawFn) -> Drawn:
    """Boxes of an image that may be hard to cover, or no boxes."""
    kind = draw(st.sampled_from([np.int32, np.int64, np.int16, np.uint8]))
    sides = st.integers(0, 120)
    size = np.array([draw(sides), draw(sides), 3], kind)
    corners = st.integers(0, 64).map(lambda n: n / 64)
    count = draw(st.integers(0, 2))
    boxes = np.array([draw(corners) for _ in range(count * 4)], np.float32).reshape(1, count, 4)
    covered = np.array(draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.5])), np.float32)
    seed = np.array([draw(SEEDS), draw(SEEDS)], draw(st.sampled_from([np.int32, np.int64])))
    return (size, boxes, covered, seed), {
        "aspect_ratio_range": draw(st.sampled_from([(0.75, 1.33), (0.1, 8.0), (1.0, 1.0)])),
        "area_range": draw(st.sampled_from([(0.05, 1.0), (0.3, 0.35), (0.9, 0.1), (1.0, 1.0)])),
        "max_attempts": draw(st.sampled_from([1, 5, 100])),
        "use_image_if_no_bounding_boxes": draw(st.booleans()),
    }


CASES: tuple[Wide, ...] = (
    wide("StatelessSampleDistortedBoundingBox", boxed),
    wide("RandomIndexShuffle", shuffled),
    wide("FractionalMaxPool", pooled),
    wide("FractionalAvgPool", pooled),
)
