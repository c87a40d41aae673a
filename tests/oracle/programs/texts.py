"""Crossed rows of words and numbers; a program, since TensorFlow crashes on wrong types."""

from typing import Any


def crossed(tf: Any, ops: Any, *parts: Any) -> list[Any]:
    """Every combination of a word, a sparse number and a number of a matrix, per row."""
    words, splits, indices, numbers, shape, dense = parts
    found = []
    for order in ("RSD", "DSR", "SRD"):
        for hashed, buckets in ((False, 0), (True, 0), (True, 10), (True, 1000)):
            found += ops.RaggedCross(
                ragged_values=[words],
                ragged_row_splits=[splits],
                sparse_indices=[indices],
                sparse_values=[numbers],
                sparse_shape=[shape],
                dense_inputs=[dense],
                input_order=order,
                hashed_output=hashed,
                num_buckets=buckets,
                hash_key=956888297470,
                out_values_type=tf.int64 if hashed else tf.string,
                out_row_splits_type=tf.int64,
            )
    return found
