"""A loop over scalars as one table of statements: condition and body together.

A plan takes some 2 us per iteration, a table two nanoseconds for each step. Such a loop may carry
scalars, arrays of which elements are read, and any invariants; an iteration may contain branches
and loops. Results are those of the plan bit for bit.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.number_tables import NumberTables, Slot
from pinnace.engine.codegen.places import fit
from pinnace.engine.codegen.scalar_flow import ScalarFlow, Scope
from pinnace.engine.codegen.scalar_text import FUNCTIONS, SCALARS, is_scalar
from pinnace.engine.codegen.statement_rows import walk_of
from pinnace.engine.codegen.walks import Argument, Function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.codegen.walks import Walk
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Iterations between polls of the stop flag: the first number, and the most. In between, as many as
# take this many seconds.
_FIRST, _ITERATIONS = 1 << 12, 1 << 20
_LOOK_S = 0.02
# How a kernel may return before all iterations: the condition is false, the plan must run the next
# one, or inner loops have run for long.
_ENDED, _REFUSED, _LONG = range(3)
# Most axes of an array whose elements are read.
_MOST_AXES = 4


class Advance(NamedTuple):
    """The result of a call of a loop's kernel.

    Attributes:
        iterations: number of iterations that ran.
        is_refused: whether the plan must run the next iteration.
        values: the loop variables after them.
    """

    iterations: int
    is_refused: bool
    values: Sequence[Array]


class Loop:
    """A loop's table.

    Args:
        walk: takes the most iterations, two tables of scalars, and arrays; returns the number of
            iterations, and puts the reason why it ended behind the integers.
        numbers: the tables of scalars.
        arrays: the indices of the arrays that it takes.
    """

    def __init__(self, walk: Walk, numbers: NumberTables, arrays: Sequence[int]) -> None:
        self._walk, self._numbers, self._arrays = walk, numbers, arrays

    def run(self, values: Sequence[Array], check: Any) -> tuple[Sequence[Array], bool]:
        """The loop variables after the last iteration that the kernel can run.

        Args:
            values: the loop variables.
            check: called at intervals; raises if the run was cancelled.

        Returns:
            The loop variables, and whether the condition is false for them.
        """
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
        integers, reals = self._numbers.arrays(values, values)
        arrays = [fit(values[place]) for place in self._arrays]
        iterations = self._walk(most, integers, reals, *arrays)
        found = list(values)
        self._numbers.take(found, integers, reals)
        return int(integers[-1]), iterations, tuple(found)


def loop_of(test: Plan, body: Plan) -> Loop | None:
    """The table of a loop; None if it is not one over scalars.

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
    numbers, arrays = NumberTables(), []
    condition, iteration = Scope(), Scope()
    for n, value in enumerate(inputs):
        here = test.graph.inputs[n]
        if n not in changed and not {value, here} & used:
            continue
        if is_scalar(value) and is_scalar(here):
            name = numbers.add(Slot(value.dtype, n, n in changed))
            condition.names[here] = iteration.names[value] = name
        elif n not in changed and _is_readable(value) and here.shape.rank == value.shape.rank:
            condition.arrays[here] = iteration.arrays[value] = f"a{n}"
            arrays.append(n)
        else:
            return None
    flow = ScalarFlow(FUNCTIONS, f"state = {_REFUSED}", loops="state")
    lines = flow.steps(test, condition)
    (decision,) = flow.results(test.graph, condition)
    lines += [f"if not {decision}:", "    break"]
    lines += flow.steps(body, iteration)
    new = [str(iteration.name(outputs[n])) for n in changed]
    if any(iteration.name(outputs[n]) is None for n in changed):
        return None
    # Parallel assignment: a variable's new value may be another's old one.
    old = [iteration.names[inputs[n]] for n in changed]
    lines.append(f"{', '.join(old)} = {', '.join(new)}")
    lines.append("iterations += 1")
    taken = [Argument("most"), Argument("q", "int64", 1), Argument("f", "float64", 1)]
    taken += [Argument(f"a{n}", inputs[n].dtype.name, inputs[n].shape.rank or 0) for n in arrays]
    walk = walk_of(Function(taken, _framed(lines, numbers, flow), 0, flow.constants))
    return Loop(walk, numbers, arrays)


def _is_readable(value: Value) -> bool:
    rank = value.shape.rank
    return value.dtype.name in SCALARS and rank is not None and 0 < rank <= _MOST_AXES


def _framed(lines: Sequence[str], numbers: NumberTables, flow: ScalarFlow) -> list[str]:
    """The statements of the loop: it loads scalars from the tables, and stores them there."""
    loop = [
        f"state = {_ENDED}",
        *(["inner = 0"] if flow.has_loops else []),
        "iterations = 0",
        "while iterations < most:",
        *(f"    {line}" for line in lines),
    ]
    return [*numbers.framed(loop), "q[-1] = state", "return iterations"]
