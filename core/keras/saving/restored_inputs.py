"""Inputs of a SavedModel's functions, cast to the dtypes these were saved for.

Keras casts the inputs of a model to its dtypes; a saved function accepts no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes, structure
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Operands
from pinnace.ops.array.casting import cast

if TYPE_CHECKING:
    from collections.abc import Iterable


def cast_to_first(inputs: Any, wanted: Iterable[Any]) -> Any:
    """Inputs cast to the first specs that they match except for dtypes.

    Args:
        inputs: a structure of tensors and arrays.
        wanted: structures of specs, in the order in which they are tried.

    Returns:
        The inputs unchanged, if they fit no specs or need no cast.
    """
    for specs in wanted:
        found = _cast(inputs, specs)
        if found is not None:
            return structure.pack_sequence_as(specs, found)
    return inputs


def cast_to(value: Any, spec: Any) -> Any:
    """A tensor or array cast to the dtype of a spec; unchanged for other specs."""
    found = _cast(value, spec) if isinstance(spec, TensorSpec) else None
    return value if found is None else found[0]


def _cast(inputs: Any, specs: Any) -> list[Any] | None:
    """The leaves, cast; None if they do not fit."""
    try:
        leaves = structure.flatten_up_to(specs, inputs, check_types=False)
    except (TypeError, ValueError):
        return None
    found = []
    for leaf, spec in zip(leaves, structure.flatten(specs), strict=True):
        if not isinstance(spec, TensorSpec) or not isinstance(leaf, (Operands, np.ndarray)):
            return None
        given = dtypes.as_dtype(leaf.dtype)
        if not spec.shape.is_compatible_with(leaf.shape) or not _is_castable(given, spec.dtype):
            return None
        found.append(leaf if given is spec.dtype else cast(leaf, spec.dtype))
    return found


def _is_castable(given: dtypes.DType, wanted: dtypes.DType) -> bool:
    """Whether the dtypes are equal, of the same kind, or an integer for a float."""
    if given is wanted:
        return True
    if wanted.is_integer:
        return given.is_integer
    return wanted.is_floating and (given.is_floating or given.is_integer)
