"""Kernels and tables as the fuzzer has them called: in guarded memory.

The name of a kernel's argument declares what the kernel does with it. What it reads must be as it
was afterwards; what it writes is poison before; both lie in memory that ends at a page nobody may
touch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from hot.memory import NOT_A_NUMBER, Lender
from pinnace.engine.codegen import general, kernels
from pinnace.engine.codegen.statement_rows import walk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.codegen.walks import Function

# First letters of arguments: numbers and arrays that are read, arrays that are wholly written, and
# what is read and written (lists that change, and tables of numbers that go in and out).
READ, WRITTEN, BOTH = frozenset("xkclnap"), frozenset("y"), frozenset("ugqfvs")
# Kernels whose arrays are tables with addresses: what these point to is guarded where tables are
# made, or is not an argument.
_WITH_ADDRESSES = frozenset(
    {
        "blocks",
        "moments",
        "normalised",
        "scaled",
        "projections",
        "slopes",
        "rectified_projections",
        "rectified_slopes",
        "multiply",
        "convolve",
        "depthwise",
        "correlate",
        "correlate_channels",
        "maxima",
        "peaks",
        "philox",
        "stepped_maxima",
        "pieces",
        "statements",
        "extremes",
        "number lists",
        general.NETWORK,
    }
)
_ARGUMENTS = re.compile(r"^def kernel\(([^)]*)\)", re.MULTILINE)
_function = kernels.function


class KernelError(Exception):
    """A kernel touched what it does not declare."""


class Maker:
    """Takes the place of `kernels.function`, and of `statement_rows.walk_of`.

    Attributes:
        poison: what memory is filled with before a kernel runs.
    """

    def __init__(self) -> None:
        self.poison = NOT_A_NUMBER

    def function(self, name: str) -> Callable[..., Any]:
        """A kernel of the library, in guarded memory."""
        function = _function(name)
        if name in _WITH_ADDRESSES:
            return function
        match = _ARGUMENTS.search(general.text(name))
        assert match is not None
        return self.guarded([one.strip() for one in match[1].split(",")], name, function)

    def walk_of(self, function: Function, *functions: Any) -> Callable[..., Any]:
        """A table in guarded memory."""
        names = [one.name for one in function.arguments]
        walk = walk_of(function, *functions)
        return self.guarded(names, "\n".join(function.lines), walk)

    def guarded(  # noqa: C901 (one case after the other)
        self, names: Sequence[str], text: str, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        """A function whose arrays lie in guarded memory.

        Args:
            names: of its arguments.
            text: what it computes, for messages.
            function: is called.
        """
        by_rows = names[:3] == ["start", "stop", "width"]
        # A table may be for some rows of what it writes: the others are another call's.
        written = frozenset() if "first" in names else WRITTEN

        def run(*arguments: Any) -> Any:  # noqa: C901 (one case after the other)
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
