"""while_loop: runs a body while a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure, tracebacks
from pinnace.framework.context import state
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.functions.control import branches, nodes, recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


__all__ = ["while_loop"]


_TURNS = "turns run one after the other, and keep what a gradient asks for"


@tracebacks.entry
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """The final `loop_vars` after applying `body` while `cond` is true.

    Args:
        cond: takes the loop variables, gives a bool scalar.
        body: takes the loop variables, gives new ones: same structure and dtypes.
        loop_vars: a list or tuple of tensors, or of structures of them.
        shape_invariants: shapes (or specs) that hold before and after every iteration; those of
            `loop_vars` if None.
        parallel_iterations: a hint, at least 1.
        back_prop: accepted for TensorFlow's sake.
        swap_memory: accepted for TensorFlow's sake.
        maximum_iterations: how many iterations at most, an int32 scalar.
        name: name of the node while tracing.

    Returns:
        The structure of `loop_vars`; eagerly a list or tuple, as `body` gave it.

    Raises:
        TypeError: `cond` or `body` is no function.
        ValueError: a loop variable changes structure, dtype or (against its invariant) shape.

    Source:
        TensorFlow op `While` (functional_ops.cc).
    """
    ignored("while_loop", _TURNS, True, back_prop=back_prop)
    ignored("while_loop", _TURNS, False, swap_memory=swap_memory)
    if not callable(cond) or not callable(body):
        raise TypeError("while_loop: cond and body must be functions")
    if parallel_iterations < 1:
        raise ValueError(
            f"while_loop: parallel_iterations must be at least 1, got {parallel_iterations}"
        )
    cond, body = branches.user_function(cond), branches.user_function(body)
    if state.tracer is None:
        return _run(cond, body, loop_vars, maximum_iterations)
    invariants = None
    if shape_invariants is not None:
        invariants = _invariants(loop_vars, shape_invariants)
    return build_while(
        cond, body, loop_vars, invariants, maximum_iterations, name or "while", parallel_iterations
    )


def _run(cond: Any, body: Any, loop_vars: Any, maximum: Any) -> Any:
    """The loop in Python, over the values as they are: numbers and arrays stay what they are."""
    iterations = 0
    limit = None if maximum is None else int(maximum)
    values = found = loop_vars
    while (limit is None or iterations < limit) and bool(cond(*nodes.arguments(values))):
        found = body(*nodes.arguments(values))
        values = nodes.wrapped(found, loop_vars)
        nodes.check_structure(loop_vars, values)
        iterations += 1
    values = structure.map_structure(nodes.convert_leaf, values)
    # TensorFlow gives what the body gave, a list or a tuple; a graph keeps the form of loop_vars.
    plain = (list, tuple)
    return type(found)(values) if type(found) in plain and type(values) in plain else values


def _invariants(loop_vars: Any, given: Any) -> list[Shape | None]:
    """One shape per flat loop variable."""
    parts = structure.flatten_up_to(loop_vars, _shapes_as_leaves(given), check_types=False)
    found: list[Shape | None] = []
    for leaf, part in zip(structure.flatten(loop_vars), parts, strict=True):
        count = len(structure.flatten(leaf, expand_composites=True))
        if count == 1 and not getattr(type(leaf), "_is_composite", False):
            found.append(part.shape if isinstance(part, TensorSpec) else Shape(part))
        else:
            found.extend([None] * count)
    return found


def _shapes_as_leaves(given: Any) -> Any:
    """A nest in which shapes given as lists of integers and None are leaves."""
    if isinstance(given, (list, tuple)):
        if given and all(one is None or isinstance(one, int) for one in given):
            return Shape(given)
        kept = [_shapes_as_leaves(one) for one in given]
        return tuple(kept) if isinstance(given, tuple) else kept
    if isinstance(given, dict):
        return {key: _shapes_as_leaves(one) for key, one in given.items()}
    return given


def build_while(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    invariants: Sequence[Shape | None] | None = None,
    maximum: Any = None,
    name: str = "while",
    parallel_iterations: int = 10,
    names: Sequence[str] | None = None,
) -> Any:
    """A While node, and its outputs in the structure of `loop_vars`.

    `names` are used for the loop variables' leaves in messages; their indices if None.
    """
    node, packed = nodes.while_node(
        cond, body, loop_vars, invariants, maximum, name, parallel_iterations, names
    )
    return packed(recorded.add_node(node, name))
