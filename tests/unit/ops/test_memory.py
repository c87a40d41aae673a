"""Memory is counted before it is allocated, for arrays and texts alike."""

import ctypes
import gc
import gzip
import io
import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import allocation
from pinnace.engine.allocation import bounded
from pinnace.framework.errors import ResourceExhaustedError, UnavailableError
from pinnace.ops.execute import execute
from pinnace.ops.memory import claim, joined
from pinnace.ops.registry import lookup
from support.fresh_process import run_fresh

KEPT_BY_THE_HEAP = """
import numpy as np

from pinnace.engine import allocation

allocation._GIVEN_BACK_S = 0.0
# Arrays below glibc's largest threshold lie in the heap once one of their size was freed; what is
# freed below one in use stays there, and counts as the process's.
size = 24 << 20
np.ones(size, np.uint8)  # and freed
kept = [np.ones(size, np.uint8) for _ in range(8)]
above = np.ones(1 << 20, np.uint8)
del kept
allocation.limits.process_bytes = allocation.resident()
with allocation.bounded(8 * size):
    assert int(np.ones(4 * size, np.uint8).sum()) == 4 * size
assert above.all()
"""
MOST = 1 << 24  # bytes that each run below may use
MANY = 2_000_000_000


def op(name: str, *arguments: Any, **attrs: Any) -> Any:
    return execute(lookup(name), *arguments, **attrs)


def text(item: bytes) -> Any:
    return tf.constant(item)


def doubled(times: int) -> Any:
    """A text that doubles in each iteration of a loop."""
    found = text(b"abcdefgh")
    for _ in range(times):
        found = tf.strings.join([found, found])
    return found


@tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
def grows(turns: Any) -> Any:
    """The same inside a function, as in a model."""
    found = tf.constant("abcdefgh")
    for _ in tf.range(turns):
        found = tf.strings.join([found, found])
    return tf.strings.length(found)


def png(width: int, height: int) -> bytes:
    """An image of zeros in a thousandth of its bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(height * (1 + 3 * width)), 9)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def picture(kind: str, **options: Any) -> bytes:
    image = pytest.importorskip("PIL.Image").new("RGB", (2600, 2600))
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


LONG = b"a" * 100_000
# Name -> a small request or graph that needs large arrays, whose sizes are values.
ARRAYS: dict[str, Callable[[], Any]] = {
    "fill": lambda: tf.fill([MANY], 1.0),
    "fill with texts": lambda: tf.fill([MANY], "a"),
    "tile": lambda: tf.tile([1.0, 2.0], [MANY]),
    "tile of texts": lambda: tf.tile(["a", "b"], [MANY]),
    "range": lambda: tf.range(MANY),
    "linspace": lambda: tf.linspace(0.0, 1.0, MANY),
    "one_hot": lambda: tf.one_hot([1], MANY),
    "eye": lambda: tf.eye(60_000),
    "zeros": lambda: tf.zeros([MANY]) + 1.0,
    "random": lambda: tf.random.uniform([MANY]),
    "random, stateless": lambda: tf.random.stateless_uniform([MANY], [1, 2]),
    "pad": lambda: tf.pad([1.0], [[0, MANY]]),
    "repeat": lambda: tf.repeat([1.0, 2.0], [MANY, 1]),
    "bincount": lambda: tf.math.bincount([1], minlength=MANY),
    "scatter": lambda: tf.scatter_nd([[0]], [1.0], [MANY]),
    "segments": lambda: tf.math.unsorted_segment_sum([1.0], [0], MANY),
    "sequence_mask": lambda: tf.sequence_mask([1], MANY),
    "a dense tensor of a sparse one": lambda: tf.sparse.to_dense(
        tf.SparseTensor([[0]], [1.0], [MANY])
    ),
    "rows of a sparse tensor": lambda: tf.sparse.fill_empty_rows(
        tf.SparseTensor([[0, 0]], [1.0], [MANY, 1]), 0.0
    ),
    "space_to_batch": lambda: tf.space_to_batch([[[1.0]]], [1], [[0, MANY]]),
    "resize": lambda: tf.image.resize(tf.zeros([1, 1, 1, 1]), [40_000, 40_000]),
}
# Texts, images and lists, which NumPy does not allocate.
OTHERS: dict[str, Callable[[], Any]] = {
    "join": lambda: doubled(40),
    "join in a loop": lambda: grows(40),
    "reduce_join": lambda: tf.strings.reduce_join(tf.tile([LONG], [1000])),
    "segments of texts": lambda: tf.strings.unsorted_segment_join(["a"], [0], MANY),
    "joined segments": lambda: tf.strings.unsorted_segment_join(
        tf.tile([LONG], [1000]), tf.zeros([1000], tf.int32), 1
    ),
    "n-grams": lambda: op(
        "StringNGrams", ["a"], tf.constant([0, 1], tf.int64),
        separator="", ngram_widths=(MANY,), left_pad="x", right_pad="x", pad_width=-1,
        preserve_short_sequences=False,
    ),
    "as_string": lambda: tf.strings.as_string([1], width=MANY),
    "digits": lambda: tf.strings.as_string([1.0], precision=MANY),
    "replace": lambda: tf.strings.regex_replace(LONG, "a|b", LONG.decode()),
    "replace a set": lambda: tf.strings.regex_replace(LONG, "[a]", LONG.decode()),
    "substr": lambda: tf.strings.substr(
        LONG, tf.zeros([2000], tf.int32), tf.fill([2000], 99_999)
    ),
    "format": lambda: tf.strings.format("{}" * 300, [text(LONG)] * 300),
    "format of an array": lambda: tf.strings.format("{}", tf.zeros([1_000_000]), summarize=-1),
    "inflate": lambda: tf.io.decode_compressed(
        gzip.compress(bytes(40_000_000), 9), compression_type="GZIP"
    ),
    "inflate zlib": lambda: tf.io.decode_compressed(
        zlib.compress(bytes(40_000_000), 9), compression_type="ZLIB"
    ),
    "crossings": lambda: tf.ragged.cross(
        [tf.ragged.constant([[letter] * 400]) for letter in "abc"]
    ),
    "PNG": lambda: tf.io.decode_png(png(2600, 2600)),
    "JPEG": lambda: tf.io.decode_jpeg(picture("JPEG")),
    "GIF": lambda: tf.io.decode_gif(picture("GIF")),
    "a list of many": lambda: op(
        "TensorListStack",
        op("TensorListReserve", np.int32([]), np.int32(MANY), element_dtype=tf.float32),
        np.int32([]), element_dtype=tf.float32,
    ),
    "classes": lambda: tf.random.uniform_candidate_sampler(
        tf.constant([[0]], tf.int64), 1, MANY, False, MANY
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_is_too_much_is_refused(name: str) -> None:
    # NumPy requests memory, and gets none.
    with pytest.raises(ResourceExhaustedError, match=f"may take {MOST} bytes"), bounded(MOST):
        ARRAYS[name]()


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_array_is_refused_before_it_is_there(name: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ResourceExhaustedError, match=f"may take {MOST} bytes"), bounded(MOST):
            OTHERS[name]()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Images, and 40 MB to compress, are created here first.
    assert peak < 8 * MOST


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or allocation._heap_info() is None,
    reason="this C library does not tell what of its heap is free",
)
def test_memory_that_the_heap_kept_is_counted_as_any_other() -> None:
    """In a long-lived process memory does not grow: memory freed by earlier runs is reused."""
    pieces = [bytes(100_000) for _ in range(4000)]
    del pieces[1::2]  # holes, which cannot go back to the system
    with pytest.raises(ResourceExhaustedError, match=f"may take {MOST} bytes"), bounded(MOST):
        OTHERS["substr"]()
    assert len(pieces) == 2000


def test_a_list_that_is_cut_looks_at_what_it_holds() -> None:
    reserved = op("TensorListReserve", np.int32([]), np.int32(MANY), element_dtype=tf.float32)
    cut = op("TensorListResize", reserved, np.int32(3))
    assert op("TensorListLength", cut).numpy() == 3


def test_what_fits_is_not_refused_however_often_it_is_made() -> None:
    with bounded(MOST):
        for _ in range(200):
            assert tf.strings.length(tf.strings.join([LONG, LONG])).numpy() == 200_000
            assert tf.io.decode_compressed(zlib.compress(LONG), "ZLIB").numpy() == LONG


def test_nothing_is_counted_without_a_limit() -> None:
    claim(1 << 60)
    assert joined(b"-", [b"a", b"b", b"c"]) == b"a-b-c"


def test_texts_are_counted_with_what_stands_between_them() -> None:
    with bounded(MOST), pytest.raises(ResourceExhaustedError, match="and this one asked for"):
        joined(b"-" * (1 << 20), [b""] * 100)


def test_the_last_memory_of_a_process_is_given_to_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that would get it alone is told to retry, and gets it as soon as it is available."""

    def run() -> int:
        with bounded(8 * MOST):
            return int(np.ones(4 * MOST, np.uint8).sum())

    monkeypatch.setattr(allocation, "_GIVEN_BACK_S", 0.0)
    others = np.ones(8 * MOST, np.uint8)
    # Memory that earlier tests left free in the heap would be returned for the run, and suffice.
    gc.collect()
    allocation._give_back()
    monkeypatch.setattr(allocation.limits, "process_bytes", allocation.resident())
    with pytest.raises(UnavailableError, match="others have the rest; try again later"):
        run()
    with pytest.raises(ResourceExhaustedError, match=f"may take {MOST} bytes"), bounded(MOST):
        np.ones(4 * MOST, np.uint8)
    del others
    assert run() == 4 * MOST


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs glibc's heap")
def test_memory_that_the_heap_keeps_is_given_back_for_a_run() -> None:
    """In a separate process, since addresses of arrays depend on the history of the heap."""
    run_fresh(KEPT_BY_THE_HEAP)
