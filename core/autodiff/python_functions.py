"""The gradient of a Python function in a graph: it runs again, under a tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.autodiff.tape import GradientTape
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.indexed_slices import dense
from pinnace.framework.tensor import Tensor
from pinnace.ops.array import constants
from pinnace.ops.functional.python_calls import EAGER_PY_FUNC, function_of, py_function
from pinnace.ops.registry import gradient_of

if TYPE_CHECKING:
    from pinnace.ops.opdef import OpCall


@gradient_of(EAGER_PY_FUNC)
def _gradient(call: OpCall, *dys: Any) -> tuple[Any, ...]:
    """Calls the function again under a tape, when the gradient runs."""
    function = function_of(call.attr("token"))
    inputs = call.inputs[0]
    count = len(inputs)
    wanted = [index for index, x in enumerate(inputs) if x.dtype.is_floating or x.dtype.is_complex]

    def backward(*arguments: Tensor) -> list[Any]:
        tape = GradientTape()
        xs = arguments[:count]
        with tape:
            for index in wanted:
                tape.watch(xs[index])
            found = function(*xs)
        targets = list(found) if isinstance(found, (list, tuple)) else [found]
        kept = [
            (y, dy)
            for y, dy in zip(targets, arguments[count:], strict=True)
            if isinstance(y, Tensor)
        ]
        found = tape.gradient(
            [y for y, _ in kept],
            [xs[index] for index in wanted],
            [dy for _, dy in kept],
            unconnected_gradients="zero",
        )
        return [dense(one) for one in found]

    seeds = [
        constants.zeros_like(y) if dy is None else convert_to_tensor(dy)
        for y, dy in zip(call.outputs, dys, strict=True)
    ]
    found = py_function(backward, [*inputs, *seeds], [inputs[index].dtype for index in wanted])
    gradients: list[Any] = [None] * count
    for index, gradient in zip(wanted, found, strict=True):
        if not isinstance(gradient.shape.dims, tuple):
            gradient.set_shape(inputs[index].shape)
        gradients[index] = gradient
    return (tuple(gradients),)
