"""Lookup tables as constants.

LiteRT's own tables map strings to int64 and back, and the first run fills them. For other types,
the index of a key is found, and the value gathered from a constant.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.converters.element_types import type_for
from pinnace.deploy.lite.converters.registry import converts
from pinnace.deploy.lite.ir.builder import GraphBuilder
from pinnace.deploy.lite.ir.kinds import TYPES
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.model import Tensor
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

# For types that LiteRT has no table of, an element is compared with every key.
_MOST_COMPARED = 4096


@converts(
    "LookupTableFindV2",
    to="HASHTABLE_FIND HASHTABLE CALL_ONCE EQUAL CAST ARG_MAX REDUCE_ANY GREATER_EQUAL MAXIMUM "
    "GATHER SELECT_V2 FILL",
)
def find(g: GraphBuilder, call: NodeView, table: Any, keys: Tensor, default: Tensor) -> Tensor:
    """The values of keys, with a default for keys that are not in the table."""
    known, values = _contents(call, table)
    wanted = call.dtype()
    if default.rank != 0 or values.ndim != 1:
        call.fail("its values must be scalars, as in LiteRT's tables")
    if not len(known):
        (found,) = g.ops("FILL", [g.sizes(keys), default], [(default.dtype, keys.shape)])
        return found
    is_text, gives_text = known.dtype == object, values.dtype == object
    if not is_text:
        keys = g.cast(keys, dtypes.int64)
    if (is_text and wanted is dtypes.int64) or (gives_text and not is_text):
        return _found(g, keys, known, values, default)
    if is_text:
        places = np.arange(len(known), dtype=np.int64)
        place = _found(g, keys, known, places, g.constant(-1, dtypes.int64))
        if gives_text:
            return _found(g, place, places, values, default)
        zero = g.constant(0, dtypes.int64)
        is_there = g.op("GREATER_EQUAL", place, zero, dtype=dtypes.bool)
        place = g.op("MAXIMUM", place, zero)
    else:
        is_there, place = _compared(g, call, keys, known)
    kind = type_for("SELECT_V2", default.dtype)
    rows = g.op("GATHER", g.constant(values, wanted), place, dtype=wanted, shape=keys.shape, axis=0)
    given = [is_there, g.cast(rows, kind), g.cast(default, kind)]
    return g.cast(g.op("SELECT_V2", *given, dtype=kind, shape=keys.shape), default.dtype)


@converts("LookupTableSizeV2")
def size(g: GraphBuilder, call: NodeView, table: Any) -> Tensor:
    """The number of entries, a constant."""
    return g.constant(np.asarray(len(_contents(call, table)[0]), np.int64))


@converts("LookupTableExportV2")
def export(g: GraphBuilder, call: NodeView, table: Any) -> tuple[Tensor, Tensor]:
    """The keys and values, constants."""
    keys, values = _contents(call, table)
    return g.constant(keys, call.dtype(0)), g.constant(values, call.dtype(1))


def _contents(call: NodeView, table: Any) -> tuple[Array, Array]:
    """The keys and values of a table."""
    if not hasattr(table, "export"):
        call.fail("the table must be known at export")
    keys, values = table.export(call.node.op.name)
    return np.asarray(keys), np.asarray(values)


def _found(g: GraphBuilder, keys: Tensor, known: Array, values: Array, default: Tensor) -> Tensor:
    """The values from a LiteRT table whose keys or values are strings."""
    kinds = [dtypes.string if one.dtype == object else dtypes.int64 for one in (known, values)]
    inner = GraphBuilder("fill_table")
    number = _number(known, values)
    given = [inner.constant(one, kind) for one, kind in zip((known, values), kinds, strict=True)]
    inner.ops("HASHTABLE_IMPORT", [_handle(inner, number, kinds), *given], [])
    g.ops("CALL_ONCE", [], [], init_subgraph_index=inner.subgraph)
    taken = [_handle(g, number, kinds), keys, default]
    (found,) = g.ops("HASHTABLE_FIND", taken, [(kinds[1], keys.shape)])
    return found


def _handle(g: GraphBuilder, number: int, kinds: list[DType]) -> Tensor:
    keys, values = (TYPES[kind] for kind in kinds)
    options = {"table_id": number, "key_dtype": keys, "value_dtype": values}
    (made,) = g.ops("HASHTABLE", [], [(dtypes.resource, Shape([1]))], **options)
    return made


def _number(known: Array, values: Array) -> int:
    """The id by which an interpreter identifies the table; equal tables share one."""
    digest = hashlib.blake2b(digest_size=4)
    for array in (known, values):
        for item in array.reshape(-1).tolist():
            digest.update(repr(item).encode())
            digest.update(b"\0")
    return int.from_bytes(digest.digest(), "little") >> 1


def _compared(g: GraphBuilder, call: NodeView, keys: Tensor, known: Array) -> tuple[Tensor, Tensor]:
    """Whether elements are keys, and the indices of those that are."""
    if len(known) > _MOST_COMPARED or keys.rank is None:
        call.fail(
            f"it looks up numbers among {len(known)}; LiteRT's tables of numbers give strings, and "
            f"up to {_MOST_COMPARED} keys of a known rank are compared one by one"
        )
    wide = [*keys.shape, len(known)]
    sizes: list[Any] = [g.size(keys, axis) for axis in range(keys.rank)]
    column = g.reshape_to(keys, [*sizes, 1])
    row = g.constant(known.reshape(-1), dtypes.int64)
    same = g.op("EQUAL", column, row, dtype=dtypes.bool, shape=wide)
    last = g.ints([len(wide) - 1])
    is_there = g.op("REDUCE_ANY", same, last, shape=keys.shape, keep_dims=False)
    ones = g.cast(same, dtypes.int32)
    place = g.op(
        *("ARG_MAX", ones, last),
        dtype=dtypes.int32,
        shape=keys.shape,
        output_type=TYPES[dtypes.int32],
    )
    return is_there, place
