"""Functions that treat the rows of a batch independently: joined batches give equal results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.data import Dataset, TFRecordDataset
from pinnace.data.map import Mapped
from pinnace.data.row_wise import CoalescedBatches, is_row_wise
from pinnace.data.stage import Run
from pinnace.framework.errors import InvalidArgumentError
from pinnace.train import BytesList, Example, Feature, Features, Int64List

SPEC = {"x": tf.io.FixedLenFeature([], tf.int64), "s": tf.io.FixedLenFeature([], tf.string)}


def message(number: int) -> bytes:
    fields = {
        "x": Feature(int64_list=Int64List(value=[number])),
        "s": Feature(bytes_list=BytesList(value=[str(number).encode() * 2])),
    }
    return Example(features=Features(feature=fields)).SerializeToString()


def records(folder: Path, numbers: list[int], bad: int | None = None) -> Dataset:
    path = folder / "x.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in numbers:
            writer.write(b"\xff damaged" if number == bad else message(number))
    return TFRecordDataset(str(path))


def parsed(batch: Any) -> Any:
    found = tf.io.parse_example(batch, SPEC)
    return tf.cast(found["x"], tf.float32) * 2.0 + 1.0, found["s"]


@pytest.mark.parametrize("size", [1, 7, 100, 600])
def test_several_batches_at_once_are_what_each_is(tmp_path: Path, size: int) -> None:
    dataset = records(tmp_path, list(range(1500))).batch(size).map(parsed)
    stage = dataset.stage
    assert isinstance(stage, Mapped)
    assert isinstance(stage.elements(Run()), CoalescedBatches)
    batches = list(dataset)
    assert [len(x) for x, _ in batches] == [
        len(range(1500)[i : i + size]) for i in range(0, 1500, size)
    ]
    values = np.concatenate([x.numpy() for x, _ in batches])
    np.testing.assert_array_equal(values, np.arange(1500, dtype=np.float32) * 2 + 1)
    texts = [text for _, s in batches for text in s.numpy()]
    assert texts == [str(n).encode() * 2 for n in range(1500)]


def test_an_error_is_where_its_batch_is(tmp_path: Path) -> None:
    iterator = iter(records(tmp_path, list(range(40)), bad=25).batch(10).map(parsed))
    assert next(iterator)[0].numpy()[0] == 1
    assert next(iterator)[0].numpy()[0] == 21
    with pytest.raises(InvalidArgumentError, match="record 5"):
        next(iterator)
    assert next(iterator)[0].numpy()[0] == 61


def test_a_source_that_may_wait_is_not_read_ahead() -> None:
    made: list[int] = []

    def generator() -> Iterator[bytes]:
        for number in range(100):
            made.append(number)
            yield message(number)

    source = Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.string))
    next(iter(source.batch(4).map(parsed)))
    assert len(made) == 4


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda b: tf.io.parse_example(b, SPEC)["x"], True),
        (lambda b: tf.io.parse_example(b, SPEC)["x"] + tf.constant(1, tf.int64), True),
        (lambda b: tf.io.parse_example(b, SPEC)["x"] + tf.constant([1, 2], tf.int64), False),
        (lambda b: tf.reduce_sum(tf.io.parse_example(b, SPEC)["x"]), False),
        (lambda b: tf.io.parse_example(b, SPEC)["x"][::-1], False),
        (lambda b: tf.strings.length(b), False),
        (lambda b: (tf.io.parse_example(b, SPEC)["x"], tf.constant(1)), False),
    ],
)
def test_only_functions_of_rows_are_taken(function: Any, expected: bool) -> None:
    traced = tf.function(function).get_concrete_function(tf.TensorSpec([None], tf.string))
    assert is_row_wise(traced) is expected
