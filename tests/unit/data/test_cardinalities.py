"""The known cardinalities of grouping transformations."""

import pytest

import pinnace as tf


@pytest.mark.parametrize("endless", [True, False])
def test_groups_of_an_endless_source_are_endless(endless: bool) -> None:
    source = tf.data.Dataset.range(5)
    source = source.repeat() if endless else source
    groups = source.group_by_window(
        key_func=lambda x: x % 2,
        reduce_func=lambda key, _: tf.data.Dataset.from_tensors(key),
        window_size=4,
    )
    buckets = source.bucket_by_sequence_length(lambda _: 1, [4], [2, 2])
    wanted = tf.data.INFINITE_CARDINALITY if endless else tf.data.UNKNOWN_CARDINALITY
    assert [groups.cardinality(), buckets.cardinality()] == [wanted, wanted]
