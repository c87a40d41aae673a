"""Malicious dataset files: they run no code, and do not exhaust the memory."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import shutil
import struct
import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.keras import downloads
from pinnace.keras.datasets import archives, pickled
from support import dataset_files

if TYPE_CHECKING:
    from pathlib import Path


class Runs:
    """An object whose pickle is a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr(downloads, "_has_digest", lambda *_: True)
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets"


def test_a_call_in_a_file_of_texts_is_not_made(home: Path, tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    texts = np.empty(2, object)
    texts[:] = [Runs(os.mkdir, str(sign)), [1]]
    np.savez(home / "imdb.npz", x_train=texts, y_train=[0, 1], x_test=texts, y_test=[0, 1])
    np.savez(home / "reuters.npz", x=texts, y=[0, 1])
    for load in (tf.keras.datasets.imdb.load_data, tf.keras.datasets.reuters.load_data):
        with pytest.raises(ValueError, match=r"mkdir, which would run"):
            load()
    # NumPy's own reader would have allocated it.
    np.load(home / "reuters.npz", allow_pickle=True)["x"]
    assert sign.is_dir()


def test_a_call_in_a_batch_of_cifar_is_not_made(home: Path, tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        hostile = pickle.dumps({b"data": Runs(os.mkdir, str(sign))}, protocol)
        dataset_files._archive(home, "cifar-100-python", {"train": hostile, "test": hostile})
        with pytest.raises(ValueError, match="is not a CIFAR file"):
            tf.keras.datasets.cifar100.load_data()
        shutil.rmtree(home / "cifar-100-python-target")
    assert not sign.exists()


NAMES = [
    *("os\nsystem", "builtins\neval", "builtins\ngetattr", "numpy\nload", "numpy\nmemmap"),
    *("numpy\nfromfile", "numpy.core.multiarray\nscalar", "numpy._core.numeric\n_frombuffer"),
    *("_codecs\nencode", "copyreg\n_reconstructor", "numpy\nndarray.tofile", "numpy\ndtype.type"),
]


@pytest.mark.parametrize("name", NAMES)
def test_no_other_name_is_looked_up(name: str) -> None:
    module, what = name.split("\n")
    texts = [b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, what)]
    for asked in (f"c{name}\n".encode(), b"".join(texts) + b"\x93"):
        with pytest.raises(ValueError, match=f"{what}, which would run"):
            pickled.read(b"\x80\x04" + asked + b")R.")


def array_of(shape: bytes, kind: bytes, state: bytes, content: bytes) -> bytes:
    """A pickled array with components that can be invalid."""
    return (
        (
            b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
            b"(K\x01" + shape + b"cnumpy\ndtype\n" + kind + b"K\x00K\x01\x87R" + state + b"b\x89"
        )
        + content
        + b"tb."
    )


PLAIN = b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"


def test_the_array_of_these_tests_is_one() -> None:
    found = pickled.read(array_of(b"K\x02\x85", b"U\x02u1", PLAIN, b"U\x02ab"))
    np.testing.assert_array_equal(found, np.array([97, 98], np.uint8))
    assert found.dtype == np.uint8


WRONG = {
    "a huge shape": array_of(b"J\xff\xff\xff\x7f\x85", b"U\x02u1", PLAIN, b"U\x02ab"),
    "a negative shape": array_of(b"J\xff\xff\xff\xff\x85", b"U\x02u1", PLAIN, b"U\x00"),
    "a shape of floats": array_of(b"G@\0\0\0\0\0\0\0\x85", b"U\x02u1", PLAIN, b"U\x02ab"),
    # In NumPy's own reader a state can declare that a dtype of pointers is one of numbers.
    "objects made of bytes": array_of(b"K\x01\x85", b"U\x02O8", PLAIN, b"U\x08abcdefgh"),
    "a dtype of fields": array_of(
        b"K\x01\x85", b"U\x02u1", PLAIN.replace(b"NNN", b"N)N"), b"U\x01a"
    ),
    "a dtype by another name": array_of(b"K\x01\x85", b"U\x05U9999", PLAIN, b"U\x01a"),
    "a dtype that is no text": array_of(b"K\x01\x85", b"cnumpy\nndarray\n", PLAIN, b"U\x01a"),
    "a state for a list": b"\x80\x02]K\x01b.",
    "a state for a function": b"\x80\x02cnumpy\ndtype\n}b.",
    "a call of a list": b"\x80\x02])R.",
    "another class of arrays": (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\ndtype\nK\x00\x85U\x01b\x87R."
    ),
    "a text that is longer than the file": b"\x80\x02T\xff\xff\xff\x7fab.",
    "a text of negative length": b"\x80\x02T\xfe\xff\xff\xffab.",
    "long bytes": b"\x80\x04\x8e" + b"\xff" * 8 + b".",
    "nothing": b"",
    "no end": b"\x80\x02]",
    "an empty stack": b"\x80\x02.",
    "a tuple of nothing": b"\x80\x02\x87.",
    "a mark that is not there": b"\x80\x02]e.",
    "a memory that is not there": b"\x80\x02h\x07.",
    "half a dict": b"\x80\x02}(K\x01u.",
    "a key that cannot be one": b"\x80\x02}]K\x01s.",
    "an object of another process": b"\x80\x02K\x01Q.",
    "an object of a class": b"\x80\x02cnumpy\ndtype\n)\x81.",
    "a registered extension": b"\x80\x02\x82\x01.",
    "an instance": b"(ios\nsystem\n.",
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_an_error_and_no_crash(case: str) -> None:
    with pytest.raises(ValueError, match="a pickle of arrays and lists was expected"):
        pickled.read(WRONG[case])


def test_a_place_in_memory_of_four_billion_takes_no_memory() -> None:
    # Python's own reader allocates all indices below.
    tracemalloc.start()
    assert pickled.read(b"\x80\x02]r\xff\xff\xff\xff.") == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


@given(st.binary(max_size=60), st.integers(0, 200))
def test_drawn_bytes_give_plain_data_or_an_error(drawn: bytes, cut: int) -> None:
    good = array_of(b"K\x02\x85", b"U\x02u1", PLAIN, b"U\x02ab")
    for data in (drawn + b".", good[:cut] + drawn + good[cut + len(drawn) :]):
        try:
            pickled.read(data)
        except ValueError as error:
            assert "a pickle of arrays and lists was expected" in str(error)  # noqa: PT017


PLAIN_DATA = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**80), 2**80), st.floats(allow_nan=False),
        st.text(max_size=300), st.binary(max_size=300),
    ),
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner), st.tuples(inner, inner, inner, inner),
        st.dictionaries(st.text(max_size=4), inner),
    ),
    max_leaves=30,
)  # fmt: skip


@given(PLAIN_DATA, st.integers(3, 4))
def test_plain_data_is_read_as_pickle_reads_it(value: Any, protocol: int) -> None:
    assert pickled.read(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "int64", ">i4", "<f8", "bool", "object"])
def test_arrays_are_read_as_pickle_reads_them(protocol: int, dtype: str) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    for wanted in (values, np.asfortranarray(values), values[:0]):
        found = pickled.read(pickle.dumps([wanted, wanted], protocol))
        assert found[0] is found[1]  # two references to one array stay one object
        np.testing.assert_array_equal(found[0], wanted)
        assert found[0].dtype == wanted.dtype
        assert found[0].flags.writeable


def npz(path: Path, name: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return path


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    path = npz(tmp_path / "a.npz", "x.npy", bytes(1 << 20))
    with pytest.raises(ValueError, match=r"x.npy has more than 1000 bytes"):
        archives.arrays(path, "x")


def header(text: str) -> bytes:
    padded = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999,)}"),
            "0 bytes do not match",
        ),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}") + bytes(8), ""),
        (header("{'descr': [('a', 'O')], 'fortran_order': False, 'shape': (1,)}") + b"N.", "bytes"),
        (header("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}") + b"].", "announced"),
        (header("__import__('os').getcwd()"), "malformed|Cannot parse header"),
        (b"\x93NUMPY\x09\x00", "version"),
        (b"GIF89a", ""),
    ],
)
def test_arrays_that_are_not_what_they_announce_are_refused(
    tmp_path: Path, content: bytes, told: str
) -> None:
    path = npz(tmp_path / "a.npz", "x.npy", content)
    with pytest.raises(ValueError, match=rf"a.npz cannot be read: .*{told}"):
        archives.arrays(path, "x")


def test_what_is_no_archive_or_lacks_an_array_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"<html>")
    with pytest.raises(ValueError, match="cannot be read: File is not a zip file"):
        archives.arrays(tmp_path / "a.npz", "x")
    np.savez(tmp_path / "b.npz", y=[1])
    with pytest.raises(ValueError, match=r"There is no item named 'x.npy'"):
        archives.arrays(tmp_path / "b.npz", "x")


def test_images_that_are_not_what_they_announce_are_refused(home: Path) -> None:
    folder = home / "fashion-mnist"
    folder.mkdir()
    whole = dataset_files.idx(1, np.arange(5, dtype=np.uint8))
    cases = {
        "is not an IDX file of 1 axes: it begins with 3c68746d": b"<html>",
        r"sizes \(5,\) and has 4 bytes": whole[:-1],
        r"sizes \(5,\) and has more bytes": whole + b"x",
        r"it announces the sizes \(4294967295,\)": whole[:4] + b"\xff" * 4,
    }
    path = folder / "train-labels-idx1-ubyte.gz"
    for told, content in cases.items():
        path.write_bytes(gzip.compress(content))
        with pytest.raises(ValueError, match=told):
            tf.keras.datasets.fashion_mnist.load_data()
    path.write_bytes(gzip.compress(bytes(1 << 16))[:-30])
    with pytest.raises(ValueError, match="is not an IDX file"):
        tf.keras.datasets.fashion_mnist.load_data()


def test_texts_that_share_one_list_too_often_are_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pinnace.keras.datasets import texts as module

    monkeypatch.setattr(module, "_MOST_WORDS", 100)
    texts = np.empty(3, object)
    texts[0] = texts[1] = texts[2] = list(range(50))
    np.savez(home / "reuters.npz", x=texts, y=[0, 1, 2])
    with pytest.raises(ValueError, match="must hold lists of numbers and a label for each"):
        tf.keras.datasets.reuters.load_data()


def test_words_that_are_no_numbers_are_refused(home: Path) -> None:
    texts = np.empty(2, object)
    texts[:] = [["a"], [[1]]]
    np.savez(home / "reuters.npz", x=texts, y=[0, 1])
    with pytest.raises(ValueError, match="words must be numbers"):
        tf.keras.datasets.reuters.load_data()
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    np.savez(home / "reuters.npz", x=np.arange(2), y=[0, 1])
    with pytest.raises(ValueError, match="must hold lists of numbers"):
        tf.keras.datasets.reuters.load_data()
