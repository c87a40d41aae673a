"""Precompiled kernels give Numba's bits, and refuse arguments for which they were not compiled."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.engine.codegen import descents, number_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unit.engine.ahead.conftest import Pair

SEED = st.integers(0, 2**32 - 1)


def same(pair: Pair, arguments: Sequence[Any]) -> Any:
    """The results of both functions, after a check that results and all arrays are equal."""
    copies = [
        [one.copy() if isinstance(one, np.ndarray) else one for one in arguments] for _ in pair
    ]
    ahead, numba = (function(*given) for function, given in zip(pair, copies, strict=True))
    assert type(ahead) is type(numba)
    np.testing.assert_array_equal(np.array(ahead, object), np.array(numba, object))
    for one, other in zip(*copies, strict=True):
        if isinstance(one, np.ndarray):
            assert one.tobytes() == other.tobytes()
    return ahead


@pytest.mark.parametrize("name", descents.TEXTS)
@given(count=st.integers(1, 200), seed=SEED)
def test_steps_of_optimizers(kernels: dict[str, Pair], name: str, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    code = kernels[name][1].py_func.__code__
    names = code.co_varnames[2 : code.co_argcount]
    arrays = {"var", "m", "v", "accum", "grad"}
    numbers = [
        np.abs(random.standard_normal(count)).astype(np.float32)
        if one in arrays
        else float(random.random())
        for one in names
    ]
    start = int(random.integers(count))
    same(kernels[name], (start, count, *numbers))


@given(SEED, st.integers(1, 50), st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_scalars_of_all_dtypes_go_over(
    kernels: dict[str, Pair], seed: int, most: int, numbers: list[int]
) -> None:
    random = np.random.default_rng(seed)
    scalars = (
        np.bool_(random.random() < 0.5),
        np.int8(random.integers(-128, 128)),
        np.uint16(random.integers(2**16)),
        np.float32(random.standard_normal()),
        np.float64(random.standard_normal()),
    )
    found = same(kernels["loop"], (most, *scalars, np.array(numbers, np.int32)))
    assert [type(one) for one in found] == [int, int, bool, int, int, float, float]


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_are_read(kernels: dict[str, Pair], numbers: list[float]) -> None:
    text = np.frombuffer(json.dumps(numbers).encode() + b" " * 40, np.uint8)
    room, found = np.zeros(len(numbers), np.float32), np.zeros(3, np.int64)
    same(kernels[number_lists.NAME], (text, 1, room, found))


@given(st.integers(1, 3), st.integers(1, 9), SEED)
def test_memory_is_fetched_and_given_back(
    kernels: dict[str, Pair], count: int, channels: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(0, 3, (count, 4, 6, channels)).astype(np.float32)
    y = x.reshape(count, 2, 2, 3, 2, channels).max((2, 4))
    dy = random.standard_normal(y.shape).astype(np.float32)
    same(kernels["maxima"], (0, count, 0, 2, 2, x, y, dy, np.zeros_like(x)))


@given(st.integers(1, 200), SEED)
def test_registers_may_be_wide(kernels: dict[str, Pair], count: int, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal(count).astype(np.float32)
    same(kernels["whole"], (x, np.empty_like(x)))


def test_words_are_of_numpys_integers(kernels: dict[str, Pair]) -> None:
    same(kernels["philox"], (*(np.uint64(2**64 - n) for n in (1, 2, 3)), np.empty((9, 4), "u4")))


def test_no_memory_is_told(kernels: dict[str, Pair]) -> None:
    assert kernels["greedy"][0](1000) == 1000
    with pytest.raises(MemoryError):
        kernels["greedy"][0](2**58)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(8, np.float64),
        np.zeros(8, np.int32),
        np.zeros((8, 1), np.float32),
        np.zeros(16, np.float32)[::2],
        np.zeros(8, ">f4"),
        np.frombuffer(bytes(32), np.float32),  # may not be written to
        [0.0] * 8,
        None,
    ],
)
def test_another_array_is_refused(kernels: dict[str, Pair], wrong: Any) -> None:
    var, grad = (np.ones(8, np.float32) for _ in range(2))
    kernels["descent"][0](0, 8, var, grad, 0.5)
    with pytest.raises(TypeError, match="argument 2 must be float32:1:C:w"):
        kernels["descent"][0](0, 8, wrong, grad, 0.5)


def test_many_threads_call_at_once(kernels: dict[str, Pair]) -> None:
    wanted = kernels["loop"][1](5000, True, 1, 2, 3.0, 4.0, np.arange(9, dtype=np.int32))
    found: list[Any] = []

    def work() -> None:
        numbers = np.arange(9, dtype=np.int32)
        found.extend(kernels["loop"][0](5000, True, 1, 2, 3.0, 4.0, numbers) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 200
