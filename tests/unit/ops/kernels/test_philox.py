"""Philox against the published vectors, and its distributions against TensorFlow's numbers."""

import json
import math
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels import philox
from pinnace.ops.kernels.philox import KeyCounter, Stream, key_counter, key_counter_from_seed, words
from pinnace.ops.kernels.precision import Array
from support.golden import golden

DTYPES = {
    **{name: np.dtype(name) for name in ("float16", "float32", "float64")},
    **{name: np.dtype(name) for name in ("int32", "int64", "uint32", "uint64")},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


def cases(file: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads(golden(f"random/{file}").read_text())
    return content


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # Random123 1.14, tests/kat_vectors, philox4x32 10; words low first
        ("00000000 00000000", "00000000 " * 4, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff", "ffffffff " * 4, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            "a4093822 299f31d0",
            "243f6a88 85a308d3 13198a2e 03707344",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
@pytest.mark.parametrize("count", [4, 400])  # the methods for few blocks and for many
def test_published_vectors(key: str, counter: str, expected: str, count: int) -> None:
    start = KeyCounter(_number(key), _number(counter))
    assert words(start, count)[:4].tolist() == [int(word, 16) for word in expected.split()]


def _number(text: str) -> int:
    return sum(int(word, 16) << 32 * i for i, word in enumerate(text.split()))


@given(
    key=st.integers(0, 2**64 - 1),
    counter=st.one_of(
        st.integers(0, 2**128 - 1),
        st.integers(2**64 - 50, 2**64 + 50),
        st.integers(2**128 - 50, 2**128 - 1),
    ),
    first=st.integers(0, 300),
    count=st.integers(0, 600),
)
def test_any_part_of_a_stream_is_that_part(key: int, counter: int, first: int, count: int) -> None:
    start = KeyCounter(key, counter)
    whole = words(start, 4 * first + count)
    np.testing.assert_array_equal(whole[4 * first :], words(start.skip(first), count))
    blocks = [words(start.skip(block), 4) for block in range(len(whole) // 4)]
    np.testing.assert_array_equal(whole[: 4 * len(blocks)], np.ravel(blocks))


def test_chunks_join_without_a_seam() -> None:
    start = KeyCounter(5, 2**64 - philox._CHUNK - 3)
    whole = words(start, 4 * (2 * philox._CHUNK + 10))
    for block in (philox._CHUNK - 1, philox._CHUNK, philox._CHUNK + 3, 2 * philox._CHUNK + 9):
        np.testing.assert_array_equal(whole[4 * block : 4 * block + 4], words(start.skip(block), 4))


def draw(case: dict[str, Any], start: KeyCounter, shape: tuple[int, ...]) -> Array:
    dtype = DTYPES[case.get("dtype", "float32")]
    if case["op"] == "uniform_int":
        return philox.uniform_int(start, shape, case["low"], case["high"], dtype)
    drawn: Array = getattr(philox, case["op"])(start, shape, dtype)
    return drawn


@pytest.mark.parametrize(
    "case", cases("stateless.json"), ids=lambda c: f"{c['op']}-{c.get('dtype')}-{c.get('seed')}"
)
def test_stateless_ops_draw_tensorflows_numbers(case: dict[str, Any]) -> None:
    if "key" in case:
        start = key_counter(
            np.array([case["key"]], np.uint64), np.array(case["counter"], np.uint64)
        )
    else:
        start = key_counter_from_seed(case["seed"])
    expected = case["values"]
    if case["op"] == "key_counter":
        assert np.concatenate(start.arrays).tolist() == expected
        return
    if case["op"] == "fold_in":
        folded = philox.fold_in(case["seed"], case["data"], DTYPES[case["dtype"]])
        assert folded.tolist() == expected
        return
    count = case.get("count", len(expected))
    drawn = draw(case, start, (count,))[-len(expected) :]
    assert drawn.dtype == DTYPES[case["dtype"]]
    if drawn.dtype.kind in "iu":
        assert drawn.tolist() == expected
    elif case["op"] == "uniform":
        assert drawn.astype(np.float64).tolist() == expected
    else:
        close(drawn, expected)


def close(drawn: Array, expected: list[float]) -> None:
    """Log, sin and cos differ in the last places; near a zero of sin or cos that is the angle's
    rounding, 2^-24 of up to 2 pi times a radius of up to 6, so an absolute tolerance as well."""
    ulp = float(np.finfo(np.float32 if drawn.dtype.itemsize < 8 else np.float64).eps)
    if drawn.dtype.itemsize == 2:
        ulp = 2.0**-10 if drawn.dtype.kind == "f" else 2.0**-7
    np.testing.assert_allclose(
        drawn.astype(np.float64), np.asarray(expected), rtol=4 * ulp, atol=2 * ulp
    )


@pytest.mark.parametrize("case", cases("stateful.json"), ids=lambda c: f"{c['op']}-{c['seed']}")
def test_stateful_ops_draw_tensorflows_numbers_run_after_run(case: dict[str, Any]) -> None:
    stream = Stream(case["seed"], case["seed2"])
    how = {"op": case["op"], "low": 0, "high": 1000}
    how["dtype"] = "int32" if case["op"] == "uniform_int" else "float32"
    if case["op"] == "uniform_double":
        how = {"op": "uniform", "dtype": "float64"}
    for expected in case["runs"]:
        drawn = draw(how, stream.reserve(len(expected)), (len(expected),))
        close(drawn, expected)


@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_moments_are_those_of_the_distribution(name: str, dtype: str) -> None:
    drawn = getattr(philox, name)(KeyCounter(3, 9), (40, 5000), DTYPES[dtype]).astype(np.float64)
    # Variance of a normal truncated at 2: 1 - 2 * 2 * pdf(2) / (cdf(2) - cdf(-2)).
    cut = 1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / math.erf(math.sqrt(2))
    mean, variance = {"uniform": (0.5, 1 / 12), "normal": (0, 1), "truncated_normal": (0, cut)}[
        name
    ]
    assert drawn.shape == (40, 5000)
    np.testing.assert_allclose(drawn.mean(), mean, atol=0.01)
    np.testing.assert_allclose(drawn.var(), variance, rtol=0.02)
    if name == "truncated_normal":
        assert np.abs(drawn).max() <= 2
    if name == "uniform":
        assert drawn.min() >= 0
        assert drawn.max() < 1


@given(low=st.integers(-(2**31), 2**31 - 2), size=st.integers(1, 2**32 - 1))
def test_integers_stay_within_their_bounds(low: int, size: int) -> None:
    high = min(low + size, 2**31 - 1)
    drawn = philox.uniform_int(KeyCounter(1, 2), (50,), low, high, np.dtype(np.int32))
    assert drawn.min() >= low
    assert drawn.max() < high


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3)])
@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal"])
def test_every_shape_can_be_asked_for(name: str, shape: tuple[int, ...]) -> None:
    drawn = getattr(philox, name)(KeyCounter(1, 2), shape, np.dtype(np.float32))
    assert drawn.shape == shape
    assert isinstance(drawn, np.ndarray)


def test_threads_draw_disjoint_parts_of_a_stream() -> None:
    stream = Stream(1, 2)
    starts: list[int] = []
    workers = [
        threading.Thread(
            target=lambda: starts.extend(stream.reserve(3).counter for _ in range(200))
        )
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(starts) == [(2 << 64) + 768 * i for i in range(1600)]


def test_streams_without_seeds_differ() -> None:
    assert Stream().reserve(1) != Stream().reserve(1)


@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal", "uniform_full_int"])
def test_other_dtypes_are_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{name}: dtype must be"):
        getattr(philox, name)(KeyCounter(1, 2), (3,), np.dtype(np.int8))


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="must be greater than minval, got 3 and 3"):
        philox.uniform_int(KeyCounter(1, 2), (3,), 3, 3, np.dtype(np.int32))
