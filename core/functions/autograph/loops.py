"""Graph loops: which variables they carry, and their values before, in and after the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes, structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Tensor
from pinnace.functions.autograph.growing_lists import Recorder
from pinnace.functions.autograph.variables import (
    Split,
    as_tensors,
    equal,
    is_nothing,
    is_symbolic,
    probed,
    zeros,
)
from pinnace.functions.control import branches, looping
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    """`while test: body`.

    Iterations whose condition is known run while tracing; the rest becomes a graph loop.
    """
    while True:
        go_on = test() if state.tracer is None else _probe(test)
        if is_symbolic(go_on):
            run_loop(test, body, get_state, set_state, symbol_names, opts)
            return
        if not go_on:
            return
        body()


def _probe(test: Callable[[], Any]) -> Any:
    """The value of `test()` if it is known; adds no node to the graph."""
    found: list[Any] = []

    def run() -> None:
        found.append(test())

    branches.trace_branch(run, "probe")
    return found[0]


def run_loop(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """A graph loop over the variables that `get_state` and `set_state` access."""
    start = list(get_state())
    invariants = {
        id(tensor): Shape(shape) for tensor, shape in (opts.get("shape_invariants") or ())
    }
    start = _growing(start, body, get_state, set_state)
    start, fillers = _filled(start, body, set_state, get_state)
    first = Split(start)
    flat_shapes: list[Shape | None] = []
    flat_names: list[str] = []
    everything = zip(symbol_names, start, first.kinds, _spread(first), strict=True)
    for name, original, kind, made in everything:
        if not kind:
            continue
        count = len(structure.flatten(made, expand_composites=True))
        held = invariants.get(id(original), fillers.get(id(original)))
        flat_shapes.extend([held] * count)
        flat_names.extend([name] * count)

    def at(values: Sequence[Any]) -> None:
        set_state(tuple(first.joined(values)))

    def cond(*values: Any) -> Any:
        at(values)
        found = convert_to_tensor(test())
        return found if found.dtype is dtypes.bool else casting.cast(found, dtypes.bool)

    def iteration(*values: Any) -> Any:
        at(values)
        body()
        return _after(first, get_state(), symbol_names)

    try:
        results = looping.build_while(
            cond,
            iteration,
            list(first.tensors),
            flat_shapes if any(shape is not None for shape in flat_shapes) else None,
            opts.get("maximum_iterations"),
            "while",
            int(opts.get("parallel_iterations") or 10),
            flat_names,
        )
    except BaseException:
        set_state(tuple(start))
        raise
    at(results)


def _spread(split: Split) -> list[Any]:
    return split.joined(split.tensors)


def _after(first: Split, values: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """The tensors after an iteration; other values must be unchanged."""
    found = []
    for name, kind, before, after in zip(names, first.kinds, first.values, values, strict=True):
        if not kind:
            same = before is after or (is_nothing(before) and is_nothing(after))
            if not same and not equal(before, after):
                raise TypeError(
                    f"{name!r} must be a tensor, or not change, in a loop whose length is not "
                    "known while the "
                    f"function is traced: it was {before!r} and became {after!r}"
                )
            continue
        made = as_tensors(after)
        if made is None:
            raise TypeError(f"{name!r} must stay a tensor in a loop of the graph, got {after!r}")
        try:
            structure.assert_same_structure(
                as_tensors(before)[0],  # type: ignore[index]
                made[0],
                check_types=False,
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name!r} must keep its structure in a loop of the graph: {error}"
            ) from None
        found.append(_typed(name, before, after, made[0]))
    return found


def _typed(name: str, before: Any, after: Any, made: Any) -> Any:
    """A value after an iteration; a Python number gets the variable's dtype."""
    if not isinstance(made, Tensor):
        return made
    wanted = convert_to_tensor(before).dtype
    if made.dtype is wanted:
        return made
    if isinstance(after, (int, float)) and not isinstance(after, bool):
        try:
            return convert_to_tensor(after, wanted)
        except (TypeError, ValueError):
            pass
    raise TypeError(
        f"{name!r} has dtype {wanted.name} before the loop, but dtype {made.dtype.name} after one "
        "iteration.\n"
        f"  Try: begin with a tensor of {made.dtype.name}"
    )


def _growing(
    start: list[Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
) -> list[Any]:
    """The values before the loop; a list that the body appends to becomes a ListArray."""
    trial = [Recorder(value) if type(value) is list else value for value in start]
    if not any(isinstance(value, Recorder) for value in trial):
        return start
    try:
        probed(body, trial, get_state, set_state)
    except Exception:  # the trial's lists are not the user's: the loop itself raises the error
        return start
    finally:
        set_state(tuple(start))
    return [
        tried.grown() if isinstance(tried, Recorder) and tried.appended else value
        for tried, value in zip(trial, start, strict=True)
    ]


def _filled(
    start: list[Any],
    body: Callable[[], None],
    set_state: Callable[[tuple[Any, ...]], None],
    get_state: Callable[[], tuple[Any, ...]],
) -> tuple[list[Any], dict[int, Shape]]:
    """The values before the loop; a variable that only the loop sets starts as zeros."""
    if not any(is_nothing(value) for value in start):
        return start, {}
    found = probed(body, start, get_state, set_state)
    held: dict[int, Shape] = {}
    filled = []
    for before, after in zip(start, found, strict=True):
        made = as_tensors(after) if is_nothing(before) else None
        if made is None:
            filled.append(before)
            continue
        begun = structure.map_structure(zeros, made[0])
        if isinstance(begun, Tensor):
            held[id(begun)] = made[0].shape
        filled.append(begun)
    return filled, held
