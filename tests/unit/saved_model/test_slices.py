"""IndexedSlices and parts of variables in saved functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import pinnace as tf

if TYPE_CHECKING:
    from pathlib import Path

ROWS = tf.TensorSpec([None], tf.int32)
SLICES = tf.IndexedSlicesSpec([4, 2], tf.float32, tf.int32, tf.int32, [None])


class Table(tf.Module):
    """A table with a look-up of rows, and its gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf.Variable(np.ones((4, 2), np.float32))

    @tf.function(input_signature=[ROWS])
    def gradient(self, rows: tf.Tensor) -> tf.IndexedSlices:
        """The gradient of the sum of some rows, doubled."""
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(self.table, rows) * 2.0)
        return tape.gradient(y, self.table)

    @tf.function(input_signature=[SLICES])
    def dense(self, slices: tf.IndexedSlices) -> tf.Tensor:
        """Slices as a tensor."""
        return tf.convert_to_tensor(slices)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([2], tf.float32)])
    def put(self, row: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        """Replace a row; return the new row."""
        self.table[row].assign(values)
        return self.table[row]


def test_slices_go_into_and_out_of_loaded_functions(tmp_path: Path) -> None:
    tf.saved_model.save(Table(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    slices = loaded.gradient(tf.constant([3, 3, 0]))
    assert isinstance(slices, tf.IndexedSlices)
    assert slices.indices.numpy().tolist() == [3, 3, 0]
    assert loaded.dense(slices).numpy().tolist() == [[2, 2], [0, 0], [0, 0], [4, 4]]


def test_a_part_is_assigned_by_a_loaded_function(tmp_path: Path) -> None:
    tf.saved_model.save(Table(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert loaded.put(tf.constant(2), tf.constant([5.0, 6.0])).numpy().tolist() == [5, 6]
    assert loaded.table.numpy().tolist() == [[1, 1], [1, 1], [5, 6], [1, 1]]
