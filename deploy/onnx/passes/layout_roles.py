"""The layouts of operators' inputs and outputs, and how they are rewritten."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Node, Value
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array

# Layouts of an input: the node's own, always channels last, or any.
OWN, LAST, ANY = "own", "last", "any"
FIRST = "first"


class Chosen(NamedTuple):
    """The layouts in which a node is to be rewritten.

    Attributes:
        roles: the node's roles.
        is_first: whether its own layout is channels first.
        forms: whether each input is channels first.
        shapes: the inputs' shapes, channels last.
    """

    roles: "Roles"
    is_first: bool
    forms: Sequence[bool]
    shapes: Sequence[Shape | None]


Rewrite: TypeAlias = Callable[[GraphBuilder, Node, Chosen], None]
Rule: TypeAlias = Callable[[Node], "Roles | None"]


@dataclass(slots=True)
class Roles:
    """The layouts of a node's inputs and outputs.

    Attributes:
        takes: the layout of each input.
        gives: the outputs in the node's own layout; the others are channels last.
        fixed: FIRST if its own layout must be channels first.
        rewrite: rewrites the node for the chosen layouts.
        feeds: for a flattening, the matrix products that it feeds.
    """

    takes: list[str]
    gives: set[Value] = field(default_factory=set)
    fixed: str = ""
    rewrite: Rewrite | None = None
    feeds: list[Node] = field(default_factory=list)


def first_axes(rank: int) -> list[int]:
    """The permutation to channels first."""
    return [0, rank - 1, *range(1, rank - 1)]


def last_axes(rank: int) -> list[int]:
    """The permutation to channels last."""
    return [0, *range(2, rank), 1]


def moved_axis(axis: int, rank: int) -> int:
    """The channels-first position of a channels-last axis."""
    axis %= rank
    if axis == 0:
        return 0
    return 1 if axis == rank - 1 else axis + 1


def is_free(shape: Shape) -> bool:
    """Whether both layouts have the same element order: one channel, or one spatial position."""
    sizes = list(shape)
    return sizes[-1] == 1 or all(size == 1 for size in sizes[1:-1])


def constant_first(array: Array, rank: int) -> Array:
    """A constant that broadcasts against [n, ..., c], for [n, c, ...]."""
    if array.ndim == 0:
        return array
    whole = array.reshape((1,) * (rank - array.ndim) + array.shape).transpose(first_axes(rank))
    while whole.ndim and whole.shape[0] == 1:
        whole = whole[0]
    return whole
