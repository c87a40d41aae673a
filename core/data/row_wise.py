"""Functions of batches that treat every row alone: several batches go through them at once.

Parsing a batch of messages costs mostly what its calls cost, whatever the batch holds. Where the
function gives each row of its result from that row of its arguments alone, a few batches put
together give the same rows for the price of one.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pinnace.graph.graph import Node, Value, constant_of
from pinnace.graph.walk import ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.data.elements import Element
    from pinnace.functions.concrete import ConcreteFunction

# Ops whose calls cost more than their rows; only for them it pays to copy batches together.
_COSTLY = frozenset({"ParseExampleV2"})
_FIRST_ONLY = frozenset({"Cast", "DecodeRaw", "Identity", "OneHot", "StringToNumber"})
# How many rows to put together.
_ROWS = 512


def is_row_wise(function: ConcreteFunction) -> bool:
    """Whether the function of batches is one of rows, and it pays to know."""
    graph = function.graph
    if graph.effects or not any(node.op.name in _COSTLY for node in graph.nodes):
        return False
    many: set[Value] = set(graph.inputs[: len(graph.inputs) - len(function.captured)])
    # A plan may reserve memory for sizes it knows.
    if any(not value.spec.shape.rank or value.spec.shape[0] is not None for value in many):
        return False
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node not in arguments and not _keeps_rows(node, many):
            return False
    return all(value in many for value in graph.outputs)


def _keeps_rows(node: Node, many: set[Value]) -> bool:
    """Whether the node's results have the rows of its inputs, or depend on none; note them."""
    if node.op.stateful:
        return False
    taken = [value in many for value in node.inputs]
    if not any(taken):
        return True
    name = node.op.name
    if name in _COSTLY:
        dense = node.attrs["dense_shapes"]
        plain = not node.attrs["num_sparse"] and not node.attrs["ragged_value_types"]
        good = plain and all(shape.is_fully_defined() for shape in dense)
    elif name in _FIRST_ONLY:
        good = node.attrs.get("axis", -1) == -1
    elif name == "ExpandDims":
        axis = constant_of(node.inputs[1])
        return _noted(node, many, axis is not None and int(axis.reshape(-1)[0]) > 0)
    else:
        return _noted(node, many, node.op.elementwise and _aligned(node.inputs, taken))
    return _noted(node, many, good and taken[0] and not any(taken[1:]))


def _noted(node: Node, many: set[Value], good: bool) -> bool:
    if good:
        many.update(node.outputs)
    return good


def _aligned(inputs: Sequence[Value], taken: Sequence[bool]) -> bool:
    """Whether operands with rows have them on the same, first axis, and no other reaches it."""
    ranks = [value.spec.shape.rank for value in inputs]
    if any(rank is None for rank in ranks):
        return False
    known = [rank or 0 for rank in ranks]
    widest = max(known)
    return all(
        rank == widest if rows else rank < widest for rank, rows in zip(known, taken, strict=True)
    )


class Together:
    """The function of batches, a few at once; a few that fail are done again one by one.

    Args:
        batches: arrays with a common first axis, and reading a few ahead of time does no harm.
        function: takes and gives leaves.
    """

    def __init__(self, batches: Iterator[Element], function: Callable[[Element], Element]) -> None:
        self._batches = batches
        self._function = function
        self._ready: Iterator[Element] = iter(())
        self._held: Exception | None = None

    def __iter__(self) -> Together:
        return self

    def __next__(self) -> Element:
        for result in self._ready:
            return result
        if self._held is not None:
            error, self._held = self._held, None
            raise error
        taken = self._take()
        if len(taken) == 1:
            return self._function(taken[0])
        self._ready = self._results(taken)
        return next(self)

    def _take(self) -> list[Element]:
        taken: list[Element] = []
        rows = 0
        while rows < _ROWS:
            try:
                batch = next(self._batches)
            except StopIteration:
                if not taken:
                    raise
                break
            except Exception as error:
                if not taken:
                    raise
                self._held = error  # after what came before it
                break
            taken.append(batch)
            rows += len(batch[0])
        return taken

    def _results(self, taken: list[Element]) -> Iterator[Element]:
        try:
            joined = tuple([np.concatenate(column) for column in zip(*taken, strict=True)])
            results = self._function(joined)
        except Exception:
            return map(self._function, taken)
        stops = list(itertools.accumulate(len(batch[0]) for batch in taken))
        cuts = [slice(a, b) for a, b in zip([0, *stops], stops, strict=False)]
        return iter([tuple([leaf[cut] for leaf in results]) for cut in cuts])
