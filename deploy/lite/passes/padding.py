"""Fusion of zero padding into the convolution behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.passes.cleaning import without_dead
from pinnace.deploy.lite.passes.uses import Uses

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.model import Operator, Subgraph, Tensor

_SAME, _VALID = 0, 1
# Operator -> the axes of its weights that are height and width.
_WINDOWS = {"CONV_2D": (1, 2), "DEPTHWISE_CONV_2D": (1, 2)}
_SIDES = ("h", "w")


def without_padding(subgraph: Subgraph) -> None:
    """Replace PAD and a VALID convolution by a SAME one if they pad alike.

    Keras' applications pad (0, 1) before convolutions of stride 2, which equals SAME for even
    sizes.
    """
    uses = Uses(subgraph)
    for operator in subgraph.operators:
        if operator.kind not in _WINDOWS or operator.options.get("padding") != _VALID:
            continue
        before = uses.maker(operator.inputs[0])
        if before is None or before.kind != "PAD" or not _is_same(operator, before):
            continue
        operator.inputs[0] = before.inputs[0]
        operator.options["padding"] = _SAME
    without_dead(subgraph)


def _is_same(operator: Operator, pad: Operator) -> bool:
    """Whether SAME pads the same number of zeros on every side."""
    x, pairs = pad.inputs
    weights = operator.inputs[1]
    if x is None or x.rank != 4 or pairs is None or pairs.data is None or weights is None:
        return False
    first, *both, last = pairs.data.tolist()
    if any(first) or any(last):
        return False
    return all(
        pair == _of_same(operator, x, weights, axis, side)
        for axis, (pair, side) in enumerate(zip(both, _SIDES, strict=True))
    )


def _of_same(
    operator: Operator, x: Tensor, weights: Tensor, axis: int, side: str
) -> list[int] | None:
    """The zeros that SAME puts before and behind an axis; None if its size is unknown."""
    size, window = x.shape[1 + axis], weights.shape[_WINDOWS[operator.kind][axis]]
    if size is None or window is None:
        return None
    stride = operator.options.get(f"stride_{side}", 1)
    reach = (window - 1) * operator.options.get(f"dilation_{side}_factor", 1) + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return [total // 2, total - total // 2]
