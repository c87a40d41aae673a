"""Kernels and tables that the fuzzer runs in guarded memory.

The name of a kernel's argument declares how the kernel uses it. Arrays that it reads must be
unchanged afterwards; arrays that it writes are poisoned before; both are in memory that ends at a
protected page.
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

# First letters of arguments: numbers and arrays that are read, arrays that are fully written, and
# those that are read and written (lists that change, and tables of inputs and outputs).
READ, WRITTEN, BOTH = frozenset("xkclnap"), frozenset("y"), frozenset("ugqfvs")
# Kernels whose arrays are tables with addresses: the memory at these is guarded where tables are
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
    """A kernel accessed memory that it does not declare."""


class Maker:
    """Replaces `kernels.function` and `statement_rows.walk_of`.

    Attributes:
        poison: the byte pattern that fills memory before a kernel runs.
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
        """A function whose arrays are in guarded memory.

        Args:
            names: names of its arguments.
            text: its computation, for messages.
            function: the function to call.
        """
        by_rows = names[:3] == ["start", "stop", "width"]
        # A table may write only some rows of an array: the others belong to another call.
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
                    elif by_rows:  # other rows of the array belong to another block
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
    """Whether two arrays are equal bit for bit."""
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
