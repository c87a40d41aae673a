"""Branches, loops, mapped functions, and custom gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.autodiff.forward import ForwardAccumulator
from pinnace.framework import dtypes, structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.functions import custom_gradients
from pinnace.functions.control import conditional, looping, mapping
from pinnace.keras.ops.operation import operation
from pinnace.ops.array import casting
from pinnace.ops.math import arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@operation("core", "Cond")
def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """The result of one of two functions.

    Args:
        pred: a scalar, bool.
        true_fn: called if it holds; both give tensors of one structure.
        false_fn: called if it does not.
    """
    return conditional.cond(pred, true_fn, false_fn)


@operation("core", "Switch")
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """The result of one of several functions.

    Args:
        index: which, a scalar, int32; the first or the last if it is below or above.
        branches: functions that give tensors of one structure.
        *operands: the operands of each.

    Raises:
        ValueError: no branches are given.
    """
    if not branches:
        raise ValueError("keras.ops.switch: branches must have one function at least, got none")
    place = casting.cast(index, dtypes.int32)
    place = arithmetic.minimum(arithmetic.maximum(place, 0), len(branches) - 1)

    def bound(branch: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: branch(*operands)

    return conditional.switch_case(place, [bound(branch) for branch in branches])


@operation("core", "WhileLoop", "cond", "body", "maximum_iterations")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    maximum_iterations: int | None = None,
) -> Any:
    """The final values of a loop: a function is applied while a condition holds.

    Args:
        cond: takes the values, gives a scalar, bool.
        body: takes the values, gives the next ones, of the same structure, shapes and dtypes.
        loop_vars: the first values: a tuple or list of them, or a single one.
        maximum_iterations: after how many rounds it ends at the latest.

    Returns:
        The last values, as `loop_vars` was given.
    """
    several = isinstance(loop_vars, (tuple, list))

    def step(*values: Any) -> tuple[Any, ...]:
        made = body(*values)
        return tuple(made) if several else (made,)

    found = looping.while_loop(
        cond,
        step,
        tuple(loop_vars) if several else (loop_vars,),
        maximum_iterations=maximum_iterations,
    )
    return tuple(found) if several else found[0]


@operation("core", "ForiLoop", "lower", "upper", "body_fun")
def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """The final value of a loop over the integers from lower up to upper.

    Args:
        lower: the first number, an integer.
        upper: the number that is not reached.
        body_fun: takes the number and the value, gives the next value, of the same structure.
        init_val: the first value.

    Returns:
        The last value.
    """

    def left(index: Any, _: Any) -> Any:
        return index < upper

    def step(index: Any, value: Any) -> tuple[Any, Any]:
        return index + 1, body_fun(index, value)

    return looping.while_loop(left, step, (lower, init_val))[1]


@operation("core", "Map")
def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """A function applied to each row, one after the other.

    Args:
        f: takes a row of each tensor, gives a structure of tensors.
        xs: tensors [n, ...] in a structure.

    Returns:
        The function's results, each tensor [n, ...].
    """
    return mapping.map_rows(f, structure.map_structure(convert_to_tensor, xs))


@operation("core", "VectorizedMap", "function")
def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    """A function applied to all rows at once.

    Args:
        function: takes a row of each tensor, gives a structure of tensors.
        elements: tensors [n, ...] in a structure.

    Returns:
        The function's results, each tensor [n, ...].
    """
    return mapping.vectorized_map(function, elements)


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a custom gradient.

    Args:
        f: gives a pair: its result, and the function that makes the gradients of its arguments
            of that of the result, which is handed over by position or as `upstream`.

    Returns:
        A function that gives the result alone.
    """
    return custom_gradients.custom_gradient(f)


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """A function's result, and its derivative along a direction.

    Args:
        fun: takes tensors, gives a structure of them.
        primals: its arguments, a tuple or list.
        tangents: the direction: one tensor of the same shape for each.
        has_aux: whether the function gives a pair, of which only the first is differentiated.

    Returns:
        The result and its change, of one structure; with `has_aux` the second of the pair too.

    Raises:
        ValueError: the numbers of tangents and primals differ.
    """
    points = [convert_to_tensor(x) for x in structure.flatten(primals)]
    given = structure.flatten(tangents)
    if len(points) != len(given):
        raise ValueError(
            f"keras.ops.jvp: there must be one tangent per primal, got {len(given)} and "
            f"{len(points)}"
        )
    ways = [casting.cast(way, x.dtype) for way, x in zip(given, points, strict=True)]
    with ForwardAccumulator(points, ways) as accumulator:
        made = fun(*structure.pack_sequence_as(primals, points))
        result, *aux = made if has_aux else (made,)
        changes = [accumulator.jvp(x) for x in structure.flatten(result)]
    return (result, structure.pack_sequence_as(result, changes), *aux)
