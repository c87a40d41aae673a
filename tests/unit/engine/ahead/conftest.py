"""Kernels of all kinds, compiled ahead for this processor."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from pinnace.engine.ahead import reading, table, trust, writing
from pinnace.engine.codegen import compiler, descents, kept, objects, streams
from pinnace.framework import config
from pinnace.serving.fast.http import digit_reader

# A loop over scalars gives back a tuple; each dtype that one may carry is in it.
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
# One that holds more memory than there is.
GREEDY = """
@njit([int64(int64)], cache=True, nogil=True, error_model="numpy")
def kernel(size):
    scratch = np.empty(size, np.float32)
    scratch[size - 1] = size
    return np.int64(scratch[size - 1])
"""
# One whose registers are to be as wide as they come.
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
    "digits": digit_reader._TEXT,
    "loop": LOOP,
    "greedy": GREEDY,
    "whole": WHOLE,
}
# What asks Numba's runtime for more than memory is left out, and says so.
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
    """A folder like a model's, with the libraries of `TEXTS` and `STRANGE`.

    They are vouched for in the folder `cache` beside it.
    """
    return _made_in(tmp_path_factory.mktemp("models") / "model", (*TEXTS.values(), STRANGE))


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with one text of `TEXTS`, for tests that care which folder it is."""
    return _made_in(tmp_path_factory.mktemp("small") / "model", (TEXTS["descent"], STRANGE))


def _made_in(model: Path, texts: Iterable[str]) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config.settings, "caches", {"PINNACE_CACHE": str(model.parent / "cache")})
        folder = model / table.FOLDER
        full = [compiler.full_text(text) for text in texts]
        writing.write(full, writing.chosen(["native", "x86-64"]), folder, int)
        trust.vouch(trust.digest_of((folder / table.FILE).read_bytes()))
    return model


@pytest.fixture(scope="session")
def numba() -> dict[str, Any]:
    """What Numba makes of each text."""
    return {name: objects.dispatcher_of(compiler.full_text(text)) for name, text in TEXTS.items()}


@pytest.fixture(scope="session", params=["library", "kept"])
def kernels(
    request: pytest.FixtureRequest,
    made: Path,
    numba: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Pair]:
    """Of each text the function that stands without Numba, and Numba's.

    It is from the library beside a model, or from the cache folder.
    """
    if request.param == "library":
        ahead = _from_library(made)
    else:
        ahead = _from_cache(tmp_path_factory.mktemp("kept"))
    return {name: (ahead[name], numba[name]) for name in TEXTS}


def _from_cache(folder: Path) -> dict[str, Callable[..., Any]]:
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config.settings, "caches", {"PINNACE_CACHE": str(folder)})
        for name, text in TEXTS.items():
            full = compiler.full_text(text)
            _, size = kept.keep(full, objects.compiled(full, for_libraries=False).code)
            assert size > 0
            loaded = kept.load(full)
            assert loaded is not None
            found[name] = loaded[0]
    return found


def _from_library(made: Path) -> dict[str, Callable[..., Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config.settings, "caches", {"PINNACE_CACHE": str(made.parent / "cache")})
        loaded = reading._loaded(made / table.FOLDER)
    assert loaded is not None
    found = {}
    for name, text in TEXTS.items():
        symbol = loaded.entries.kernels[table.digest_of_text(compiler.full_text(text))]
        found[name] = reading._function(loaded.code, symbol)
    return found
