"""Functions with custom gradients: custom_gradient and the like (stop_gradient is an op)."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.autodiff.tape import GradientTape, carries_gradient
from pinnace.framework import structure
from pinnace.framework.composite import is_composite
from pinnace.framework.context import state, tapes_hidden
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.tensor import Operands
from pinnace.framework.variable import Variable
from pinnace.functions.customised import mark_gradient
from pinnace.ops.array import constants, reshaping

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


class _Readers:
    """A tape that notes which variables are read and records no ops."""

    persistent = False

    def __init__(self) -> None:
        self.variables: dict[int, Variable] = {}

    def watch_variable(self, variable: Variable) -> None:
        """A variable was read."""
        if variable.is_watched and carries_gradient(variable.dtype):
            self.variables[id(variable)] = variable

    def watches(self, tensor: object) -> bool:
        """Whether it watches a tensor: never, it watches variables only."""
        del tensor
        return False

    def record(self, *args: object) -> None:
        """Does nothing."""

    def record_call(self, *args: object) -> None:
        """Does nothing."""

    def record_customised(self, *args: object) -> None:
        """Does nothing."""


def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function whose gradient function is returned together with its result.

    Args:
        f: `f(*xs)` gives `(result, grad_fn)`; `grad_fn(*dys)` gives one gradient per tensor
            argument, in the order of `f`'s parameters, whether they were named in the call or not.
            Named arguments without tensors are options, and have none. If `f` reads variables,
            `grad_fn(*dys, variables=[...])` gives those, and a list with one gradient per variable.
            None gives a decorator.

    Returns:
        A function that gives the result alone and is differentiated by `grad_fn`.
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        named, options, leaves = _in_order(f, args, kwargs)
        inputs = [_value(x) for x in structure.flatten((args, list(named.values())))]
        readers = _Readers()
        outer = state.tapes
        # The ops inside are recorded too: second derivatives may go through them.
        state.tapes = (*outer, readers)
        try:
            given, by_name = structure.pack_sequence_as((args, list(named.values())), inputs)
            results, grad_fn = f(*given, **dict(zip(named, by_name, strict=True)), **options)
        finally:
            state.tapes = outer
        variables = list(readers.variables.values())
        if variables and not _takes_variables(grad_fn):
            raise TypeError(
                f"custom_gradient: {f.__name__!r} reads variables, so that its gradient "
                "function must take them: "
                "def grad(*dys, variables=None)"
            )
        computed = tuple(convert_to_tensor(y) for y in structure.flatten(results))
        # New tensors: for the tapes, this function made the results, not the ops inside.
        with tapes_hidden():
            outputs = tuple(reshaping.identity(y) for y in computed)
        everything = [*inputs, *(variable.handle for variable in variables)]

        def backward(*dys: Tensor | None) -> list[Tensor | None]:
            filled = [
                constants.zeros_like(y) if dy is None else dy
                for y, dy in zip(outputs, dys, strict=True)
            ]
            if variables:
                by_input, by_variable = grad_fn(*filled, variables=variables)
                found = [*_for_inputs(by_input, leaves, inputs), *by_variable]
            else:
                found = _for_inputs(grad_fn(*filled), leaves, inputs)
            if len(found) != len(everything):
                raise ValueError(
                    f"custom_gradient: the gradient function of {f.__name__!r} must give "
                    f"{len(everything)} gradients, gave {len(found)}"
                )
            return [
                None if g is None or not carries_gradient(x.dtype) else _gradient(g)
                for g, x in zip(found, everything, strict=True)
            ]

        if state.tracer is not None:
            # The node passes values through: files have no handles there.
            read = [variable.value() for variable in variables]
            outputs = mark_gradient([*inputs, *read], outputs, backward)
        for tape in state.tapes:
            for variable in variables:
                tape.watch_variable(variable)
            tape.record_customised(tuple(everything), outputs, backward, computed)
        return structure.pack_sequence_as(results, outputs)

    return decorated


def _in_order(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[bool]]:
    """Keyword arguments with tensors, the others, and which leaves of all are tensors.

    They are in the order of the parameters of `f`, as are its gradients.
    """
    if not kwargs:
        return {}, {}, []
    order = {name: place for place, name in enumerate(inspect.signature(f).parameters)}
    ordered = sorted(kwargs, key=lambda name: order.get(name, len(order)))
    named = {key: kwargs[key] for key in ordered if _holds_tensors(kwargs[key])}
    options = {key: value for key, value in kwargs.items() if key not in named}
    leaves = [True] * len(structure.flatten(args))
    for key in ordered:
        leaves += [key in named] * len(structure.flatten(kwargs[key]))
    return named, options, leaves


def _holds_tensors(value: Any) -> bool:
    """Whether a keyword argument may have a gradient: numbers and strings are options."""
    return any(
        isinstance(x, (Operands, np.ndarray)) or is_composite(x) for x in structure.flatten(value)
    )


def _value(x: Any) -> Any:
    return x.value() if isinstance(x, Variable) else convert_to_tensor(x)


def _for_inputs(given: Any, leaves: list[bool], inputs: list[Any]) -> list[Any]:
    """The gradients, one per tensor argument.

    With named arguments, a gradient function may also return one gradient for each argument,
    including options such as numbers; or none for arguments without a gradient, such as bools.
    """
    found = list(structure.flatten(given))
    if not leaves or len(found) == len(inputs):
        return found
    if len(found) == len(leaves):
        return [g for g, is_tensor in zip(found, leaves, strict=True) if is_tensor]
    carry = [carries_gradient(x.dtype) for x in inputs]
    if len(found) != sum(carry):
        return found
    waiting = iter(found)
    return [next(waiting) if carries else None for carries in carry]


def _gradient(g: Any) -> Any:
    return g if type(g) is IndexedSlices else convert_to_tensor(g)


def _only_readers() -> tuple[Any, ...]:
    """The tapes on the stack that only note variable reads."""
    return tuple(tape for tape in state.tapes if isinstance(tape, _Readers))


def _takes_variables(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the derivative of the identity: gradients pass through unchanged.

    Args:
        f: a function whose results have the shapes of its arguments.

    Returns:
        The function; variables that it reads get no gradient.
    """

    @custom_gradient
    def passing(*args: Any, **kwargs: Any) -> Any:
        def back(*dys: Any, variables: list[Any] | None = None) -> Any:
            return dys if variables is None else (dys, [None] * len(variables))

        return f(*args, **kwargs), back

    return functools.wraps(f)(passing)


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that keeps only its arguments for the gradient, and recomputes the rest.

    Args:
        f: takes tensors, gives tensors in any structure.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        def run(*tensors: Any) -> Any:
            saved = state.tapes
            state.tapes = _only_readers()
            try:
                result = f(*tensors, **kwargs)
            finally:
                state.tapes = saved

            def gradient(*dys: Any, variables: Any = None) -> Any:
                held = list(variables or ())
                flat = structure.flatten(tensors)
                with GradientTape() as tape:
                    tape.watch([x for x in flat if x.dtype.is_floating or x.dtype.is_complex])
                    again = f(*tensors, **kwargs)
                found = tape.gradient(structure.flatten(again), [*flat, *held], list(dys))
                return found[: len(flat)], found[len(flat) :]

            return result, gradient

        return custom_gradient(run)(*args)

    return decorated
