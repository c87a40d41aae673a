"""Reverse accumulation: gradients of inputs from recorded ops and gradients of outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pinnace.framework import dtypes
from pinnace.framework.indexed_slices import IndexedSlices, dense
from pinnace.ops.array import casting, joining
from pinnace.ops.math import arithmetic
from pinnace.ops.opdef import OpCall, OpDef, handed_on

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from pinnace.framework.tensor import Tensor


# An entry of a tape: (op, inputs, attributes, outputs, None), or, for a function with a custom
# gradient, (None, inputs, {}, outputs, backward). It is a plain tuple, since tapes create many.
Entry: TypeAlias = (
    "tuple[OpDef | None, tuple[Any, ...], dict[str, Any], tuple[Tensor, ...], "
    "Callable[..., Sequence[Tensor | None]] | None]"
)


class Gradients:
    """The gradients found so far, by tensor; contributions to one tensor are summed on look-up."""

    __slots__ = ("table",)

    def __init__(self) -> None:
        self.table: dict[int, Any] = {}

    def add(self, tensor: Tensor, gradient: Tensor) -> None:
        """Add a contribution to the gradient of a tensor."""
        key = id(tensor)
        known = self.table.get(key)
        if known is None:
            self.table[key] = gradient
        elif type(known) is list:
            known.append(gradient)
        else:
            self.table[key] = [known, gradient]

    def total(self, tensor: Tensor) -> Tensor | None:
        """The sum of the contributions, None if there is none."""
        known = self.table.get(id(tensor))
        if type(known) is list:
            known = _sum(known)
            self.table[id(tensor)] = known
        return known

    def pop(self, tensor: Tensor) -> Tensor | None:
        """Remove the sum of the contributions and return it; None if there is none."""
        known = self.table.pop(id(tensor), None)
        return _sum(known) if type(known) is list else known  # type: ignore[no-any-return]


def _sum(gradients: list[Any]) -> Any:
    if any(type(one) is IndexedSlices for one in gradients):
        if all(type(one) is IndexedSlices for one in gradients):
            return _joined(gradients)
        gradients = [dense(one) for one in gradients]
    if len(gradients) == 2 and gradients[0].dtype.name != "variant":
        return arithmetic.add(gradients[0], gradients[1])
    return arithmetic.add_n(gradients)


def _joined(gradients: list[IndexedSlices]) -> IndexedSlices:
    """The sum of IndexedSlices: their concatenation."""
    indices = [one.indices for one in gradients]
    if len({one.dtype for one in indices}) > 1:
        indices = [casting.cast(one, dtypes.int64) for one in indices]
    shape = next((one.dense_shape for one in gradients if one.dense_shape is not None), None)
    values = joining.concat([one.values for one in gradients], 0)
    return IndexedSlices(values, joining.concat(indices, 0), shape)


def accumulate(  # noqa: C901 (the loop of every gradient: calls inside it would cost)
    entries: Sequence[Entry], gradients: Gradients, kept: set[int], wanted: Container[int]
) -> None:
    """Walk `entries` backwards, turning gradients of outputs into gradients of inputs.

    Args:
        entries: recorded ops, in execution order.
        gradients: holds the gradients of the targets; holds those of the sources afterwards.
        kept: ids of the tensors whose gradients are returned.
        wanted: ids of the tensors whose gradients can reach a source.
    """
    table = gradients.table
    for op, inputs, attrs, outputs, backward in reversed(entries):
        if len(outputs) == 1:
            key = id(outputs[0])
            dy = table.get(key)
            if dy is None:
                continue
            if type(dy) is list:
                dy = table[key] = _sum(dy)
            if key not in kept:
                del table[key]
            if type(dy) is IndexedSlices and (op is None or op.gradient is not handed_on):
                dy = dense(dy)
            dys: Sequence[Tensor | None] = (dy,)
        else:
            dys = [
                dense(gradients.total(y) if id(y) in kept else gradients.pop(y)) for y in outputs
            ]
            if all(dy is None for dy in dys):
                continue
        if op is None:
            assert backward is not None  # noqa: S101 (an entry has one or the other)
            found: Sequence[Any] = backward(*dys)
        else:
            call = OpCall(op, inputs, attrs, outputs, wanted)
            found = op.gradient(call, *dys)  # type: ignore[operator] # tapes record no other
        for x, dx in zip(inputs, found, strict=True):
            if dx is None:
                continue
            if type(x) is tuple:
                for one, part in zip(x, dx, strict=True):
                    if part is not None and id(one) in wanted:
                        gradients.add(one, part)
            elif id(x) in wanted:
                key = id(x)
                if key in table:
                    gradients.add(x, dx)
                else:
                    table[key] = dx
