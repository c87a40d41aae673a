"""A kernel of a library as a Python function, called as Numba's would be."""

from __future__ import annotations

import ctypes
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.ahead import interface
from pinnace.engine.ahead.trust import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.engine.ahead.table import Entry

_TYPES: dict[str, Any] = {
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
    **{
        f"{sign}int{size}": getattr(ctypes, f"c_{sign}int{size}")
        for sign in ("", "u")
        for size in (8, 16, 32, 64)
    },
}
_MOST_AXES = 8


def check_arrays(library: ctypes.CDLL) -> None:
    """See to it that a library finds in NumPy's arrays what NumPy says of them.

    Raises:
        RefusedError: it does not: this Python or NumPy lays them out in another way.
    """
    ctypes.c_void_p.in_dll(library, interface.ARRAY_TYPE).value = id(np.ndarray)
    # The head of every object: a library would look beside the fields of others.
    if object.__basicsize__ != 2 * ctypes.sizeof(ctypes.c_void_p):
        raise RefusedError("objects of this Python begin in another way")
    look = getattr(library, interface.LOOK)
    look.argtypes = [ctypes.py_object, ctypes.c_void_p]
    look.restype = None
    whole = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    fixed = whole[1:, ::2]
    fixed.flags.writeable = False
    for array in (whole, fixed, np.zeros(7, np.int64), np.zeros((3, 0), np.uint8)):
        found = np.full(interface.LOOKED_AT + 2 * _MOST_AXES, -1, np.int64)
        look(array, found.ctypes.data)
        flags = array.flags
        bits = 1 * flags.c_contiguous + 0x100 * flags.aligned + 0x400 * flags.writeable
        told = [array.ndim, array.ctypes.data, array.dtype.num, bits]
        shape = found[interface.LOOKED_AT :][: array.ndim]
        steps = found[interface.LOOKED_AT + _MOST_AXES :][: array.ndim]
        seen = (found[: interface.LOOKED_AT].tolist(), tuple(shape), tuple(steps))
        if seen != (told, array.shape, array.strides):
            raise RefusedError(f"NumPy {np.__version__} lays out its arrays in another way")


def function_of(entry: Entry, library: ctypes.CDLL) -> Callable[..., Any]:
    """A kernel as a function.

    It takes arrays and numbers by position, and gives back None, a number, or a tuple of numbers.

    Args:
        entry: the kernel.
        library: that holds it, checked by `check_arrays`.

    Raises:
        RefusedError: it is not there.
    """
    try:
        call = getattr(library, interface.called(entry))
    except AttributeError as error:
        raise RefusedError(f"{entry.symbol} is missing") from error
    is_array = [":" in kind for kind in entry.arguments]
    call.argtypes = [
        ctypes.py_object if array else _TYPES[kind]
        for kind, array in zip(entry.arguments, is_array, strict=True)
    ]
    call.restype = ctypes.c_int
    names = [f"a{index}" for index in range(len(entry.arguments))]
    # NumPy's integers are none for ctypes.
    numbers = [
        name if array or kind.startswith("float") or kind == "bool" else f"index({name})"
        for name, kind, array in zip(names, entry.arguments, is_array, strict=True)
    ]
    own: dict[str, Any] = {
        "call": call,
        "fail": lambda status, given: _fail(entry, status, given),
        "byref": ctypes.byref,
        "ArgumentError": ctypes.ArgumentError,
        "index": operator.index,
    }
    after, begin, found = "", "", "None"
    if entry.results:
        fields = [(f"r{index}", _TYPES[kind]) for index, kind in enumerate(entry.results)]
        own["Found"] = type("Found", (ctypes.Structure,), {"_fields_": fields})
        call.argtypes = [*call.argtypes, ctypes.c_void_p]
        begin, after = "    found = Found()\n", "byref(found)"
        found = ", ".join(f"found.{name}" for name, _ in fields)
        found = found if len(fields) == 1 else f"({found})"
    arguments, exact = (", ".join([*given, *filter(None, [after])]) for given in (names, numbers))
    text = (
        f"def kernel({', '.join(names)}):\n{begin}"
        f"    try:\n        status = call({arguments})\n"
        f"    except ArgumentError:\n        status = call({exact})\n"
        f"    if status:\n        fail(status, ({', '.join(names)},))\n"
        f"    return {found}\n"
    )
    exec(text, own)
    return own["kernel"]  # type: ignore[no-any-return]


def _fail(entry: Entry, status: int, given: tuple[Any, ...]) -> None:
    if status < interface.ARGUMENT:
        raise MemoryError(f"{entry.symbol}: a kernel found no memory for what it holds itself")
    index = status - interface.ARGUMENT
    one = given[index]
    what = (
        f"{one.dtype} {one.shape}, steps {one.strides}"
        if isinstance(one, np.ndarray)
        else type(one).__name__
    )
    raise TypeError(
        f"{entry.symbol}: argument {index} must be {entry.arguments[index]} (dtype, axes, layout, "
        f"read or written), got {what}"
    )
