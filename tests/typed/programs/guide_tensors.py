"""Tensors of numbers and of text, ragged and sparse ones, tables."""

import numpy as np

import pinnace as tf


def normalised(rows: tf.Tensor) -> tf.Tensor:
    """Rows with mean 0 and variance 1."""
    mean = tf.reduce_mean(rows, axis=-1, keepdims=True)
    return (rows - mean) / tf.sqrt(tf.math.reduce_variance(rows, axis=-1, keepdims=True))


x: tf.Tensor = tf.constant([[1.0, 2.0, 6.0], [4.0, 5.0, 9.0]])
assert normalised(x).shape == (2, 3)
assert x.dtype is tf.float32
first, rest = tf.split(x, [1, 2], axis=1)
assert np.asarray(tf.matmul(rest, rest, transpose_b=True)).shape == (2, 2)
picked = tf.where(x > 3.0, x[:, ::-1], tf.zeros_like(x))
assert [int(row[0]) for row in picked] == [0, 9]

words = tf.strings.split("the light boat")
assert tf.strings.length(words).numpy().tolist() == [3, 5, 4]
ragged = tf.ragged.constant([[1, 2, 3], [], [4]])
assert tf.reduce_sum(ragged, axis=1).numpy().tolist() == [6, 0, 4]
sparse = tf.SparseTensor(indices=[[0, 1], [2, 0]], values=[5.0, 7.0], dense_shape=[3, 2])
assert tf.sparse.to_dense(sparse).shape == (3, 2)
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(["cat", "dog"], [0, 1]), default_value=-1
)
assert table.lookup(tf.constant(["dog", "fish"])).numpy().tolist() == [1, -1]
nested = tf.nest.map_structure(lambda t: t * 2, {"a": [1, 2], "b": (3,)})
assert tf.nest.flatten(nested) == [2, 4, 6]
