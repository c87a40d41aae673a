"""Edit distances are those of the plain table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf


def _distance(a: list[Any], b: list[Any]) -> int:
    """Wagner and Fischer, 1974, without any shortcut."""
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(len(a)):
        for j in range(len(b)):
            changed = table[i, j] + (a[i] != b[j])
            table[i + 1, j + 1] = min(table[i, j + 1] + 1, table[i + 1, j] + 1, changed)
    return int(table[-1, -1])


def _sparse(rows: list[list[Any]], dtype: tf.DType, shape: list[int]) -> tf.SparseTensor:
    places = [[i // 2, i % 2, j] for i, row in enumerate(rows) for j in range(len(row))]
    indices = np.array(places, np.int64).reshape(-1, 3)
    return tf.SparseTensor(indices, tf.constant([x for row in rows for x in row], dtype), shape)


@pytest.mark.parametrize("dtype", [tf.int64, tf.int32, tf.string, tf.float32, tf.bfloat16])
@pytest.mark.parametrize("longest", [1, 6, 25])
def test_distances(dtype: tf.DType, longest: int) -> None:
    random = np.random.default_rng(longest)

    def rows() -> list[list[Any]]:
        sizes = random.integers(0, longest, 14)
        drawn = [random.integers(0, 4, size).tolist() for size in sizes]
        return [[b"w%d" % x for x in row] for row in drawn] if dtype is tf.string else drawn

    said, true = rows(), rows()
    shape = [7, 2, longest]
    for normalize in (False, True):
        wanted = [float(_distance(a, b)) for a, b in zip(said, true, strict=True)]
        if normalize:
            wanted = [
                d / len(b) if b else np.inf if a else 0.0
                for d, a, b in zip(wanted, said, true, strict=True)
            ]
        found = tf.edit_distance(
            _sparse(said, dtype, shape), _sparse(true, dtype, shape), normalize
        )
        np.testing.assert_allclose(found, np.reshape(wanted, (7, 2)), rtol=1e-6)


def test_no_nan_equals_another() -> None:
    one = tf.SparseTensor([[0, 0], [0, 1]], [np.nan, 1.0], [1, 2])
    assert tf.edit_distance(one, one, normalize=False).numpy().tolist() == [1]
