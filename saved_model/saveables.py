"""The functions by which TensorFlow saves and restores the contents of a table."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.framework.specs import TensorSpec
from pinnace.functions.function import Function
from pinnace.ops.array import constants
from pinnace.ops.execute import execute
from pinnace.ops.state import table_state, tables
from pinnace.ops.strings import joining

if TYPE_CHECKING:
    from pinnace.framework.resources import TrackableResource
    from pinnace.framework.tensor import Tensor
    from pinnace.functions.concrete import ConcreteFunction

_log = logging.getLogger("pinnace")


def saveable_functions(
    resource: TrackableResource,
) -> tuple[ConcreteFunction, ConcreteFunction] | None:
    """The functions that save and restore the contents of a resource; None if it has none.

    Source:
        TensorFlow `saveable_object_util.trace_save_restore_functions`.
    """
    table = resource._resource()
    if not isinstance(table, table_state.Table) or not table.stored_values():
        return None
    if table.is_dense:
        # TensorFlow: a dense table is stored as its buckets, which depend on its hash function.
        _log.warning(
            "save: the contents of %r can be restored by pinnace, but not by TensorFlow: "
            "it is a dense table (Try: MutableHashTable)",
            resource,
        )
        return None
    handle, keys, values = resource.resource_handle, table.key_dtype, table.value_dtype

    def save(checkpoint_key: Tensor) -> list[dict[str, Tensor]]:
        held = execute(tables.LOOKUP_TABLE_EXPORT, handle, Tkeys=keys, Tvalues=values)
        return [
            {
                "name": joining.join([checkpoint_key, suffix]),
                "slice_spec": constants.constant(""),
                "tensor": tensor,
            }
            for suffix, tensor in zip((table_state.KEYS, table_state.VALUES), held, strict=True)
        ]

    def restore(restored_tensors_0: Tensor, restored_tensors_1: Tensor) -> Tensor:
        execute(tables.LOOKUP_TABLE_IMPORT, handle, restored_tensors_0, restored_tensors_1)
        return constants.constant(0, dtypes.int32)

    asked = [TensorSpec([], dtypes.string, "checkpoint_key")]
    given = [
        TensorSpec(None, keys, "restored_tensors_0"),
        TensorSpec(None, values, "restored_tensors_1"),
    ]
    return (
        Function(save, asked, name="save_fn").get_concrete_function(),
        Function(restore, given, name="restore_fn").get_concrete_function(),
    )
