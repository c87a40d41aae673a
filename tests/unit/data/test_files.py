"""Datasets of files: records, lines, saved datasets, caches; with arbitrary bytes."""

import gzip
import itertools
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.data import (
    Dataset,
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from pinnace.framework.errors import DataLossError, InvalidArgumentError, NotFoundError
from pinnace.ops import io
from pinnace.storage.record import RecordWriter, read_records
from pinnace.storage.record_blocks import read_record_blocks

in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(path: Path, records: list[bytes], compression: str | None = None) -> str:
    with RecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def strings(dataset: Any) -> list[bytes]:
    return list(dataset.as_numpy_iterator())


# TFRecord.


@in_one_folder
@given(
    records=st.lists(st.binary(max_size=60), max_size=600),
    kind=st.sampled_from(["", "GZIP", "ZLIB"]),
)
def test_records_are_read_as_they_were_written(
    tmp_path: Path, records: list[bytes], kind: str
) -> None:
    path = written(tmp_path / "x", records, kind or None)
    assert strings(TFRecordDataset(path, kind)) == records
    assert [x.numpy() for x in TFRecordDataset(path, kind)] == records
    assert [r for block in read_record_blocks(path, kind) for r in block] == records
    batches = list(TFRecordDataset(path, kind).batch(7).as_numpy_iterator())
    assert [r for batch in batches for r in batch] == records


@pytest.mark.parametrize("length", [2**18 - 16, 2**18, 2**18 + 1, 3 * 2**18, 2**20 + 5])
def test_records_longer_than_a_block(tmp_path: Path, length: int) -> None:
    records = [b"a", bytes(length), b"b" * 10, os.urandom(length), b""]
    assert strings(TFRecordDataset(written(tmp_path / "x", records))) == records


@in_one_folder
@given(data=st.data())
def test_damage_is_found_where_it_is(tmp_path: Path, data: st.DataObject) -> None:
    records = data.draw(st.lists(st.binary(max_size=30), min_size=1, max_size=12))
    path = Path(written(tmp_path / "x", records))
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    starts = [0, *itertools.accumulate(len(r) + 16 for r in records)]
    whole = sum(1 for end in starts[1:] if end <= place)
    found: list[bytes] = []
    blocks = read_record_blocks(path)
    with pytest.raises(DataLossError, match=f"byte {starts[whole]} of"):
        found.extend(record for block in blocks for record in block)
    assert found == records[:whole]
    with pytest.raises(DataLossError):
        list(read_records(path))


@in_one_folder
@given(data=st.data())
def test_a_file_that_is_cut_is_found_out(tmp_path: Path, data: st.DataObject) -> None:
    records = data.draw(st.lists(st.binary(max_size=30), min_size=1, max_size=5))
    path = Path(written(tmp_path / "x", records))
    content = path.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    ends = list(itertools.accumulate(len(r) + 16 for r in records))
    if cut in {0, *ends}:
        assert len(strings(TFRecordDataset(str(path)))) == sum(end <= cut for end in ends)
    else:
        with pytest.raises(DataLossError, match="byte"):
            strings(TFRecordDataset(str(path)))


def test_a_length_that_cannot_be_is_not_believed(tmp_path: Path) -> None:
    from pinnace.storage.checksum import masked_crc32c

    length = (2**62).to_bytes(8, "little")
    path = tmp_path / "x"
    path.write_bytes(length + struct.pack("<I", masked_crc32c(length)) + b"abc")
    with pytest.raises(DataLossError, match="more than are left"):
        strings(TFRecordDataset(str(path)))


def test_the_element_after_good_ones_is_the_damaged_one(tmp_path: Path) -> None:
    path = Path(written(tmp_path / "x", [b"one", b"two", b"three"]))
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)
    iterator = iter(TFRecordDataset(str(path)))
    assert next(iterator).numpy() == b"one"
    assert next(iterator).numpy() == b"two"
    with pytest.raises(DataLossError, match="byte 38"):
        next(iterator)


def test_several_files_in_order_and_in_parallel(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{i}", [f"{i}-{j}".encode() for j in range(5)]) for i in range(4)]
    wanted = [f"{i}-{j}".encode() for i in range(4) for j in range(5)]
    assert strings(TFRecordDataset(paths)) == wanted
    assert strings(TFRecordDataset(Dataset.from_tensor_slices(paths))) == wanted
    assert sorted(strings(TFRecordDataset(paths, num_parallel_reads=3))) == wanted
    per_file = Dataset.from_tensor_slices(paths).interleave(TFRecordDataset, cycle_length=2)
    assert sorted(strings(per_file)) == wanted
    assert strings(per_file)[:4] == [b"0-0", b"1-0", b"0-1", b"1-1"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nothing"):
        strings(TFRecordDataset(str(tmp_path / "nothing")))
    with pytest.raises(InvalidArgumentError, match="compression_type"):
        TFRecordDataset("x", "BZIP")


def test_the_writer_of_io(tmp_path: Path) -> None:
    path = tmp_path / "x"
    options = io.TFRecordOptions("GZIP", compression_level=1)
    with io.TFRecordWriter(path, options) as writer:
        writer.write(b"bytes")
        writer.write("text")
        writer.write(tf.constant("tensor"))
        writer.flush()
    assert strings(TFRecordDataset(path, "GZIP")) == [b"bytes", b"text", b"tensor"]


# Lines and parts.


@in_one_folder
@given(
    lines=st.lists(
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    kind=st.sampled_from(["", "GZIP", "ZLIB"]),
)
def test_lines_lose_their_ends(
    tmp_path: Path, lines: list[str], end: str, last: bool, kind: str
) -> None:
    content = end.join(lines).encode() + (end.encode() if last and lines else b"")
    packed = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind](content)
    (tmp_path / "x").write_bytes(packed)
    wanted = [line.encode() for line in lines]
    if not last and wanted and not wanted[-1]:
        wanted.pop()  # a file that ends with a newline has no empty line after it
    assert strings(TextLineDataset(str(tmp_path / "x"), kind)) == wanted


@in_one_folder
@given(
    count=st.integers(0, 30), size=st.integers(1, 9), head=st.integers(0, 4), foot=st.integers(0, 4)
)
def test_parts_of_equal_length(tmp_path: Path, count: int, size: int, head: int, foot: int) -> None:
    records = [bytes([i]) * size for i in range(count)]
    path = tmp_path / "x"
    path.write_bytes(b"H" * head + b"".join(records) + b"F" * foot)
    assert strings(FixedLengthRecordDataset(str(path), size, head, foot)) == records
    if size > 1:
        path.write_bytes(b"H" * head + b"".join(records) + b"x" + b"F" * foot)
        with pytest.raises(InvalidArgumentError, match="1 bytes are left over"):
            # As in TensorFlow, before the first record of the file.
            next(iter(FixedLengthRecordDataset(str(path), size, head, foot)))


def test_a_file_that_is_not_compressed_as_stated(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"plain text\n")
    for kind in ("GZIP", "ZLIB"):
        with pytest.raises(DataLossError, match="not"):
            strings(TextLineDataset(str(tmp_path / "x"), kind))
    (tmp_path / "x").write_bytes(zlib.compress(b"line\n" * 1000)[:-8])
    with pytest.raises(DataLossError):
        strings(TextLineDataset(str(tmp_path / "x"), "ZLIB"))


def test_listing_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.log"):
        (tmp_path / name).write_text("x")
    pattern = str(tmp_path / "*.txt")
    wanted = [str(tmp_path / name).encode() for name in ("a.txt", "b.txt")]
    assert strings(Dataset.list_files(pattern, shuffle=False)) == wanted
    assert sorted(strings(Dataset.list_files(pattern))) == wanted
    with pytest.raises(InvalidArgumentError, match="No files matched"):
        Dataset.list_files(str(tmp_path / "*.none"))


# Saved datasets, caches, snapshots.


def mixed() -> Dataset:
    return Dataset.from_tensor_slices(
        {
            "x": np.arange(6, dtype=np.float32).reshape(3, 2),
            "s": np.array([["a", "bc"], ["", "d"], ["é", "f"]]),
            "t": (np.array([1, 2, 3], np.uint8), np.array([True, False, True])),
        }
    )


def test_a_saved_dataset_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "saved"
    mixed().save(str(path))
    loaded = Dataset.load(str(path))
    assert loaded.element_spec == mixed().element_spec
    assert len(loaded) == 3
    for a, b in zip(mixed().as_numpy_iterator(), loaded.as_numpy_iterator(), strict=True):
        np.testing.assert_array_equal(a["x"], b["x"])
        assert a["s"].tolist() == b["s"].tolist()
        assert a["t"] == b["t"]
    mixed().take(1).save(str(path))
    assert len(Dataset.load(str(path))) == 1, "replaced as a whole"
    Dataset.range(10).save(str(path), "GZIP", lambda x: x % 3)
    assert sorted(Dataset.load(str(path)).as_numpy_iterator()) == list(range(10))
    assert len(list(path.glob("*.tfrecord"))) == 3


def test_loading_refuses_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no dataset is saved"):
        Dataset.load(str(tmp_path))
    Dataset.range(3).save(str(tmp_path / "d"))
    with pytest.raises(InvalidArgumentError, match="holds elements"):
        Dataset.load(str(tmp_path / "d"), tf.TensorSpec([], tf.int32))
    (tmp_path / "d" / "dataset.json").write_text("{}")
    with pytest.raises(DataLossError, match="header is damaged"):
        Dataset.load(str(tmp_path / "d"))


@given(st.binary(max_size=80))
def test_a_damaged_element_is_refused_or_read(data: bytes) -> None:
    from pinnace.data.storing import decode_element, encode_element

    specs = tuple(mixed().stage.leaves)
    try:
        element = decode_element(data, specs, "x")
    except DataLossError:
        return
    assert encode_element(element) == data


@pytest.mark.parametrize("how", ["cache", "snapshot"])
def test_files_remember_a_complete_pass(tmp_path: Path, how: str) -> None:
    passes: list[int] = []

    def generator() -> Any:
        passes.append(1)
        yield from range(5)

    source = Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int64))
    path = str(tmp_path / "kept")
    dataset = source.cache(path) if how == "cache" else source.snapshot(path)
    next(iter(dataset))  # a pass that stops early leaves nothing
    assert list(tmp_path.iterdir()) == []
    assert [int(x) for x in dataset] == [int(x) for x in dataset] == list(range(5))
    assert len(passes) == 2
    again = source.cache(path) if how == "cache" else source.snapshot(path)
    assert [int(x) for x in again] == list(range(5))
    assert len(passes) == 2
    with pytest.raises(InvalidArgumentError, match="holds elements"):
        list(Dataset.from_tensors("other").cache(path))
