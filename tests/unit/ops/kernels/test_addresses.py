"""Addresses of arrays of any kind are those that NumPy reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pinnace.ops.kernels import addresses

if TYPE_CHECKING:
    import pytest

KINDS = [np.float32, np.int64, np.bool_, np.dtype(object)]


@given(st.data())
def test_addresses_are_numpys(data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=0, min_side=0))
    array = np.zeros(shape, data.draw(st.sampled_from(KINDS)))
    array.flags.writeable = data.draw(st.booleans())
    part = array[data.draw(arrays.basic_indices(shape, allow_newaxis=True))]
    for one in (array, np.asarray(part), array.T):
        assert addresses.address_of(one) == one.ctypes.data


def test_where_they_cannot_be_read_numpy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses.sys.implementation, "name", "another")
    assert addresses._chosen() is addresses._asked


def test_what_is_another_where_it_should_be_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_read", lambda array: array.ctypes.data + 1)
    assert addresses._chosen() is addresses._asked
