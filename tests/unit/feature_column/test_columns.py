"""Columns against their formulas, on random features; hashes are TensorFlow's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.feature_column.transformation import FeatureTransformationCache

columns = tf.feature_column
IDS = 5
# Rows of (id, weight); weights are eighths, so that sums are exact.
ROWS = st.lists(
    st.lists(
        st.tuples(st.integers(0, IDS - 1), st.integers(1, 40).map(lambda n: n / 8)), max_size=4
    ),
    min_size=1,
    max_size=5,
)


def sparse(rows, dtype):
    return tf.ragged.constant(rows, dtype, ragged_rank=1).to_sparse()


def dense_features(column, features):
    return tf.keras.layers.DenseFeatures(column)(features)


@given(rows=ROWS, combiner=st.sampled_from(["mean", "sum", "sqrtn"]), weighted=st.booleans())
def test_an_embedding_is_the_combination_of_its_rows(rows, combiner, weighted):
    table = np.arange(IDS * 3, dtype=np.float32).reshape(IDS, 3) / 4
    column = columns.categorical_column_with_identity("i", IDS)
    features = {"i": sparse([[i for i, _ in row] for row in rows], tf.int64)}
    if weighted:
        column = columns.weighted_categorical_column(column, "w")
        features["w"] = sparse([[w for _, w in row] for row in rows], tf.float32)
    embedding = columns.embedding_column(
        column,
        3,
        combiner,
        initializer=lambda shape, dtype: tf.reshape(tf.constant(table, dtype), shape),
    )
    expected = np.zeros((len(rows), 3))
    for at, row in enumerate(rows):
        weights = np.array([w if weighted else 1.0 for _, w in row])
        total = sum((w * table[i] for (i, _), w in zip(row, weights, strict=True)), np.zeros(3))
        by = {"sum": 1.0, "mean": weights.sum(), "sqrtn": np.sqrt((weights**2).sum())}[combiner]
        expected[at] = total / by if row else 0
    # One division of exact float32 numbers, and a square root for sqrtn.
    found = dense_features(embedding, features).numpy()
    np.testing.assert_allclose(found, expected, rtol=5e-7)


@given(rows=ROWS, weighted=st.booleans())
def test_an_indicator_counts(rows, weighted):
    column = columns.categorical_column_with_identity("i", IDS)
    features = {"i": sparse([[i for i, _ in row] for row in rows], tf.int64)}
    if weighted:
        column = columns.weighted_categorical_column(column, "w")
        features["w"] = sparse([[w for _, w in row] for row in rows], tf.float32)
    expected = np.zeros((len(rows), IDS))
    for at, row in enumerate(rows):
        for i, w in row:
            expected[at, i] += w if weighted else 1
    found = dense_features(columns.indicator_column(column), features).numpy()
    np.testing.assert_array_equal(found, expected)


@given(
    x=st.lists(
        st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=2), min_size=1, max_size=6
    ),
    edges=st.lists(st.integers(-8, 8), min_size=1, max_size=5, unique=True).map(sorted),
)
def test_a_bucket_is_between_its_boundaries(x, edges):
    column = columns.bucketized_column(columns.numeric_column("x", (2,)), edges)
    values = np.array(x, np.float32)
    buckets = (values[..., None] >= np.array(edges)).sum(-1)
    found = dense_features(column, {"x": values}).numpy().reshape(len(x), 2, -1)
    np.testing.assert_array_equal(found, np.eye(len(edges) + 1)[buckets])
    pair = column.get_sparse_tensors(FeatureTransformationCache({"x": values}), None)
    ids = buckets + np.arange(2) * (len(edges) + 1)
    np.testing.assert_array_equal(pair.id_tensor.values, ids.reshape(-1))


@given(rows=st.lists(st.lists(st.integers(0, 20), max_size=5), min_size=1, max_size=5))
def test_a_vocabulary_has_ids_and_a_default(rows):
    known = [7, 3, 11]
    column = columns.categorical_column_with_vocabulary_list("x", known, default_value=1)
    cache = FeatureTransformationCache({"x": sparse(rows, tf.int64)})
    found = column.get_sparse_tensors(cache, None).id_tensor.values
    expected = [known.index(x) if x in known else 1 for row in rows for x in row]
    np.testing.assert_array_equal(found, expected)


@given(
    rows=st.lists(st.lists(st.integers(0, IDS - 1), max_size=4), min_size=1, max_size=5).filter(any)
)
def test_sequences_are_padded_and_have_lengths(rows):
    ids = columns.sequence_categorical_column_with_identity("i", IDS)
    number = columns.sequence_numeric_column("n", default_value=-1.0)
    layer = tf.keras.experimental.SequenceFeatures([columns.indicator_column(ids), number])
    numbers = [[float(x) for x in row] for row in rows]
    values, lengths = layer({"i": sparse(rows, tf.int64), "n": sparse(numbers, tf.float32)})
    longest = max(map(len, rows))
    expected = np.zeros((len(rows), longest, IDS + 1))
    expected[..., IDS] = -1
    for at, row in enumerate(rows):
        for step, i in enumerate(row):
            expected[at, step, i] = 1
            expected[at, step, IDS] = i
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(lengths, [len(row) for row in rows])


def test_hashes_and_crosses_are_tensorflows():
    # From TensorFlow 2.21: categorical_column_with_hash_bucket("x", 1000) and
    # crossed_column(["x", "z"], 1000), of these features.
    x, z = tf.constant([["a", "bb"], ["", "ccc"]]), sparse([["u"], ["v", "w"]], tf.string)
    cache = FeatureTransformationCache({"x": x, "z": z})
    hashed = columns.categorical_column_with_hash_bucket("x", 1000)
    crossed = columns.crossed_column(["x", "z"], 1000)
    found = [c.get_sparse_tensors(cache, None).id_tensor.values for c in (hashed, crossed)]
    np.testing.assert_array_equal(found[0], [939, 82, 205])
    np.testing.assert_array_equal(found[1], [599, 32, 823, 480, 628, 319])


def test_what_stands_for_no_value_is_left_out():
    words = columns.categorical_column_with_vocabulary_list("x", ["a", "b"])
    ids = columns.categorical_column_with_identity("i", 3)
    features = {"x": np.array([["a", ""], ["", ""]]), "i": np.array([[2, -1], [-1, 0]])}
    found = dense_features(
        [columns.indicator_column(words), columns.indicator_column(ids)], features
    )
    np.testing.assert_array_equal(found, [[0, 0, 1, 1, 0], [1, 0, 0, 0, 0]])


def test_the_spec_of_columns_parses_examples():
    number = columns.numeric_column("y", (2,), default_value=3)
    words = columns.categorical_column_with_vocabulary_list("x", ["a", "b"])
    weighted = columns.weighted_categorical_column(words, "w")
    spec = columns.make_parse_example_spec([number, columns.indicator_column(weighted)])
    kinds = {"y": tf.io.FixedLenFeature, "x": tf.io.VarLenFeature, "w": tf.io.VarLenFeature}
    assert {key: type(value) for key, value in spec.items()} == kinds
    feature = tf.train.Feature
    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                "x": feature(bytes_list=tf.train.BytesList(value=[b"b"])),
                "w": feature(float_list=tf.train.FloatList(value=[2.5])),
            }
        )
    )
    parsed = tf.io.parse_example([example.SerializeToString()], spec)
    found = dense_features([number, columns.indicator_column(weighted)], parsed)
    np.testing.assert_array_equal(found, [[0, 2.5, 3, 3]])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: columns.numeric_column("x", (0,)), "greater than 0"),
        (lambda: columns.numeric_column("x", (2,), [1.0]), "The shape of default_value"),
        (lambda: columns.bucketized_column(columns.numeric_column("x"), [2, 1]), "sorted list"),
        (lambda: columns.crossed_column(["x"], 3), "length > 1"),
        (lambda: columns.categorical_column_with_vocabulary_file("x", "/no/file"), "not exist"),
        (lambda: columns.categorical_column_with_vocabulary_list("x", ["a", "a"]), "Duplicate"),
        (
            lambda: tf.keras.layers.DenseFeatures(columns.categorical_column_with_identity("x", 2)),
            "DenseColumn",
        ),
        (lambda: tf.keras.layers.DenseFeatures([columns.numeric_column("x")] * 2), "Duplicate"),
        (lambda: tf.keras.layers.DenseFeatures([]), "must not be empty"),
    ],
)
def test_what_is_wrong_is_said(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_features_that_are_missing_are_named():
    with pytest.raises(ValueError, match=r"Feature x is not in features dictionary"):
        dense_features(columns.numeric_column("x"), {"y": np.zeros(3)})
