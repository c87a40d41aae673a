"""Crossentropies of each sample, the truth first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.losses import probabilities

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    """-target log(output) - (1 - target) log(1 - output), element by element.

    Args:
        target: [...], 0 to 1.
        output: the shape of `target`: probabilities, or logits.
        from_logits: whether sigmoid is still to be applied to `output`.

    Returns:
        The shape of `target`.
    """
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    return probabilities.binary_of_elements(target, output, from_logits)


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """-sum(target log(output)) along the axis of the classes.

    Args:
        target: [..., classes], one-hot or probabilities.
        output: the shape of `target`: probabilities, or logits.
        from_logits: whether softmax is still to be applied to `output`.
        axis: of the classes.

    Returns:
        [...] without the axis of the classes.
    """
    return probabilities.categorical_crossentropy(target, output, from_logits, axis=axis)


def sparse_categorical_crossentropy(
    target: Any,
    output: Any,
    from_logits: bool = False,
    axis: int = -1,
    ignore_class: int | None = None,
) -> Tensor:
    """-log(output of the class that target says).

    Args:
        target: [...], class numbers.
        output: [..., classes]: probabilities, or logits.
        from_logits: whether softmax is still to be applied to `output`.
        axis: of the classes.
        ignore_class: number of a class whose loss is 0.

    Returns:
        [...] without the axis of the classes.
    """
    return probabilities.sparse_categorical_crossentropy(
        target, output, from_logits, ignore_class, axis
    )
