"""One iteration of a loop over arrays, as the text of the kernel that takes many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.iteration_steps import Steps, Variables
from pinnace.engine.codegen.iteration_text import IterationText
from pinnace.engine.codegen.loop_lists import Lists

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value
    from pinnace.ops.state.list_values import TensorList


@dataclass(frozen=True, slots=True)
class Iteration:
    """A loop's kernel for one set of shapes: its text, and what it is given.

    Attributes:
        variables: of the loop: what is carried, and the tables of numbers.
        lists: the loop variables that are lists, and what an iteration does with them.
        kernel: the text.
        hoisted: places of the steps of the body that give the same in each iteration.
        fixed: from the loop variables to what is the same in each iteration.
        fixed_shapes: of that, in the iteration that was watched.
    """

    variables: Variables
    lists: Lists
    kernel: IterationText
    hoisted: Sequence[int]
    fixed: Callable[[Sequence[Array]], tuple[Array, ...]]
    fixed_shapes: tuple[tuple[int, ...], ...]

    def is_like_before(self, fixed: Sequence[Array]) -> bool:
        """Whether what `fixed` gave has the shapes of the iteration that was watched."""
        return self.fixed_shapes == tuple(map(np.shape, fixed))


def iteration_of(
    test: Plan,
    body: Plan,
    values: Sequence[Array],
    watched: Mapping[Value, Any],
    count: int = 0,
) -> Iteration:
    """The iteration of a loop, for the shapes at hand.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration.
        values: the loop variables.
        watched: every value of an iteration from these.
        count: iterations that one call of the text takes; 0 if nobody knows.

    Raises:
        UnsupportedError: some step cannot be part of a kernel.
    """
    sizes = {value: np.shape(array) for value, array in watched.items()}
    variables = Variables(body, values, sizes)
    lists = Lists(body, values, sizes)
    steps = Steps(body, watched, sizes, variables, lists)
    lists.take_repeated(variables.fixed)
    fixed = _fixed(body, steps, variables)
    # Elements that no iteration reads would be multiplied for nothing.
    read = {place: _length(values[place]) for place in lists.read if count}
    lengths = {place: length for place, length in read.items() if length <= 2 * count}
    kernel = IterationText(test, body, sizes, variables, lists, steps, lengths)
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
    """A function from the loop variables to what is the same in each iteration."""
    source = body.source

    def lines() -> list[str]:
        calls = [f"    {source.call_of(position)}" for position in steps.hoisted]
        results = "".join(f"{source.name(value)}, " for value in variables.fixed)
        return [source.unpacking(), *calls, f"    return ({results})"]

    run = source.compiled(lines)
    return lambda values: run(values, None)
