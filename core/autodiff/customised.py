"""custom_gradient: a function that brings its own derivative (stop_gradient is an op)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pinnace.autodiff.tape import carries_gradient
from pinnace.framework import structure
from pinnace.framework.context import state, tapes_hidden
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.variable import Variable
from pinnace.ops.array import constants, reshaping

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose derivative is the one it returns beside its result.

    Args:
        f: `f(*xs)` gives `(result, grad_fn)`; `grad_fn(*dys)` gives one gradient per tensor
            argument.

    Returns:
        A function that gives the result alone and is differentiated by `grad_fn`.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        inputs = [
            (x.value() if isinstance(x, Variable) else convert_to_tensor(x))
            for x in structure.flatten(args)
        ]
        with tapes_hidden():
            results, grad_fn = f(*structure.pack_sequence_as(args, inputs), **kwargs)
        outputs = tuple(convert_to_tensor(y) for y in structure.flatten(results))
        # A result that is an argument itself would be one tensor in two roles.

        outputs = tuple(
            reshaping.identity(y) if any(y is x for x in inputs) else y for y in outputs
        )

        def backward(*dys: Tensor | None) -> list[Tensor | None]:
            filled = [
                constants.zeros_like(y) if dy is None else dy
                for y, dy in zip(outputs, dys, strict=True)
            ]
            found = structure.flatten(grad_fn(*filled))
            if len(found) != len(inputs):
                message = (
                    f"custom_gradient: the gradient function of {f.__name__!r} must give "
                    f"{len(inputs)} gradients, gave {len(found)}"
                )
                raise ValueError(message)
            return [
                None if g is None or not carries_gradient(x.dtype) else convert_to_tensor(g)
                for g, x in zip(found, inputs, strict=True)
            ]

        for tape in state.tapes:
            tape.record_call(tuple(inputs), outputs, backward)
        return structure.pack_sequence_as(results, outputs)

    return decorated
