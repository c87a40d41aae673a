"""Crossentropies of each sample, the truth first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.losses import probabilities

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    """-target log(output) - (1 - target) log(1 - output), element by element."""
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    return probabilities.binary_of_elements(target, output, from_logits)


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """-sum(target log(output)) along the axis of the classes."""
    return probabilities.categorical_crossentropy(target, output, from_logits, axis=axis)


def sparse_categorical_crossentropy(
    target: Any,
    output: Any,
    from_logits: bool = False,
    axis: int = -1,
    ignore_class: int | None = None,
) -> Tensor:
    """-log(output of the class that target says)."""
    return probabilities.sparse_categorical_crossentropy(
        target, output, from_logits, ignore_class, axis
    )
