"""Indices of a permutation; gathered rows and characters; compressed strings."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf


@given(last=st.integers(0, 300), seed=st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 99)))
def test_places_are_a_permutation(last: int, seed: tuple[int, int]) -> None:
    found = tf.random.experimental.index_shuffle(tf.range(last + 1), list(seed), last)
    assert sorted(found.numpy().tolist()) == list(range(last + 1))
    one = tf.random.experimental.index_shuffle(0, list(seed), last)
    assert one.shape == ()
    assert int(one) == int(found[0])


def test_places_of_several_seeds_are_those_of_each() -> None:
    seeds = np.array([[5, 8], [1, 2], [7, 7]], np.int64)
    lasts = np.array([900, 70_000, 60_000], np.int64)
    index = np.array([3, 99, 0], np.int64)
    found = tf.random.experimental.index_shuffle(index, seeds, lasts)
    single = [
        int(tf.random.experimental.index_shuffle(i, s, n))
        for i, s, n in zip(index, seeds, lasts, strict=True)
    ]
    assert found.numpy().tolist() == single


def test_places_beyond_the_last_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"at most max_index, got 11 for 10"):
        tf.random.experimental.index_shuffle(11, [1, 2], 10)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must not be negative, got -1"):
        tf.random.experimental.index_shuffle(-1, [1, 2], 10)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"even, and 4 or more, got 5"):
        tf.random_index_shuffle(1, [1, 2, 3], 10, rounds=5)


def test_a_fingerprint_is_the_hash_of_a_row() -> None:
    hashes = tf.strings.to_hash_bucket_fast(["abc", "def"], 2**62).numpy()
    found = tf.fingerprint(["abc", "def"]).numpy()
    assert found.shape == (2, 8)
    numbers = [int.from_bytes(row.tobytes(), "little") % 2**62 for row in found]
    assert numbers == hashes.tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"method must be 'farmhash64'"):
        tf.fingerprint(["a"], method="md5")


@given(texts=st.lists(st.binary(max_size=99), max_size=3), kind=st.sampled_from(["ZLIB", "GZIP"]))
def test_compressed_strings_are_what_they_were(texts: list[bytes], kind: str) -> None:
    pack = zlib.compress if kind == "ZLIB" else gzip.compress
    packed = np.empty(len(texts), object)
    packed[:] = [pack(text) for text in texts]
    found = tf.io.decode_compressed(packed, compression_type=kind)
    assert found.numpy().tolist() == texts


def test_damaged_strings_are_refused() -> None:
    whole = zlib.compress(bytes(99))
    with pytest.raises(tf.errors.DataLossError, match=r"ends before its compressed data"):
        tf.io.decode_compressed(whole[:-6], "ZLIB")
    with pytest.raises(tf.errors.DataLossError, match=r"not compressed that way"):
        tf.io.decode_compressed(whole, "GZIP")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'ZLIB', 'GZIP' or '', got 'LZ4'"):
        tf.io.decode_compressed(whole, "LZ4")
