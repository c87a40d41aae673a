"""Whether arrays fit a signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.dtypes import as_dtype, string
from pinnace.framework.errors import InvalidArgumentError, OpError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.running.signatures import Array, Arrays, Runnable


def check_feeds(signature: Runnable, feeds: Arrays) -> None:
    """Raise unless the arrays fit the signature.

    Raises:
        InvalidArgumentError: a name, dtype or shape does not; the message has what was expected and
            what was given.
    """
    inputs = signature.inputs
    if feeds.keys() != inputs.keys():
        raise InvalidArgumentError(
            f"Inputs must be {_names(inputs)} as the signature says, got {_names(feeds)}"
        )
    for name, spec in inputs.items():
        array = feeds[name]
        if array.dtype != spec.dtype.numpy or not fits_shape(array.shape, spec):
            raise InvalidArgumentError(
                f"Input '{name}' must be {spec.dtype.name}{spec.shape.text}, "
                f"got {describe_array(array)}{_remedy(array, spec)}"
            )


def fits_shape(shape: tuple[int, ...], spec: TensorSpec) -> bool:
    """Whether a shape is one that the spec allows."""
    dims = spec.shape.dims
    if dims is None:
        return True
    return len(shape) == len(dims) and all(
        want is None or size == want for size, want in zip(shape, dims, strict=True)
    )


def describe_array(array: Array) -> str:
    """Dtype and shape of an array, as messages have them: `float32[1, 8]`."""
    try:
        dtype = string if array.dtype == object else as_dtype(array.dtype)
    except (TypeError, OpError):  # NumPy has more of them: times, records, long doubles
        return f"{array.dtype}[{', '.join(map(str, array.shape))}]"
    return f"{dtype.name}[{', '.join(map(str, array.shape))}]"


def _remedy(array: Array, spec: TensorSpec) -> str:
    if spec.shape.rank == array.ndim + 1 and fits_shape((1, *array.shape), spec):
        return "\n  Try: one list more around it, the batch axis"
    if spec.shape.rank == array.ndim - 1 and fits_shape(array.shape[1:], spec):
        return "\n  Try: one list less; each of 'instances' is one example, without batch axis"
    return ""


def _names(mapping: Mapping[str, object]) -> str:
    return "{" + ", ".join(sorted(mapping)) + "}"
