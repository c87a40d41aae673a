"""Faster ways for plain strings give what the general ways give: values are TensorFlow's."""

import numpy as np
import pytest

import pinnace as pn

_TEXTS = [b"", b"Hello, World!", b"h\xc3\xa9llo", b"\xff\xfea\xc3"]


def test_all_but_a_set_leaves_invalid_utf8() -> None:
    found = pn.strings.regex_replace(_TEXTS, "[^a-z]", "_")
    assert found.numpy().tolist() == [b"", b"_ello___orld_", b"h_llo", b"\xff\xfea\xc3"]


def test_parts_by_code_point() -> None:
    found = pn.strings.substr(_TEXTS[1:3], [1, -4], [3, 2], "UTF8_CHAR")
    assert found.numpy().tolist() == [b"ell", b"\xc3\xa9l"]


@pytest.mark.parametrize("text", ["", "1_0", "--1", "1 2", "2147483648"])
def test_no_numbers(text: str) -> None:
    with pytest.raises(pn.errors.InvalidArgumentError):
        pn.strings.to_number(["1", text], pn.int32)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_unique_at_the_ends_of_a_type(dtype: str) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    y, idx = pn.unique(pn.constant(np.array([most, most - 1, most], dtype)))
    assert (y.numpy().tolist(), idx.numpy().tolist()) == ([most, most - 1], [0, 1, 0])
    y, idx = pn.unique(pn.constant(np.array([most, least, most], dtype)))
    assert (y.numpy().tolist(), idx.numpy().tolist()) == ([most, least], [0, 1, 0])
