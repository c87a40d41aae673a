"""The side effects of `import pinnace` on its process: all of them, each with its reason.

`core/__init__.py` calls these, in this order:

- `load_numpy`: NumPy is imported with the idle threads of its OpenBLAS told to sleep soon.
- `ignore_float_warnings`: NumPy's RuntimeWarning is silenced for calls out of this library.
- `collector_paused`: Python's cyclic garbage collector is off while modules are imported; later,
  while a model is loaded or a plan is built.
- `promote_imported`: objects that exist at the import are in that collector's oldest generation.
- `public_imports.install`: two finders on `sys.meta_path`, for `import pinnace.linalg` and such.
- `missing_in_modules.install`: one more, so that a namespace says why it lacks a name (ADR 27).

Listed elsewhere, in the module they belong to:

- `engine/threads.py` sets the threads of BLAS, where PINNACE_THREADS says how many.
- `ops/kernels/team.py`: a forked child forgets its parent's threads.
- ml_dtypes tells NumPy of its types.
- `framework/denormals.py` sets the floating-point mode of a thread while a run is in it, and sets
  what was set before when it ends (ADR 24).

There are no others: `tests/unit/framework/test_importing.py` compares the process before and after.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARIABLE = "OPENBLAS_THREAD_TIMEOUT"
_TICKS = "20"  # 0.3 to 0.5 ms: longer than the gaps between the products of a training step


def load_numpy() -> None:
    """Import NumPy so that the idle threads of its OpenBLAS sleep soon.

    By default each spins for 2**26 cycles of the processor's clock before it sleeps, also at its
    start: importing NumPy keeps a core busy for 20 ms and more. This has no effect if NumPy is
    already loaded, or OPENBLAS_THREAD_TIMEOUT is set.

    Source:
        OpenBLAS' list of runtime variables; its Makefile.rule for the default, a power of 2 of
        ticks. The variable is read when the library is loaded.
    """
    if "numpy" in sys.modules or _VARIABLE in os.environ:
        return
    os.environ[_VARIABLE] = _TICKS
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[_VARIABLE]  # processes that this one starts decide for themselves


def ignore_float_warnings() -> None:
    """Ignore NumPy's warnings: overflow, 0/0 and the like are values in ops (inf, nan).

    If a program turned warnings into errors, ops catch them and run again with NumPy's
    floating-point warnings off.
    """
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"pinnace\.")


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Turn the cyclic garbage collector off inside the block.

    It is for blocks that create thousands of long-lived objects: imported modules, graphs, plans.
    Traversing them repeatedly takes a tenth of the time of an import, and a fifth of that of a
    plan.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def promote_imported() -> None:
    """Move all objects to the oldest generation of the cyclic garbage collector.

    They would get there by surviving two collections, the first ones after the import, which take
    15 ms. This has no effect if the program has frozen objects, which this would thaw.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
