"""A loop over scalars as one kernel: condition and body together, with scalars in registers.

A plan takes some 2 us per iteration, of which the arithmetic is a nanosecond. Such a loop may carry
scalars, arrays of which elements are read, and any invariants; an iteration may contain branches
and loops. Results are those of the plan bit for bit.
"""

from __future__ import annotations

from operator import methodcaller
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.engine.codegen import compiler
from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.places import fit
from pinnace.engine.codegen.scalar_flow import ScalarFlow, Scope
from pinnace.engine.codegen.scalar_text import FUNCTIONS, HEADER, SCALARS, is_scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Iterations between polls of the stop flag: at first, and at most. In between as many as take this
# many seconds.
_FIRST, _ITERATIONS = 1 << 12, 1 << 20
_LOOK_S = 0.02
# How a kernel may return before all iterations: the condition is false, the plan must run the next
# one, or inner loops have run for long.
_ENDED, _REFUSED, _LONG = range(3)
# Most axes of an array whose elements are read.
_MOST_AXES = 4
# The dtypes of Python's numbers, which are faster to pass than NumPy's scalars.
_PYTHON_NUMBERS = frozenset({"bool", "float64", "int64"})
_number, _scalar = methodcaller("item"), methodcaller("__getitem__", ())


class Advance(NamedTuple):
    """The result of a call of a loop's kernel.

    Attributes:
        iterations: number of iterations that ran.
        is_refused: whether the plan must run the next one.
        values: the loop variables after them.
    """

    iterations: int
    is_refused: bool
    values: Sequence[Array]


class Loop:
    """A loop's kernel, which may still be compiling.

    Args:
        text: the kernel's source.
        given: the loop variables that it takes, and their conversions to arguments.
        changed: those that it returns, and their dtypes.
        constants: its further arguments.
    """

    def __init__(
        self,
        text: str,
        given: Sequence[tuple[int, Callable[[Array], Any]]],
        changed: Sequence[tuple[int, np.dtype[Any]]],
        constants: Sequence[Array],
    ) -> None:
        self.kernel = compiler.request(text)
        self._given = given
        self._changed = changed
        self._constants = constants

    def run(self, values: Sequence[Array], check: Any) -> tuple[Sequence[Array], bool]:
        """The loop variables after the last iteration that the kernel can run.

        They are unchanged if the kernel is not compiled yet.

        Args:
            values: the loop variables.
            check: called at intervals; raises if the run was cancelled.

        Returns:
            The loop variables, and whether the condition is false for them.
        """
        if self.kernel.function is None:
            return values, False
        most = min(_ITERATIONS, _FIRST)
        while True:
            start = perf_counter()
            state, iterations, values = self._advance(values, most)
            if iterations < most and (state != _LONG or not iterations):
                return values, state == _ENDED
            check()
            iteration_s = max((perf_counter() - start) / iterations, 1e-9)
            most = min(_ITERATIONS, max(_FIRST, int(_LOOK_S / iteration_s)))

    def advance(self, values: Sequence[Array], most: int) -> Advance:
        """Run at most `most` iterations.

        Fewer run only if the condition becomes false, or the next one is refused.
        """
        state, iterations, values = self._advance(values, most)
        return Advance(iterations, iterations < most and state != _ENDED, values)

    def _advance(self, values: Sequence[Array], most: int) -> tuple[int, int, Sequence[Array]]:
        kernel = self.kernel.function
        assert kernel is not None  # noqa: S101 - whoever calls this has looked
        given = [argument(values[place]) for place, argument in self._given]
        state, iterations, *numbers = kernel(most, *given, *self._constants)
        found = list(values)
        for (place, dtype), number in zip(self._changed, numbers, strict=True):
            found[place] = np.array(number, dtype)  # Numba returns Python's numbers
        return state, iterations, tuple(found)


def loop_of(test: Plan, body: Plan) -> Loop | None:
    """The kernel of a loop, requested; None if it is not one over scalars.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration.
    """
    try:
        return _loop(test, body)
    except UnsupportedError:
        return None


def _loop(test: Plan, body: Plan) -> Loop | None:
    inputs, outputs = body.graph.inputs, body.graph.outputs
    changed = [n for n, value in enumerate(inputs) if outputs[n] is not value]
    used = {value for plan in (test, body) for step in plan.steps for value in step.node.inputs}
    used |= {*test.graph.outputs}
    if not changed or test.graph.outputs[0].dtype.name != "bool":
        return None
    given = []
    condition, iteration = Scope(), Scope()
    for n, value in enumerate(inputs):
        here = test.graph.inputs[n]
        if n not in changed and not {value, here} & used:
            continue
        if is_scalar(value) and is_scalar(here):
            condition.names[here] = iteration.names[value] = f"a{n}"
        elif n not in changed and _is_readable(value) and here.shape.rank == value.shape.rank:
            condition.arrays[here] = iteration.arrays[value] = f"a{n}"
        else:
            return None
        given.append(n)
    flow = ScalarFlow(FUNCTIONS, f"state = {_REFUSED}", loops="state")
    lines = flow.steps(test, condition)
    (decision,) = flow.results(test.graph, condition)
    lines += [f"if not {decision}:", "    break"]
    lines += flow.steps(body, iteration)
    new = [str(iteration.name(outputs[n])) for n in changed]
    if any(iteration.name(outputs[n]) is None for n in changed):
        return None
    # Parallel assignment: a variable's new value may be another's old one.
    lines.append(f"{', '.join(f'a{n}' for n in changed)} = {', '.join(new)}")
    lines.append("iterations += 1")
    text = _text(lines, [(f"a{n}", inputs[n]) for n in given], changed, flow)
    arguments = [(n, _argument(inputs[n])) for n in given]
    dtypes = [(n, inputs[n].dtype.numpy) for n in changed]
    return Loop(text, arguments, dtypes, flow.constants)


def _argument(value: Value) -> Callable[[Array], Any]:
    """The conversion of a loop variable's array to an argument of the kernel."""
    if value.shape.rank:
        return fit
    return _number if value.dtype.name in _PYTHON_NUMBERS else _scalar


def _is_readable(value: Value) -> bool:
    rank = value.shape.rank
    return value.dtype.name in SCALARS and rank is not None and 0 < rank <= _MOST_AXES


def _text(
    lines: Sequence[str],
    given: Sequence[tuple[str, Value]],
    changed: Sequence[int],
    flow: ScalarFlow,
) -> str:
    """The kernel's source around an iteration."""
    names = [name for name, _ in given] + [f"k{n}" for n in range(len(flow.constants))]
    kinds = [_type(value.dtype.name, value.shape.rank or 0) for _, value in given]
    kinds += [_type(one.dtype.name, one.ndim) for one in flow.constants]
    results = ", ".join(f"a{n}" for n in changed)
    # No-ops in machine code; when the source is run as Python, its arithmetic is NumPy's.
    own = [
        f"{name} = np.{value.dtype.name}({name})"
        for name, value in given
        if not value.shape.rank and value.dtype.name in _PYTHON_NUMBERS - {"bool"}
    ]
    frame = [
        *own,
        f"state = {_ENDED}",
        *(["inner = 0"] if flow.has_loops else []),
        "iterations = 0",
        "while iterations < most:",
        *(f"    {line}" for line in lines),
        f"return state, iterations, {results}",
    ]
    return (
        f"{HEADER}@njit([(int64, {', '.join(kinds)})], cache=True, nogil=True, "
        f'error_model="numpy")\ndef kernel(most, {", ".join(names)}):\n'
        + "".join(f"    {line}\n" for line in frame)
    )


def _type(dtype: str, rank: int) -> str:
    kind = "types.boolean" if dtype == "bool" else f"types.{dtype}"
    return f"types.Array({kind}, {rank}, 'C', readonly=True)" if rank else kind
