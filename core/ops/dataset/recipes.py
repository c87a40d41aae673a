"""Datasets in graphs: how to start a pass, and the number of elements.

A graph written by TensorFlow contains a pipeline as nodes, each of which returns a variant. The
object of each variant here is a `Recipe`; nothing is computed before an element is read. The
objects of `pinnace.data` have the same two methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops import memory
from pinnace.ops.execute import eager_context
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, AttrDef, Effect, OpDef, attr
from pinnace.ops.registry import register, scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

# The leaves of one element.
Leaves = tuple["Array", ...]
INFINITE, UNKNOWN = -1, -2


class Turn:
    """One pass over a dataset. An iterator may outlive a run: its next reader sets the run.

    Args:
        ctx: the run that reads.
    """

    __slots__ = ("ctx",)

    def __init__(self, ctx: RunContext | None = None) -> None:
        self.ctx = ctx or eager_context()

    def call(self, function: Any, *arrays: Array) -> Leaves:
        """The results of a FunctionRef."""
        self.ctx.check()
        return self.ctx.call(function, arrays)

    def take(self, source: Readable) -> Iterator[Leaves]:
        """The elements of another dataset in this pass; raises if the run is cancelled."""
        # A generator would end with the first error, but IgnoreErrorsDataset continues after it.
        return map(self._checked, source.element_arrays(self))

    def _checked(self, element: Leaves) -> Leaves:
        self.ctx.check()
        return element


class Readable(Protocol):
    """The object of a dataset's variant."""

    def element_arrays(self, turn: Turn) -> Iterator[Leaves]:
        """The leaves of each element, in a new pass."""

    def cardinality(self) -> int:
        """The number of elements; INFINITE or UNKNOWN."""


class Recipe:
    """A dataset that a node makes.

    Args:
        begin: begins a pass.
        count: how many elements there are; INFINITE or UNKNOWN.
    """

    __slots__ = ("_begin", "_count")

    def __init__(self, begin: Callable[[Turn], Iterator[Leaves]], count: int = UNKNOWN) -> None:
        self._begin = begin
        self._count = count

    def element_arrays(self, turn: Turn) -> Iterator[Leaves]:
        """The leaves of each element, in a new pass."""
        return self._begin(turn)

    def cardinality(self) -> int:
        """The number of elements; INFINITE or UNKNOWN."""
        return self._count


def as_variant(thing: object) -> Array:
    """A scalar array of one object."""
    out = np.empty((), object)
    out[()] = thing
    return out


def made(begin: Callable[[Turn], Iterator[Leaves]], count: int = UNKNOWN) -> Array:
    """The variant of a new dataset."""
    return as_variant(Recipe(begin, count))


def dataset_of(op: str, variant: Array) -> Readable:
    """The dataset behind a variant.

    Raises:
        InvalidArgumentError: the variant holds something else.
    """
    found: Any = np.asarray(variant)[()]
    if not hasattr(found, "element_arrays"):
        raise InvalidArgumentError(f"{op}: a dataset is required, got {found!r}")
    return found  # type: ignore[no-any-return]  # it has just been asked


def whole(op: str, name: str, value: Array, least: int) -> int:
    """A number that an input gives.

    Raises:
        InvalidArgumentError: the input is no scalar, or too small.
    """
    if value.ndim:
        raise InvalidArgumentError(f"{op}: {name} must be a scalar, got {list(value.shape)}")
    number = int(value)
    if number < least:
        raise InvalidArgumentError(f"{op}: {name} must be at least {least}, got {number}")
    return number


def keep(element: Leaves) -> Leaves:
    """The element, counted as memory of the run since it will be held."""
    memory.claim(sum(leaf.nbytes + memory.ARRAY for leaf in element))
    return element


ELEMENT: Mapping[str, AttrDef] = {
    "output_types": attr("list(type)"),
    "output_shapes": attr("list(shape)"),
}
METADATA: Mapping[str, AttrDef] = {"metadata": attr("string", default="")}


def dataset_op(
    name: str,
    signature: str,
    kernel: Callable[..., Array],
    attrs: Mapping[str, AttrDef] | None = None,
    *,
    effect: Effect | None = None,
    reaches: str = "",
    guarded: Callable[..., Array] | None = None,
) -> OpDef:
    """Register an op that returns a dataset; `signature` describes its inputs."""
    return register(
        OpDef(
            name=name,
            signature=f"{signature} -> handle: variant",
            attrs={**ELEMENT, **METADATA} if attrs is None else attrs,
            infer=scalar,
            kernel=kernel,
            gradient=NO_GRADIENT_DEFINED,
            effect=effect,
            reaches=reaches,
            guarded=guarded,
        )
    )
