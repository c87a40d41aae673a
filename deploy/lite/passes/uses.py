"""Producers and users of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.model import Operator, Subgraph, Tensor


class Uses:
    """The producer and users of each tensor of a subgraph, kept up to date by `replace`.

    Args:
        subgraph: the subgraph; its operators are changed in place.
    """

    def __init__(self, subgraph: Subgraph) -> None:
        self.subgraph = subgraph
        self.makers: dict[int, Operator] = {}
        self.takers: dict[int, list[Operator]] = {}
        self.results = {id(x) for x in subgraph.outputs}
        for operator in subgraph.operators:
            for made in operator.outputs:
                self.makers[id(made)] = operator
            for x in operator.inputs:
                if x is not None:
                    self.takers.setdefault(id(x), []).append(operator)

    def maker(self, x: Tensor | None) -> Operator | None:
        """The operator that produces a tensor; None for arguments and constants."""
        return None if x is None else self.makers.get(id(x))

    def only_taker(self, x: Tensor) -> Operator | None:
        """The only user of a tensor; None if there are several, or if it is a result."""
        found = self.takers.get(id(x), [])
        return found[0] if len(found) == 1 and id(x) not in self.results else None

    def is_inner(self, x: Tensor) -> bool:
        """Whether a tensor has exactly one user and is no result."""
        return self.only_taker(x) is not None

    def replace(self, x: Tensor, y: Tensor) -> None:
        """Replace `x` by `y` in all operators and results."""
        for operator in self.takers.pop(id(x), []):
            operator.inputs = [y if one is x else one for one in operator.inputs]
            self.takers.setdefault(id(y), []).append(operator)
        if id(x) in self.results:
            y.name = x.name
            self.subgraph.outputs = [y if one is x else one for one in self.subgraph.outputs]
            self.results.add(id(y))
            self.results.discard(id(x))

    def drop(self, operator: Operator) -> None:
        """Remove an operator whose outputs have no users."""
        self.subgraph.operators.remove(operator)
        for x in operator.inputs:
            if x is not None:
                takers = self.takers.get(id(x), [])
                if operator in takers:
                    takers.remove(operator)
        for made in operator.outputs:
            self.makers.pop(id(made), None)

    def take_over(self, before: Operator, after: Operator) -> None:
        """Let `before` produce the outputs of `after`, and remove `after`."""
        (old,), (new,) = before.outputs, after.outputs
        self.drop(after)
        before.outputs = [new]
        self.makers.pop(id(old), None)
        self.makers[id(new)] = before
