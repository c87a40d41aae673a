"""Variable batch sizes for files that fix them, as a resized interpreter would compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.ir.model import Subgraph
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.deploy.lite.ir.model import Model, Tensor


def open_batches(model: Model) -> dict[int, Shape]:
    """Make the first size of each input unknown, and all sizes of tensors computed from it.

    LiteRT recomputes all sizes when an input is resized; the file has those of one batch size.

    Args:
        model: its tensors' shapes are changed in place.

    Returns:
        The original shapes of the signatures' inputs by `id(tensor)`.
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
    """Forget the sizes that depend on a subgraph's inputs; yield the subgraphs that use them."""
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
    """Make all sizes unknown, except for constants and for zero states of known size."""
    dims = tensor.shape.dims
    if tensor.data is None and not tensor.is_state and dims and 0 not in dims:
        tensor.shape = Shape([None] * len(dims))
