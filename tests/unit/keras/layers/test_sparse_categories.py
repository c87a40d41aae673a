"""Preprocessing layers with sparse and ragged results: expectations counted by hand."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace import keras

layers = keras.layers
DEPTH = 6
rows_of_numbers = st.lists(
    st.lists(st.integers(0, DEPTH + 1), min_size=3, max_size=3), min_size=1, max_size=4
)


def counted(rows: Any, depth: int, binary: bool = False) -> Any:
    """The counts of each row, [rows, depth]; values of `depth` or more are not counted."""
    found = np.zeros((len(rows), depth), np.float32)
    for place, row in enumerate(rows):
        for number, count in Counter(row).items():
            if number < depth:
                found[place, number] = 1 if binary else count
    return found


def in_order(x: Any) -> bool:
    """Whether the indices are ascending, distinct, and inside the shape."""
    places = [tuple(place) for place in x.indices.numpy().tolist()]
    sizes = x.dense_shape.numpy().tolist()
    inside = all(0 <= n < size for place in places for n, size in zip(place, sizes, strict=True))
    return places == sorted(set(places)) and inside


@given(rows=rows_of_numbers, mode=st.sampled_from(["multi_hot", "count"]))
def test_sparse_rows_hold_the_counts_of_a_matrix(rows: Any, mode: str) -> None:
    layer = layers.CategoryEncoding(DEPTH, output_mode=mode, sparse=True)
    found = layer(np.array(rows))
    assert isinstance(found, tf.SparseTensor)
    assert in_order(found)
    assert found.shape.as_list() == [len(rows), DEPTH]
    assert found.dtype == tf.float32
    wanted = counted(rows, DEPTH, mode == "multi_hot")
    np.testing.assert_array_equal(tf.sparse.to_dense(found), wanted)
    assert len(found.values) == np.count_nonzero(wanted)


@given(rows=st.lists(st.lists(st.integers(0, DEPTH - 1), max_size=4), min_size=1, max_size=4))
def test_ragged_and_sparse_samples_are_counted_alike(rows: Any) -> None:
    layer = layers.CategoryEncoding(DEPTH, output_mode="count", sparse=True)
    ragged = tf.ragged.constant(rows, dtype=tf.int64, ragged_rank=1)
    places = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    numbers = [n for row in rows for n in row]
    sparse = tf.SparseTensor(
        np.array(places, np.int64).reshape(-1, 2), np.array(numbers, np.int64), [len(rows), 4]
    )
    for x in (ragged, sparse):
        np.testing.assert_array_equal(tf.sparse.to_dense(layer(x)), counted(rows, DEPTH))


@given(rows=rows_of_numbers)
def test_one_hot_leaves_out_what_is_no_category(rows: Any) -> None:
    layer = layers.CategoryEncoding(DEPTH, output_mode="one_hot", sparse=True)
    found = layer(np.array(rows))
    assert in_order(found)
    assert found.shape.as_list() == [len(rows), 3, DEPTH]
    wanted = np.array(rows)[..., None] == np.arange(DEPTH)
    np.testing.assert_array_equal(tf.sparse.to_dense(found), wanted)


@given(rows=rows_of_numbers, mode=st.sampled_from(["multi_hot", "count"]))
def test_a_sample_is_the_second_axis_of_more(rows: Any, mode: str) -> None:
    cube = np.stack([rows, rows[::-1]], axis=-1)  # [b, 3, 2]
    layer = layers.CategoryEncoding(DEPTH, output_mode=mode, sparse=True)
    wanted = [counted(cube[:, :, i].tolist(), DEPTH, mode == "multi_hot") for i in range(2)]
    np.testing.assert_array_equal(tf.sparse.to_dense(layer(cube)), np.stack(wanted, axis=1))


def test_weights_are_added_up_in_place_of_ones() -> None:
    layer = layers.CategoryEncoding(4, output_mode="count", sparse=True)
    found = layer([[1, 3, 1], [0, 0, 2]], count_weights=[[0.5, 2.0, 1.0], [1.0, 4.0, 0.25]])
    np.testing.assert_array_equal(tf.sparse.to_dense(found), [[0, 1.5, 0, 2.0], [5.0, 0, 0.25, 0]])


def test_a_vocabulary_of_a_million_costs_what_the_elements_cost() -> None:
    # The dense matrix would have 400 GB.
    layer = layers.CategoryEncoding(1_000_000, output_mode="count", sparse=True)
    numbers = np.arange(200_000).reshape(100_000, 2) * 5
    found = tf.function(layer)(tf.constant(numbers))
    np.testing.assert_array_equal(found.dense_shape, [100_000, 1_000_000])
    np.testing.assert_array_equal(found.indices[:, 1], numbers.reshape(-1))


def test_tf_idf_is_the_count_times_the_weight_of_the_entry() -> None:
    layer = layers.StringLookup(
        vocabulary=["a", "b"], idf_weights=[2.0, 4.0], output_mode="tf_idf", sparse=True
    )
    found = layer([["a", "a", "b"], ["x", "b", "x"]])
    # Unknown tokens have the mean of the weights.
    np.testing.assert_array_equal(tf.sparse.to_dense(found), [[0, 4, 4], [6, 0, 4]])
    assert found.dtype == tf.float32


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mode", ["multi_hot", "count", "one_hot"])
def test_the_mask_counts_nowhere_among_categories(mode: str, sparse: bool) -> None:
    layer = layers.StringLookup(
        vocabulary=["a"], mask_token="", num_oov_indices=1, output_mode=mode, sparse=sparse
    )
    found = layer(tf.constant([["a", ""]]))
    dense = tf.sparse.to_dense(found) if sparse else found
    wanted = [[[0, 1], [0, 0]]] if mode == "one_hot" else [[0, 1]]
    np.testing.assert_array_equal(dense, wanted)


def test_a_sample_without_elements_has_zeros() -> None:
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], []], dtype=tf.int64))
    layer = layers.CategoryEncoding(3, output_mode="multi_hot")
    np.testing.assert_array_equal(list(rows.map(layer)), [[0, 1, 1], [0, 0, 0]])


def test_a_sparse_vector_is_one_sample() -> None:
    x = tf.SparseTensor([[0], [3]], [2, 2], [5])
    layer = layers.CategoryEncoding(3, output_mode="count")
    np.testing.assert_array_equal(layer(x), [0, 0, 2])


MAKERS: dict[str, Any] = {
    "Hashing": lambda **options: layers.Hashing(4, **options),
    "Discretization": lambda **options: layers.Discretization([0.5], **options),
    "StringLookup": lambda **options: layers.StringLookup(vocabulary=["a", "b"], **options),
    "IntegerLookup": lambda **options: layers.IntegerLookup(vocabulary=[1, 2], **options),
    "TextVectorization": lambda **options: layers.TextVectorization(
        vocabulary=["a", "b"], **options
    ),
}
SAMPLES: dict[str, Any] = {
    "Hashing": [["a", "b"], ["b", "b"], ["c", "a"]],
    "Discretization": [[0.25, 0.75], [1.0, 2.0], [0.0, 0.0]],
    "StringLookup": [["a", "b"], ["b", "b"], ["c", "a"]],
    "IntegerLookup": [[1, 2], [2, 2], [7, 1]],
    "TextVectorization": ["a b", "b b", "c a"],
}


@pytest.mark.parametrize("name", MAKERS)
def test_numbers_in_order_are_never_sparse(name: str) -> None:
    with pytest.raises(ValueError, match="`sparse` may only be true if `output_mode` is"):
        MAKERS[name](output_mode="int", sparse=True)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("mode", ["multi_hot", "count"])
def test_sparse_is_dense_with_the_zeros_left_out(name: str, mode: str) -> None:
    x = tf.constant(SAMPLES[name])
    dense = MAKERS[name](output_mode=mode)(x)
    layer = MAKERS[name](output_mode=mode, sparse=True)
    again = type(layer).from_config(layer.get_config())
    data = tf.data.Dataset.from_tensor_slices(x)
    joined = tf.sparse.concat(0, list(data.batch(2).map(layer)))
    by_row = next(iter(data.map(lambda row: layer(row[None])).batch(3)))
    for found in (layer(x), tf.function(layer)(x), again(x), joined):
        assert found.dtype == dense.dtype
        assert in_order(found)
        np.testing.assert_array_equal(tf.sparse.to_dense(found), dense)
    np.testing.assert_array_equal(tf.sparse.to_dense(by_row)[:, 0], dense)


def test_one_hot_of_ragged_rows_cannot_be_sparse() -> None:
    layer = layers.CategoryEncoding(3, output_mode="one_hot", sparse=True)
    with pytest.raises(ValueError, match=r"must be a tensor, got RaggedTensor"):
        layer(tf.ragged.constant([[1], [1, 2]]))


TEXTS = ["Earth, wind!", "", "fire earth fire"]
NUMBERS = [[2, 3], [], [1, 2, 1]]


def test_ragged_texts_keep_their_lengths() -> None:
    layer = layers.TextVectorization(vocabulary=["earth", "wind"], ragged=True)
    again = type(layer).from_config(layer.get_config())
    batches = list(tf.data.Dataset.from_tensor_slices(TEXTS).batch(2).map(layer))
    for found in (layer(TEXTS), tf.function(layer)(tf.constant(TEXTS)), again(TEXTS)):
        assert isinstance(found, tf.RaggedTensor)
        assert found.dtype == tf.int64
        assert found.to_list() == NUMBERS
    assert [row for batch in batches for row in batch.to_list()] == NUMBERS


@given(length=st.integers(0, 4))
def test_ragged_texts_are_cut_at_the_length(length: int) -> None:
    layer = layers.TextVectorization(
        vocabulary=["earth", "wind"], ragged=True, output_sequence_length=length
    )
    assert layer(TEXTS).to_list() == [row[:length] for row in NUMBERS]


def test_ragged_texts_are_numbers() -> None:
    with pytest.raises(ValueError, match="`ragged` must be False unless `output_mode` is 'int'"):
        layers.TextVectorization(ragged=True, output_mode="count")


def test_older_names_of_modes_are_those_of_today() -> None:
    assert layers.CategoryEncoding(3, output_mode="binary").output_mode == "multi_hot"
    lookup = layers.StringLookup(output_mode="tf-idf")
    assert lookup.output_mode == "tf_idf"


def test_texts_go_from_a_file_into_an_average_of_vectors(tmp_path: Path) -> None:
    text = keras.Input((), dtype="string")
    ids = layers.TextVectorization(vocabulary=["earth", "wind"], ragged=True)(text)
    assert ids.ragged
    assert ids.shape == (None, None)
    embedding = layers.Embedding(4, 2)
    model = keras.Model(text, layers.GlobalAveragePooling1D()(embedding(ids)))
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    embedding.set_weights([table])
    x = tf.constant(["earth wind", "fire earth fire"])
    wanted = [table[[2, 3]].mean(0), table[[1, 2, 1]].mean(0)]
    model.save(tmp_path / "model.keras")
    tf.saved_model.save(model, tmp_path / "saved")
    again = keras.models.load_model(tmp_path / "model.keras")
    restored = tf.saved_model.load(tmp_path / "saved")
    for f in (model, again, restored, tf.function(model)):
        np.testing.assert_allclose(f(x), wanted, rtol=1e-6)  # float32 means of three numbers
