"""Who makes a tensor, and who takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.model import Operator, Subgraph, Tensor


class Uses:
    """The operators around each tensor of a subgraph; it is kept up to date by `replace`.

    Args:
        subgraph: whose operators are changed in place.
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
        """The operator that gives a tensor; None for arguments and constants."""
        return None if x is None else self.makers.get(id(x))

    def only_taker(self, x: Tensor) -> Operator | None:
        """The one operator that takes a tensor, if it is no result either."""
        found = self.takers.get(id(x), [])
        return found[0] if len(found) == 1 and id(x) not in self.results else None

    def is_inner(self, x: Tensor) -> bool:
        """Whether one operator takes a tensor, and nothing else does."""
        return self.only_taker(x) is not None

    def replace(self, x: Tensor, y: Tensor) -> None:
        """Everything that takes `x` takes `y`, results too."""
        for operator in self.takers.pop(id(x), []):
            operator.inputs = [y if one is x else one for one in operator.inputs]
            self.takers.setdefault(id(y), []).append(operator)
        if id(x) in self.results:
            y.name = x.name
            self.subgraph.outputs = [y if one is x else one for one in self.subgraph.outputs]
            self.results.add(id(y))
            self.results.discard(id(x))

    def drop(self, operator: Operator) -> None:
        """Take an operator out; nothing may take what it gives."""
        self.subgraph.operators.remove(operator)
        for x in operator.inputs:
            if x is not None:
                takers = self.takers.get(id(x), [])
                if operator in takers:
                    takers.remove(operator)
        for made in operator.outputs:
            self.makers.pop(id(made), None)

    def take_over(self, before: Operator, after: Operator) -> None:
        """`before` gives what `after` gave, and `after` goes."""
        (old,), (new,) = before.outputs, after.outputs
        self.drop(after)
        before.outputs = [new]
        self.makers.pop(id(old), None)
        self.makers[id(new)] = before
