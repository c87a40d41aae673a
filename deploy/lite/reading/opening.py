"""Batches of any size for files that fix it: what an interpreter does that is resized."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.ir.model import Subgraph
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.deploy.lite.ir.model import Model, Tensor


def open_batches(model: Model) -> dict[int, Shape]:
    """Let the first size of each input be any, and what is computed of it have any sizes.

    LiteRT computes all sizes anew when an input is resized; those in the file are of one batch.

    Args:
        model: whose tensors lose their sizes.

    Returns:
        The shapes of the inputs of signatures, by the tensors' `id`.
    """
    shapes: dict[int, Shape] = {}
    for signature in model.signatures:
        for tensor in signature.inputs.values():
            dims = tensor.shape.dims
            shapes[id(tensor)] = Shape([None, *dims[1:]]) if dims else tensor.shape
    waiting = [one.subgraph for one in model.signatures]
    opened: set[int] = set()
    while waiting:
        subgraph = waiting.pop()
        if id(subgraph) not in opened:
            opened.add(id(subgraph))
            waiting += _open(subgraph)
    return shapes


def _open(subgraph: Subgraph) -> Iterator[Subgraph]:
    """What depends on a subgraph's inputs; the subgraphs that are run with any of it."""
    found = {id(tensor) for tensor in subgraph.inputs}
    for tensor in subgraph.inputs:
        _forget(tensor)
    for operator in subgraph.operators:
        if any(one is not None and id(one) in found for one in operator.inputs):
            for tensor in operator.outputs:
                found.add(id(tensor))
                _forget(tensor)
            for option in operator.options.values():
                if isinstance(option, Subgraph):
                    yield option


def _forget(tensor: Tensor) -> None:
    """The sizes of a tensor; constants, and what begins as zeros of a known size, keep theirs."""
    dims = tensor.shape.dims
    if tensor.data is None and not tensor.is_state and dims and 0 not in dims:
        tensor.shape = Shape([None] * len(dims))
