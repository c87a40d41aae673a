"""tf.strings.format: text with tensors inserted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.control import printing

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["format"]


def format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """`template` with each placeholder replaced by the text of a tensor.

    Args:
        template: a text.
        inputs: a tensor, or a list or tuple of them, one per placeholder.
        placeholder: the text that a tensor replaces.
        summarize: how many elements from either end of each axis; all if -1.
        name: name of the node while tracing.

    Returns:
        [], string.

    Raises:
        ValueError: wrong number of placeholders than of tensors.

    Source:
        TensorFlow op `StringFormat` (string_format_op.cc).
    """
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    tensors = [convert_to_tensor(one) for one in given]
    return printing.string_format(template, tensors, placeholder, summarize, name)
