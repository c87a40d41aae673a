"""Checks whether arrays match a signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.dtypes import as_dtype, string
from pinnace.framework.errors import InvalidArgumentError, OpError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.running.signatures import Array, Arrays, Runnable

_WORDS = {"float32": "float", "float64": "double", "float16": "half"}


def check_feeds(signature: Runnable, feeds: Arrays) -> bool:
    """Check that the arrays have the shapes declared by the signature.

    TensorFlow feeds a graph anything, and its ops report errors: a signature that can do so has
    `run_other_shapes`.

    Raises:
        InvalidArgumentError: a name or dtype does not match, or a shape of a signature that takes
            no others; the message has the expected and the given value.
    """
    inputs = signature.inputs
    if feeds.keys() != inputs.keys():
        raise InvalidArgumentError(
            f"Inputs must be {_names(inputs)} as the signature says, got {_names(feeds)}"
        )
    fits = True
    for i, (name, spec) in enumerate(inputs.items()):
        array = feeds[name]
        if array.dtype != spec.dtype.numpy:
            raise InvalidArgumentError(
                f"{_misfit(name, spec, array)} (Expects arg[{i}] to be "
                f"{_word(spec.dtype.name)} but {_word(_dtype_name(array))} is provided)"
            )
        if not fits_shape(array.shape, spec):
            fits = False
            if not hasattr(signature, "run_other_shapes"):
                raise InvalidArgumentError(_misfit(name, spec, array))
    return fits


def misfits(inputs: Mapping[str, TensorSpec], feeds: Arrays) -> str:
    """Describe arrays with undeclared shapes, for the error of an op that failed on them.

    Args:
        inputs: the declared specs.
        feeds: the given arrays.
    """
    return "; ".join(
        _misfit(name, spec, feeds[name])
        for name, spec in inputs.items()
        if not fits_shape(feeds[name].shape, spec)
    )


def _misfit(name: str, spec: TensorSpec, array: Array) -> str:
    return (
        f"Input '{name}' must be {spec.dtype.name}{spec.shape.text}, "
        f"got {describe_array(array)}{_remedy(array, spec)}"
    )


def fits_shape(shape: tuple[int, ...], spec: TensorSpec) -> bool:
    """Whether a shape matches the spec."""
    dims = spec.shape.dims
    if dims is None:
        return True
    return len(shape) == len(dims) and all(
        want is None or size == want for size, want in zip(shape, dims, strict=True)
    )


def describe_array(array: Array) -> str:
    """Dtype and shape of an array for messages: `float32[1, 8]`."""
    return f"{_dtype_name(array)}[{', '.join(map(str, array.shape))}]"


def _dtype_name(array: Array) -> str:
    try:
        return (string if array.dtype == object else as_dtype(array.dtype)).name
    except (TypeError, OpError):  # dtypes of NumPy only: times, records, long doubles
        return str(array.dtype)


def _word(name: str) -> str:
    """TensorFlow's name of a dtype in error messages."""
    return _WORDS.get(name, name)


def _remedy(array: Array, spec: TensorSpec) -> str:
    if spec.shape.rank == array.ndim + 1 and fits_shape((1, *array.shape), spec):
        return "\n  Try: one list more around it, the batch axis"
    if spec.shape.rank == array.ndim - 1 and fits_shape(array.shape[1:], spec):
        return "\n  Try: one list less; each of 'instances' is one example, without batch axis"
    return ""


def _names(mapping: Mapping[str, object]) -> str:
    return "{" + ", ".join(sorted(mapping)) + "}"
