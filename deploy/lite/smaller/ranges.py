"""Value ranges of a model's tensors, measured on examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.deploy.lite.ir.model import Subgraph
from pinnace.deploy.lite.smaller.recurrent import (
    begins_with_zeros,
    cell_of,
    cells,
    fills_of,
    layer_of,
)
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework.errors import FailedPreconditionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.ir.model import Operator, Tensor
    from pinnace.framework.tensor import Array

# id of a tensor -> its smallest and largest value; 0 always lies between them.
Ranges: TypeAlias = dict[int, tuple[float, float]]


def ranges_of(
    content: bytes, subgraph: Subgraph, key: str, feeds: Sequence[Mapping[str, Array]]
) -> Ranges:
    """The range of each float32 tensor that the first subgraph computes.

    Args:
        content: the float32 file.
        subgraph: its first subgraph.
        key: the signature's name.
        feeds: inputs by name.

    Raises:
        FailedPreconditionError: a value is not finite.
    """
    interpreter = Interpreter(content, WAYS[1], keeps_all=True)
    tensors = subgraph.tensors()
    idle = _idle(subgraph)
    layers = _layers(subgraph)
    found: Ranges = {}
    for given in feeds:
        interpreter.run(given, key)
        for place, tensor in enumerate(tensors):
            if tensor.data is not None or tensor.dtype.name != "float32" or id(tensor) in idle:
                continue
            array = interpreter.tensor(place)
            if array is None or not array.size:
                continue
            ends = float(np.min(array)), float(np.max(array))
            if not np.isfinite(ends).all():
                raise FailedPreconditionError(
                    f"export: {tensor.name!r} is not finite for an example of the calibration"
                )
            _widen(found, tensor, ends)
            for layer in layers.get(id(tensor), ()):
                _widen(found, cell_of(layer), cells(layer, array))
    return found


def _widen(found: Ranges, tensor: Tensor, ends: tuple[float, float]) -> None:
    before = found.get(id(tensor), (0.0, 0.0))
    found[id(tensor)] = (min(before[0], ends[0]), max(before[1], ends[1]))


def _layers(subgraph: Subgraph) -> dict[int, list[Operator]]:
    """id of a tensor -> the LSTMs with zero initial state that take it."""
    fills = fills_of(subgraph)
    found: dict[int, list[Operator]] = {}
    for one in subgraph.operators:
        layer = layer_of(one)
        if layer is not None and begins_with_zeros(one, fills):
            found.setdefault(id(one.inputs[1]), []).append(layer)
    return found


def _idle(subgraph: Subgraph) -> set[int]:
    """Outputs of loops and branches that have no users: their memory is undefined."""
    taken = {id(x) for one in subgraph.operators for x in one.inputs}
    taken.update(id(x) for x in subgraph.outputs)
    return {
        id(x)
        for one in subgraph.operators
        if any(isinstance(option, Subgraph) for option in one.options.values())
        for x in one.outputs
        if id(x) not in taken
    }
