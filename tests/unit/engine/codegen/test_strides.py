"""The offsets of a slice's numbers, against NumPy's own slices of the offsets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

from pinnace.engine.codegen.strides import contiguous, sliced


@given(st.data(), array_shapes(min_dims=0, max_dims=4, max_side=5))
def test_a_slice_is_where_numpy_finds_it(data: Any, shape: tuple[int, ...]) -> None:
    key = data.draw(basic_indices(shape, allow_ellipsis=False, allow_newaxis=True))
    key = key if isinstance(key, tuple) else (key,)
    offsets = np.arange(math.prod(shape)).reshape(shape)[key]
    part = sliced(shape, contiguous(shape), key)
    assert part.shape == np.shape(offsets)
    places = np.asarray(offsets).reshape(-1)
    if not places.size:
        return
    found = [
        part.first + sum(at * step for at, step in zip(place, part.along, strict=True))
        for place in np.ndindex(*part.shape)
    ]
    assert found == places.tolist()
    apart = set(np.diff(places).tolist())
    assert part.step == (1 if not apart else apart.pop() if len(apart) == 1 else None)
