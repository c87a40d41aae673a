"""Recurrent layers as loops over their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.reading.registry import Call, constant, like, op
from pinnace.framework import dtypes
from pinnace.functions.control.looping import while_loop
from pinnace.ops.composites.tensor_array import TensorArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor

    Step = Callable[[Tensor, list[Tensor]], list[Tensor]]


def over_time(
    call: Call,
    x: Tensor,
    sizes: Sequence[int],
    step: Step,
    *,
    backwards: bool = False,
    first: Sequence[Tensor] | None = None,
) -> Tensor:
    """The first state at each step, [batch, time, ...].

    Args:
        call: the operator.
        x: [batch, time, ...], or [time, batch, ...] if the operator's options say so.
        sizes: the last sizes of the states.
        step: computes the new states from a step of `x` and the old states.
        backwards: whether the last step comes first.
        first: the initial states; None for zeros.
    """
    first_is_time = bool(call.options["time_major"])
    if x.shape.rank != 3:
        call.damaged(f"its input has {x.shape.rank} axes, must have 3")
    if not first_is_time:
        x = op("Transpose", x, constant([1, 0, 2], dtypes.int32))
    length = op("Shape", x)[0] if x.shape[0] is None else constant(x.shape[0], dtypes.int32)
    batch = op("Shape", x)[1] if x.shape[1] is None else constant(x.shape[1], dtypes.int32)
    states = [
        op("Fill", op("Pack", [batch, constant(size, dtypes.int32)]), like(0.0, x))
        for size in sizes
    ]
    if first is not None:
        states = [
            op("Reshape", one, op("Shape", zeros)) for one, zeros in zip(first, states, strict=True)
        ]
    known = [x.shape[1], sizes[0]]
    array = TensorArray(x.dtype, size=x.shape[0] or length, element_shape=known)
    last = length - 1

    def turn(number: Tensor, given: Any, *old: Tensor) -> tuple[Any, ...]:
        at = last - number if backwards else number
        part = op("GatherV2", x, at, constant(0, dtypes.int32))
        new = step(part, list(old))
        return (number + 1, given.write(at, new[0]), *new)

    found = while_loop(
        lambda number, *_: number < length, turn, [constant(0, dtypes.int32), array, *states]
    )
    whole = found[1].stack()
    if first_is_time:
        return whole  # type: ignore[no-any-return]
    return op("Transpose", whole, constant([1, 0, 2], dtypes.int32))


def product(x: Tensor, weights: Tensor) -> Tensor:
    """x times transposed weights, [out, in]."""
    return op("MatMul", x, weights, transpose_b=True)
