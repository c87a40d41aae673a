"""Datasets as arguments, results and branches of traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf

Data = tf.data.Dataset
ZERO = np.int64(0)


def _plain(data: Any) -> Any:
    if isinstance(data, (tuple, list)):
        return [_plain(part) for part in data]
    return [_plain(e) for e in data] if isinstance(data, Data) else data.numpy().tolist()


def _sum(data: Any) -> Any:
    return data.reduce(ZERO, lambda a, b: a + b)


def test_a_spec_in_an_input_signature() -> None:
    spec = tf.data.DatasetSpec(tf.TensorSpec((), tf.int64))
    total = tf.function(_sum, input_signature=[spec])
    assert [int(total(Data.range(n))) for n in (5, 7)] == [10, 21]
    with pytest.raises(TypeError):
        total(Data.from_tensors("text"))


def test_datasets_of_one_spec_share_a_trace() -> None:
    traces = []

    @tf.function
    def total(data: Any) -> Any:
        traces.append(data)
        found = tf.constant(ZERO)
        for x in data:
            found += x
        return found

    assert [int(total(Data.range(n))) for n in range(5)] == [0, 0, 1, 3, 6]
    assert len(traces) == 1
    total(Data.from_tensors(tf.constant([1, 2], tf.int64)))
    assert len(traces) == 2


def test_datasets_are_results() -> None:
    @tf.function
    def made(data: Any, n: Any) -> Any:
        return data.map(lambda x: x + n).batch(2), {"inner": Data.range(n)}

    batches, more = made(Data.range(3), tf.constant(2, tf.int64))
    assert _plain(batches) == [[2, 3], [4]]
    assert _plain(more["inner"]) == [0, 1]


def test_a_condition_chooses_a_dataset() -> None:
    def by_cond(x: Any) -> Any:
        return tf.cond(x > 1, lambda: Data.range(x), lambda: Data.from_tensors(x * 10))

    def by_if(x: Any) -> Any:
        return Data.range(x) if x > 1 else Data.from_tensors(x * 10)

    for function in (by_cond, by_if):
        assert _plain(Data.range(4).flat_map(function)) == [0, 10, 0, 1, 0, 1, 2]
        assert _plain(Data.range(4).interleave(function, cycle_length=1)) == [0, 10, 0, 1, 0, 1, 2]


def test_a_loop_changes_a_dataset() -> None:
    @tf.function
    def later(data: Any, n: Any) -> Any:
        for _ in tf.range(n):
            data = data.map(lambda x: x + 1)
        return data

    assert _plain(later(Data.range(3), tf.constant(4))) == [4, 5, 6]


def test_a_function_of_windows_reads_them() -> None:
    windows = Data.range(7).window(3)

    def whole(window: Any) -> Any:
        return Data.from_tensors(window.batch(3).get_single_element())

    def below_largest(window: Any) -> Any:
        return window.map(lambda x: x - window.reduce(ZERO, tf.maximum))

    def counted(window: Any) -> Any:
        total = tf.constant(ZERO)
        for x in window:
            total += x
        return Data.from_tensors((total, window.cardinality()))

    assert _plain(windows.flat_map(whole)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert _plain(windows.flat_map(below_largest)) == [-2, -1, 0, -2, -1, 0, 0]
    assert _plain(windows.flat_map(counted)) == [[3, 3], [12, 3], [6, 1]]


def test_the_length_of_an_argument() -> None:
    @tf.function
    def sizes(data: Any) -> Any:
        return len(data), data.batch(2).cardinality()

    assert [int(n) for n in sizes(Data.range(5))] == [5, 3]
    with pytest.raises(tf.errors.InvalidArgumentError):
        sizes(Data.range(5).filter(lambda x: x > 2))


def test_padded_shapes_known_in_the_run() -> None:
    def padded(key: Any, window: Any) -> Any:
        return window.padded_batch(4, padded_shapes=tf.stack([(key + 1) * 3]))

    data = Data.range(1, 6).map(lambda x: tf.fill([x], x))
    grouped = data.group_by_window(lambda x: x[0] // 3, padded, window_size=4)
    assert _plain(grouped) == [
        [[1, 0, 0], [2, 2, 0]],
        [[3, 3, 3, 0, 0, 0], [4, 4, 4, 4, 0, 0], [5, 5, 5, 5, 5, 0]],
    ]


def test_specs_are_ordered_by_their_elements() -> None:
    narrow = tf.data.DatasetSpec({"a": tf.TensorSpec((1, None))})
    wide = tf.data.DatasetSpec({"a": tf.TensorSpec((None, None))})
    other = tf.data.DatasetSpec({"b": tf.TensorSpec((1, None))})
    assert narrow.is_subtype_of(wide)
    assert not wide.is_subtype_of(narrow)
    assert not narrow.is_subtype_of(other)
    assert narrow.most_specific_common_supertype([wide]) == wide
    assert narrow.most_specific_common_supertype([other]) is None
    assert wide.is_compatible_with(Data.from_tensors({"a": tf.ones([2, 3])}))


@pytest.mark.parametrize("in_file", [False, True])
def test_a_cache_read_to_its_known_length_is_kept(in_file: bool, tmp_path: Any) -> None:
    data = Data.range(20).shuffle(20).cache(*([str(tmp_path / "c")] if in_file else []))
    found = iter(data)
    first = [int(next(found)) for _ in range(20)]
    assert [int(x) for x in data] == first


def test_none_is_the_padding_of_a_whole_part() -> None:
    data = Data.from_tensors((tf.constant([1]), {"text": tf.constant(["x"])})).padded_batch(
        1, padded_shapes=([2], {"text": [2]}), padding_values=(-1, None)
    )
    numbers, texts = data.get_single_element()
    assert numbers.numpy().tolist() == [[1, -1]]
    assert texts["text"].numpy().tolist() == [[b"x", b""]]


def test_files_are_none_or_named_by_strings() -> None:
    assert list(tf.data.TextLineDataset([])) == []
    assert list(tf.data.TFRecordDataset([])) == []
    with pytest.raises(TypeError, match="strings"):
        tf.data.TextLineDataset(Data.from_tensors(1))


def test_no_more_datasets_are_interleaved_than_parallel_calls() -> None:
    data = Data.from_tensor_slices(np.array([2, 3], np.int64)).interleave(
        lambda x: Data.from_tensors(x).repeat(x), num_parallel_calls=1
    )
    assert _plain(data) == [2, 2, 3, 3, 3]
