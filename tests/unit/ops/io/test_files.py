"""Files, raw bytes, serialised tensors, CSV."""

import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError
from pinnace.ops import io


def test_files_are_written_and_read(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "x")
    io.write_file(path, b"\x00\xff")
    assert io.read_file(path).numpy() == b"\x00\xff"

    @tf.function
    def read(name: Any) -> Any:
        return io.read_file(name)

    assert read(tf.constant(path)).numpy() == b"\x00\xff"
    io.write_file(path, b"changed")
    assert read(tf.constant(path)).numpy() == b"changed"
    with pytest.raises(NotFoundError, match="missing"):
        io.read_file(str(tmp_path / "missing"))
    with pytest.raises(InvalidArgumentError, match="scalar"):
        io.read_file([path, path])


def test_matching_files_are_sorted(tmp_path: Path) -> None:
    for name in ("b", "a", "c.x"):
        (tmp_path / name).write_text("")
    found = io.matching_files([str(tmp_path / "?"), str(tmp_path / "*.x")]).numpy()
    assert [Path(p.decode()).name for p in found] == ["a", "b", "c.x"]


def test_raw_bytes_are_numbers() -> None:
    assert io.decode_raw([b"\x01\x02", b"\x03\x04"], tf.uint8).numpy().tolist() == [[1, 2], [3, 4]]
    assert io.decode_raw(b"\x01\x02", tf.int16, little_endian=False).numpy().tolist() == [258]
    padded = io.decode_raw([b"\x01", b"\x01\x02\x03"], tf.uint8, fixed_length=2)
    assert padded.numpy().tolist() == [[1, 0], [1, 2]]
    assert io.decode_raw([b"\x01\x02"], tf.uint16, False, 2).numpy().tolist() == [[258]]
    with pytest.raises(InvalidArgumentError):
        io.decode_raw([b"a", b"ab"], tf.uint8)
    with pytest.raises(InvalidArgumentError, match="multiple of 4"):
        io.decode_raw([b"abcd"], tf.float32, fixed_length=3)


KINDS = [
    "float32",
    "float64",
    "int8",
    "int64",
    "uint16",
    "bool",
    "complex64",
    "float16",
    "bfloat16",
]


@given(
    kind=st.sampled_from(KINDS),
    shape=st.lists(st.integers(0, 3), max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_tensor_is_its_bytes_again(kind: str, shape: list[int], seed: int) -> None:
    numbers = np.random.default_rng(seed).integers(0, 2, shape)
    x = tf.constant(numbers.astype(tf.as_dtype(kind).numpy))
    again = io.parse_tensor(io.serialize_tensor(x), kind)
    assert again.dtype == x.dtype
    assert again.shape == x.shape
    np.testing.assert_array_equal(np.asarray(again), np.asarray(x))


def test_tensors_of_strings_and_of_other_writers() -> None:
    x = tf.constant([["a", ""], ["é", "d"]])
    assert io.parse_tensor(io.serialize_tensor(x), tf.string).numpy().tolist() == x.numpy().tolist()
    from pinnace.graph.codec.tensors import encode_tensor

    for value in (np.full((2, 3), 7, np.int32), np.arange(4.0), np.array([True, True])):
        message = encode_tensor(value).SerializeToString()
        found = io.parse_tensor(message, tf.as_dtype(value.dtype))
        np.testing.assert_array_equal(np.asarray(found), value)


@given(st.binary(max_size=30))
def test_bytes_that_are_no_tensor(data: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="ParseTensor"):
        io.parse_tensor(data, tf.float64)


def test_lines_of_csv() -> None:
    lines = ['1,2.5,"a,""b"""', "3,,c"]
    numbers, floats, texts = io.decode_csv(lines, [[0], [1.5], tf.constant([], tf.string)])
    assert numbers.numpy().tolist() == [1, 3]
    assert floats.numpy().tolist() == [2.5, 1.5]
    assert texts.numpy().tolist() == [b'a,"b"', b"c"]
    (second,) = io.decode_csv(lines, [0.0], select_cols=[1], na_value="2.5")
    assert second.numpy().tolist() == [0.0, 0.0]
    (tabbed,) = io.decode_csv("7\t8", [tf.int64], field_delim="\t", select_cols=[1])
    assert tabbed.numpy() == 8
    (quoted,) = io.decode_csv('"x', [""], use_quote_delim=False)
    assert quoted.numpy() == b'"x'


def test_many_lines_of_csv() -> None:
    """Checksums of what TensorFlow 2.21's `tf.io.decode_csv` gave for these lines and defaults."""
    draw = random.Random(3)
    texts = [draw.randbytes(draw.randrange(9)).translate(None, b',"\r\n') for _ in range(2000)]
    floats = [b"1.5", b"-2e3", b" 7 ", b"", b"NA", b"1e-30", b"0.1"]
    integers = [b"12", b"-5", b"", b"NA", b" 4", b"2147483647"]
    lines = [
        b"%s,%s,%b,%f" % (draw.choice(floats), draw.choice(integers), text, draw.gauss(0, 1e9))
        for text in texts
    ]
    defaults = [[0.1], [7], [b"d"], tf.constant([], tf.float64)]
    for more in ([], [b'1,2,"a,b",3']):  # a quoted line: all are read one by one
        columns = [x.numpy()[:2000] for x in io.decode_csv(lines + more, defaults, na_value="NA")]
        columns[2] = np.frombuffer(b",".join(columns[2].tolist()), np.uint8)
        found = [zlib.crc32(x.tobytes()) for x in columns]
        assert found == [3172321444, 763353636, 4096843836, 345197773]


@pytest.mark.parametrize(
    ("line", "defaults", "words"),
    [
        ("1,2", [0], "must have 1 fields, has 2"),
        ("a", [0], "must be int32, got 'a'"),
        ("3000000000", [0], "must be int32"),
        ("1_0", [0], "must be int32"),
        ("1_0.5", [0.0], "must be float32, got '1_0.5'"),
        ("", [0], "must have 1 fields, has 0"),
        (",1", [tf.int32, tf.int32], "is required"),
        ('"a', [""], "is not CSV"),
        ('a"b', [""], "is not CSV"),
        ('"a"b', [""], "is not CSV"),
        ("1\r\n", [0], "line breaks"),
        ("1,\r", [0, 0], "must have 2 fields, has 1"),
    ],
)
def test_lines_that_are_wrong(line: str, defaults: list[Any], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        io.decode_csv(line, defaults)


def test_line_breaks_and_quotes_in_csv_are_read_as_tensorflow_does() -> None:
    first, second = io.decode_csv(['\n7,"a,""b"""', "8,\r\nc", "9,"], [[0], ["-"]])
    assert first.numpy().tolist() == [7, 8, 9]
    assert second.numpy().tolist() == [b'a,"b"', b"c", b"-"]
    # What follows the last selected column is not read.
    (only,) = io.decode_csv(["x,y,'", 'u,v,"'], [[""]], select_cols=[1])
    assert only.numpy().tolist() == [b"y", b"v"]


def test_names_of_gfile(tmp_path: Path) -> None:
    gfile = io.gfile
    folder = gfile.join(str(tmp_path), "a", "b")
    gfile.makedirs(folder)
    with gfile.GFile(gfile.join(folder, "x"), "w") as file:
        file.write("text")
    assert gfile.exists(folder)
    assert gfile.isdir(folder)
    assert gfile.listdir(folder) == ["x"]
    assert gfile.stat(gfile.join(folder, "x")).st_size == 4
    gfile.copy(gfile.join(folder, "x"), gfile.join(folder, "y"))
    with pytest.raises(AlreadyExistsError, match="overwrite"):
        gfile.rename(gfile.join(folder, "x"), gfile.join(folder, "y"))
    gfile.rename(gfile.join(folder, "x"), gfile.join(folder, "y"), overwrite=True)
    assert [name for _, _, names in gfile.walk(str(tmp_path)) for name in names] == ["y"]
    assert gfile.glob(gfile.join(folder, "*")) == [gfile.join(folder, "y")]
    gfile.remove(gfile.join(folder, "y"))
    gfile.rmtree(str(tmp_path / "a"))
    with pytest.raises(NotFoundError):
        gfile.listdir(folder)
    with pytest.raises(NotFoundError):
        gfile.GFile(str(tmp_path / "none"))
