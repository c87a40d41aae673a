"""Kernels of all kinds, compiled to libraries for this processor."""

from __future__ import annotations

import ctypes
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pinnace.engine.ahead import reading, sources, table, writing
from pinnace.engine.codegen import descents, general, number_lists, streams
from support import numba_kernels

# A loop over scalars returns a tuple; it contains each dtype that a loop may carry.
LOOP = """
@njit([(int64, types.boolean, types.int8, types.uint16, types.float32, types.float64,
        types.Array(types.int32, 1, 'C', readonly=True))],
      cache=True, nogil=True, error_model="numpy")
def kernel(most, flag, small, word, single, double, numbers):
    state = 0
    for n in range(most):
        flag = not flag
        small = np.int8(small + np.int8(3))
        word = np.uint16(word + np.uint16(numbers[n % numbers.shape[0]]))
        single = np.float32(single * np.float32(1.25) + np.float32(small))
        double = double / 3.0 + single
        state += numbers[n % numbers.shape[0]]
    return state, most, flag, small, word, single, double
"""
# One that needs more memory than available.
GREEDY = """
@njit([int64(int64)], cache=True, nogil=True, error_model="numpy")
def kernel(size):
    scratch = np.empty(size, np.float32)
    scratch[size - 1] = size
    return np.int64(scratch[size - 1])
"""
# One that should use the widest registers.
WHOLE = """
@njit([void(READ, WRITTEN)], cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def kernel(x, y):
    whole_vectors()
    for i in range(x.size):
        y[i] = exp(tanh(x[i] * x[i] + np.float32(1)))
"""
TEXTS = {
    **descents.TEXTS,
    **streams.TEXTS,
    **number_lists.TEXTS,
    "loop": LOOP,
    "greedy": GREEDY,
    "whole": WHOLE,
}
# Kernels that need more of Numba's runtime than memory are omitted, with a message.
STRANGE = """
@njit([types.float64(types.float64)], cache=True, nogil=True, error_model="numpy")
def kernel(x):
    return x + np.random.random()
"""

Pair = tuple[Callable[..., Any], Callable[..., Any]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    reason = "needs Linux and a C compiler"
    if sys.platform != "linux" or not any(map(shutil.which, ("cc", "gcc", "clang"))):
        for item in items:
            if here in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the libraries of `TEXTS` and `STRANGE`."""
    folder = tmp_path_factory.mktemp("made") / "library"
    _write({**TEXTS, "strange": STRANGE}, folder)
    return folder


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with one text of `TEXTS`, for tests that need a separate folder."""
    folder = tmp_path_factory.mktemp("small") / "library"
    _write({"descent": TEXTS["descent"], "strange": STRANGE}, folder)
    return folder


def _write(texts: Mapping[str, str], folder: Path) -> None:
    full = {name: general.module_of(text) for name, text in texts.items()}
    writing.write(full, writing.chosen(["native", "x86-64"]), folder, int)


@pytest.fixture(scope="session")
def kernels(made: Path) -> dict[str, Pair]:
    """For each text the library's function, which works without Numba, and Numba's."""
    chosen = reading.fitting(table.read((made / table.FILE).read_bytes(), sources.version()))
    code = ctypes.CDLL(str(made / chosen.file))
    return {
        name: (
            reading._function(code, chosen.kernels[name]),
            numba_kernels.compiled(text),
        )
        for name, text in TEXTS.items()
    }
