"""Custom gradients of a graph's nodes (`custom_gradient`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.graph.graph import FunctionRef, Node

ATTRIBUTE = "_gradient_op_type"


class CustomGradient(str):
    """The value of `_gradient_op_type`: a name, with the function that computes the gradient.

    The node is an IdentityN. The inputs that it passes through are followed by those that only the
    gradient uses: so copies of the node keep all values that the gradient needs.

    Attributes:
        function: its arguments are the gradients of the first `seeds` outputs, then what it
            captures. None if there is none.
        seeds: how many gradients it takes.
        passed: how many inputs the node passes through.
        captured: one entry per capture: None for the next of the inputs behind those passed
            through, or a function that gives a tensor outside of the graph.
        targets: for each gradient that the function gives, the input it belongs to and of how many
            tensors it consists: 1, or the 2 or 3 of IndexedSlices.
        refusal: why there is no function.
    """

    __slots__ = ("captured", "function", "passed", "refusal", "seeds", "targets")

    function: FunctionRef | None
    seeds: int
    passed: int
    captured: tuple[Callable[[], Tensor] | None, ...]
    targets: tuple[tuple[int, int], ...]
    refusal: str

    @classmethod
    def made(
        cls,
        name: str,
        function: FunctionRef | None,
        *,
        seeds: int,
        passed: int,
        captured: Sequence[Callable[[], Tensor] | None] = (),
        targets: Sequence[tuple[int, int]] = (),
        refusal: str = "",
    ) -> CustomGradient:
        """The name with these attributes."""
        made = cls(name)
        made.function = function
        made.seeds = seeds
        made.passed = passed
        made.captured = tuple(captured)
        made.targets = tuple(targets)
        made.refusal = refusal
        return made


def custom_gradient_of(node: Node) -> CustomGradient | None:
    """The custom gradient of a node, which replaces its op's; None if it has none."""
    found = node.attrs.get(ATTRIBUTE)
    return found if isinstance(found, CustomGradient) else None
