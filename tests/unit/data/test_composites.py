"""Ragged and sparse elements: batches are unbatched into the original elements."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.data import Dataset

ROWS = st.lists(st.lists(st.integers(-5, 5), max_size=4), max_size=6)


def ragged(rows: list[list[int]]) -> Any:
    return tf.RaggedTensor.from_row_lengths(
        np.array([x for row in rows for x in row], np.int32), [len(row) for row in rows]
    )


@given(st.lists(ROWS, min_size=1, max_size=7), st.integers(1, 4))
def test_ragged_batches_come_apart_again(items: list[list[list[int]]], size: int) -> None:
    spec = tf.RaggedTensorSpec([None, None], tf.int32)
    source = Dataset.from_generator(lambda: map(ragged, items), output_signature=spec)
    assert [x.to_list() for x in source] == items
    batches = list(source.batch(size))
    assert [x.to_list() for x in batches] == [
        items[i : i + size] for i in range(0, len(items), size)
    ]
    assert all(x.ragged_rank == 2 for x in batches)
    assert [x.to_list() for x in source.batch(size).unbatch()] == items
    total = source.reduce(np.int32(0), lambda s, x: s + tf.reduce_sum(x))
    assert int(total) == sum(x for item in items for row in item for x in row)


@given(ROWS)
def test_rows_of_a_ragged_tensor_are_elements(rows: list[list[int]]) -> None:
    dataset = Dataset.from_tensor_slices(ragged(rows))
    assert len(dataset) == len(rows)
    assert [x.numpy().tolist() for x in dataset] == rows
    again = dataset.ragged_batch(max(1, len(rows)))
    assert [x.to_list() for x in again] == ([rows] if rows else [])


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=6))
def test_sparse_batches_come_apart_again(rows: list[list[int]]) -> None:
    dataset = Dataset.from_tensor_slices(tf.sparse.from_dense(np.array(rows)))
    assert [tf.sparse.to_dense(x).numpy().tolist() for x in dataset] == rows
    (whole,) = dataset.batch(len(rows))
    assert tf.sparse.to_dense(whole).numpy().tolist() == rows
    assert [tf.sparse.to_dense(x).numpy().tolist() for x in dataset.batch(2).unbatch()] == rows


def test_what_has_no_composite_form_says_so() -> None:
    dataset = Dataset.from_tensors(ragged([[1], [2, 3]]))
    with pytest.raises(TypeError, match="only supported for datasets that produce tensor"):
        dataset.padded_batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="row_shape"):
        list(Dataset.from_tensors([1, 2, 3]).sparse_batch(1, [2]))


def test_iterators_of_one_spec_share_a_graph() -> None:
    @tf.function
    def total(iterator: Any, count: Any) -> Any:
        found = tf.constant(0, tf.int64)
        for _ in tf.range(count):
            found += next(iterator)
        return found

    first, second = iter(Dataset.range(10)), iter(Dataset.range(100, 110))
    assert int(total(first, tf.constant(3))) == 3
    assert int(total(second, tf.constant(2))) == 201
    assert int(total(first, tf.constant(2))) == 7
    assert int(next(first)) == 5
    assert total.experimental_get_tracing_count() == 1
