"""Ragged tensors against nested Python lists, eager and traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf

ROWS = st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=5)
DEEP = st.lists(ROWS, max_size=4)


def ragged(rows: Any, rank: int = 1) -> Any:
    return tf.ragged.constant(rows, dtype=tf.int64, ragged_rank=rank)


def both(function: Any, *xs: Any) -> Any:
    """The result outside a function, after a check that it is equal inside."""
    plain, traced = function(*xs), tf.function(function)(*xs)
    for a, b in zip(
        tf.nest.flatten(plain, expand_composites=True),
        tf.nest.flatten(traced, expand_composites=True),
        strict=True,
    ):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    return plain


@given(rows=ROWS)
def test_every_row_partition_makes_the_same_tensor(rows: list[list[int]]) -> None:
    flat = tf.constant([n for row in rows for n in row], tf.int64)
    lengths = [len(row) for row in rows]
    ends = np.cumsum([0, *lengths])
    ids = np.repeat(np.arange(len(rows)), lengths)
    made = [
        tf.RaggedTensor.from_row_splits(flat, ends),
        tf.RaggedTensor.from_row_lengths(flat, np.array(lengths, np.int64)),
        tf.RaggedTensor.from_row_starts(flat, ends[:-1]),
        tf.RaggedTensor.from_value_rowids(flat, ids.astype(np.int64), nrows=len(rows)),
    ]
    if rows:
        made.append(tf.RaggedTensor.from_row_limits(flat, ends[1:]))
    for x in made:
        assert x.to_list() == rows
        assert x.value_rowids().numpy().tolist() == ids.tolist()
        assert x.row_lengths().numpy().tolist() == lengths


@given(rows=DEEP, key=st.tuples(*[st.slices(4)] * 3))
def test_slices_are_those_of_lists(rows: Any, key: tuple[slice, ...]) -> None:
    wanted = [[row[key[2]] for row in part[key[1]]] for part in rows[key[0]]]
    assert both(lambda x: x[key], ragged(rows, 2)).to_list() == wanted


@given(rows=DEEP)
def test_dense_and_sparse_forms_lead_back(rows: Any) -> None:
    x = ragged(rows, 2)
    dense = both(lambda x: x.to_tensor(), x).numpy()
    sparse = both(lambda x: x.to_sparse(), x)
    np.testing.assert_array_equal(tf.sparse.to_dense(sparse).numpy(), dense)
    for i, part in enumerate(rows):
        for j, row in enumerate(part):
            assert dense[i, j, : len(row)].tolist() == row
            assert not dense[i, j, len(row) :].any()
    assert dense.shape == tuple(x.bounding_shape().numpy())


@given(rows=DEEP, axis=st.sampled_from([0, 1, 2]))
def test_sums_are_those_of_the_filled_tensor(rows: Any, axis: int) -> None:
    x = ragged(rows, 2)
    found = both(lambda x: tf.reduce_sum(x, axis=axis), x)
    wanted = x.to_tensor().numpy().sum(axis=axis)
    sizes = found.to_tensor().numpy() if axis < 2 or hasattr(found, "to_tensor") else found.numpy()
    inside = wanted[tuple(slice(n) for n in sizes.shape)]
    np.testing.assert_array_equal(sizes, inside)
    assert wanted.sum() == inside.sum()


@given(a=ROWS, b=ROWS)
def test_concat_is_that_of_lists(a: list[Any], b: list[Any]) -> None:
    x, y = ragged(a), ragged(b)
    assert both(lambda x, y: tf.concat([x, y], axis=0), x, y).to_list() == a + b
    if len(a) == len(b):
        joined = both(lambda x, y: tf.concat([x, y], axis=1), x, y)
        assert joined.to_list() == [p + q for p, q in zip(a, b, strict=True)]
    assert both(lambda x, y: tf.stack([x, y]), x, y).to_list() == [a, b]


@given(rows=DEEP.filter(len), data=st.data())
def test_gather_takes_rows(rows: Any, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5))
    at = tf.constant(np.array(places, np.int64))
    found = both(lambda x, i: tf.gather(x, i), ragged(rows, 2), at)
    assert found.to_list() == [rows[i] for i in places]


@given(rows=ROWS, data=st.data())
def test_a_mask_keeps_rows(rows: list[list[int]], data: st.DataObject) -> None:
    keep = [[data.draw(st.booleans()) for _ in row] for row in rows]
    mask = tf.ragged.constant(keep, dtype=tf.bool, ragged_rank=1)
    found = both(tf.ragged.boolean_mask, ragged(rows), mask)
    wanted = [
        [n for n, k in zip(r, ks, strict=True) if k] for r, ks in zip(rows, keep, strict=True)
    ]
    assert found.to_list() == wanted


@given(rows=ROWS)
def test_variants_hold_rows(rows: list[list[int]]) -> None:
    x = ragged(rows)
    for batched in (False, True):
        held = x._to_variant(batched_input=batched)
        back = tf.RaggedTensor._from_variant(held, tf.int64, 1)
        assert back.to_list() == rows


@given(rows=ROWS)
def test_gradients_reach_the_values(rows: list[list[int]]) -> None:
    x = tf.cast(ragged(rows), tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.reduce_sum(x * x, axis=1)) + tf.reduce_sum(x.to_tensor() ** 3)
    found = tape.gradient(y, x)
    assert found.to_list() == [[2.0 * n + 3.0 * n * n for n in row] for row in rows]


def test_a_function_is_traced_once_for_rows_of_any_length() -> None:
    f = tf.function(lambda x: x + 1)
    for rows in ([[1, 2], []], [[], [3, 4, 5]], [[1], [2]]):
        assert f(ragged(rows)).to_list() == [[n + 1 for n in row] for row in rows]
    assert f.experimental_get_tracing_count() == 1


def test_rows_that_differ_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="must agree in the rows of axis 1"):
        ragged([[1], [2]]) + ragged([[1, 2], []])
    with pytest.raises(ValueError, match=r"to_tensor\(\)"):
        tf.convert_to_tensor(ragged([[1], []]))
    with pytest.raises(ValueError, match="reduce_sum does not take a SparseTensor"):
        tf.reduce_sum(tf.sparse.from_dense([[1]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have as many values"):
        tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2])
    f = tf.function(lambda x: x, input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    with pytest.raises(TypeError, match="must be RaggedTensorSpec"):
        f(ragged([[1]]))


def test_a_public_function_itself_can_be_traced_with_ragged_specs() -> None:
    spec = tf.RaggedTensorSpec([None, None, None], tf.int64, ragged_rank=1)
    x = tf.RaggedTensor.from_row_lengths(tf.reshape(tf.range(6, dtype=tf.int64), [3, 2]), [1, 2])
    y = tf.RaggedTensor.from_row_lengths(tf.reshape(tf.range(8, dtype=tf.int64), [4, 2]), [2, 2])
    product = tf.function(tf.matmul, input_signature=[spec, spec])(x, y)
    for row, (a, b) in enumerate(zip(x.to_list(), y.to_list(), strict=True)):
        assert product.to_list()[row] == (np.array(a) @ np.array(b)).tolist()
    with pytest.raises(TypeError, match="grad_a"):
        tf.function(lambda a, b: tf.matmul(a, b, grad_a=True))(x, y)


def test_a_size_below_minus_one_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must hold sizes.*got \[-77, -1\]"):
        tf.raw_ops.RaggedTensorToTensor(
            shape=np.array([-77, -1]),
            values=np.zeros(0),
            default_value=0.5,
            row_partition_tensors=[np.array([0, 0])],
            row_partition_types=["ROW_SPLITS"],
        )


@pytest.mark.parametrize("kind", [tf.float32, tf.float64, tf.int64, tf.int32])
def test_a_number_in_front_takes_the_dtype_of_the_ragged_tensor(kind: Any) -> None:
    # The values are Python's, the dtype is that of the ragged tensor.
    rows = [[1, 2], [], [3]]
    x = tf.ragged.constant(rows, dtype=kind)
    for function in (
        lambda n: 2 + n,
        lambda n: 2 - n,
        lambda n: 2 * n,
        lambda n: 2**n,
        lambda n: 5 // n,
        lambda n: 5 % n,
    ):
        found = both(function, x)
        assert found.dtype is kind
        assert found.to_list() == [[function(n) for n in row] for row in rows]


def test_a_fraction_in_front_of_ragged_integers_is_refused() -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, TypeError, ValueError)):
        1.5 + ragged([[1, 2], [3]])


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 2, [1, 2]])
def test_log_sums_of_exponentials_of_ragged_rows(axis: Any, keepdims: bool) -> None:
    rows = [[[1000.0, 1001.0], [], [-3.0]], [], [[0.5, -2000.0]]]
    x = tf.ragged.constant(rows, ragged_rank=2)
    found = tf.reduce_logsumexp(x, axis, keepdims)

    def total(numbers: list[float]) -> float:
        return float(np.logaddexp.reduce(numbers)) if numbers else -np.inf

    if axis is None:
        expected: Any = total([n for outer in rows for inner in outer for n in inner])
        np.testing.assert_allclose(found, np.reshape(expected, [1, 1, 1] if keepdims else []))
    elif axis == 2:
        sums = [total(inner) for outer in rows for inner in outer]
        np.testing.assert_allclose(np.ravel(found.flat_values), sums, rtol=1e-6)
        assert found.row_lengths().numpy().tolist() == [3, 0, 1]
    else:
        sums = [total([n for inner in outer for n in inner]) for outer in rows]
        np.testing.assert_allclose(np.ravel(found), sums, rtol=1e-6)


def test_the_gradient_of_a_ragged_log_sum_is_the_softmax() -> None:
    x = tf.ragged.constant([[1.0, 2.0], [], [3.0, 4.0, 5.0]])
    with tf.GradientTape() as tape:
        tape.watch(x.flat_values)
        y = tf.reduce_logsumexp(x, 1)[0] + tf.reduce_logsumexp(x, 1)[2]
    e = np.exp([1.0, 2.0, 3.0, 4.0, 5.0])
    e[:2] /= e[:2].sum()
    e[2:] /= e[2:].sum()
    np.testing.assert_allclose(tape.gradient(y, x.flat_values), e, rtol=1e-5)


def test_strings_are_joined_over_any_axis_of_ragged_tensors() -> None:
    x = tf.ragged.constant([["this", "is", "a"], [], ["please", "do"]])
    joined = tf.strings.reduce_join
    assert joined(x, 0).numpy().tolist() == [b"thisplease", b"isdo", b"a"]
    assert joined(x, 1, separator="-").numpy().tolist() == [b"this-is-a", b"", b"please-do"]
    assert joined(x, 1, keepdims=True).numpy().tolist() == [[b"thisisa"], [b""], [b"pleasedo"]]
    deep = tf.ragged.constant([[["a", "b", "c"], ["dd", "ee"]], [["f", "g"]], []])
    assert joined(deep, 1, separator="|").to_list() == [[b"a|dd", b"b|ee", b"c"], [b"f", b"g"], []]
    assert joined(deep, -1).to_list() == [[b"abc", b"ddee"], [b"fg"], []]
    assert joined(deep, 0).to_list() == [[b"af", b"bg", b"c"], [b"dd", b"ee"]]
    assert joined(deep, [1, 2]).numpy().tolist() == [b"abcddee", b"fg", b""]


def test_texts_of_ngrams_must_be_text() -> None:
    words = tf.constant(["a", "b", "c"])
    assert tf.strings.ngrams(words, 2, "-", ("x", b"y"))[0].numpy() == b"x-a"
    for options in ({"separator": 5}, {"pad_values": ("a", 3)}, {"pad_values": (None, "a")}):
        with pytest.raises(TypeError, match="text"):
            tf.strings.ngrams(words, 2, **options)


@pytest.mark.parametrize(("length", "step"), [(64, 64), (64, 128), (128, 25), (256, 64)])
def test_the_window_of_an_inverse_stft_is_finite_and_undoes_the_other(
    length: int, step: int
) -> None:
    inverse = np.asarray(tf.signal.inverse_stft_window_fn(step)(length, tf.float32))
    n = np.arange(length)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * n / length)
    assert np.isfinite(inverse).all()
    gains = np.bincount(n % step, window * inverse, minlength=min(step, length))
    covered = np.bincount(n % step, window, minlength=min(step, length)) > 0
    np.testing.assert_allclose(gains[covered], 1, rtol=1e-4)
    np.testing.assert_array_equal(gains[~covered], 0)
