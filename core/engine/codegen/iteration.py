"""One iteration of a loop over arrays, as the source of a kernel that runs many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.iteration_steps import Steps, Variables
from pinnace.engine.codegen.iteration_text import IterationText
from pinnace.engine.codegen.loop_lists import Lists
from pinnace.engine.codegen.row_statements import RowStatements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value
    from pinnace.ops.state.list_values import TensorList


class _Statements(RowStatements):
    """The statements of an iteration.

    One that numbers forbid, such as an index out of range, is left to the plan, unless something is
    written in place.
    """

    def _give_up(self, condition: str, indent: str) -> list[str]:
        if not self.may_leave:
            raise UnsupportedError("an iteration that is left when something is written")
        return [f"{indent}{line}" for line in (f"if {condition}:", "    q[-1] = 1", "    leave()")]


@dataclass(frozen=True, slots=True)
class Iteration:
    """A loop's kernel for one set of shapes: its source and arguments.

    Attributes:
        variables: of the loop: carried arrays, and tables of numbers.
        lists: the loop variables that are lists, and their uses in an iteration.
        kernel: the source.
        hoisted: indices of the body's loop-invariant steps.
        fixed: computes loop-invariant values from the loop variables.
        fixed_shapes: their shapes in the recorded iteration.
    """

    variables: Variables
    lists: Lists
    kernel: IterationText
    hoisted: Sequence[int]
    fixed: Callable[[Sequence[Array]], tuple[Array, ...]]
    fixed_shapes: tuple[tuple[int, ...], ...]

    def is_like_before(self, fixed: Sequence[Array]) -> bool:
        """Whether the results of `fixed` have the shapes of the recorded iteration."""
        return self.fixed_shapes == tuple(map(np.shape, fixed))


def iteration_of(
    test: Plan,
    body: Plan,
    values: Sequence[Array],
    watched: Mapping[Value, Any],
    count: int = 0,
) -> Iteration:
    """The iteration of a loop, for given shapes.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration.
        values: the loop variables.
        watched: every value of an iteration from these.
        count: iterations of one call of the kernel; 0 if unknown.

    Raises:
        UnsupportedError: a step cannot be part of a kernel.
    """
    sizes = {value: np.shape(array) for value, array in watched.items()}
    variables = Variables(body, values, sizes)
    lists = Lists(body, values, sizes)
    steps = Steps(body, watched, sizes, variables, lists)
    lists.take_repeated(variables.fixed)
    fixed = _fixed(body, steps, variables)
    # Elements that no iteration reads would be multiplied in vain.
    read = {place: _length(values[place]) for place in lists.read if count}
    lengths = {place: length for place, length in read.items() if length <= 2 * count}
    writer = _Statements(sizes, variables.known, variables.names)
    kernel = IterationText(test, body, sizes, variables, lists, steps, writer, lengths)
    return Iteration(
        variables,
        lists,
        kernel,
        steps.hoisted,
        fixed,
        tuple(sizes[value] for value in variables.fixed),
    )


def _length(handle: Any) -> int:
    held: TensorList = handle[()]
    return held.length


def _fixed(
    body: Plan, steps: Steps, variables: Variables
) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
    """A function from the loop variables to the loop-invariant values."""
    source = body.source

    def lines() -> list[str]:
        calls = [f"    {source.call_of(position)}" for position in steps.hoisted]
        results = "".join(f"{source.name(value)}, " for value in variables.fixed)
        return [source.unpacking(), *calls, f"    return ({results})"]

    run = source.compiled(lines)
    return lambda values: run(values, None)
