"""Loads NumPy so that the idle threads of its OpenBLAS sleep soon.

By default each looks for work for 2**26 ticks of the processor's clock before it sleeps, at its
start as well: a core is busy for 20 ms and more whenever NumPy is imported. Whoever loads NumPy
first, or sets OPENBLAS_THREAD_TIMEOUT, decides otherwise.

Source:
    OpenBLAS' list of runtime variables; its Makefile.rule for the default, a power of 2 of ticks.
    The variable is read when the library is loaded.
"""

import importlib
import os
import sys

_VARIABLE = "OPENBLAS_THREAD_TIMEOUT"
_TICKS = "20"  # 0.3 to 0.5 ms: longer than the gaps between the products of a training step

if "numpy" not in sys.modules and _VARIABLE not in os.environ:
    os.environ[_VARIABLE] = _TICKS
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[_VARIABLE]  # processes that this one starts decide for themselves
