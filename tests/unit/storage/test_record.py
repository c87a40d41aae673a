import gzip
import io
import os
import struct
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from pinnace.storage.checksum import masked_crc32c
from pinnace.storage.record import RecordWriter, read_records

COMPRESSIONS = [None, "GZIP", "ZLIB"]
every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def _header(length: int) -> bytes:
    data = struct.pack("<Q", length)
    return data + struct.pack("<I", masked_crc32c(data))


def _record(data: bytes) -> bytes:
    return _header(len(data)) + data + struct.pack("<I", masked_crc32c(data))


def _write(path: Path, records: Iterable[bytes], compression: str | None = None) -> None:
    with RecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)


@every_compression
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(st.binary(max_size=300)))
def test_records_come_back(tmp_path: Path, records: list[bytes], compression: str | None) -> None:
    _write(tmp_path / "r", records, compression)
    assert list(read_records(tmp_path / "r", compression)) == records


@every_compression
def test_large_records_come_back(tmp_path: Path, compression: str | None) -> None:
    records = [bytes(5_000_000), b"", os.urandom(3_000_000), b"x"]
    _write(tmp_path / "r", records, compression)
    assert list(read_records(tmp_path / "r", compression)) == records


def test_a_record_has_the_bytes_of_the_format(tmp_path: Path) -> None:
    _write(tmp_path / "r", [b"123456789"])
    crc = 0xE3069283  # published
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    data = (tmp_path / "r").read_bytes()
    assert data[:8] == struct.pack("<Q", 9)
    assert data[12:21] == b"123456789"
    assert data[21:] == struct.pack("<I", masked)


def test_any_buffer_can_be_written(tmp_path: Path) -> None:
    _write(tmp_path / "r", [b"ab", bytearray(b"cd"), memoryview(b"ef")])  # type: ignore[list-item]  # on purpose
    assert list(read_records(str(tmp_path / "r"))) == [b"ab", b"cd", b"ef"]


def test_other_tools_read_and_write_compressed_files(tmp_path: Path) -> None:
    _write(tmp_path / "g", [b"a", b"b"], "GZIP")
    assert gzip.decompress((tmp_path / "g").read_bytes()) == _record(b"a") + _record(b"b")
    _write(tmp_path / "z", [b"a", b"b"], "ZLIB")
    assert zlib.decompress((tmp_path / "z").read_bytes()) == _record(b"a") + _record(b"b")


def test_joined_compressed_files_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "g").write_bytes(gzip.compress(_record(b"a")) + gzip.compress(_record(b"b")))
    assert list(read_records(tmp_path / "g", "GZIP")) == [b"a", b"b"]


@every_compression
def test_flushed_records_can_be_read_while_the_file_grows(
    tmp_path: Path, compression: str | None
) -> None:
    writer = RecordWriter(tmp_path / "r", compression)
    writer.write(b"first")
    writer.flush()
    assert next(read_records(tmp_path / "r", compression)) == b"first"
    writer.close()
    writer.close()
    assert list(read_records(tmp_path / "r", compression)) == [b"first"]
    with pytest.raises(FailedPreconditionError, match="closed"):
        writer.write(b"more")
    with pytest.raises(FailedPreconditionError, match="closed"):
        writer.flush()


@every_compression
def test_an_empty_file_has_no_records(tmp_path: Path, compression: str | None) -> None:
    (tmp_path / "r").touch()
    assert list(read_records(tmp_path / "r", compression)) == []


@every_compression
def test_every_truncation_is_an_error_that_names_file_and_offset(
    tmp_path: Path, compression: str | None
) -> None:
    path = tmp_path / "whole"
    _write(path, [b"first", b"second"], compression)
    data = path.read_bytes()
    boundaries = {0, len(_record(b"first"))} if compression is None else {0}
    for length in range(len(data)):
        cut = tmp_path / "cut"
        cut.write_bytes(data[:length])
        if length in boundaries:
            assert len(list(read_records(cut, compression))) < 2
        else:
            with pytest.raises(DataLossError, match=r"cut"):
                list(read_records(cut, compression))


@every_compression
def test_a_flipped_bit_is_found_or_changes_nothing(tmp_path: Path, compression: str | None) -> None:
    path = tmp_path / "r"
    _write(path, [b"first", b"second"], compression)
    data = path.read_bytes()
    for position in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        path.write_bytes(damaged)
        try:
            records = list(read_records(path, compression))
        except DataLossError:
            continue
        # gzip's header contains a time, which may be any; deflate ends with unused bits.
        assert compression is not None
        assert records == [b"first", b"second"]


def test_the_offset_of_a_damaged_record_is_named(tmp_path: Path) -> None:
    data = bytearray(_record(b"first") + _record(b"second"))
    data[-5] ^= 1
    (tmp_path / "r").write_bytes(data)
    records = read_records(tmp_path / "r")
    assert next(records) == b"first"
    with pytest.raises(DataLossError, match=r"at byte 21 of .*r does not match its checksum"):
        next(records)


@every_compression
@pytest.mark.parametrize("length", [2**20 + 1, 2**40, 2**64 - 1])
def test_a_claimed_length_is_not_believed(
    tmp_path: Path, compression: str | None, length: int
) -> None:
    data = _header(length) + bytes(100)
    packed = {None: data, "GZIP": gzip.compress(data), "ZLIB": zlib.compress(data)}[compression]
    (tmp_path / "r").write_bytes(packed)
    with pytest.raises(DataLossError, match="at byte 0"):
        list(read_records(tmp_path / "r", compression))


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = _record(bytes(3_000_000)) + _record(b"x")
    thread = threading.Thread(target=path.write_bytes, args=(data,))
    thread.start()
    assert list(read_records(path)) == [bytes(3_000_000), b"x"]
    thread.join()


def test_wrong_compression_is_named(tmp_path: Path) -> None:
    _write(tmp_path / "r", [b"a"])
    with pytest.raises(DataLossError, match="not compressed as stated"):
        list(read_records(tmp_path / "r", "GZIP"))
    with pytest.raises(InvalidArgumentError, match="'GZIP' or 'ZLIB', got 'LZ4'"):
        read_records(tmp_path / "r", "LZ4")
    with pytest.raises(InvalidArgumentError, match="got 'gzip'"):
        RecordWriter(tmp_path / "new", "gzip")
    assert not (tmp_path / "new").exists()


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"cannot read .*missing"):
        list(read_records(tmp_path / "missing"))
    with pytest.raises(NotFoundError, match=r"cannot write .*missing"):
        RecordWriter(tmp_path / "missing" / "r")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_named() -> None:
    writer = RecordWriter("/dev/full")
    writer.write(b"a")
    with pytest.raises(ResourceExhaustedError, match="/dev/full"):
        writer.flush()
    with pytest.raises(ResourceExhaustedError, match="/dev/full"):
        writer.close()


@given(data=st.binary(max_size=200), compression=st.sampled_from(COMPRESSIONS))
def test_any_bytes_are_records_or_data_loss(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, compression: str | None
) -> None:
    path = tmp_path_factory.mktemp("r") / "r"
    path.write_bytes(data)
    try:
        records = list(read_records(path, compression))
    except DataLossError:
        return
    expected = io.BytesIO()
    for record in records:
        expected.write(_record(record))
    if compression is None:
        assert expected.getvalue() == data
