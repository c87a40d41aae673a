"""Vectorisation rules: how an op is applied to rows stacked along a new first axis.

A rule is an op's `OpDef.batch`; rules that several ops share are here. `functions.control.batching`
applies them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Array


class BatchCall(Protocol):
    """A call of an op in a function of one row, as a rule sees it; all inputs are flat.

    Attributes:
        attrs: the call's.
        inputs: the specs of the inputs, of one row.
        outputs: the specs of the outputs, of one row.
        tensors: the inputs; rows are stacked where `batched`, others are the same in all rows.
        batched: whether an input has the batch axis; at least one has.
    """

    attrs: Mapping[str, Any]
    inputs: Sequence[TensorSpec]
    outputs: Sequence[TensorSpec]
    tensors: Sequence[Any]
    batched: Sequence[bool]

    def apply(self, tensors: Sequence[Any], **attrs: Any) -> Sequence[Any]:
        """The outputs of the op for other inputs, with some attributes replaced."""

    def rank(self, index: int) -> int:
        """The rank of an input's rows."""

    def fixed(self, index: int) -> Array:
        """The value of an input that must be known statically."""

    def stacked_axes(self, index: int) -> Any:
        """The axes of a row named by an input, as axes of stacked rows."""

    def tiled(self, index: int) -> Any:
        """An input with the batch axis, repeated if it is the same in all rows."""

    def aligned(self, index: int, rank: int) -> Any:
        """An input whose rows are expanded to `rank` axes by leading axes of size 1."""

    def extended(self, rest: Any, first: Any) -> Any:
        """A per-axis vector, with an entry for the batch axis prepended."""

    def count(self) -> Any:
        """The number of rows: an int, or a scalar."""

    def refuse(self, why: str) -> NoReturn:
        """Raise UnbatchableError."""


class UnbatchableError(Exception):
    """An op, or a call of it, cannot be vectorized."""


@dataclass(frozen=True, slots=True)
class BatchRule:
    """The function that computes the outputs for all rows at once.

    Args:
        apply: the outputs, flat, all with the batch axis; those of a shape query without it.
        exact: each row is bit for bit what the op gives for that row alone. A Dataset's functions
            are computed so for many elements, and must not show it.
    """

    apply: Callable[[BatchCall], Sequence[Any]]
    exact: bool = False


def _as_it_is(call: BatchCall) -> Sequence[Any]:
    if any(call.batched[1:]):
        call.refuse("has another argument in every row")
    return call.apply(call.tensors)


def _all_tiled(call: BatchCall) -> Sequence[Any]:
    return call.apply([call.tiled(index) for index in range(len(call.tensors))])


def _broadcast(call: BatchCall) -> Sequence[Any]:
    places = range(len(call.tensors))
    rank = max(map(call.rank, places))
    return call.apply([call.aligned(index, rank) for index in places])


def _along_axes(call: BatchCall) -> Sequence[Any]:
    return call.apply([call.tensors[0], call.stacked_axes(1)])


# For ops that accept leading axes in the first input, and treat each slice alike.
AS_IT_IS = BatchRule(_as_it_is)
AS_IT_IS_EXACTLY = BatchRule(_as_it_is, exact=True)
# All inputs must have the batch axis.
ALL_TILED = BatchRule(_all_tiled)
# Inputs broadcast against each other.
BROADCAST = BatchRule(_broadcast)
BROADCAST_EXACTLY = BatchRule(_broadcast, exact=True)
# For ops whose second input names axes of the first.
ALONG_AXES = BatchRule(_along_axes)


def leading(first: Any) -> BatchRule:
    """The rule of an op with an entry per axis in its second argument.

    Args:
        first: the entry of the batch axis.
    """

    def rule(call: BatchCall) -> Sequence[Any]:
        if any(call.batched[1:]):
            call.refuse("has another argument in every row")
        x, entries, *rest = call.tensors
        return call.apply([x, call.extended(entries, first), *rest])

    return BatchRule(rule)
