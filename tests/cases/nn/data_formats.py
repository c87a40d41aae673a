"""Cases of core/ops/nn/data_formats.py: letter by letter."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.opcase import OpCase

Array = npt.NDArray[Any]

FORMATS = (("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NHWC", "HWNC"), ("NDHWC", "NCDHW"))


def axes(rank: int) -> Any:
    whole = st.lists(st.integers(-rank, rank - 1), max_size=5)
    return whole.map(lambda found: (np.array(found, np.int32),))


def rows(source: str) -> Any:
    """Sizes of all axes or of the spatial ones, or pairs of them."""
    counts = st.sampled_from([len(source), len(source) - 2])
    shapes = counts.flatmap(lambda n: st.sampled_from([(n,), (n, 2)]))
    return shapes.map(lambda shape: (np.arange(np.prod(shape), dtype=np.int64).reshape(shape),))


def mapped(source: str, target: str) -> Any:
    return lambda x: np.array([target.index(source[axis]) for axis in x.tolist()], np.int32)


def permuted(source: str, target: str) -> Any:
    def reference(x: Array) -> Array:
        every = len(x) == len(source)
        before, after = (
            [letter for letter in text if every or letter in "DHW"] for text in (source, target)
        )
        by_letter = dict(zip(before, x, strict=True))
        return np.array([by_letter[letter] for letter in after])

    return reference


def attrs(source: str, target: str) -> dict[str, str]:
    return {"src_format": source, "dst_format": target}


CASES = [
    *[
        OpCase("DataFormatDimMap", axes(len(s)), mapped(s, t), attrs=attrs(s, t))
        for s, t in FORMATS
    ],
    *[
        OpCase("DataFormatVecPermute", rows(s), permuted(s, t), attrs=attrs(s, t))
        for s, t in FORMATS
    ],
]
