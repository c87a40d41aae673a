"""Rare dataset ops: elements by their definition, and refusals.

Those that TensorFlow still writes are compared with its results in tests/golden/version2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError, NotFoundError, OutOfRangeError
from pinnace.ops.dataset.recipes import INFINITE, Turn

if TYPE_CHECKING:
    from pathlib import Path

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


def first(data: Any, count: int) -> list[Any]:
    elements = behind(data).element_arrays(Turn())
    return [next(elements)[0].tolist() for _ in range(count)]


def test_hints_pass_elements_on() -> None:
    data = numbers(4)
    pool = raw.ThreadPoolHandle(num_threads=2, display_name="pool")
    made = [
        raw.NonSerializableDataset(input_dataset=data, **KINDS),
        raw.MaxIntraOpParallelismDataset(
            input_dataset=data, max_intra_op_parallelism=whole(1), **KINDS
        ),
        raw.PrivateThreadPoolDataset(input_dataset=data, num_threads=whole(1), **KINDS),
        raw.ThreadPoolDataset(input_dataset=data, thread_pool=pool, **KINDS),
        raw.OptimizeDatasetV2(
            input_dataset=data,
            optimizations_enabled=[],
            optimizations_disabled=[],
            optimizations_default=[],
            **KINDS,
        ),
        raw.UnwrapDatasetVariant(input_handle=raw.WrapDatasetVariant(input_handle=data)),
    ]
    for one in made:
        assert listed(one) == [0, 1, 2, 3]


def test_windows_slide_as_batches() -> None:
    options = {"window_size": whole(2), "window_shift": whole(3), "window_stride": whole(2)}
    data = numbers(8)
    whole_only = raw.SlidingWindowDataset(input_dataset=data, **options, **KINDS)
    assert listed(whole_only) == [[0, 2], [3, 5]]
    assert behind(whole_only).cardinality() == 2
    every = raw.SlidingWindowDataset(input_dataset=data, **options, drop_remainder=False, **KINDS)
    assert listed(every) == [[0, 2], [3, 5], [6]]
    older = raw.ExperimentalSlidingWindowDataset(input_dataset=data, **options, **KINDS)
    assert listed(older) == [[0, 2], [3, 5]]


def test_sparse_rows_lists_and_windows_of_tensors() -> None:
    rows = raw.SparseTensorSliceDataset(
        indices=[[0, 1], [2, 0], [2, 2]], values=[5, 6, 7], dense_shape=[3, 4]
    )
    found = [[leaf.tolist() for leaf in one] for one in behind(rows).element_arrays(Turn())]
    assert found == [[[[1]], [5], [4]], [[], [], [4]], [[[0], [2]], [6, 7], [4]]]
    data = raw.ListDataset(tensors=[whole(4), whole(2)], **KINDS)
    assert listed(data) == [4, 2]
    windowed = raw.WindowOp(inputs=[tf.constant([3, 1], tf.int64)], **KINDS)
    assert listed(windowed) == [3, 1]
    with pytest.raises(InvalidArgumentError, match="in order"):
        raw.SparseTensorSliceDataset(indices=[[1, 1], [0, 0]], values=[5, 6], dense_shape=[3, 4])
    with pytest.raises(InvalidArgumentError, match="one size"):
        raw.WindowOp(inputs=[tf.constant([3, 1]), tf.constant([1])], **KINDS)


def test_drawn_datasets_repeat_with_their_seeds() -> None:
    def drawn() -> Any:
        return raw.RandomDataset(seed=whole(1), seed2=whole(2), **KINDS)

    one = drawn()
    assert first(one, 5) == first(one, 5) == first(drawn(), 5)
    assert behind(one).cardinality() == INFINITE
    handle, _ = raw.AnonymousRandomSeedGenerator(seed=whole(3), seed2=whole(4))
    again = raw.RandomDatasetV2(
        seed=whole(3),
        seed2=whole(4),
        seed_generator=handle,
        rerandomize_each_iteration=True,
        **KINDS,
    )
    assert first(again, 5) != first(again, 5)
    some = raw.SamplingDataset(
        input_dataset=numbers(4000), rate=0.25, seed=whole(1), seed2=whole(2), **KINDS
    )
    assert listed(some) == listed(some)
    assert 900 < len(listed(some)) < 1100
    shuffled = raw.ShuffleAndRepeatDatasetV2(
        input_dataset=numbers(5),
        buffer_size=whole(5),
        seed=whole(1),
        seed2=whole(2),
        count=whole(2),
        seed_generator=raw.DummySeedGenerator(),
        **KINDS,
    )
    assert sorted(listed(shuffled)) == sorted([*range(5)] * 2)


def test_an_element_by_its_place() -> None:
    def at(index: int) -> Any:
        return raw.GetElementAtIndex(dataset=numbers(5), index=whole(index), **KINDS)[0]

    assert [int(at(index)) for index in (0, 4)] == [0, 4]
    for index in (5, -1):
        with pytest.raises(OutOfRangeError, match="has no element"):
            at(index)


def strings(data: Any) -> list[bytes]:
    return [leaves[0][()] for leaves in behind(data).element_arrays(Turn())]


def test_files_by_each_version_of_their_ops(tmp_path: Path) -> None:
    lines, records = tmp_path / "lines", tmp_path / "records"
    lines.write_bytes(b"abc\r\ndefg\n")
    with tf.io.TFRecordWriter(str(records)) as writer:
        writer.write(b"one")
        writer.write(b"two")
    buffer = whole(0)
    sizes = {"header_bytes": whole(1), "record_bytes": whole(3), "footer_bytes": whole(0)}
    text = {"filenames": [str(lines)], "compression_type": "", "buffer_size": buffer}
    parts = {"filenames": str(lines), "buffer_size": buffer}
    packed = {"filenames": [str(records)], "compression_type": "", "buffer_size": buffer}
    none = np.zeros(0, np.int64)
    assert strings(raw.TextLineDataset(**text)) == [b"abc", b"defg"]
    assert strings(raw.FixedLengthRecordDataset(**parts, **sizes)) == [b"bc\r", b"\nde", b"fg\n"]
    newer = raw.FixedLengthRecordDatasetV2(**parts, **sizes, compression_type="")
    assert strings(newer)[0] == b"bc\r"
    assert strings(raw.TFRecordDataset(**packed)) == [b"one", b"two"]
    assert strings(raw.TFRecordDatasetV2(**packed, byte_offsets=none)) == [b"one", b"two"]
    found = strings(raw.MatchingFilesDataset(patterns=str(tmp_path / "*")))
    assert found == [str(lines).encode(), str(records).encode()]
    with pytest.raises(NotFoundError):
        strings(raw.TextLineDataset(**{**text, "filenames": str(tmp_path / "none")}))
    with pytest.raises(InvalidArgumentError, match="from their beginning"):
        raw.TFRecordDatasetV2(**packed, byte_offsets=[5])
    with pytest.raises(InvalidArgumentError, match="compression_type must be"):
        raw.TextLineDataset(**{**text, "compression_type": "LZ"})
