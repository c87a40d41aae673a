"""Datasets of a strategy: how batches are split, and loops over them; TensorFlow's numbers."""

from __future__ import annotations

from typing import Any

import pytest

import pinnace as tf

Dataset = tf.data.Dataset


@pytest.fixture
def strategy() -> Any:
    return tf.distribute.MirroredStrategy([f"/CPU:{i}" for i in range(4)])


def read(strategy: Any, distributed: Any) -> list[Any]:
    return [
        [one.numpy().tolist() for one in strategy.experimental_local_results(element)]
        for element in distributed
    ]


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (Dataset.range(6).batch(5), [[[0, 1], [2, 3], [4], []], [[5], [], [], []]]),
        (Dataset.range(9).batch(8), [[[0, 1], [2, 3], [4, 5], [6, 7]], [[8], [], [], []]]),
        (Dataset.range(9).batch(8, drop_remainder=True), [[[0, 1], [2, 3], [4, 5], [6, 7]]]),
    ],
)
def test_batches_are_cut_in_pieces(strategy: Any, dataset: Any, expected: Any) -> None:
    distributed = strategy.experimental_distribute_dataset(dataset)
    assert read(strategy, distributed) == expected
    assert read(strategy, distributed) == expected  # a new pass starts


def test_shapes_of_pieces_are_known_where_all_are_equal(strategy: Any) -> None:
    for size, expected in ((8, [2]), (6, [None])):
        dataset = Dataset.range(24).batch(size, drop_remainder=True)
        spec = strategy.experimental_distribute_dataset(dataset).element_spec
        parts = tf.nest.flatten(spec, expand_composites=True)
        assert [part.shape.as_list() for part in parts] == [expected] * 4


def test_elements_are_dealt_in_turn(strategy: Any) -> None:
    contexts: list[Any] = []

    def make(context: Any) -> Any:
        contexts.append(context)
        return Dataset.range(7).batch(2)

    distributed = strategy.distribute_datasets_from_function(make)
    assert read(strategy, distributed) == [[[0, 1], [2, 3], [4, 5], [6]]]
    assert contexts[0].num_replicas_in_sync == 4
    assert contexts[0].get_per_replica_batch_size(8) == 2
    with pytest.raises(ValueError, match="is not divisible by"):
        contexts[0].get_per_replica_batch_size(6)
    even = strategy.distribute_datasets_from_function(lambda _: Dataset.range(7))
    assert read(strategy, even) == [[0, 1, 2, 3]]


def test_loops_in_functions_read_all_of_it(strategy: Any) -> None:
    distributed = strategy.experimental_distribute_dataset(Dataset.range(10).batch(4))

    @tf.function
    def total(dataset: Any) -> Any:
        found = tf.constant(0, tf.int64)
        for x in dataset:
            sums = strategy.run(tf.reduce_sum, args=(x,))
            found += strategy.reduce("SUM", sums, axis=None)
        return found

    assert int(total(distributed)) == 45
    iterator = iter(distributed)
    next(iterator)
    assert int(total(iterator)) == 39


def test_the_end_is_told(strategy: Any) -> None:
    iterator = iter(strategy.experimental_distribute_dataset(Dataset.range(4).batch(4)))
    assert bool(iterator.get_next_as_optional().has_value())
    assert not bool(iterator.get_next_as_optional().has_value())
    assert next(iterator, None) is None
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()


def test_what_cannot_be_split_is_refused(strategy: Any) -> None:
    with pytest.raises(ValueError, match="Call the `batch` method on the input Dataset"):
        strategy.experimental_distribute_dataset(Dataset.range(5))
    with pytest.raises(TypeError, match="dataset must be a Dataset"):
        strategy.experimental_distribute_dataset([1, 2])
    options = tf.distribute.InputOptions(
        experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA
    )
    with pytest.raises(NotImplementedError, match="PER_REPLICA is only supported in"):
        strategy.experimental_distribute_dataset(Dataset.range(4).batch(4), options)


def test_one_device_gets_the_dataset_itself() -> None:
    dataset = Dataset.range(4).batch(2)
    one = tf.distribute.OneDeviceStrategy("/CPU:0")
    assert one.experimental_distribute_dataset(dataset) is dataset
