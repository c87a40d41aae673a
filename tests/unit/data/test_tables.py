"""Lookup tables created from datasets."""

from pathlib import Path

import pytest

import pinnace as tf
from pinnace.data.tables import HasherSpec
from pinnace.ops.strings.hashing import to_hash_bucket_strong

make = tf.data.experimental.table_from_dataset
index = tf.data.experimental.index_table_from_dataset


def words(*texts: str) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(list(texts))


def test_a_table_of_a_dataset_is_saved_with_its_entries(tmp_path: Path) -> None:
    module = tf.Module()
    module.table = index(words("b", "a"))
    spec = tf.TensorSpec([None], tf.string)
    module.look = tf.function(lambda x: module.table.lookup(x), input_signature=[spec])
    tf.saved_model.save(module, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert loaded.look(tf.constant(["a", "z", "b"])).numpy().tolist() == [1, -1, 0]


def test_one_initializer_fills_several_tables_from_one_pass() -> None:
    passes = []

    def elements() -> object:
        passes.append(1)
        yield from [("a", 1), ("b", 2)]

    specs = (tf.TensorSpec([], tf.string), tf.TensorSpec([], tf.int64))
    dataset = tf.data.Dataset.from_generator(elements, output_signature=specs)
    made = tf.data.experimental.DatasetInitializer(dataset)
    tables = [tf.lookup.StaticHashTable(made, -1) for _ in range(2)]
    assert [int(table.lookup(tf.constant("b"))) for table in tables] == [2, 2]
    assert passes == [1]


def test_other_keys_may_be_spread_by_a_keyed_hash() -> None:
    table = index(words("a"), num_oov_buckets=50, hasher_spec=HasherSpec("stronghash", [1, 2]))
    other = tf.constant(["x", "y"])
    wanted = 1 + to_hash_bucket_strong(other, 50, [1, 2]).numpy()
    assert table.lookup(other).numpy().tolist() == wanted.tolist()
    with pytest.raises(ValueError, match="must be fasthash or stronghash, got 'weak'"):
        index(words("a"), num_oov_buckets=5, hasher_spec=HasherSpec("weak"))


def test_errors_say_what_is_wrong_with_the_dataset() -> None:
    with pytest.raises(ValueError, match=r"produces 1 components instead of two"):
        make(words("a"))
    with pytest.raises(ValueError, match="non-scalar key Tensors of rank 1"):
        index(words("a").batch(1))
    with pytest.raises(tf.errors.FailedPreconditionError, match="at least 3 elements, has 1"):
        index(words("a"), vocab_size=3)
    with pytest.raises(tf.errors.FailedPreconditionError, match="different value for same key"):
        index(words("a", "a"))
