"""The text of a kernel as Python: what it computes without LLVM, and that it stays in its memory.

Compiling a kernel takes Numba a third of a second, running its text in Python some milliseconds.
Every address that the text forms is looked up among the arrays that the kernel was given or made:
one beyond them is an error, and memory that it makes is poisoned. What Numba and LLVM do to the
text is for the graphs that run as machine code.
"""

from __future__ import annotations

import builtins
import importlib.util
import math
import threading
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Callable

_CODEGEN = "pinnace.engine.codegen"


class OutOfBoundsError(Exception):
    """A kernel's text left the memory that it was given."""


class _Memory(threading.local):
    """What the kernel that is running may touch."""

    def __init__(self) -> None:
        self.poison = 0xFF
        self.spans: list[tuple[int, int, Any]] = []
        self.reached: list[Any] = []

    def add(self, array: Any) -> None:
        """An array of the kernel, wherever its numbers lie."""
        if array.size:
            low, high = np.lib.array_utils.byte_bounds(array)
            made = (np.ctypeslib.ctypes.c_ubyte * (high - low)).from_address(low)
            self.spans.append((low, high, (np.frombuffer(made, np.uint8), array)))

    def view(self, address: Any, count: Any, kind: Any, *, clipped: bool = False) -> Any:
        """The numbers from an address on; `clipped`: only those that are there."""
        address, size = int(address), int(count) * np.dtype(kind).itemsize
        for low, high, (flat, _) in self.spans:
            if low <= address < high and (clipped or address + size <= high):
                return flat[address - low : min(address + size, high) - low].view(kind)
        if not size:
            return np.empty(0, kind)
        raise OutOfBoundsError(f"{count} numbers at an address outside of every array")


_memory = _Memory()


def reach(arrays: list[Any]) -> None:
    """Arrays that kernels of this thread may read, too, by addresses in a table."""
    _memory.reached = arrays


def _empty(shape: Any, dtype: Any = np.float64) -> Any:
    made = np.empty(shape, dtype)
    made.view(np.uint8).fill(_memory.poison)
    _memory.add(made)
    return made


def _row(array: Any, index: Any, width: Any) -> Any:
    found = array[index]
    if not 0 <= index < len(array) or len(found) < width:
        raise OutOfBoundsError(f"row {index} of {array.shape}, {width} numbers")
    return found[:width]


def _at(array: Any) -> int:
    address = int(array.ctypes.data)
    if array.size and not any(low <= address < high for low, high, _ in _memory.spans):
        _memory.add(array)
    return address


def _floats(address: Any, count: Any) -> Any:
    return _memory.view(address, count, np.float32)


# What the text names is a view, of which it may use a part: an index beyond it is an error.


def _some_floats(address: Any, count: Any) -> Any:
    return _memory.view(address, count, np.float32, clipped=True)


def _some_truths(address: Any, count: Any) -> Any:
    return _memory.view(address, count, np.uint8, clipped=True)


def _some_ints(address: Any, count: Any) -> Any:
    return _memory.view(address, count, np.int32, clipped=True)


def _some_longs(address: Any, count: Any) -> Any:
    return _memory.view(address, count, np.int64, clipped=True)


def _shaped(address: Any, shape: Any) -> Any:
    return _floats(address, math.prod(shape)).reshape(shape)


def _move(target: Any, source: Any, count: Any) -> None:
    if target != source and abs(int(target) - int(source)) < 4 * int(count):
        raise OutOfBoundsError("a copy onto a part of itself")
    _floats(target, count)[:] = _floats(source, count)


def _larger(a: Any, b: Any) -> Any:
    if a != a or b != b:
        return a if a != a else b
    return a if a > b or (a == b and not np.signbit(a)) else b


def _tile(rows: int, vectors: int, lanes: int) -> Callable[..., None]:
    """What `register_tiles._tile` makes, with sums in float64."""

    def tile(
        a: Any, a_table: Any, c: Any, c_table: Any, b: Any, b_step: Any, sections: Any,
        count: Any, length: Any, a_step: Any, columns: Any, init: Any, mode: Any,
        z: Any, z_table: Any,
    ) -> None:  # fmt: skip
        del z, z_table  # of networks, which run as machine code
        width = min(int(columns), vectors * lanes)
        from_a = _memory.view(a_table, rows, np.int64)
        to_c = _memory.view(c_table, rows, np.int64)
        skips = _memory.view(sections, count, np.int64)
        made = []
        for i in range(rows):
            begin = _floats(c + 4 * to_c[i], width) if mode & 1 else _floats(init, width)
            total = begin.astype(np.float64)
            for s in range(count):
                for k in range(length):
                    factor = _floats(a + 4 * (from_a[i] + skips[s] + k * a_step), 1)[0]
                    total += float(factor) * _floats(b + 4 * (s * length + k) * b_step, width)
            made.append(total)
        for i in range(rows):
            _floats(c + 4 * to_c[i], width)[:] = made[i]

    return tile


class _Kind:
    """A type of Numba's: in a signature nothing, in the text a conversion."""

    def __init__(self, convert: Callable[..., Any] | None = None) -> None:
        self._convert = convert

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self._convert is None or options or any(isinstance(one, _Kind) for one in arguments):
            return self
        return self._convert(*arguments)


def _njit(*given: Any, **options: Any) -> Any:
    if len(given) == 1 and callable(given[0]) and not options and not isinstance(given[0], _Kind):
        return given[0]
    return lambda function: function


def _modules() -> dict[str, types.ModuleType]:
    """What a kernel's text may import."""

    def module(name: str, **contents: Any) -> types.ModuleType:
        made = types.ModuleType(name)
        vars(made).update(contents)
        return made

    kinds = {name: _Kind(getattr(np, name)) for name in ("float32", "float64", "int32", "int64")}
    kinds |= {name: _Kind(getattr(np, name)) for name in ("uint8", "uint64", "uint32")}
    kinds |= {"void": _Kind(), "boolean": _Kind(), "Array": _Kind(), "CPointer": _Kind()}
    numba_types = module("numba.types", **kinds)
    numba = module("numba", njit=_njit, types=numba_types, int64=kinds["int64"])
    vars(numba)["carray"] = None
    numpy = module("numpy")
    vars(numpy).update(vars(np))
    vars(numpy).update(empty=_empty)
    quiet = {name: getattr(np, name) for name in _UFUNCS}
    quiet |= {f"a{name[3:]}": getattr(np, name) for name in _UFUNCS if name.startswith("arc")}
    return {
        "numpy": numpy,
        "numba": numba,
        "numba.types": numba_types,
        "numba.extending": module("numba.extending", intrinsic=lambda function: function),
        "llvmlite": module("llvmlite", ir=None),
        "math": module("math", **quiet, erf=_error, erfc=_rest),
    }


_UFUNCS = ("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh")
_UFUNCS += ("cos", "cosh", "exp", "expm1", "log", "log1p", "sin", "sinh", "tan", "tanh")


def _error(x: Any) -> Any:
    return type(x)(special.erf(x))


def _rest(x: Any) -> Any:
    return type(x)(math.erfc(x))


class Interpreter:
    """Kernels' texts as Python functions."""

    def __init__(self) -> None:
        self._found = _modules()
        self._builtins = {**vars(builtins), "__import__": self._import}
        self._kernels: dict[str, Callable[..., Any]] = {}
        mathematics = self._twin(f"{_CODEGEN}.mathematics", larger=_larger, row=_row, flag_row=_row)
        vars(mathematics).update(
            _as_float=lambda bits: np.int32(bits).view(np.float32),
            as_bits=lambda number: np.float32(number).view(np.int32),
            as_pointer=None,
            as_bytes=None,
            whole_vectors=lambda: None,
        )
        from pinnace.engine.codegen import register_tiles as tiles

        names = ("ACROSS", "EIGHT", "NARROW", "ROWS", "WIDE")
        sizes = {name: getattr(tiles, name) for name in names}
        made = {"wide": (tiles.ROWS, tiles.VECTORS), "narrow": (tiles.ROWS, 1)}
        made |= {"eight": (tiles.EIGHT, tiles.VECTORS), "four": (4, tiles.VECTORS)}
        made |= {"two": (2, tiles.VECTORS), "one": (1, tiles.VECTORS)}
        made |= {"far_across": (1, tiles.ACROSS // tiles.LANES)}
        module = types.ModuleType(f"{_CODEGEN}.register_tiles")
        vars(module).update(sizes, move=_move)
        vars(module).update({name: _tile(*form, tiles.LANES) for name, form in made.items()})
        self._found[module.__name__] = module
        self._twin(
            f"{_CODEGEN}.products", at=_at, floats=_some_floats, shaped=_shaped, truths=_some_truths
        )
        views = types.ModuleType(f"{_CODEGEN}.number_views")
        vars(views).update(ints=_some_ints, longs=_some_longs)
        self._found[views.__name__] = views

    def _import(self, name: str, *rest: Any) -> Any:
        found = self._found.get(name)
        return builtins.__import__(name, *rest) if found is None else found

    def _twin(self, name: str, **instead: Any) -> types.ModuleType:
        """One of the modules that kernels use, from its source."""
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        module = types.ModuleType(name)
        vars(module)["__builtins__"] = self._builtins
        source = Path(spec.origin).read_text()
        exec(compile(source, spec.origin, "exec"), vars(module))
        vars(module).update(instead)
        self._found[name] = module
        return module

    def kernel(self, text: str, poison: int) -> Callable[..., Any]:
        """The function `kernel` of a text; memory that it makes is filled with these bytes."""
        function = self._kernels.get(text)
        if function is None:
            namespace: dict[str, Any] = {"__builtins__": self._builtins}
            exec(compile(text, "<kernel>", "exec"), namespace)
            function = self._kernels[text] = namespace["kernel"]

        def run(*arguments: Any) -> Any:
            _memory.spans, _memory.poison = [], poison
            for argument in (*arguments, *_memory.reached):
                if isinstance(argument, np.ndarray):
                    _memory.add(argument)
            try:
                with np.errstate(all="ignore"):
                    return function(*arguments)
            finally:
                _memory.spans = []

        return run
