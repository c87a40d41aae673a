"""The number of BLAS threads, set from any thread.

`threadpoolctl` finds the libraries. For an OpenBLAS with its own threads it lets only the first
thread that set a number set others, while that thread lives: requests of a server's other threads
would be ignored silently. The number belongs to the process, and is set under a lock here, so the
library's functions are called directly.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Library(NamedTuple):
    """A BLAS of this process.

    Attributes:
        path: the file it came from.
        get: returns the number of threads it uses.
        set: sets that number.
    """

    path: str
    get: Callable[[], int]
    set: Callable[[int], object]


def libraries() -> list[Library]:
    """The BLAS libraries that are loaded."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped] # has no types

    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    return [_library(controller) for controller in controllers]


def product_address(name: str) -> int:
    """The address of a function of an OpenBLAS in `libraries`; 0 if unknown.

    Args:
        name: `cblas_sgemm` or `cblas_sgemv`.
    """
    import ctypes

    for library in libraries():
        opened = ctypes.CDLL(library.path)
        for prefix, suffix in itertools.product(("", "scipy_"), ("64_", "")):
            try:
                found = opened[f"{prefix}{name}{suffix}"]
                opened[f"{prefix}openblas_get_num_threads{suffix}"]
            except AttributeError:
                continue
            return ctypes.cast(found, ctypes.c_void_p).value or 0
    return 0


def _library(controller: Any) -> Library:
    if controller.internal_api == "openblas" and controller.threading_layer != "openmp":
        import ctypes

        # With the GIL held: releasing it would take longer.
        opened = ctypes.PyDLL(controller.filepath)
        for prefix, suffix in itertools.product(("", "scipy_"), ("", "64_", "_64")):
            try:
                found = opened[f"{prefix}openblas_get_num_threads{suffix}"]
                given = opened[f"{prefix}openblas_set_num_threads{suffix}"]
            except AttributeError:
                continue
            given.argtypes, given.restype = [ctypes.c_int], None
            return Library(controller.filepath, found, given)
    return Library(controller.filepath, controller.get_num_threads, controller.set_num_threads)
