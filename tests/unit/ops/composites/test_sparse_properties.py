"""Sparse tensors and sets against dense NumPy arrays and Python sets, eager and traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pinnace as tf

Array = npt.NDArray[Any]
MATRICES = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.integers(-2, 2)
)


def same(function: Any, wanted: Array, *xs: Any) -> None:
    """The result, sparse or not, outside a function and inside."""
    for call in (function, tf.function(function)):
        found = call(*xs)
        if isinstance(found, tf.SparseTensor):
            found = tf.sparse.to_dense(found)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-12)


@given(x=MATRICES, data=st.data())
def test_forms(x: Array, data: st.DataObject) -> None:
    s = tf.sparse.from_dense(x)
    same(tf.sparse.to_dense, x, s)
    same(tf.sparse.transpose, x.T, s)
    same(lambda s: tf.sparse.reshape(s, [-1]), x.reshape(-1), s)
    same(lambda s: tf.sparse.expand_dims(s, 1), x[:, None], s)
    same(lambda s: tf.sparse.concat(1, [s, s]), np.concatenate([x, x], 1), s)
    start = [data.draw(st.integers(0, n - 1)) for n in x.shape]
    same(lambda s: tf.sparse.slice(s, start, [2, 2]), x[start[0] :, start[1] :][:2, :2], s)
    order = data.draw(st.permutations(range(len(s.values))))
    mixed = tf.SparseTensor(s.indices.numpy()[order], s.values.numpy()[order], x.shape)
    same(tf.sparse.reorder, x, mixed)


@given(x=MATRICES, seed=st.integers(0, 99))
def test_arithmetic(x: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(-2, 3, x.shape).astype(np.float64)
    b = rng.standard_normal((x.shape[1], 3))
    s, t = tf.sparse.from_dense(x), tf.sparse.from_dense(y)
    same(tf.sparse.add, x + y, s, t)
    same(lambda s: tf.sparse.add(s, y), x + y, s)
    same(tf.sparse.maximum, np.maximum(x, y), s, t)
    same(tf.sparse.minimum, np.minimum(x, y), s, t)
    same(lambda s: s * (y + 3), x * (y + 3), s)
    same(lambda s: s / (y + 3), x / (y + 3), s)
    same(lambda s: tf.sparse.sparse_dense_matmul(s, b), x @ b, s)
    same(lambda s: tf.sparse.sparse_dense_matmul(s, b.T, adjoint_b=True), x @ b, s)
    same(lambda s: tf.sparse.sparse_dense_matmul(s, x, adjoint_a=True), x.T @ x, s)
    for axis in (None, 0, 1):
        same(lambda s, axis=axis: tf.sparse.reduce_sum(s, axis), x.sum(axis), s)


@given(x=MATRICES, seed=st.integers(0, 99))
def test_gradients_are_those_of_the_dense_formula(x: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    s, b = tf.sparse.from_dense(x), tf.constant(rng.standard_normal((x.shape[1], 2)))
    dy = rng.standard_normal((x.shape[0], 2))
    other = rng.standard_normal(x.shape)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch((s, b))
        product = tf.sparse.sparse_dense_matmul(s, b)
        dense = tf.sparse.to_dense(s)
        total = tf.sparse.reduce_sum(s * other, 1)
    places = tuple(s.indices.numpy().T)
    found = tape.gradient(product, [s, b], tf.constant(dy))
    np.testing.assert_allclose(found[0].values.numpy(), (dy @ b.numpy().T)[places], rtol=1e-12)
    np.testing.assert_allclose(found[1].numpy(), x.T @ dy, rtol=1e-12, atol=1e-12)
    back = tape.gradient(dense, s, tf.constant(other)).values.numpy()
    np.testing.assert_array_equal(back, other[places])
    rows = tape.gradient(total, s, tf.constant(dy[:, 0])).values.numpy()
    np.testing.assert_allclose(rows, (other * dy[:, :1])[places], rtol=1e-12)


@given(x=MATRICES)
def test_empty_rows_are_filled(x: Array) -> None:
    filled, empty = tf.sparse.fill_empty_rows(tf.sparse.from_dense(x), 9.0)
    wanted = x.copy()
    wanted[~x.any(1), 0] = 9
    np.testing.assert_array_equal(tf.sparse.to_dense(filled).numpy(), wanted)
    np.testing.assert_array_equal(empty.numpy(), ~x.any(1))


@given(
    data=hnp.arrays(np.float64, (4, 2), elements=st.integers(-9, 9)),
    chosen=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6),
)
def test_segments_of_chosen_rows(data: Array, chosen: list[tuple[int, int]]) -> None:
    chosen.sort(key=lambda pair: pair[1])
    indices = np.array([i for i, _ in chosen], np.int32)
    ids = np.array([s for _, s in chosen], np.int32)
    x = tf.constant(data)
    functions = (tf.sparse.segment_sum, tf.sparse.segment_mean, tf.sparse.segment_sqrt_n)
    for function, power in zip(functions, (0.0, 1.0, 0.5), strict=True):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = function(x, indices, ids, num_segments=4)
        weights = np.zeros((4, 4))
        for i, s in chosen:
            weights[s, i] += 1 / np.sum(ids == s) ** power
        np.testing.assert_allclose(found.numpy(), weights @ data, rtol=1e-12, atol=1e-12)
        dx = tape.gradient(found, x)
        slopes = np.repeat(weights.sum(0)[:, None], 2, 1)
        np.testing.assert_allclose(dx.numpy(), slopes, rtol=1e-12, atol=1e-12)


@given(rows=st.lists(st.tuples(*[st.frozensets(st.integers(1, 9), max_size=4)] * 2), min_size=1))
def test_sets_are_those_of_python(rows: list[tuple[frozenset[int], frozenset[int]]]) -> None:
    a, b = (
        tf.ragged.constant(
            [sorted(row[side]) for row in rows], dtype=tf.int64, ragged_rank=1
        ).to_sparse()
        for side in (0, 1)
    )
    for function, combine in (
        (tf.sets.union, frozenset.union),
        (tf.sets.intersection, frozenset.intersection),
        (tf.sets.difference, frozenset.difference),
    ):
        found = function(a, b)
        wanted = [sorted(combine(*row)) for row in rows]
        got = [
            found.values.numpy()[found.indices.numpy()[:, 0] == i].tolist()
            for i in range(len(rows))
        ]
        assert got == wanted
    assert tf.sets.size(a).numpy().tolist() == [len(row[0]) for row in rows]


def test_wrong_parts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"indices must be \[n, rank\]"):
        tf.SparseTensor([[0, 0]], [1, 2], [2, 2])
    outside = tf.SparseTensor([[0, 5]], [1], [2, 2])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"indices\[0\] = \[0, 5\] is out of bounds"
    ):
        tf.sparse.to_dense(outside)
    twice = tf.SparseTensor([[0, 1], [0, 1]], [1, 2], [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="is repeated"):
        tf.sparse.to_dense(twice)
    with pytest.raises(tf.errors.InvalidArgumentError, match="columns of a must equal rows of b"):
        tf.sparse.sparse_dense_matmul(tf.sparse.from_dense([[1.0, 2.0]]), [[1.0]])
