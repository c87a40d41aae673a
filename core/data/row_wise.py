"""Row-wise functions of batches, applied to several batches in one call.

Parsing a batch of messages has mostly a fixed cost per call. Where each row of the result depends
only on the same row of the arguments, a few concatenated batches give the same rows for the cost of
one.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from pinnace.functions.control.batching import keeps_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.data.elements import Element
    from pinnace.functions.concrete import ConcreteFunction

# How many rows to concatenate.
_ROWS = 512


def is_row_wise(function: ConcreteFunction) -> bool:
    """Whether the function of batches is row-wise, and coalescing pays.

    It pays for an op whose call costs more than its rows: copying batches together takes time, too.
    """
    graph = function.graph
    if graph.effects or not any(node.op.name == "ParseExampleV2" for node in graph.nodes):
        return False
    batches = graph.inputs[: len(graph.inputs) - len(function.captured)]
    # A plan may reserve memory for sizes it knows.
    if any(not value.spec.shape.rank or value.spec.shape[0] is not None for value in batches):
        return False
    return keeps_rows(graph, batches)


class CoalescedBatches:
    """The function applied to a few batches at once; after an error, to each alone.

    Args:
        batches: arrays with a common first axis, and reading a few ahead of time does no harm.
        function: takes and gives leaves.
    """

    def __init__(self, batches: Iterator[Element], function: Callable[[Element], Element]) -> None:
        self._batches = batches
        self._function = function
        self._ready: Iterator[Element] = iter(())
        self._held: Exception | None = None

    def __iter__(self) -> CoalescedBatches:
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
