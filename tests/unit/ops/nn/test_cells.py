"""Pooling into cells of random sizes, dilated windows, and distinct labels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf

RATIOS = st.sampled_from([1.0, 1.25, 1.44, 1.5, 2.0, 2.3, 3.5])


def picture(height: int, width: int) -> Any:
    return np.random.default_rng(0).standard_normal((2, height, width, 3)).astype(np.float32)


@given(
    height=st.integers(4, 40),
    width=st.integers(4, 40),
    ratio=RATIOS,
    pseudo=st.booleans(),
    overlapping=st.booleans(),
    seed=st.integers(0, 9),
)
def test_cells_cover_the_picture_and_are_of_two_sizes(
    height: int, width: int, ratio: float, pseudo: bool, overlapping: bool, seed: int
) -> None:
    x = picture(height, width)
    y, rows, columns = tf.nn.fractional_max_pool(x, ratio, pseudo, overlapping, seed)
    for sequence, length, axis in ((rows, height, 1), (columns, width, 2)):
        ends = sequence.numpy().tolist()
        count = int(np.float32(length) / np.float32(ratio))
        assert (ends[0], ends[-1], len(ends) - 1, y.shape[axis]) == (0, length, count, count)
        assert {b - a for a, b in pairwise(ends)} <= {length // count, length // count + 1}
    first = x[:, : rows.numpy()[1] + overlapping, : columns.numpy()[1] + overlapping]
    np.testing.assert_array_equal(y[:, 0, 0], first.max(axis=(1, 2)))


def test_a_seed_draws_the_same_cells_and_none_draws_others() -> None:
    x = picture(31, 29)
    seeded = [tf.nn.fractional_avg_pool(x, 1.5, seed=3)[1].numpy().tolist() for _ in range(3)]
    assert seeded[0] == seeded[1] == seeded[2]
    free = {tuple(tf.nn.fractional_avg_pool(x, 1.5)[1].numpy().tolist()) for _ in range(12)}
    assert len(free) > 1
    traced = tf.function(lambda: tf.nn.fractional_avg_pool(tf.constant(x), 1.5)[1])
    assert len({tuple(traced().numpy().tolist()) for _ in range(12)}) > 1


@pytest.mark.parametrize(
    ("ratio", "error"),
    [
        (0.5, "must be 1 or more"),
        ([1.0, 2.0, 2.0, 1.5], "and 1 for batch and channels"),
        ([2.0, 1.0, 1.0], "or a list of 1, 2 or 4"),
        ("2", "must be a number"),
    ],
)
def test_ratios_that_cannot_be_are_refused(ratio: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        tf.nn.fractional_max_pool(picture(8, 8), ratio)


def test_gradients_of_cells_refuse_cells_beyond_the_picture() -> None:
    x = picture(4, 4)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must rise from 0 to at most 4"):
        tf.raw_ops.FractionalAvgPoolGrad(
            orig_input_tensor_shape=[2, 4, 4, 3],
            out_backprop=x[:, :2, :2],
            row_pooling_sequence=[0, 2, 5],
            col_pooling_sequence=[0, 2, 4],
        )


def test_nan_is_no_maximum_of_a_cell_and_one_that_begins_with_it_has_no_gradient() -> None:
    # As in TensorFlow 2.21 on CPU.
    nan, least = np.nan, np.finfo(np.float32).min
    for column, wanted, flows in (
        ([1, nan], 1, [1, 0]),
        ([-3, nan], -3, [1, 0]),
        ([nan, 2], 2, None),
        ([nan, nan], least, None),
    ):
        x = tf.constant(np.float32(column).reshape(1, 2, 1, 1))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, _, _ = tf.nn.fractional_max_pool(x, [2.0, 1.0], seed=1)
        assert y.numpy().item() == np.float32(wanted)
        if flows is None:
            with pytest.raises(tf.errors.InvalidArgumentError, match="begins with NaN"):
                tape.gradient(y, x)
        else:
            assert tape.gradient(y, x).numpy().ravel().tolist() == flows


def test_means_of_whole_numbers_are_cut_also_where_sums_run_over() -> None:
    least = np.iinfo(np.int32).min
    x = np.int32([[-3, -2, 3, 2], [least, 0, least, least]]).reshape(2, 4, 1, 1)
    y, _, _ = tf.nn.fractional_avg_pool(x, [2.0, 1.0], seed=1)
    assert y.numpy().reshape(2, 2).tolist() == [[-2, 2], [least // 2, 0]]


@given(
    rates=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.sampled_from(["SAME", "VALID"]),
    known=st.booleans(),
)
def test_spread_windows_are_dilated_ones(rates: Any, padding: str, known: bool) -> None:
    x = picture(13, 11)

    def pool(y: Any, axes: int, pad: str) -> Any:
        return tf.nn.pool(y, [3] * axes, "MAX", padding=pad)

    def spread(y: Any) -> Any:
        return tf.nn.with_space_to_batch(y, list(rates), padding, pool, filter_shape=[3, 3])

    shape = x.shape if known else (None, None, None, 3)
    found = tf.function(spread, input_signature=[tf.TensorSpec(shape)])(x)
    wanted = -np.inf * np.ones_like(x)
    pads = [rates[0] if padding == "SAME" else 0, rates[1] if padding == "SAME" else 0]
    wide = np.pad(x, [(0, 0), (pads[0],) * 2, (pads[1],) * 2, (0, 0)])
    height, width = (wide.shape[at + 1] - 2 * rates[at] for at in (0, 1))
    taps = [
        wide[:, r * rates[0] : r * rates[0] + height, c * rates[1] : c * rates[1] + width]
        for r in range(3)
        for c in range(3)
    ]
    wanted = np.max(taps, axis=0)
    # With rates of 1 the op itself pads, and padding is never a maximum; otherwise zeros are
    # padded.
    if rates == (1, 1) and padding == "SAME":
        wanted = np.asarray(pool(tf.constant(x), 2, "SAME"))
    np.testing.assert_array_equal(found, wanted)


@given(
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=3),
    blocks=st.lists(st.integers(1, 5), min_size=3, max_size=3),
)
def test_required_paddings_fill_whole_blocks(sizes: list[int], blocks: list[int]) -> None:
    blocks = blocks[: len(sizes)]
    paddings, crops = tf.required_space_to_batch_paddings(sizes, blocks)
    for size, block, (before, after), (first, last) in zip(
        sizes, blocks, paddings.numpy().tolist(), crops.numpy().tolist(), strict=True
    ):
        assert (size + before + after) % block == 0
        assert (before, first, last) == (0, 0, after)
        assert after < block


def test_spread_windows_refuse_what_cannot_be() -> None:
    x, pool = picture(8, 8), (lambda y, _n, _p: y)
    for options, error in (
        ({"dilation_rate": [0, 1], "padding": "VALID"}, "must be 1 or more"),
        ({"dilation_rate": [2, 1], "padding": "SAME"}, "filter_shape must be given"),
        ({"dilation_rate": [2, 1], "padding": "HALF"}, '"SAME" or "VALID"'),
        ({"dilation_rate": [2], "padding": "VALID", "spatial_dims": [0]}, "rising order, from 1"),
    ):
        with pytest.raises(ValueError, match=error):
            tf.nn.with_space_to_batch(x, op=pool, **options)  # type: ignore[arg-type]


@given(
    labels=st.integers(0, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), max_size=4)
    )
)
def test_distinct_labels_come_in_the_order_of_each_row(labels: list[list[int]]) -> None:
    width = len(labels[0]) if labels else 0
    given_ = np.array(labels, np.int32).reshape(len(labels), width)
    distinct, which = tf.nn.ctc_unique_labels(given_)
    for row, found, places in zip(labels, distinct.numpy(), which.numpy(), strict=True):
        unique = list(dict.fromkeys(row))
        assert found.tolist() == unique + [0] * (width - len(unique))
        assert [unique[place] for place in places] == row
