"""`for` loops over distributed datasets and iterators, for AutoGraph."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pinnace.data.loops import for_dataset
from pinnace.distribute.inputs import DistributedDataset, DistributedIterator, joined

if TYPE_CHECKING:
    from collections.abc import Callable


def for_distributed(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    symbol_names: Any = None,
    opts: Any = None,
) -> None:
    """`for x in iterated: body(x)` over the elements of all replicas, step by step.

    Args:
        iterated: a DistributedDataset, or a DistributedIterator, which goes on where it is.
        extra_test: whether to go on, asked before each element; None if nothing ends it early.
        body: takes a PerReplica element.
        get_state: the loop's variables, a tuple.
        set_state: takes the loop's variables.
        symbol_names: accepted.
        opts: accepted.
    """
    for_dataset(
        iterated.parts,
        extra_test,
        lambda parts: body(joined(parts)),
        get_state,
        set_state,
        symbol_names,
        opts,
    )


def register() -> None:
    """Register these loops with AutoGraph, if it can be imported."""
    try:
        operators: Any = importlib.import_module("pinnace.functions.autograph.operators")
    except ImportError:
        return
    for kind in (DistributedDataset, DistributedIterator):
        operators.register_iteration(kind, for_distributed)
