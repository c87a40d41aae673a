"""Kernels as the fuzzer has them made: interpreted or as machine code, in guarded memory.

The name of a kernel's argument declares what the kernel does with it. What it reads must be as it
was afterwards; what it writes is poison before; both lie in memory that ends at a page nobody may
touch.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hot.interpreted import Interpreter
from hot.memory import NOT_A_NUMBER, Lender
from pinnace.engine.codegen import compiler
from pinnace.engine.codegen.block_programs import TEXTS as BLOCKS
from pinnace.engine.codegen.columns import TEXTS as COLUMNS
from pinnace.engine.codegen.extremes import TEXTS as EXTREMES
from pinnace.engine.codegen.offered import TEXTS as OFFERED
from pinnace.engine.codegen.sliding import TEXTS as SLIDING
from pinnace.engine.codegen.statement_rows import walk_of
from pinnace.engine.codegen.statement_walk import TEXTS as STATEMENTS
from pinnace.engine.codegen.streams import TEXTS as STREAMS
from pinnace.engine.codegen.walking import WALK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.codegen.statement_functions import Function

INTERPRETED, MACHINE = "interpreted", "machine code"
# First letters of arguments: numbers and arrays that are read, arrays that are wholly written, and
# what is read and written (lists that change, and tables of numbers that go in and out).
READ, WRITTEN, BOTH = frozenset("xkclnap"), frozenset("y"), frozenset("ugqfvs")
_FIXED = frozenset(
    {
        *BLOCKS.values(),
        *COLUMNS.values(),
        *SLIDING.values(),
        *STREAMS.values(),
        *OFFERED.values(),
        *STATEMENTS.values(),
        WALK,
    }
    | {EXTREMES["extremes"]}
)
_ARGUMENTS = re.compile(r"^def kernel\(([^)]*)\)", re.MULTILINE)


class KernelError(Exception):
    """A kernel touched what it does not declare."""


class Guarded:
    """A table that is called in guarded memory, and stays as it is however long it runs."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> Any:
        """See `walks.Walk`."""
        return self._call(*arguments)

    def compile(self) -> None:
        """The maker has decided."""


class Maker:
    """Takes the place of `compiler.request`, and of `statement_rows.walk_of`.

    Args:
        budget: kernels that may be compiled.

    Attributes:
        way: `INTERPRETED` or `MACHINE`; which kernels are made from now on.
        poison: what memory is filled with before a kernel runs.
        calls: kernels that ran, by way.
        missing: kernels that were asked for behind the budget.
        refused: texts that Numba does not compile, and why.
    """

    def __init__(self, budget: int) -> None:
        self.way, self.poison, self.budget = INTERPRETED, NOT_A_NUMBER, budget
        self.calls: Counter[str] = Counter()
        self.missing = 0
        self.seconds = 0.0
        self.refused: dict[str, str] = {}
        self.interpreter = Interpreter()
        self.compiled: dict[str, Callable[..., Any] | None] = {}
        self.interpreted: set[str] = set()

    def request(self, text: str) -> Any:
        """A kernel that is made already."""
        kernel = compiler.Kernel(text)
        if text in _FIXED:
            kernel.function = self._machine(text, free=True)
        elif self.way == INTERPRETED:
            self.interpreted.add(text)
            kernel.function = self._guarded(text, INTERPRETED, self._interpreted(text))
        else:
            function = self._machine(text, free=False)
            if function is not None:
                kernel.function = self._guarded(text, MACHINE, function)
        kernel.done.set()
        return kernel

    def walk_of(self, function: Function, *functions: Any) -> Callable[..., Any]:
        """A table in guarded memory: walked, or as machine code where it is over scalars."""
        names = [one.name for one in function.arguments]
        walk = walk_of(function, *functions)
        if self.way == MACHINE:
            walk.compile()
        return Guarded(self._guarded_arguments(names, "\n".join(function.lines), MACHINE, walk))

    def _interpreted(self, text: str) -> Callable[..., Any]:
        return lambda *arguments: self.interpreter.kernel(compiler._HEADER + text, self.poison)(
            *arguments
        )

    def _machine(self, text: str, *, free: bool) -> Callable[..., Any] | None:
        if text not in self.compiled:
            if not free and len(self.compiled) >= self.budget:
                self.missing += 1
                return None
            began = time.perf_counter()
            try:
                self.compiled[text] = compiler.function_of(compiler.full_text(text))
            except Exception as error:
                self.compiled[text] = None
                self.refused[text] = f"{type(error).__name__}: {error}"
                raise KernelError(f"Numba refuses a kernel: {error}\n{text}") from error
            finally:
                self.seconds += time.perf_counter() - began
        return self.compiled[text]

    def _guarded(self, text: str, way: str, function: Callable[..., Any]) -> Callable[..., Any]:
        match = _ARGUMENTS.search(text)
        assert match is not None
        names = [name.strip() for name in match[1].split(",")]
        return self._guarded_arguments(names, text, way, function)

    def _guarded_arguments(  # noqa: C901 (one case after the other)
        self, names: Sequence[str], text: str, way: str, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        by_rows = names[:3] == ["start", "stop", "width"]
        # A table may be for some rows of what it writes: the others are another call's.
        written = frozenset() if "first" in names else WRITTEN

        def run(*arguments: Any) -> Any:  # noqa: C901 (one case after the other)
            self.calls[way] += 1
            lender = Lender.of_thread()
            given: list[Any] = list(arguments)
            held = []
            for place, (name, argument) in enumerate(zip(names, arguments, strict=True)):
                if not isinstance(argument, np.ndarray):
                    continue
                before = argument.copy()
                lent = None
                if argument.flags.c_contiguous and argument.flags.aligned:
                    lent = lender.lend(argument.shape, argument.dtype, self.poison)
                    if name[0] not in written:
                        lent.array[...] = argument
                    elif by_rows:  # other rows of the array are another block's
                        low, high = (row * arguments[2] for row in arguments[:2])
                        lent.array[:low], lent.array[high:] = argument[:low], argument[high:]
                    given[place] = lent.array
                    if not argument.flags.writeable:
                        given[place] = lent.array.view()
                        given[place].setflags(write=False)
                held.append((place, name, before, lent))
            try:
                result = function(*given)
                for place, name, before, lent in held:
                    if lent is not None and not lent.is_intact:
                        raise KernelError(f"{name}: written beyond the array\n{text}")
                    if name[0] in READ and not _same(given[place], before):
                        raise KernelError(f"{name}: written, and only to be read\n{text}")
                    if name[0] not in READ and lent is not None:
                        arguments[place][...] = lent.array
            finally:
                lender.take_back()
            return result

        return run


def _same(a: Any, b: Any) -> bool:
    """Bit for bit."""
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
