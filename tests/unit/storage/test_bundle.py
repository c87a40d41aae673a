import errno
import io
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NoReturn, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinnace.framework.dtypes import ANY_VALUE, DType, as_dtype, by_enum, qint8, string
from pinnace.framework.errors import (
    AlreadyExistsError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)
from pinnace.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto, TensorSliceProto
from pinnace.proto.tensor_pb2 import TensorShapeProto
from pinnace.proto.versions_pb2 import VersionDef
from pinnace.storage import bundle, bundle_writer
from pinnace.storage.bundle import BundleReader, data_path, index_path
from pinnace.storage.bundle_writer import BundleWriter
from pinnace.storage.checksum import crc32c, mask, masked_crc32c
from pinnace.storage.slice_keys import WHOLE_AXIS, slice_key
from pinnace.storage.table import TableWriter, read_table

Array: TypeAlias = npt.NDArray[Any]

GOLDEN = Path(__file__).parents[2] / "golden" / "bundles"
GOLDEN_NAMES = sorted(path.stem for path in GOLDEN.glob("*.index"))
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


def _write(prefix: Path, tensors: dict[str, Any], **options: Any) -> None:
    with BundleWriter(prefix, **options) as writer:
        for name, value in tensors.items():
            writer.add(name, value)


def _same(a: Array, b: Array) -> None:
    """Whether dtype, shape and bytes are equal; NaN equals itself."""
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()


def _index(prefix: Path, entries: dict[bytes, BundleEntryProto], **header: Any) -> None:
    """Write an index unchanged."""
    file = io.BytesIO()
    table = TableWriter(file)
    message = BundleHeaderProto(num_shards=1, version=VersionDef(producer=1))
    for name, value in header.items():
        setattr(message, name, value)
    table.add(b"", message.SerializeToString())
    for key in sorted(entries):
        table.add(key, entries[key].SerializeToString())
    table.finish()
    Path(index_path(prefix)).write_bytes(file.getvalue())


def _entry(array: Array, offset: int = 0, dtype: DType | None = None) -> BundleEntryProto:
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in array.shape])
    return BundleEntryProto(
        dtype=(dtype or as_dtype(array.dtype)).enum,  # type: ignore[arg-type]  # the enum's own int
        shape=shape,
        offset=offset,
        size=array.nbytes,
        crc32c=masked_crc32c(array.tobytes()),
    )


@st.composite
def arrays(draw: st.DrawFn) -> tuple[DType, Array]:
    """An array of any dtype that TensorFlow stores."""
    dtype = draw(st.sampled_from(by_enum(ANY_VALUE)))
    shape = draw(SHAPES)
    if dtype is string:
        values = np.empty(shape, object)
        for index in np.ndindex(shape):
            values[index] = draw(st.binary(max_size=200))
        return dtype, values
    if dtype.numpy.isbuiltin == 1:
        return dtype, draw(hnp.arrays(dtype.numpy, shape))
    small = draw(hnp.arrays(np.float32, shape, elements=st.sampled_from([0, 1, -1, 0.5])))
    with np.errstate(invalid="ignore"):  # -1 as an unsigned integer
        return dtype, small.astype(dtype.numpy)


# What TensorFlow wrote


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_tensorflows_bundles_are_read_and_every_checksum_matches(name: str) -> None:
    with BundleReader(GOLDEN / name) as reader:
        reader.verify_all()
        for key in reader.keys():  # noqa: SIM118 - a reader is no dictionary
            entry = reader.entry(key)
            values = reader.read(key)
            assert values.shape == entry.shape
            assert values.dtype == entry.dtype.numpy


def test_tensorflows_values_are_read_in_every_dtype() -> None:
    reader = BundleReader(GOLDEN / "dtypes")
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    assert reader.read(f"s{end}").tolist() == [b"alpha", b"", "gàmma".encode()]
    assert reader.read(f"flag{end}").tolist() == [True, False, True, False]
    assert reader.read(f"u{end}").tolist() == [1, 2, 250, 255]
    assert reader.read(f"bf{end}").dtype == ml_dtypes.bfloat16
    assert reader.read(f"h{end}").dtype == np.float16
    assert reader.read(f"d{end}").dtype == np.float64
    assert len(reader) == 7
    assert f"s{end}" in reader


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_the_order_of_names_is_that_of_their_bytes(name: str) -> None:
    keys = BundleReader(GOLDEN / name).keys()
    assert keys == sorted(keys, key=str.encode)


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_a_bundle_written_again_is_tensorflows_but_for_the_padding(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_writer, "_ALIGNMENT", 1)
    reader = BundleReader(GOLDEN / name)
    order = sorted(reader.keys(), key=lambda key: reader.entry(key).offset)
    _write(tmp_path / name, {key: reader.read(key) for key in order})
    for file in (f"{name}.index", f"{name}.data-00000-of-00001"):
        assert (tmp_path / file).read_bytes() == (GOLDEN / file).read_bytes()


# Round trips


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tensors=st.dictionaries(st.text(min_size=1).filter(lambda s: s[0] != "\0"), arrays()))
def test_tensors_come_back(tmp_path: Path, tensors: dict[str, tuple[DType, Array]]) -> None:
    with BundleWriter(tmp_path / "b") as writer:
        for name, (dtype, values) in tensors.items():
            writer.add(name, values, dtype)
    reader = BundleReader(tmp_path / "b")
    reader.verify_all()
    assert reader.keys() == sorted(tensors, key=str.encode)
    for name, (dtype, values) in tensors.items():
        assert reader.entry(name).dtype is dtype
        _same(reader.read(name), values)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=arrays())
def test_big_endian_bundles_are_swapped(tmp_path: Path, values: tuple[DType, Array]) -> None:
    dtype, array = values
    prefix = Path(mkdtemp(dir=tmp_path)) / "b"  # an overwrite would give its data file another name
    if dtype is string:
        elements: list[bytes] = array.ravel().tolist()
        words = b"".join(struct.pack(">I", len(element)) for element in elements)
        checksum = struct.pack(">I", masked_crc32c(words))
        with BundleWriter(prefix) as writer:
            writer.add("x", array)
        little = Path(data_path(prefix, 0, 1)).read_bytes()
        text = b"".join(elements)
        stored = little[: len(little) - len(text) - 4] + checksum + text
        entry = BundleReader(prefix).entry("x")
        message = BundleEntryProto(
            dtype=7,  # type: ignore[arg-type]  # the enum's own int
            shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in entry.shape]),
            size=len(stored),
            crc32c=mask(crc32c(text, crc32c(checksum, crc32c(words)))),
        )
    else:
        part = array.itemsize // (2 if array.dtype.kind == "c" else 1)
        flat = np.frombuffer(array.tobytes(), f"<u{part}")
        stored = flat.astype(f">u{part}").tobytes()
        message = _entry(array, dtype=dtype)
        message.crc32c = masked_crc32c(stored)
    Path(data_path(prefix, 0, 1)).write_bytes(stored)
    _index(prefix, {b"x": message}, endianness=BundleHeaderProto.BIG)
    _same(BundleReader(prefix).read("x"), array)


@pytest.mark.parametrize("lengths", [[0], [127], [128], [20000], [0] * 5, [1, 200, 0, 70000, 5]])
def test_strings_of_any_length_come_back(tmp_path: Path, lengths: list[int]) -> None:
    values = np.empty(len(lengths), object)
    values[:] = [os.urandom(length) for length in lengths]
    _write(tmp_path / "b", {"s": values})
    _same(BundleReader(tmp_path / "b").read("s"), values)


def test_many_strings_come_back(tmp_path: Path) -> None:
    values = np.array([str(n).encode() * (n % 40) for n in range(10000)], object)
    _write(tmp_path / "b", {"s": values.reshape(100, 100)})
    _same(BundleReader(tmp_path / "b").read("s"), values.reshape(100, 100))


def test_texts_and_python_values_are_stored_too(tmp_path: Path) -> None:
    _write(
        tmp_path / "b", {"s": np.array(["gà", "b"]), "n": np.bytes_(b"x"), "i": [1, 2], "f": 1.5}
    )
    reader = BundleReader(tmp_path / "b")
    assert reader.read("s").tolist() == ["gà".encode(), b"b"]
    assert reader.read("n").item() == b"x"
    assert reader.read("i").tolist() == [1, 2]
    assert reader.read("f").shape == ()


def test_arrays_in_any_layout_come_back(tmp_path: Path) -> None:
    base = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    values = {
        "t": base.T,
        "s": base[:, ::2, ::-1],
        "b": base.astype(">i4"),
        "f": np.asfortranarray(base),
    }
    _write(tmp_path / "b", values)
    reader = BundleReader(tmp_path / "b")
    for name, value in values.items():
        np.testing.assert_array_equal(reader.read(name), value)


def test_a_quantised_type_is_kept(tmp_path: Path) -> None:
    with BundleWriter(tmp_path / "b") as writer:
        writer.add("q", np.array([1, -2], np.int8), qint8)
        with pytest.raises(InvalidArgumentError, match="'r' is to be qint8, got an array of int32"):
            writer.add("r", np.array([1, -2], np.int32), qint8)
    assert BundleReader(tmp_path / "b").entry("q").dtype is qint8


def test_an_empty_bundle_is_one(tmp_path: Path) -> None:
    _write(tmp_path / "b", {})
    reader = BundleReader(tmp_path / "b")
    reader.verify_all()
    assert reader.keys() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.data-00000-of-00001", "b.index"]


# Files and memory


def test_tensors_lie_on_boundaries_of_64_bytes_and_are_not_copied(tmp_path: Path) -> None:
    _write(tmp_path / "b", {"a": np.ones(3, np.int8), "s": b"text", "c": np.ones(5, np.complex128)})
    reader = BundleReader(tmp_path / "b")
    c = reader.read("c")
    assert reader.entry("c").offset % 64 == 0
    assert c.ctypes.data % 64 == 0
    assert np.shares_memory(c, reader.read("c"))


def test_writing_to_an_array_does_not_reach_the_file(tmp_path: Path) -> None:
    _write(tmp_path / "b", {"a": np.ones(1000)})
    before = Path(data_path(tmp_path / "b", 0, 1)).read_bytes()
    a = BundleReader(tmp_path / "b").read("a")
    a += 1
    assert Path(data_path(tmp_path / "b", 0, 1)).read_bytes() == before
    assert BundleReader(tmp_path / "b").read("a").max() == 1


def test_arrays_outlive_the_reader_and_the_files(tmp_path: Path) -> None:
    _write(tmp_path / "b", {"a": np.arange(1000)})
    reader = BundleReader(tmp_path / "b")
    a = reader.read("a")
    reader.close()
    del reader
    for path in tmp_path.iterdir():
        path.unlink()
    assert a.sum() == 499500


def test_unaligned_tensors_are_copied_to_a_boundary() -> None:
    reader = BundleReader(GOLDEN / "keras_mlp")
    for name in reader.keys():  # noqa: SIM118 - a reader is no dictionary
        assert reader.read(name).flags.aligned


def test_a_large_bundle_takes_several_files(tmp_path: Path) -> None:
    tensors = {f"t{n}": np.full(100, n, np.int64) for n in range(10)} | {"big": np.ones(1000)}
    _write(tmp_path / "b", tensors, max_shard_bytes=2000)
    reader = BundleReader(tmp_path / "b")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [*(f"b.data-{n:05d}-of-00006" for n in range(6)), "b.index"]
    for path in tmp_path.glob("b.data*"):
        assert path.stat().st_size <= 2000 or path.stat().st_size == 8000
    for name, value in tensors.items():
        _same(reader.read(name), value)
    with pytest.raises(InvalidArgumentError, match="max_shard_bytes must be at least 1, got 0"):
        BundleWriter(tmp_path / "c", max_shard_bytes=0)


def test_writing_again_leaves_no_files_of_the_older_bundle(tmp_path: Path) -> None:
    tensors = {f"t{n}": np.full(100, n, np.int64) for n in range(10)}
    _write(tmp_path / "b", tensors, max_shard_bytes=2000)
    (tmp_path / "bb.data-00000-of-00006").touch()
    _write(tmp_path / "b", tensors)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "b.data-00000-of-00001",
        "b.index",
        "bb.data-00000-of-00006",
    ]


def test_nothing_is_left_of_a_bundle_that_was_not_finished(tmp_path: Path) -> None:
    def write() -> None:
        with BundleWriter(tmp_path / "b", max_shard_bytes=10) as writer:
            writer.add("a", np.ones(10))
            writer.add("b", np.ones(10))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert list(tmp_path.iterdir()) == []


def _full(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", ["sync_file", "TableWriter", "create_sibling"])
def test_a_full_disk_is_named_and_the_older_bundle_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    _write(tmp_path / "b", {"a": np.zeros(10)})

    def write() -> None:
        writer = BundleWriter(tmp_path / "b")
        writer.add("a", np.ones(10))
        monkeypatch.setattr(bundle_writer, call, _full)
        writer.finish()

    with pytest.raises(ResourceExhaustedError, match=r"cannot write bundle .*b: No space left"):
        write()
    assert len(list(tmp_path.iterdir())) == 2
    assert BundleReader(tmp_path / "b").read("a").max() == 0


def test_the_folder_is_made(tmp_path: Path) -> None:
    _write(tmp_path / "x" / "y" / "b", {"a": 1})
    assert BundleReader(tmp_path / "x" / "y" / "b").read("a") == 1


def test_a_bundle_is_finished_once(tmp_path: Path) -> None:
    writer = BundleWriter(tmp_path / "b")
    writer.finish()
    writer.abort()
    for call in (writer.finish, lambda: writer.add("a", 1)):
        with pytest.raises(FailedPreconditionError, match="is finished"):
            call()
    assert len(BundleReader(tmp_path / "b")) == 0


@pytest.mark.parametrize("name", ["", "\0a"])
def test_names_that_the_format_needs_are_refused(tmp_path: Path, name: str) -> None:
    writer = BundleWriter(tmp_path / "b")
    with pytest.raises(InvalidArgumentError, match="must not be empty or begin with a zero"):
        writer.add(name, 1)
    writer.finish()
    assert name not in BundleReader(tmp_path / "b")


def test_a_name_is_used_once(tmp_path: Path) -> None:
    with BundleWriter(tmp_path / "b") as writer:
        writer.add("a", 1)
        with pytest.raises(AlreadyExistsError, match="has a tensor 'a' already"):
            writer.add("a", 2)
    assert BundleReader(tmp_path / "b").read("a") == 1


def test_elements_that_are_not_bytes_are_named(tmp_path: Path) -> None:
    writer = BundleWriter(tmp_path / "b")
    with pytest.raises(InvalidArgumentError, match=r"element 1 of string tensor 'a'.* got int"):
        writer.add("a", np.array([b"x", 7], object))
    writer.finish()
    assert BundleReader(tmp_path / "b").keys() == []


# Checksums


def _damage(prefix: Path, at: int) -> None:
    path = Path(data_path(prefix, 0, 1))
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "value", [np.arange(10), np.array([b"ab", b"cde"], object), np.ones(3, bool)]
)
def test_damage_is_found_on_first_touch_and_names_file_and_tensor(
    tmp_path: Path, value: Array
) -> None:
    _write(tmp_path / "b", {"other": np.arange(100), "x": value})
    offset = BundleReader(tmp_path / "b").entry("x").offset
    _damage(tmp_path / "b", offset + BundleReader(tmp_path / "b").entry("x").size - 1)
    reader = BundleReader(tmp_path / "b")
    for _ in range(2):
        with pytest.raises(DataLossError, match=r"b\.data-00000-of-00001: tensor 'x': .*checksum"):
            reader.read("x")
    with pytest.raises(DataLossError, match="'x'"):
        reader.verify_all()
    assert reader.read("x", verify=False).shape == value.shape
    _same(reader.read("other"), np.arange(100))


def test_a_checksum_is_verified_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "b", {"x": np.arange(10)})
    reader = BundleReader(tmp_path / "b")
    reader.read("x")

    def forbidden(*_: object) -> NoReturn:
        pytest.fail("verified twice")

    monkeypatch.setattr(bundle, "crc32c", forbidden)
    reader.read("x")
    reader.verify_all()


def test_threads_share_a_reader(tmp_path: Path) -> None:
    tensors = {f"t{n}": np.full(1000, n) for n in range(50)}
    _write(tmp_path / "b", tensors, max_shard_bytes=50_000)
    reader = BundleReader(tmp_path / "b")
    wrong: list[str] = []

    def read() -> None:
        wrong.extend(name for name, value in tensors.items() if (reader.read(name) != value).any())

    threads = [threading.Thread(target=read) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Partitioned tensors


def _extent(start: int, length: int) -> TensorSliceProto.Extent:
    if length == WHOLE_AXIS:
        return TensorSliceProto.Extent()
    return TensorSliceProto.Extent(start=start, length=length)


def _partitioned(
    prefix: Path, whole: Array, boxes: list[list[tuple[int, int]]], offset: int | None = None
) -> None:
    """A bundle with `pv` partitioned; all parts at one `offset` if given."""
    data = b""
    entries = {b"pv": _entry(whole)}
    entries[b"pv"].ClearField("size")
    entries[b"pv"].ClearField("crc32c")
    for box in boxes:
        spans = [slice(s, None if n == WHOLE_AXIS else s + n) for s, n in box]
        part = np.ascontiguousarray(whole[tuple(spans)])
        entries[slice_key("pv", box)] = _entry(part, len(data) if offset is None else offset)
        data += part.tobytes()
        extents = [_extent(*pair) for pair in box]
        entries[b"pv"].slices.append(TensorSliceProto(extent=extents))
    Path(data_path(prefix, 0, 1)).write_bytes(data)
    _index(prefix, entries)


def test_the_key_of_a_part_is_that_which_tensorflow_wrote() -> None:
    assert slice_key("pv", [(0, 3), (0, 2)]).hex() == "00" + "7076" + "0001" + "0102" + "80838082"


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        *((0, "80"), (63, "bf"), (64, "c040"), (-1, "7f"), (-64, "40"), (-65, "3fbf")),
        *((8191, "dfff"), (8192, "e02000")),
        *((2**62, "ffc04000000000000000"), (2**63 - 1, "ffc07fffffffffffffff")),
    ],
)
def test_numbers_in_keys_sort_as_bytes(value: int, encoded: str) -> None:
    assert slice_key("", [(value, 0)])[5:-1].hex() == encoded


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2))
def test_the_order_of_numbers_in_keys_is_that_of_numbers(values: list[int]) -> None:
    keys = [slice_key("", [(value, 0)]) for value in sorted(values)]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    "boxes",
    [
        [[(0, 3), (0, 2)], [(3, 2), (0, 2)]],
        [[(0, 3), (0, WHOLE_AXIS)], [(3, 2), (0, WHOLE_AXIS)]],
        [[(0, 5), (0, 1)], [(0, 5), (1, 1)]],
        [[(0, WHOLE_AXIS), (0, WHOLE_AXIS)]],
    ],
)
def test_a_partitioned_tensor_is_assembled(
    tmp_path: Path, boxes: list[list[tuple[int, int]]]
) -> None:
    whole = np.arange(10, dtype=np.float32).reshape(5, 2)
    _partitioned(tmp_path / "b", whole, boxes)
    reader = BundleReader(tmp_path / "b")
    assert reader.keys() == ["pv"]
    _same(reader.read("pv"), whole)
    reader.verify_all()
    _damage(tmp_path / "b", 39)
    with pytest.raises(DataLossError, match="'pv"):
        BundleReader(tmp_path / "b").verify_all()


@pytest.mark.parametrize(
    ("boxes", "problem"),
    [
        ([[(0, 3), (0, 2)]], "have 6 elements, its shape .* has 10"),
        ([[(0, 3), (0, 2)], [(2, 2), (0, 2)]], "overlap"),
        ([[(0, 3), (0, 2)], [(3, 3), (0, 2)]], "reaches from 3 to 6 of an axis of 5"),
        ([[(0, 5)]], "1 axes, not 2"),
    ],
)
def test_parts_that_do_not_fit_together_are_damage(
    tmp_path: Path, boxes: list[list[tuple[int, int]]], problem: str
) -> None:
    _partitioned(tmp_path / "b", np.zeros((5, 2)), boxes)
    with pytest.raises(DataLossError, match=problem):
        BundleReader(tmp_path / "b").read("pv")


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    _partitioned(tmp_path / "b", np.zeros((5, 2)), [[(0, 3), (0, 2)], [(3, 2), (0, 2)]])
    entries = {
        key: BundleEntryProto.FromString(value)
        for key, value in read_table(index_path(tmp_path / "b")).items()
        if key
    }
    del entries[slice_key("pv", [(3, 2), (0, 2)])]
    _index(tmp_path / "b", entries)
    with pytest.raises(DataLossError, match=r"'pv': its part \[\(3, 2\), \(0, 2\)\] is missing"):
        BundleReader(tmp_path / "b").read("pv")


def test_parts_cannot_all_be_the_same_bytes(tmp_path: Path) -> None:
    whole = np.zeros((1000, 1000), np.int8)
    boxes = [[(n, 1), (0, 1000)] for n in range(1000)]
    _partitioned(tmp_path / "b", whole, boxes, offset=0)
    path = Path(data_path(tmp_path / "b", 0, 1))
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DataLossError, match="larger than the files"):
        BundleReader(tmp_path / "b").read("pv")


# Invalid bundles


def test_missing_files_and_names_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"cannot read .*b\.index"):
        BundleReader(tmp_path / "b")
    _write(tmp_path / "b", {"x": 1})
    reader = BundleReader(tmp_path / "b")
    for name in ("y", "", "\ud800"):
        assert name not in reader
        with pytest.raises(NotFoundError, match=r"b\.index has no tensor"):
            reader.read(name)
    Path(data_path(tmp_path / "b", 0, 1)).unlink()
    with pytest.raises(NotFoundError, match=r"b\.data-00000-of-00001.*\n.*'x'"):
        reader.read("x")


def test_a_pipe_in_place_of_a_data_file_is_refused(tmp_path: Path) -> None:
    _write(tmp_path / "b", {"x": 1})
    path = data_path(tmp_path / "b", 0, 1)
    Path(path).unlink()
    os.mkfifo(path)
    with pytest.raises(FailedPreconditionError, match="not a file"):
        BundleReader(tmp_path / "b").read("x")


Change: TypeAlias = Callable[[BundleEntryProto], object]


@pytest.mark.parametrize(
    ("change", "kind", "problem"),
    [
        (lambda m: setattr(m, "size", 10**15), DataLossError, "needs 80 bytes"),
        (lambda m: setattr(m, "size", -80), DataLossError, "has -80 bytes"),
        (lambda m: setattr(m, "offset", 10**15), DataLossError, "cut off"),
        (lambda m: setattr(m, "offset", -1), DataLossError, "at byte -1"),
        (lambda m: setattr(m, "offset", 8), DataLossError, "cut off"),
        (lambda m: setattr(m, "shard_id", 1), DataLossError, "data file 1 of 1"),
        (lambda m: setattr(m, "shard_id", -1), DataLossError, "data file -1 of 1"),
        (lambda m: setattr(m, "crc32c", 7), DataLossError, "checksum"),
        (lambda m: setattr(m, "dtype", 99), UnimplementedError, "dtype number 99"),
        (lambda m: setattr(m, "dtype", 0), UnimplementedError, "dtype number 0"),
        (lambda m: setattr(m, "dtype", 20), UnimplementedError, "is a resource"),
        (lambda m: setattr(m, "dtype", 7), DataLossError, "strings"),
        (lambda m: setattr(m.shape, "unknown_rank", True), DataLossError, "shape"),
        (lambda m: setattr(m.shape.dim[0], "size", -1), DataLossError, "shape"),
        (lambda m: setattr(m.shape.dim[0], "size", 2**62), DataLossError, "shape"),
        (lambda m: setattr(m.shape.dim[0], "size", 11), DataLossError, "needs 88 bytes, 80"),
        (lambda m: m.shape.dim.extend([m.shape.dim[0]] * 70), DataLossError, "shape"),
        (lambda m: m.shape.dim.add(size=0), DataLossError, "needs 0 bytes, 80"),
        (lambda m: m.slices.add(), DataLossError, "0 axes, not 1"),
    ],
)
def test_an_entry_that_cannot_be_right_is_one_error(
    tmp_path: Path, change: Change, kind: type[OpError], problem: str
) -> None:
    array = np.arange(10)
    entry = _entry(array)
    change(entry)
    Path(data_path(tmp_path / "b", 0, 1)).write_bytes(array.tobytes())
    _index(tmp_path / "b", {b"x": entry})
    reader = BundleReader(tmp_path / "b")
    assert "x" in reader
    with pytest.raises(kind, match=problem) as caught:
        reader.read("x")
    assert "tensor 'x'" in str(caught.value)
    assert str(tmp_path / "b") in str(caught.value)


@pytest.mark.parametrize(
    ("header", "kind", "problem"),
    [
        ({"num_shards": -1}, DataLossError, "claims -1 data files"),
        ({"endianness": 2}, DataLossError, "byte order 2"),
    ],
)
def test_a_header_that_cannot_be_right_is_one_error(
    tmp_path: Path, header: dict[str, int], kind: type[OpError], problem: str
) -> None:
    _index(tmp_path / "b", {}, **header)
    with pytest.raises(kind, match=problem):
        BundleReader(tmp_path / "b")


def _raw_index(prefix: Path, entries: dict[bytes, bytes]) -> None:
    file = io.BytesIO()
    table = TableWriter(file)
    for key, value in entries.items():
        table.add(key, value)
    table.finish()
    Path(index_path(prefix)).write_bytes(file.getvalue())


def test_an_index_without_a_proper_header_is_refused(tmp_path: Path) -> None:
    later = BundleHeaderProto(num_shards=1, version=VersionDef(producer=9, min_consumer=9))
    _raw_index(tmp_path / "b", {b"a": b""})
    with pytest.raises(DataLossError, match="no bundle's header"):
        BundleReader(tmp_path / "b")
    _raw_index(tmp_path / "b", {b"": b"\xff"})
    with pytest.raises(DataLossError, match="header is damaged"):
        BundleReader(tmp_path / "b")
    _raw_index(tmp_path / "b", {b"": later.SerializeToString()})
    with pytest.raises(UnimplementedError, match="version 9 or later"):
        BundleReader(tmp_path / "b")
    _raw_index(tmp_path / "b", {b"": b"\x08\x01", b"\xff\xfe": b""})
    with pytest.raises(DataLossError, match="not UTF-8"):
        BundleReader(tmp_path / "b")
    _raw_index(tmp_path / "b", {b"": b"\x08\x01", b"a": b"\xff"})
    with pytest.raises(DataLossError, match="'a': the entry is damaged"):
        BundleReader(tmp_path / "b").read("a")


def test_an_array_without_elements_may_have_any_size_that_numpy_allows(tmp_path: Path) -> None:
    _write(tmp_path / "b", {"x": np.zeros((0, 1 << 40))})
    assert BundleReader(tmp_path / "b").read("x").shape == (0, 1 << 40)


def test_bytes_that_are_no_booleans_become_true(tmp_path: Path) -> None:
    _write(tmp_path / "b", {"x": np.array([0, 1, 7], np.uint8)})
    entry = _entry(np.array([0, 1, 7], np.uint8), dtype=as_dtype("bool"))
    _index(tmp_path / "b", {b"x": entry})
    assert BundleReader(tmp_path / "b").read("x").tolist() == [False, True, True]
