"""Crossentropies per sample, with the targets as the first argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.losses import probabilities
from pinnace.ops.math import clipping, exponents, reduction
from pinnace.ops.nn import softmaxes

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
    """-sum(target log(output)) along the class axis.

    Args:
        target: [..., classes], one-hot or probabilities.
        output: the shape of `target`: probabilities, or logits.
        from_logits: whether softmax is still to be applied to `output`.
        axis: axis of the classes.

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
    """-log(output of the target class).

    Args:
        target: [...], class numbers.
        output: [..., classes]: probabilities, or logits.
        from_logits: whether softmax is still to be applied to `output`.
        axis: axis of the classes.
        ignore_class: number of a class whose loss is 0.

    Returns:
        [...] without the axis of the classes.
    """
    return probabilities.sparse_categorical_crossentropy(
        target, output, from_logits, ignore_class, axis
    )


def binary_focal_crossentropy(
    target: Any,
    output: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
) -> Tensor:
    """(1 - p)^gamma times `binary_crossentropy`, with p the probability of the target.

    Args:
        target: [...], 0 or 1.
        output: the shape of `target`: probabilities, or logits.
        apply_class_balancing: whether ones count `alpha`, zeros 1 - `alpha`.
        alpha: the weight of ones then.
        gamma: how strongly easy samples are down-weighted.
        from_logits: whether sigmoid is still to be applied to `output`.

    Returns:
        The shape of `target`.
    """
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    share = exponents.sigmoid(output) if from_logits else output
    truth = target * share + (1 - target) * (1 - share)
    loss: Tensor = (1.0 - truth) ** gamma * binary_crossentropy(target, output, from_logits)
    if apply_class_balancing:
        loss = (target * alpha + (1 - target) * (1 - alpha)) * loss
    return loss


def categorical_focal_crossentropy(
    target: Any,
    output: Any,
    alpha: Any = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    axis: int = -1,
) -> Tensor:
    """-sum(alpha (1 - output)^gamma target log(output)) along the class axis.

    Args:
        target: [..., classes], one-hot or probabilities.
        output: the shape of `target`: probabilities, or logits.
        alpha: the weight of each class.
        gamma: how strongly easy samples are down-weighted.
        from_logits: whether softmax is still to be applied to `output`.
        axis: axis of the classes.

    Returns:
        [...] without the axis of the classes.

    Raises:
        ValueError: shapes that differ.
    """
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    if not target.shape.is_compatible_with(output.shape):
        raise ValueError(
            f"Shapes {target.shape.text} and {output.shape.text} are incompatible: target and "
            "output must have one shape"
        )
    share = softmaxes.softmax(output, axis) if from_logits else output
    share = share / reduction.reduce_sum(share, axis, keepdims=True)
    share = clipping.clip_by_value(share, epsilon(), 1.0 - epsilon())
    loss = (1.0 - share) ** gamma * alpha * (-target * exponents.log(share))
    return reduction.reduce_sum(loss, axis)
