"""Objects that Python frees last refer to our memory, which is read at interpreter exit.

Freed memory is overwritten here, so that reading it fails every time, not sporadically.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Referenced by a module of Python's, and in a cycle: both exist when other modules are cleared.
KEEP = """
import builtins

class Keeper:
    pass

def keep(value):
    keeper = Keeper()
    keeper.itself, keeper.value = keeper, value
    builtins.__dict__.setdefault("kept", []).append(keeper)
"""
KERNELS = """
from pinnace.engine.codegen import general, kernels

assert kernels.are_there(), "the installation has no library"
for name in general.names():
    keep(kernels.function(name))
"""
ARRAYS = """
import numpy as np
from pinnace.engine import allocation

with allocation.bounded(1 << 24):
    for _ in range(100):
        keep(np.ones(4096))
with allocation.filled():
    keep(np.ones(4096))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux fills freed memory")
@pytest.mark.parametrize("program", [KERNELS, ARRAYS], ids=["kernels", "arrays"])
def test_nothing_that_was_freed_is_read_at_the_end(program: str) -> None:
    environment = {**os.environ, "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "2"}
    done = subprocess.run(
        [sys.executable, "-c", KEEP + program],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
