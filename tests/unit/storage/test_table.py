import contextlib
import io
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
)
from pinnace.storage.checksum import masked_crc32c
from pinnace.storage.snappy import unpack
from pinnace.storage.table import TableWriter, parse_table, read_table
from pinnace.storage.varints import read_varint, varint

GOLDEN = sorted((Path(__file__).parents[2] / "golden" / "bundles").glob("*.index"))
MAGIC = bytes.fromhex("57fb808b247547db")


def _table(entries: dict[bytes, bytes]) -> bytes:
    file = io.BytesIO()
    writer = TableWriter(file)
    for key, value in entries.items():
        writer.add(key, value)
    writer.finish()
    return file.getvalue()


def _stored(block: bytes, kind: int = 0) -> bytes:
    block += bytes([kind])
    return block + struct.pack("<I", masked_crc32c(block))


def _entry(shared: int, rest: bytes, value: bytes) -> bytes:
    return varint(shared) + varint(len(rest)) + varint(len(value)) + rest + value


def _by_hand(block: bytes, kind: int = 0) -> bytes:
    """A table with one data block, given in its stored form."""
    data = _stored(block, kind)
    handle = varint(0) + varint(len(block))
    meta = varint(len(data)) + varint(8)
    data += _stored(struct.pack("<2I", 0, 1))
    index = _entry(0, b"\xff", handle) + struct.pack("<2I", 0, 1)
    footer = meta + varint(len(data)) + varint(len(index))
    return data + _stored(index) + footer.ljust(40, b"\0") + MAGIC


def test_there_are_golden_files() -> None:
    assert len(GOLDEN) == 5


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_what_tensorflow_wrote_is_written_again_byte_for_byte(path: Path) -> None:
    assert _table(read_table(path)) == path.read_bytes()


@given(st.dictionaries(st.binary(max_size=40), st.binary(max_size=60), max_size=80))
def test_entries_come_back_in_the_order_of_their_keys(entries: dict[bytes, bytes]) -> None:
    ordered = dict(sorted(entries.items()))
    assert list(parse_table(_table(ordered), "t").items()) == list(ordered.items())


def test_many_entries_take_several_blocks() -> None:
    entries = {f"layer/{n:05d}/kernel".encode(): os.urandom(40) for n in range(12000)}
    data = _table(entries)
    assert parse_table(data, "t") == entries
    assert len(data) > 2 * 262144


def test_an_entry_larger_than_a_block_has_one_to_itself() -> None:
    entries = {b"a": bytes(300_000), b"b": b"x", b"c": bytes(600_000), b"d": b""}
    assert parse_table(_table(entries), "t") == entries


def test_an_empty_table_has_no_entries() -> None:
    assert parse_table(_table({}), "t") == {}


def test_the_index_holds_short_separators() -> None:
    big = bytes(262144)
    data = _table({b"abcde": big, b"abzzz": big, b"abzzzz": big, b"w/kernel": b""})
    # A separator is cut after the first byte that can be incremented; a key that is a prefix of the
    # next one stays; after the last key comes the next letter. Before each: shared, length, length
    # of the handle.
    for entry in (b"\0\3\4abd", b"\0\5\6abzzz", b"\0\1\6b", b"\0\1\4x"):
        assert entry in data[3 * 262144 :]


@pytest.mark.parametrize("second", [b"a", b"b", b""])
def test_keys_must_ascend(second: bytes) -> None:
    writer = TableWriter(io.BytesIO())
    writer.add(b"b", b"")
    with pytest.raises(InvalidArgumentError, match="must ascend"):
        writer.add(second, b"")


def test_keys_that_descend_are_damage() -> None:
    block = _entry(0, b"b", b"") + _entry(0, b"a", b"") + struct.pack("<2I", 0, 1)
    with pytest.raises(DataLossError, match="does not come after"):
        parse_table(_by_hand(block), "t")


def test_files_are_named_in_errors(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"cannot read .*missing\.index"):
        read_table(tmp_path / "missing.index")
    (tmp_path / "a.index").write_bytes(b"hello")
    with pytest.raises(DataLossError, match=r"a\.index is not a sorted table"):
        read_table(tmp_path / "a.index")
    with pytest.raises(FailedPreconditionError):
        read_table(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FailedPreconditionError, match="not a file"):
        read_table(tmp_path / "pipe")


def test_a_table_of_any_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.index"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: it uses no disk space
    with pytest.raises(ResourceExhaustedError, match=r"huge\.index"):
        read_table(path)


def test_a_small_file_cannot_stand_for_huge_keys() -> None:
    block = bytearray(_entry(0, bytes(100_000) + b"\0", b""))
    for n in range(1, 4000):
        block += _entry(100_000 - 2, struct.pack(">I", n), b"")
    with pytest.raises(ResourceExhaustedError, match="unpacks to more than"):
        parse_table(_by_hand(bytes(block) + struct.pack("<2I", 0, 1)), "t")


def test_a_block_cannot_be_listed_twice() -> None:
    block = _entry(0, b"a", b"x") + struct.pack("<2I", 0, 1)
    data = _stored(block)
    handle = varint(0) + varint(len(block))
    meta = varint(0) + varint(len(block))
    index = _entry(0, b"a", handle) + _entry(0, b"b", handle) + struct.pack("<2I", 0, 1)
    footer = meta + varint(len(data)) + varint(len(index))
    data += _stored(index) + footer.ljust(40, b"\0") + MAGIC
    with pytest.raises(DataLossError, match="overlap"):
        parse_table(data, "t")


@pytest.mark.parametrize(
    "block",
    [
        b"",
        struct.pack("<I", 2**31),
        _entry(1, b"a", b"") + struct.pack("<2I", 0, 1),
        varint(0) + varint(2**63) + varint(0) + b"a" + struct.pack("<2I", 0, 1),
        varint(0) + varint(0) + varint(2**63) + b"a" + struct.pack("<2I", 0, 1),
        b"\xff" * 11 + struct.pack("<2I", 0, 1),
        b"\x80" + struct.pack("<2I", 0, 1),
    ],
)
def test_a_block_that_is_none_is_damage(block: bytes) -> None:
    with pytest.raises(DataLossError, match="t: "):
        parse_table(_by_hand(block), "t")


def test_a_block_in_an_unknown_compression_is_named() -> None:
    with pytest.raises(UnimplementedError, match="compression type 4"):
        parse_table(_by_hand(struct.pack("<2I", 0, 1), kind=4), "t")


def test_a_block_packed_with_snappy_is_read() -> None:
    block = _entry(0, b"key", b"aaaaaaaaaaaa") + struct.pack("<2I", 0, 1)
    head = block[:7]
    # A literal head, eleven more "a" as an overlapping copy, a literal tail.
    packed = varint(len(block)) + bytes([6 << 2]) + head
    packed += bytes([(11 - 4) << 2 | 1, 1]) + bytes([7 << 2]) + block[-8:]
    assert unpack(packed, "t") == block
    assert parse_table(_by_hand(packed, kind=1), "t") == {b"key": b"aaaaaaaaaaaa"}


@pytest.mark.parametrize(
    ("packed", "plain"),
    [
        (b"\0", b""),
        (b"\x05\x10hello", b"hello"),
        (varint(100) + bytes([60 << 2, 99]) + bytes(100), bytes(100)),
        (varint(300) + bytes([61 << 2]) + struct.pack("<H", 299) + bytes(300), bytes(300)),
        (b"\x08\x04ab\x16\x02\x00", b"abababab"),
        (b"\x08\x04ab\x17\x02\x00\x00\x00", b"abababab"),
    ],
)
def test_snappy_is_unpacked(packed: bytes, plain: bytes) -> None:
    assert unpack(packed, "t") == plain


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x05\x10hell",
        b"\x04\x10hello",
        b"\x06\x10hello",
        b"\x08\x04ab\x16\x03\x00",
        b"\x08\x04ab\x16\x02",
        b"\x08\x04ab\x16\x00\x00",
        varint(2**40) + b"\0a",
        b"\x05\xf4\xff",
    ],
)
def test_snappy_that_is_damaged_is_an_error(packed: bytes) -> None:
    with pytest.raises(DataLossError):
        unpack(packed, "t")


@given(st.binary(max_size=300))
def test_any_bytes_unpack_or_are_damage(data: bytes) -> None:
    with contextlib.suppress(DataLossError):
        assert len(unpack(data, "t")) <= 22 * len(data)


@given(st.integers(0, 2**64 - 1))
def test_varints_come_back(value: int) -> None:
    assert read_varint(b"\x80" + varint(value), 1, "t") == (value, 1 + len(varint(value)))


@given(block=st.binary(max_size=200), kind=st.sampled_from([0, 1]))
def test_any_block_is_entries_or_an_error(block: bytes, kind: int) -> None:
    with contextlib.suppress(DataLossError, ResourceExhaustedError):
        parse_table(_by_hand(block, kind), "t")
