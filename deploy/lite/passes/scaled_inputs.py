"""Fusion of factors and sums into the weights and bias of the matrix product behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.ir.model import Tensor
from pinnace.deploy.lite.passes.cleaning import without_dead
from pinnace.deploy.lite.passes.uses import Uses
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.model import Operator, Subgraph
    from pinnace.framework.tensor import Array

_KINDS = {"ADD", "SUB", "MUL", "DIV"}
# The bound for inputs of magnitude 1: beyond it, the product would be a small difference of large
# numbers, for which float32 has too few digits.
_LARGEST_SUM = 4.0


def without_scaling(subgraph: Subgraph) -> None:
    """Merge `Rescaling` and `Normalization` into the weights of the dense layer behind them."""
    uses = Uses(subgraph)
    for operator in list(subgraph.operators):
        if operator.kind == "FULLY_CONNECTED" and _is_own(uses, operator):
            _absorb(uses, operator)
    without_dead(subgraph)


def _is_own(uses: Uses, operator: Operator) -> bool:
    """Whether its weights are float constants that no other operator uses."""
    weights, bias = operator.inputs[1], _bias(operator)
    return (
        weights is not None
        and weights.is_constant
        and weights.dtype is dtypes.float32
        and len(uses.takers[id(weights)]) == 1
        and (bias is None or bias.data is not None)
    )


def _bias(operator: Operator) -> Tensor | None:
    return operator.inputs[2] if len(operator.inputs) > 2 else None


def _absorb(uses: Uses, operator: Operator) -> None:
    """Merge the factors and sums per column before an operator into its weights and bias."""
    weights, old = operator.inputs[1], _bias(operator)
    if weights is None:
        return
    rows, columns = weights.shape[0] or 0, weights.shape[1] or 0
    factor, total = np.ones(columns), np.zeros(columns)
    source = operator.inputs[0]
    origin = ""
    while source is not None:
        before = uses.maker(source)
        found = None if before is None else _step(uses, before, source, columns)
        if before is None or found is None:
            break
        by, plus, inner = found
        moved = total + factor * plus
        if np.abs(moved).max() > _LARGEST_SUM or not np.isfinite(factor * by).all():
            break
        factor, total, source, origin = factor * by, moved, inner, before.origin
    if source is operator.inputs[0]:
        return
    exact = np.asarray(weights.data, np.float64)
    bias = np.zeros(rows) if old is None or old.data is None else old.data.astype(np.float64)
    scaled = (exact * factor).astype(np.float32)
    added = (bias + exact @ total).astype(np.float32)
    operator.inputs = [
        source,
        Tensor(weights.name, weights.dtype, weights.shape, scaled),
        Tensor(f"{origin}/bias", dtypes.float32, Shape([rows]), added),
    ]


def _step(
    uses: Uses, operator: Operator, made: Tensor, columns: int
) -> tuple[Array, Array, Tensor] | None:
    """The factor and summand of an operator, and its input; None for other kinds of operators."""
    if operator.kind not in _KINDS or operator.options.get("fused_activation_function"):
        return None
    if not uses.is_inner(made) or made.dtype is not dtypes.float32:
        return None
    x, y = operator.inputs
    if x is None or y is None or (x.data is None) == (y.data is None):
        return None
    is_first = y.data is not None
    inner, held = (x, y) if is_first else (y, x)
    if made.rank is None or inner.shape != made.shape or held.data is None:
        return None
    if operator.kind == "DIV" and not is_first:
        return None
    if held.data.size not in {1, columns} or (held.data.size > 1 and held.shape[-1] != columns):
        return None
    numbers = np.broadcast_to(held.data.reshape(-1).astype(np.float64), [columns])
    one, none = np.ones(columns), np.zeros(columns)
    if operator.kind == "MUL":
        return numbers, none, inner
    if operator.kind == "DIV":
        with np.errstate(divide="ignore"):
            return 1 / numbers, none, inner
    if operator.kind == "ADD":
        return one, numbers, inner
    return (one, -numbers, inner) if is_first else (-one, numbers, inner)
