"""Pipelines as nodes of a graph: refusals, cancellation, cardinalities.

tests/golden/version2 and v1_models compare their elements with TensorFlow's.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace import saved_model
from pinnace.engine.allocation import bounded
from pinnace.framework.errors import (
    CancelledError,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
)
from pinnace.ops.dataset.recipes import INFINITE, UNKNOWN, Turn
from pinnace.ops.running import RunContext
from support.golden import golden

raw: Any = tf.raw_ops
KINDS = {"output_types": [tf.int64], "output_shapes": [[]]}


def whole(number: int) -> Any:
    return tf.constant(number, tf.int64)


def numbers(stop: int) -> Any:
    return raw.RangeDataset(start=whole(0), stop=whole(stop), step=whole(1), **KINDS)


def behind(data: Any) -> Any:
    return np.asarray(data._array)[()]


def listed(data: Any) -> list[Any]:
    return [leaves[0].tolist() for leaves in behind(data).element_arrays(Turn())]


def batched(data: Any, size: int, drop: bool = False) -> Any:
    return raw.BatchDatasetV2(
        input_dataset=data, batch_size=whole(size), drop_remainder=tf.constant(drop), **KINDS
    )


def windowed(data: Any, size: int, shift: int, stride: int, drop: bool) -> Any:
    return raw.WindowDataset(
        input_dataset=data,
        size=whole(size),
        shift=whole(shift),
        stride=whole(stride),
        drop_remainder=tf.constant(drop),
        **KINDS,
    )


@given(
    stop=st.integers(0, 9),
    count=st.integers(-2, 12),
    parts=st.integers(1, 4),
    size=st.integers(1, 4),
    drop=st.booleans(),
)
def test_cardinality_is_the_number_of_elements(
    stop: int, count: int, parts: int, size: int, drop: bool
) -> None:
    data, n = numbers(stop), whole(count)
    made = [
        raw.TakeDataset(input_dataset=data, count=n, **KINDS),
        raw.SkipDataset(input_dataset=data, count=n, **KINDS),
        raw.RepeatDataset(input_dataset=data, count=whole(max(count, 0)), **KINDS),
        raw.ShardDataset(input_dataset=data, num_shards=whole(parts), index=whole(0), **KINDS),
        batched(data, size, drop),
        raw.ConcatenateDataset(input_dataset=data, another_dataset=data, **KINDS),
        raw.ZipDataset(input_datasets=[data, numbers(3)], **KINDS),
    ]
    for one in made:
        told = raw.DatasetCardinality(input_dataset=one)
        assert int(told) == len(listed(one)) == behind(one).cardinality()


@given(
    stop=st.integers(0, 12),
    size=st.integers(1, 4),
    shift=st.integers(1, 6),
    stride=st.integers(1, 3),
    drop=st.booleans(),
)
def test_windows_are_those_of_their_definition(
    stop: int, size: int, shift: int, stride: int, drop: bool
) -> None:
    found = [
        [leaf.tolist() for (leaf,) in behind_array(leaves[0]).element_arrays(Turn())]
        for leaves in behind(windowed(numbers(stop), size, shift, stride, drop)).element_arrays(
            Turn()
        )
    ]
    wanted = [
        [n for n in range(start, start + size * stride, stride) if n < stop]
        for start in range(0, stop, shift)
    ]
    assert found == [one for one in wanted if len(one) == size or not drop]
    count = behind(windowed(numbers(stop), size, shift, stride, drop)).cardinality()
    assert count == len(found)


def behind_array(variant: Any) -> Any:
    return variant[()]


@given(stop=st.integers(0, 12), buffer=st.integers(1, 5), seed=st.integers(1, 99))
def test_shuffling_keeps_every_element_and_its_seed_repeats_it(
    stop: int, buffer: int, seed: int
) -> None:
    def shuffled() -> Any:
        return raw.ShuffleDataset(
            input_dataset=numbers(stop),
            buffer_size=whole(buffer),
            seed=whole(seed),
            seed2=whole(0),
            **KINDS,
        )

    one, other = shuffled(), shuffled()
    passes = [listed(one), listed(one)]
    assert passes == [listed(other), listed(other)]
    assert all(sorted(each) == list(range(stop)) for each in passes)
    # An element comes at most `buffer` - 1 positions early.
    assert all(n < place + buffer for each in passes for place, n in enumerate(each))


def test_a_repeated_pass_has_another_order_unless_it_must_not() -> None:
    for again in (True, False):
        data = raw.ShuffleDataset(
            input_dataset=numbers(50),
            buffer_size=whole(-1),
            seed=whole(5),
            seed2=whole(0),
            reshuffle_each_iteration=again,
            **KINDS,
        )
        assert (listed(data) == listed(data)) is not again


def test_what_has_no_end_says_so_and_nothing_repeated_ends() -> None:
    endless = raw.RepeatDataset(input_dataset=numbers(2), count=whole(-1), **KINDS)
    assert behind(endless).cardinality() == INFINITE
    first = itertools.islice(behind(endless).element_arrays(Turn()), 5)
    assert [int(leaf) for (leaf,) in first] == [0, 1, 0, 1, 0]
    nothing = raw.RepeatDataset(input_dataset=numbers(0), count=whole(-1), **KINDS)
    assert listed(nothing) == []
    assert behind(raw.UnbatchDataset(input_dataset=numbers(1), **KINDS)).cardinality() == UNKNOWN


def test_a_cancelled_run_ends_a_pipeline_that_gives_nothing() -> None:
    """Without elements the request would otherwise not be noticed."""
    endless = raw.RepeatDataset(input_dataset=numbers(2), count=whole(-1), **KINDS)
    late = raw.SkipDataset(input_dataset=endless, count=whole(2**62), **KINDS)
    context = RunContext()
    stop = threading.Timer(0.05, lambda: setattr(context, "cancelled", True))
    stop.start()
    with pytest.raises(CancelledError):
        next(behind(late).element_arrays(Turn(context)))
    stop.join()


def test_what_a_pipeline_holds_counts_as_memory_of_the_run() -> None:
    endless = raw.RepeatDataset(input_dataset=numbers(2), count=whole(-1), **KINDS)
    # The position of the last request decides which part reports it.
    with pytest.raises(ResourceExhaustedError), bounded(64 << 20):
        next(behind(batched(endless, 2**40)).element_arrays(Turn()))


def test_cached_elements_are_made_once() -> None:
    shuffled = raw.ShuffleDataset(
        input_dataset=numbers(30), buffer_size=whole(30), seed=whole(0), seed2=whole(0), **KINDS
    )
    kept = raw.CacheDataset(input_dataset=shuffled, filename=tf.constant(""), **KINDS)
    assert listed(kept) == listed(kept)
    with pytest.raises(InvalidArgumentError, match="in memory alone, got the file name b'/tmp/x'"):
        raw.CacheDataset(input_dataset=shuffled, filename=tf.constant("/tmp/x"), **KINDS)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: batched(numbers(3), 0), "batch_size must be at least 1, got 0"),
        (
            lambda: raw.RangeDataset(start=whole(0), stop=whole(3), step=whole(0), **KINDS),
            "step must not be 0",
        ),
        (
            lambda: raw.TensorSliceDataset(
                components=[tf.zeros([2]), tf.zeros([3])], output_shapes=[[], []]
            ),
            r"first axes of one size, got \[2, 3\]",
        ),
        (
            lambda: raw.TensorSliceDataset(components=[tf.zeros([])], output_shapes=[[]]),
            "must have a first axis",
        ),
        (
            lambda: raw.ShardDataset(
                input_dataset=numbers(3), num_shards=whole(2), index=whole(2), **KINDS
            ),
            "index must be below num_shards, got 2 of 2",
        ),
        (
            lambda: listed(
                raw.AssertCardinalityDataset(
                    input_dataset=numbers(3), cardinality=whole(2), **KINDS
                )
            ),
            "asserted to have 2 elements, it has more",
        ),
        (
            lambda: listed(
                raw.ShardDataset(
                    input_dataset=numbers(1),
                    num_shards=whole(2),
                    index=whole(1),
                    require_non_empty=True,
                    **KINDS,
                )
            ),
            "part 1 of 2 has no elements",
        ),
        (
            lambda: listed(raw.UnbatchDataset(input_dataset=numbers(2), **KINDS)),
            "must have a first axis of one size",
        ),
        (
            lambda: raw.DatasetToSingleElement(dataset=numbers(2), **KINDS),
            "exactly one element, it has more than one",
        ),
        (
            lambda: raw.DatasetToSingleElement(dataset=numbers(0), **KINDS),
            "exactly one element, it has none",
        ),
        (
            lambda: raw.TakeDataset(input_dataset=raw.OptionalNone(), count=whole(1), **KINDS),
            "a dataset is required",
        ),
    ],
)
def test_what_is_wrong_is_said(call: Any, problem: str) -> None:
    with pytest.raises((InvalidArgumentError, FailedPreconditionError), match=problem):
        call()


def test_a_batch_of_elements_of_two_shapes_is_refused() -> None:
    kinds = {"output_types": [tf.float32], "output_shapes": [None]}
    parts = [raw.TensorDataset(components=[tf.zeros([n])], output_shapes=[None]) for n in (2, 3)]
    both = raw.ConcatenateDataset(input_dataset=parts[0], another_dataset=parts[1], **kinds)
    with pytest.raises(InvalidArgumentError, match=r"\[2\] in the first and \[3\] in element 1"):
        listed(batched(both, 2))


def padded(data: Any, shape: list[int]) -> Any:
    return raw.PaddedBatchDatasetV2(
        input_dataset=data,
        batch_size=whole(2),
        padded_shapes=[tf.constant(shape, tf.int64)],
        padding_values=[tf.constant(-1.0)],
        drop_remainder=tf.constant(False),
        output_shapes=[None],
    )


def test_padding_does_not_cut() -> None:
    data = raw.TensorDataset(components=[tf.zeros([3])], output_shapes=[None])
    assert listed(padded(data, [5])) == [[[0, 0, 0, -1, -1]]]
    with pytest.raises(InvalidArgumentError, match=r"shape \[3\] does not fit into \[2\]"):
        listed(padded(data, [2]))
    with pytest.raises(InvalidArgumentError, match="must have 2 axes as padded_shapes has"):
        listed(padded(data, [2, 2]))


def test_an_iterator_without_a_dataset_says_what_did_not_run() -> None:
    handle = raw.IteratorV2(shared_name="steps", container="", **KINDS)
    with pytest.raises(FailedPreconditionError, match="'steps' has no dataset yet: MakeIterator"):
        raw.IteratorGetNext(iterator=handle, **KINDS)
    raw.MakeIterator(dataset=numbers(1), iterator=handle)
    (found,) = raw.IteratorGetNextSync(iterator=handle, **KINDS)
    assert int(found) == 0
    with pytest.raises(OutOfRangeError):
        raw.IteratorGetNext(iterator=handle, **KINDS)
    raw.MakeIterator(dataset=numbers(1), iterator=handle)
    assert int(raw.IteratorGetNext(iterator=handle, **KINDS)[0]) == 0


def test_two_loaded_models_have_iterators_of_their_own() -> None:
    folder = golden("v1_models/one_shot_iterator/model")
    one, other = saved_model.load(folder), saved_model.load(folder)
    x = np.zeros(1, np.float32)

    def asked(model: Any) -> float:
        return float(model.signatures["serving_default"].run_arrays({"x": x})["y"][0])

    assert [asked(one), asked(one), asked(other), asked(one)] == [0.0, 0.5, 0.0, 1.0]


def test_threads_share_an_iterator_and_each_element_comes_once() -> None:
    handle = raw.IteratorV2(shared_name="", container="", **KINDS)
    raw.MakeIterator(dataset=numbers(400), iterator=handle)
    found: list[int] = []

    def read() -> None:
        found.extend(int(raw.IteratorGetNext(iterator=handle, **KINDS)[0]) for _ in range(100))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(found) == list(range(400))
