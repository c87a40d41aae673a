"""Counts and combinations of sparse and ragged values, and sparse tensors as strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from cases.sparse.matrices import dense, sparse

LENGTHS = st.lists(st.lists(st.integers(0, 6), max_size=4), min_size=1, max_size=4)


def counted(values: Any, width: int) -> Any:
    return np.bincount(np.asarray(values, np.int64), minlength=width)


@given(rows=LENGTHS)
def test_counts_of_ragged_rows_are_those_of_each_row(rows: list[list[int]]) -> None:
    ragged = tf.ragged.constant(rows, dtype=tf.int32, ragged_rank=1)
    width = max((n + 1 for row in rows for n in row), default=0)
    wanted = np.array([counted(row, width) for row in rows]).reshape(len(rows), width)
    np.testing.assert_array_equal(tf.math.bincount(ragged, axis=-1), wanted)
    np.testing.assert_array_equal(tf.math.bincount(ragged), wanted.sum(axis=0))
    found = tf.sparse.to_dense(tf.sparse.bincount(ragged, axis=-1))
    # An empty table of counts still has the column for 0.
    np.testing.assert_array_equal(found, wanted if width else np.zeros((len(rows), 1)))


def test_counts_of_a_sparse_vector_without_places() -> None:
    # TensorFlow 2.21 returns a table with one entry.
    x = tf.sparse.SparseTensor(np.zeros((0, 1), np.int64), np.zeros(0, np.int64), [0])
    found = tf.sparse.bincount(x, axis=-1)
    assert found.indices.shape.as_list() == [0, 1]
    assert found.dense_shape.numpy().tolist() == [1]


@given(parts=sparse(least=1), flat=st.booleans(), weighted=st.booleans())
def test_counts_of_sparse_rows_are_those_of_what_is_there(
    parts: Any, flat: bool, weighted: bool
) -> None:
    indices, drawn, shape = parts
    values = np.abs(drawn * 8).astype(np.int64) % 5
    x = tf.sparse.SparseTensor(indices, values, shape)
    weights = x.with_values(drawn.astype(np.float32)) if weighted else None
    each = drawn.astype(np.float32) if weighted else np.ones(len(values))
    wanted = np.zeros((int(shape[0]), int(values.max()) + 1))
    np.add.at(wanted, (indices[:, 0], values), each)
    wanted = wanted.sum(axis=0) if flat else wanted
    axis = 0 if flat else -1
    found = tf.math.bincount(x, weights=weights, axis=axis)
    np.testing.assert_allclose(found, wanted, atol=1e-5)  # sums of a few float32 numbers
    listed = tf.sparse.bincount(x, weights=weights, axis=axis)
    np.testing.assert_allclose(tf.sparse.to_dense(listed), wanted, atol=1e-5)


def test_counts_keep_to_their_lengths_and_refuse_what_cannot_be() -> None:
    found = tf.sparse.bincount([3, 1, 3, 7], maxlength=4)
    assert np.asarray(found.indices).tolist() == [[1], [3]]
    assert np.asarray(found.dense_shape).tolist() == [4]
    assert np.asarray(tf.sparse.bincount([1], minlength=9).dense_shape).tolist() == [9]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be non-negative, got -1"):
        tf.sparse.bincount([1, -1])
    with pytest.raises(ValueError, match=r"cannot be given together"):
        tf.sparse.bincount([1], weights=[1.0], binary_output=True)
    with pytest.raises(ValueError, match=r"must be ragged"):
        tf.math.bincount(tf.ragged.constant([[1], []]), weights=[1.0], axis=-1)


def test_crosses_join_the_values_of_each_row() -> None:
    first = tf.sparse.from_dense([["a", ""], ["b", "c"]])
    second = tf.constant([["x"], ["y"]])
    found = tf.sparse.cross([first, second], separator="+")
    assert np.asarray(found.values).tolist() == [b"a+x", b"b+y", b"c+y"]
    assert np.asarray(found.indices).tolist() == [[0, 0], [1, 0], [1, 1]]
    hashed = tf.sparse.cross_hashed([first, second], num_buckets=10)
    assert all(0 <= n < 10 for n in np.asarray(hashed.values).tolist())
    other = tf.sparse.cross_hashed([first, second], num_buckets=2**40, hash_key=7)
    plain = tf.sparse.cross_hashed([first, second], num_buckets=2**40)
    assert np.asarray(other.values).tolist() != np.asarray(plain.values).tolist()
    with pytest.raises(TypeError, match=r"must be a list, got SparseTensor"):
        tf.sparse.cross(first)


@given(parts=sparse(), form=st.sampled_from([tf.string, tf.variant]))
def test_a_sparse_tensor_comes_back_from_its_parts(parts: Any, form: Any) -> None:
    x = tf.sparse.SparseTensor(*parts)
    packed = tf.io.serialize_sparse(x, out_type=form)
    found = tf.raw_ops.DeserializeSparse(serialized_sparse=packed, dtype=tf.float64)
    for ours, given_ in zip(found, parts, strict=True):
        np.testing.assert_array_equal(ours, given_)


@given(parts=sparse())
def test_rows_of_a_sparse_tensor_come_back_from_their_strings(parts: Any) -> None:
    x = tf.sparse.SparseTensor(*parts)

    @tf.function
    def round_trip(packed: Any) -> Any:
        return tf.io.deserialize_many_sparse(packed, tf.float64, rank=1)

    packed = tf.io.serialize_many_sparse(x)
    assert packed.shape == (parts[2][0], 3)
    found = round_trip(packed)
    np.testing.assert_array_equal(tf.sparse.to_dense(found), dense(*parts))


def test_strings_that_are_no_sparse_tensors_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no part of a serialized sparse"):
        tf.io.deserialize_many_sparse([["\xff", "b", "c"]], tf.float32)
    packed = tf.io.serialize_many_sparse(tf.sparse.from_dense([[1.0, 0.0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"out_type must be the dtype"):
        tf.io.deserialize_many_sparse(packed, tf.int32)
    with pytest.raises(ValueError, match=r"rank must be that of a row, which is 1, got 2"):
        tf.io.deserialize_many_sparse(packed, tf.float32, rank=2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"last axis of size 3"):
        tf.io.deserialize_many_sparse([["a", "b"]], tf.float32)


@given(texts=st.lists(st.binary(max_size=300), max_size=4))
def test_texts_in_one_field_are_read(texts: list[bytes]) -> None:
    from pinnace.framework import dtypes
    from pinnace.ops.io.raw import packed

    given_ = np.empty(len(texts), object)
    given_[:] = texts
    message = packed(given_, dtypes.string)
    assert tf.io.parse_tensor(message, tf.string).numpy().tolist() == texts


def test_lengths_that_do_not_fit_are_refused() -> None:
    from pinnace.proto.tensor_pb2 import TensorProto

    for content in (b"\x05abc", b"\xff\xff", b"\x01\x01a", b"\xff" * 12):
        message = TensorProto(dtype=7, tensor_content=content)
        message.tensor_shape.dim.add(size=2)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"ParseTensor: "):
            tf.io.parse_tensor(message.SerializeToString(), tf.string)
