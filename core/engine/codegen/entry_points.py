"""The C function that Python calls for a kernel compiled by Numba, as LLVM IR.

Numba's own entry point goes through its dispatcher, which requires Numba: 0.2 s to import it, and
0.3 s until its types are registered. This one implements METH_FASTCALL. It reads the fields of
arrays at the offsets of NumPy's headers, refuses arrays that the kernel was not compiled for, and
passes addresses, shapes and strides in Numba's calling convention. The self object of the function
is NumPy's array type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.ahead import calling

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TYPES = {
    "float32": "float",
    "float64": "double",
    "bool": "i8",
    **{f"{sign}int{size}": f"i{size}" for sign in ("", "u") for size in (8, 16, 32, 64)},
}
# The part of Numba's runtime that kernels need: reference-counted memory.
_MEMORY = """\
declare ptr @malloc(i64)
declare void @free(ptr)

define internal ptr @pinnace_memory(i64 %size, i64 %step) {
  %extra = add i64 %step, 48
  %whole = add i64 %size, %extra
  %wraps = icmp ult i64 %whole, %size
  br i1 %wraps, label %none, label %ask
ask:
  %made = call ptr @malloc(i64 %whole)
  %missing = icmp eq ptr %made, null
  br i1 %missing, label %none, label %give
give:
  %begin = ptrtoint ptr %made to i64
  %end = add i64 %begin, %extra
  %below = sub i64 0, %step
  %data = and i64 %end, %below
  store i64 1, ptr %made
  %dtor = getelementptr i8, ptr %made, i64 8
  store ptr null, ptr %dtor
  %info = getelementptr i8, ptr %made, i64 16
  store ptr null, ptr %info
  %place = getelementptr i8, ptr %made, i64 24
  store i64 %data, ptr %place
  %bytes = getelementptr i8, ptr %made, i64 32
  store i64 %size, ptr %bytes
  %own = getelementptr i8, ptr %made, i64 40
  store ptr null, ptr %own
  ret ptr %made
none:
  ret ptr null
}
"""
_ALLOCATE = """
define ptr @{name}(i64 %size) {{
  %made = call ptr @pinnace_memory(i64 %size, i64 32)
  ret ptr %made
}}
"""
_ALLOCATE_ALIGNED = """
define ptr @{name}(i64 %size, i32 %step) {{
  %wide = zext i32 %step to i64
  %low = icmp ult i64 %wide, 32
  %used = select i1 %low, i64 32, i64 %wide
  %made = call ptr @pinnace_memory(i64 %size, i64 %used)
  ret ptr %made
}}
"""
_RELEASE = """
define void @{name}(ptr %memory) {{
  call void @free(ptr %memory)
  ret void
}}
"""
_RUNTIME = {
    "NRT_MemInfo_alloc": _ALLOCATE,
    "NRT_MemInfo_alloc_safe": _ALLOCATE,
    "NRT_MemInfo_alloc_aligned": _ALLOCATE_ALIGNED,
    "NRT_MemInfo_alloc_safe_aligned": _ALLOCATE_ALIGNED,
    "NRT_MemInfo_call_dtor": _RELEASE,
}
RUNTIME = frozenset(_RUNTIME)


def is_known(kind: str) -> bool:
    """Whether an argument or result of this kind is supported."""
    return kind.split(":")[0] in _TYPES


def kind_of_array(dtype: str, rank: int, layout: str, is_written: bool) -> str:
    """An array's kind as text, such as `float32:2:C:r`: its layout is C (contiguous) or A."""
    return f"{dtype}:{rank}:{layout}:{'w' if is_written else 'r'}"


def _numbers_of(dtype: str, long_bytes: int) -> set[int]:
    """NumPy's type numbers of a dtype: two C types of the same size are distinct."""
    kind = np.dtype(dtype)
    sizes = {"i": 4, "l": long_bytes, "q": 8}
    alike = [char for char, size in sizes.items() if size == kind.itemsize]
    if kind.kind == "u":
        alike = [char.upper() for char in alike]
    return {np.dtype(char).num for char in alike} if kind.kind in "iu" and alike else {kind.num}


def runtime(needed: Iterable[str]) -> str:
    """The IR of those functions of Numba's runtime that a kernel calls; empty if none.

    Args:
        needed: names of the functions that the kernel declares.
    """
    found = [_RUNTIME[name].format(name=name) for name in needed if name in _RUNTIME]
    return _MEMORY + "".join(found) if found else ""


def entry_point(
    symbol: str,
    kernel: str,
    arguments: Sequence[str],
    results: Sequence[str],
    *,
    releases: bool,
    long_bytes: int,
) -> str:
    """The IR of a kernel's entry point.

    Args:
        symbol: the entry point's symbol.
        kernel: the kernel's symbol.
        arguments: kinds of the kernel's arguments; see `kind_of_array`.
        results: kinds of its results.
        releases: whether to release the GIL during the call.
        long_bytes: the size of C's `long` where it runs.
    """
    return _EntryPoint(symbol, kernel, arguments, results, releases, long_bytes).text()


class _EntryPoint:
    """Generates an entry point, line by line; values have numbered names."""

    def __init__(
        self,
        symbol: str,
        kernel: str,
        arguments: Sequence[str],
        results: Sequence[str],
        releases: bool,
        long_bytes: int,
    ) -> None:
        self._symbol, self._kernel = symbol, kernel
        self._arguments, self._results = arguments, results
        self._releases, self._long_bytes = releases, long_bytes
        self._struct = ""
        self._lines: list[str] = []
        self._globals: list[str] = []
        self._number = 0
        self._table = calling.python_of(symbol)
        self._table_kind = f"[{len(calling.PYTHON)} x ptr]"

    def text(self) -> str:
        count = len(self._arguments)
        # Numba's functions write a result even if they return none.
        self._struct = f"{{ {', '.join(_TYPES[kind] for kind in self._results) or 'ptr'} }}"
        self._lines += [
            f"define ptr @{self._symbol}(ptr %self, ptr %args, i64 %count) {{",
            f"  %result = alloca {self._struct}",
            "  %failure = alloca ptr",
            f"  store {self._struct} zeroinitializer, ptr %result",
            "  store ptr null, ptr %failure",
        ]
        self._refuse_unless(
            self._new(f"icmp eq i64 %count, {count}"), f"a kernel takes {count} arguments"
        )
        given = [
            one for place, kind in enumerate(self._arguments) for one in self._read(place, kind)
        ]
        self._call(given)
        self._give_back()
        self._lines += ["failed:", "  ret ptr null", "}"]
        declared = f"declare i32 @{self._kernel}({', '.join(self._kernel_types(given))})"
        python = f"@{self._table} = global {self._table_kind} zeroinitializer"
        return "\n".join([declared, python, *self._globals, *self._lines, ""])

    @staticmethod
    def _kernel_types(given: Sequence[str]) -> list[str]:
        return ["ptr", "ptr", *(one.split()[0] for one in given)]

    def _new(self, text: str) -> str:
        """A new named value."""
        self._number += 1
        self._lines.append(f"  %v{self._number} = {text}")
        return f"%v{self._number}"

    def _begin(self, block: str) -> None:
        self._lines.append(f"{block}:")

    def _label(self) -> str:
        self._number += 1
        return f"b{self._number}"

    def _raise(self, error: type[Exception], message: str) -> None:
        content = message.encode() + b"\0"
        name = f"@{self._symbol}_said{len(self._globals)}"
        spelt = "".join(f"\\{byte:02X}" for byte in content)
        self._globals.append(f'{name} = internal constant [{len(content)} x i8] c"{spelt}"')
        kind, set_error = self._python(error.__name__), self._python("PyErr_SetString")
        self._lines.append(f"  call void {set_error}(ptr {kind}, ptr {name})")
        self._lines.append("  br label %failed")

    def _python(self, name: str) -> str:
        """The address of one of `calling.PYTHON`."""
        number = calling.PYTHON.index(name)
        slot = self._new(
            f"getelementptr {self._table_kind}, ptr @{self._table}, i32 0, i32 {number}"
        )
        return self._new(f"load ptr, ptr {slot}")

    def _refuse_unless(
        self, condition: str, message: str, error: type[Exception] = TypeError
    ) -> None:
        fine, wrong = self._label(), self._label()
        self._lines.append(f"  br i1 {condition}, label %{fine}, label %{wrong}")
        self._begin(wrong)
        self._raise(error, message)
        self._begin(fine)

    def _field(self, kind: str, base: str, offset: int) -> str:
        place = self._new(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self._new(f"load {kind}, ptr {place}")

    def _read(self, place: int, kind: str) -> list[str]:
        """An argument for the kernel, as typed values."""
        slot = self._new(f"getelementptr ptr, ptr %args, i64 {place}")
        given = self._new(f"load ptr, ptr {slot}")
        return self._read_array(place, kind, given) if ":" in kind else [self._scalar(kind, given)]

    def _read_array(self, place: int, kind: str, given: str) -> list[str]:
        dtype, rank_text, layout, access = kind.split(":")
        rank = int(rank_text)
        said = f"argument {place} must be {kind} (dtype, axes, layout, read or written)"
        kind_of_object = self._field("ptr", given, calling.TYPE)
        self._refuse_unless(self._new(f"icmp eq ptr {kind_of_object}, %self"), said)
        flags = calling.ALIGNED
        flags |= calling.IN_ONE_PIECE if layout == "C" else 0
        flags |= calling.WRITEABLE if access == "w" else 0
        head = self._field("ptr", given, calling.DTYPE)
        number = self._field("i32", head, calling.NUMBER)
        order = self._field("i8", head, calling.ORDER)
        has = self._new(f"and i32 {self._field('i32', given, calling.FLAGS)}, {flags}")
        numbers = _numbers_of(dtype, self._long_bytes)
        alike = [self._new(f"icmp eq i32 {number}, {one}") for one in sorted(numbers)]
        conditions = [
            self._new(f"icmp eq i32 {self._field('i32', given, calling.RANK)}, {rank}"),
            alike[0] if len(alike) == 1 else self._new(f"or i1 {alike[0]}, {alike[1]}"),
            self._new(f"icmp ne i8 {order}, {ord('>')}"),
            self._new(f"icmp eq i32 {has}, {flags}"),
        ]
        whole = conditions[0]
        for one in conditions[1:]:
            whole = self._new(f"and i1 {whole}, {one}")
        self._refuse_unless(whole, said)
        axes = [self._field("ptr", given, offset) for offset in (calling.SHAPE, calling.STEPS)]
        shape, steps = (
            [self._field("i64", base, 8 * axis) for axis in range(rank)] for base in axes
        )
        size = "1"
        for one in shape:
            size = self._new(f"mul i64 {size}, {one}")
        data = self._field("ptr", given, calling.DATA)
        sizes = [size, str(np.dtype(dtype).itemsize)]
        return [
            *("ptr null", "ptr null"),
            *(f"i64 {one}" for one in sizes),
            f"ptr {data}",
            *(f"i64 {one}" for one in (*shape, *steps)),
        ]

    def _scalar(self, kind: str, given: str) -> str:
        wanted = _TYPES[kind]
        if kind.startswith("float"):
            value = self._new(f"call double {self._python('PyFloat_AsDouble')}(ptr {given})")
            self._fail_if_raised(self._new(f"fcmp oeq double {value}, -1.0"))
            if wanted == "float":
                value = self._new(f"fptrunc double {value} to float")
            return f"{wanted} {value}"
        if kind == "bool":
            value = self._new(f"call i32 {self._python('PyObject_IsTrue')}(ptr {given})")
            self._fail_if_raised(self._new(f"icmp eq i32 {value}, -1"))
            return f"i8 {self._new(f'trunc i32 {value} to i8')}"
        ask = "PyLong_AsUnsignedLongLongMask" if kind.startswith("u") else "PyLong_AsLongLong"
        value = self._new(f"call i64 {self._python(ask)}(ptr {given})")
        self._fail_if_raised(self._new(f"icmp eq i64 {value}, -1"))
        if wanted != "i64":
            value = self._new(f"trunc i64 {value} to {wanted}")
        return f"{wanted} {value}"

    def _fail_if_raised(self, suspicion: str) -> None:
        """Check for an exception: conversions report one by a value that may be valid."""
        ask, fine = self._label(), self._label()
        self._lines.append(f"  br i1 {suspicion}, label %{ask}, label %{fine}")
        self._begin(ask)
        raised = self._new(f"call ptr {self._python('PyErr_Occurred')}()")
        none = self._new(f"icmp eq ptr {raised}, null")
        self._lines.append(f"  br i1 {none}, label %{fine}, label %failed")
        self._begin(fine)

    def _call(self, given: Sequence[str]) -> None:
        thread = (
            self._new(f"call ptr {self._python('PyEval_SaveThread')}()") if self._releases else ""
        )
        arguments = ", ".join(["ptr %result", "ptr %failure", *given])
        status = self._new(f"call i32 @{self._kernel}({arguments})")
        if thread:
            restore = self._python("PyEval_RestoreThread")
            self._lines.append(f"  call void {restore}(ptr {thread})")
        said = "a kernel found no memory for what it holds itself"
        self._refuse_unless(self._new(f"icmp eq i32 {status}, 0"), said, MemoryError)

    def _give_back(self) -> None:
        found = [self._boxed(place, kind) for place, kind in enumerate(self._results)]
        if not found:
            none, hold = self._python("None"), self._python("Py_IncRef")
            self._lines.append(f"  call void {hold}(ptr {none})")
            self._lines.append(f"  ret ptr {none}")
            return
        if len(found) == 1:
            self._lines.append(f"  ret ptr {found[0]}")
            return
        whole = self._new(f"call ptr {self._python('PyTuple_New')}(i64 {len(found)})")
        for place, one in enumerate(found):
            put = self._python("PyTuple_SetItem")
            self._new(f"call i32 {put}(ptr {whole}, i64 {place}, ptr {one})")
        self._lines.append(f"  ret ptr {whole}")

    def _boxed(self, place: int, kind: str) -> str:
        slot = self._new(f"getelementptr {self._struct}, ptr %result, i32 0, i32 {place}")
        value = self._new(f"load {_TYPES[kind]}, ptr {slot}")
        if kind.startswith("float"):
            if kind == "float32":
                value = self._new(f"fpext float {value} to double")
            return self._new(f"call ptr {self._python('PyFloat_FromDouble')}(double {value})")
        if _TYPES[kind] != "i64":
            extend = "zext" if kind == "bool" or kind.startswith("u") else "sext"
            value = self._new(f"{extend} {_TYPES[kind]} {value} to i64")
        make = "PyBool_FromLong" if kind == "bool" else "PyLong_FromLongLong"
        make = "PyLong_FromUnsignedLongLong" if kind.startswith("u") else make
        return self._new(f"call ptr {self._python(make)}(i64 {value})")
