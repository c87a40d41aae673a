"""Signatures of version 1 with values made of several tensors: sparse, ragged, indexed slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from v1_writing import Model, Programs, Signature, example, numbers, one, texts

v1 = tf.compat.v1
programs = Programs()


def _sparse(indices: Any, values: Any, shape: Any) -> Any:
    """A sparse value to feed."""
    rows = np.int64(indices).reshape(-1, len(shape))
    return v1.SparseTensorValue(rows, np.asarray(values), np.int64(shape))


def _ragged(values: Any, *splits: Any, dtype: Any = np.int64) -> Any:
    """A ragged value to feed, the outermost splits first."""
    found = np.asarray(values)
    for one_of in reversed(splits):
        found = v1.ragged.RaggedTensorValue(found, np.asarray(one_of, dtype))
    return found


@programs
def sparse_in_and_out() -> Model:
    """Components whose sorted order differs from theirs, with names that sort between them."""
    x = v1.sparse_placeholder(tf.float32, [None, 4], "a")
    before, after = (v1.placeholder(tf.float32, [None], name) for name in ("x_", "w"))
    dense = tf.sparse.to_dense(x) * 2.0 + before[:, None]
    return one(
        {"x": x, "X": before, "x_indices": after},
        {"y": dense, "x": tf.sparse.reorder(x) * 3.0, "x-1": after + 1.0, "x.z": before},
        {
            "x": _sparse([[0, 1], [1, 3]], np.float32([5, 7]), [2, 4]),
            "X": np.float32([1, 2]),
            "x_indices": np.float32([3, 4, 5]),
        },
        {
            "x": _sparse([], np.float32([]), [3, 4]),
            "X": numbers(3),
            "x_indices": np.float32([]),
        },
    )


@programs
def sparse_beside_names_with_signs() -> Model:
    """`x-1` and `x.1` sort before `x/values`, but come after all components of `x`."""
    x = v1.sparse_placeholder(tf.float32, [None, 2], "a")
    minus, dot = (v1.placeholder(tf.float32, [None], name) for name in ("b", "c"))
    return one(
        {"x": x, "x-1": minus, "x.1": dot},
        {"y": tf.sparse.reduce_sum(x, 1) + minus * dot},
        {
            "x": _sparse([[0, 1], [1, 0]], np.float32([5, 7]), [2, 2]),
            "x-1": np.float32([1, 2]),
            "x.1": np.float32([3, 4]),
        },
    )


@programs
def two_sparse_of_other_dtypes() -> Model:
    """Words and integers, of known and unknown rank."""
    words = v1.sparse_placeholder(tf.string, None, "words")
    counts = v1.sparse_placeholder(tf.int64, [None, None, 2], "counts")
    joined = tf.SparseTensor(words.indices, tf.strings.join([words.values, "!"]), words.dense_shape)
    return one(
        {"words": words, "counts": counts},
        {
            "joined": joined,
            "total": tf.sparse.reduce_sum(counts),
            "rank": tf.size(words.dense_shape),
        },
        {
            "words": _sparse([[0, 0], [0, 1], [2, 0]], texts("a", "bc", "d"), [3, 2]),
            "counts": _sparse([[0, 1, 1]], np.int64([9]), [1, 2, 2]),
        },
        {
            "words": _sparse([[1]], texts("zebra"), [4]),
            "counts": _sparse([[0, 0, 0], [1, 1, 1]], np.int64([2, 5]), [2, 2, 2]),
        },
    )


@programs
def transformed_features() -> Model:
    """As tf.Transform writes its graphs: sparse features in, their numbers in a table out."""
    feature = v1.sparse_placeholder(tf.string, [None, None], "inputs/words")
    weight = v1.placeholder(tf.float32, [None], "inputs/weight")
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant(["one", "two", "three"]), tf.constant([0, 1, 2], tf.int64)
        ),
        num_oov_buckets=2,
    )
    ids = tf.SparseTensor(feature.indices, table.lookup(feature.values), feature.dense_shape)
    mean = v1.get_variable("mean", initializer=numbers(1))
    return one(
        {"words": feature, "weight": weight},
        {"words": ids, "weight": weight - mean},
        {
            "words": _sparse([[0, 0], [1, 0], [1, 1]], texts("two", "four", "three"), [2, 2]),
            "weight": numbers(2),
        },
        main_op=v1.tables_initializer(),
    )


@programs
def parsed_to_sparse() -> Model:
    """A feature of variable length of serialised examples, returned unchanged."""
    serialized = v1.placeholder(tf.string, [None], "serialized")
    found = v1.parse_example(
        serialized,
        {"ids": v1.VarLenFeature(tf.int64), "age": v1.FixedLenFeature([], tf.float32, 1.5)},
    )
    return one(
        {"examples": serialized},
        {"ids": found["ids"], "age": found["age"], "a": tf.sparse.to_dense(found["ids"])},
        {"examples": texts(example(ids=[3, 1, 2]), example(age=2.0), example(ids=7))},
    )


@programs
def ragged_in_and_out() -> Model:
    """One and two ragged axes, with row splits of 32 and 64 bits."""
    one_axis = v1.ragged.placeholder(tf.int32, 1, [], name="r")
    two_axes = v1.ragged.placeholder(tf.float32, 2, [3], name="q")
    words = tf.RaggedTensor.from_row_splits(
        v1.placeholder(tf.string, [None], "word"), v1.placeholder(tf.int32, [None], "limits")
    )
    k = v1.placeholder(tf.int32, [None], "k")
    feed = {
        "r": _ragged(np.int32([1, 2, 3]), [0, 2, 3]),
        "q": _ragged(numbers(4, 3), [0, 2, 2], [0, 1, 4]),
        "w": _ragged(texts("a", "b", "c"), [0, 0, 3], dtype=np.int32),
        "k": np.int32([10, 20]),
    }
    return one(
        {"r": one_axis, "q": two_axes, "w": words, "k": k},
        {
            "sum": tf.reduce_sum(one_axis, 1) + k,
            "r": one_axis * 2,
            "q": two_axes + 1.0,
            "words": tf.strings.join([words, "?"]),
        },
        feed,
    )


@programs
def slices_in_and_out() -> Model:
    """Rows of a larger tensor and their indices."""
    values = v1.placeholder(tf.float32, [None, 2], "v")
    rows = v1.placeholder(tf.int64, [None], "i")
    shape = v1.placeholder(tf.int64, [2], "s")
    slices = tf.IndexedSlices(values, rows, shape)
    doubled = tf.IndexedSlices(values * 2.0, rows, shape)
    feed = (numbers(3, 2), np.int64([4, 0, 1]), np.int64([5, 2]))
    return one(
        {"g": slices},
        {"doubled": doubled, "dense": tf.convert_to_tensor(slices)},
        {"g": feed},
    )


@programs
def sparse_in_one_signature_of_two() -> Model:
    """The same tensors, as one value in one signature and as components in the other."""
    x = v1.sparse_placeholder(tf.float32, [None, 3], "x")
    w = v1.get_variable("w", initializer=numbers(3, 2))
    y = tf.sparse.sparse_dense_matmul(x, w)
    parts = {"shape": x.dense_shape, "indices": x.indices, "values": x.values}
    fed = _sparse([[0, 2], [1, 0]], np.float32([2, 3]), [2, 3])
    return Model(
        {"whole": Signature({"x": x}, {"y": y}), "parts": Signature(parts, {"y": y, "x": x})},
        [
            ("whole", {"x": fed}),
            (
                "parts",
                {"shape": fed.dense_shape, "indices": fed.indices, "values": fed.values},
            ),
        ],
    )
