"""Padding and windows, against loops over lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf

utils = tf.keras.utils
WORDS = st.sampled_from(["pre", "post"])


@given(
    rows=st.lists(st.lists(st.integers(-9, 9), max_size=5), max_size=4),
    maxlen=st.none() | st.integers(0, 6),
    padding=WORDS,
    truncating=WORDS,
)
def test_rows_become_as_long_as_each_other(
    rows: list[list[int]], maxlen: int | None, padding: str, truncating: str
) -> None:
    length = max(map(len, rows), default=0) if maxlen is None else maxlen
    wanted = []
    for row in rows:
        kept = row[max(len(row) - length, 0) :] if truncating == "pre" else row[:length]
        rest = [7] * (length - len(kept))
        wanted.append(rest + kept if padding == "pre" else kept + rest)
    found = utils.pad_sequences(rows, maxlen, padding=padding, truncating=truncating, value=7)
    assert found.dtype == np.int32
    assert found.shape == (len(rows), length)
    assert found.tolist() == wanted


def test_elements_may_be_arrays_and_text() -> None:
    found = utils.pad_sequences([np.ones((2, 3)), np.ones((1, 3))], dtype="float32")
    assert found[1].tolist() == [[0.0] * 3, [1.0] * 3]
    words = utils.pad_sequences([["a"], ["b", "c"]], dtype=object, value="")
    assert words.tolist() == [["", "a"], ["b", "c"]]


def test_what_cannot_be_padded_is_named() -> None:
    with pytest.raises(ValueError, match="padding must be 'pre' or 'post', got 'both'"):
        utils.pad_sequences([[1]], padding="both")
    with pytest.raises(ValueError, match="sequence 1 must have a length, got 3"):
        utils.pad_sequences([[1], 3])
    with pytest.raises(ValueError, match=r"sequence 1 must have elements of shape \[2\]"):
        utils.pad_sequences([np.ones((2, 2)), np.ones((2, 3))])
    with pytest.raises(ValueError, match="Try: dtype=object"):
        utils.pad_sequences([[1]], value="x")


@given(
    length=st.integers(1, 5),
    stride=st.integers(1, 4),
    rate=st.integers(1, 3),
    start=st.none() | st.integers(0, 6),
    end=st.none() | st.integers(8, 19),
    batch=st.none() | st.integers(1, 4),
)
def test_windows_are_those_of_a_loop(
    length: int, stride: int, rate: int, start: Any, end: Any, batch: Any
) -> None:
    data, targets = np.arange(40.0).reshape(20, 2), np.arange(20)
    dataset = utils.timeseries_dataset_from_array(
        data, targets, length, stride, rate, batch, start_index=start, end_index=end
    )
    wanted = []
    at = start or 0
    while at + (length - 1) * rate < (20 if end is None else end):
        wanted.append((data[at : at + length * rate : rate].tolist(), int(targets[at])))
        at += stride
    found = [(x.numpy().tolist(), y.numpy().tolist()) for x, y in dataset]
    if batch is not None:
        assert all(len(x) == batch for x, _ in found[:-1])
        found = [pair for x, y in found for pair in zip(x, y, strict=True)]
    assert found == wanted


def test_shuffled_windows_are_the_same_windows() -> None:
    data = np.arange(30)
    plain = utils.timeseries_dataset_from_array(data, None, 4, batch_size=None)
    mixed = utils.timeseries_dataset_from_array(
        data, None, 4, batch_size=None, shuffle=True, seed=1
    )
    first = [x.numpy().tolist() for x in mixed]
    assert first != sorted(first)
    assert sorted(first) == [x.numpy().tolist() for x in plain]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequence_length": 0}, "`sequence_length` must be at least 1, got 0"),
        ({"sampling_rate": 20}, "`sampling_rate` must be at least 1 and at most 19, got 20"),
        ({"sequence_stride": 0}, "`sequence_stride` must be at least 1"),
        ({"start_index": -1}, "`start_index` must be at least 0"),
        ({"start_index": 9, "end_index": 9}, "`end_index` must be at least 10"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        utils.timeseries_dataset_from_array(
            np.arange(20), None, **{"sequence_length": 3, **options}
        )
