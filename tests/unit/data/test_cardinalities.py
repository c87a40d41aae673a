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


def test_datasets_of_endless_ones_are_endless() -> None:
    endless, short = tf.data.Dataset.range(3).repeat(), tf.data.Dataset.range(2)
    made = [
        endless.interleave(lambda _: tf.data.Dataset.range(2), num_parallel_calls=1),
        endless.batch(2).unbatch(),
        tf.data.Dataset.choose_from_datasets([short, endless], short),
        tf.data.Dataset.sample_from_datasets([short, endless], stop_on_empty_dataset=True),
    ]
    assert {int(one.cardinality()) for one in made} == {tf.data.INFINITE_CARDINALITY}
    plain = endless.interleave(lambda _: tf.data.Dataset.range(2))
    assert plain.cardinality() == tf.data.UNKNOWN_CARDINALITY


def test_nothing_cannot_be_zipped() -> None:
    with pytest.raises(TypeError, match="at least one"):
        tf.data.Dataset.zip()
