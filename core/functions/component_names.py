"""Names for the component tensors of composite values.

A server, the command line and exporters handle plain tensors only: for them a ragged `x` is
`x/values` and `x/row_splits`, a sparse one `x/indices`, `x/values` and `x/dense_shape`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.composite import CompositeSpec
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Mapping


def named_tensors(specs: Mapping[str, Any]) -> dict[str, TensorSpec]:
    """The component tensors of named values, each by its own name, in argument order.

    The components of a composite value have no shape here: their rows are not its rows, and calls
    must not be batched along them.

    Args:
        specs: by name.
    """
    found: dict[str, TensorSpec] = {}
    for name in sorted(specs):
        spec = specs[name]
        if not isinstance(spec, CompositeSpec):
            found[name] = spec
            continue
        parts = structure.flatten(spec, expand_composites=True)
        known = spec.component_names()
        labels = known if len(known) == len(parts) else tuple(map(str, range(len(parts))))
        for label, part in zip(labels, parts, strict=True):
            full = f"{name}/{label}"
            found[full] = TensorSpec(None, part.dtype, full)
    return found
