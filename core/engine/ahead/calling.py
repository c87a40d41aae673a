"""The entry point of a kernel in machine code as a Python function.

Entry points (`codegen.entry_points`) read the fields of NumPy arrays at the offsets of NumPy's
headers; each process checks once that its NumPy has them there.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.kernels import pieces

if TYPE_CHECKING:
    from collections.abc import Callable

# Python objects and functions that entry points use. The loader writes their addresses to the table
# that `python_of` names: a library with Python's symbols would have to be linked with the file that
# defines them, which on Windows and macOS differs by version.
OBJECTS: dict[str, object] = {"None": None, "TypeError": TypeError, "MemoryError": MemoryError}
FUNCTIONS = (
    "PyErr_SetString",
    "PyErr_Occurred",
    "PyLong_AsLongLong",
    "PyLong_AsUnsignedLongLongMask",
    "PyFloat_AsDouble",
    "PyObject_IsTrue",
    "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong",
    "PyFloat_FromDouble",
    "PyBool_FromLong",
    "PyTuple_New",
    "PyTuple_SetItem",
    "Py_IncRef",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)
PYTHON = (*OBJECTS, *FUNCTIONS)
# Byte offsets of fields in an array object and in its dtype.
TYPE, DATA, RANK, SHAPE, STEPS, DTYPE, FLAGS, ORDER, NUMBER = 8, 16, 24, 32, 40, 56, 64, 26, 28
# Bits of an array's flags.
IN_ONE_PIECE, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
_FAST_CALL = 0x80  # METH_FASTCALL


def python_of(symbol: str) -> str:
    """The symbol of an entry point's table of Python's addresses, in the order of `PYTHON`."""
    return f"{symbol}_python"


def kernel_of(symbol: str) -> str:
    """The symbol of the kernel itself, which has Numba's calling convention."""
    return f"{symbol}_kernel"


class _Method(ctypes.Structure):
    """Python's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def function_of(symbol: str, address: Callable[[str], int]) -> Callable[..., Any]:
    """The Python function of an entry point.

    Args:
        symbol: the entry point's symbol.
        address: returns the address of any symbol in the same library.
    """
    python = (ctypes.c_void_p * len(PYTHON)).from_address(address(python_of(symbol)))
    python[:] = _addresses()
    method = _Method(symbol.encode(), address(symbol), _FAST_CALL, None)
    # The function refers to the method until it is freed, possibly when the interpreter is gone: a
    # list in this module would be cleared before.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    make = ctypes.pythonapi["PyCFunction_NewEx"]
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    make.restype = ctypes.py_object
    function: Callable[..., Any] = make(ctypes.addressof(method), np.ndarray, None)
    pieces.note(function, address(kernel_of(symbol)))
    return function


@functools.cache
def _addresses() -> list[ctypes.c_void_p | int | None]:
    """The addresses of `PYTHON` in this process."""
    functions = (ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value for name in FUNCTIONS)
    return [*map(id, OBJECTS.values()), *functions]


@functools.cache
def can_call() -> bool:
    """Whether Python and NumPy have the fields of arrays at the expected offsets."""
    words = ctypes.sizeof(ctypes.c_void_p)
    if sys.implementation.name != "cpython" or words != 8 or object.__basicsize__ != 16:
        return False
    whole = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    fixed = whole[1:, ::2]
    fixed.flags.writeable = False
    arrays = (whole, fixed, np.zeros(7, np.int64), np.zeros((3, 0), np.uint8), np.zeros(2, ">f4"))
    return all(_is_laid_out(one) for one in arrays)


def _is_laid_out(array: np.ndarray[Any, Any]) -> bool:
    def word(base: int, offset: int) -> int:
        return ctypes.c_void_p.from_address(base + offset).value or 0

    def number(base: int, offset: int) -> int:
        return ctypes.c_int.from_address(base + offset).value

    at = id(array)
    sizes = (ctypes.c_int64 * array.ndim).from_address
    flags = array.flags
    bits = IN_ONE_PIECE * flags.c_contiguous + ALIGNED * flags.aligned
    bits += WRITEABLE * flags.writeable
    kind = word(at, DTYPE)
    return (
        word(at, TYPE) == id(np.ndarray)
        and number(at, RANK) == array.ndim
        and word(at, DATA) == array.ctypes.data
        and tuple(sizes(word(at, SHAPE))) == array.shape
        and tuple(sizes(word(at, STEPS))) == array.strides
        and number(at, FLAGS) & (IN_ONE_PIECE | ALIGNED | WRITEABLE) == bits
        and kind == id(array.dtype)
        and number(kind, NUMBER) == array.dtype.num
        and ctypes.c_char.from_address(kind + ORDER).value.decode() == array.dtype.byteorder
    )
