"""Immutable lookup tables: LabelEncoder from keys to values, or to indices of values."""

from typing import Any

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Held, Value
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array

# Type -> the attributes of LabelEncoder for keys and values of it.
_KEYS = {dtypes.string: "keys_strings", dtypes.int64: "keys_int64s"}
_VALUES = {
    dtypes.string: ("values_strings", "default_string"),
    dtypes.int64: ("values_int64s", "default_int64"),
    dtypes.float32: ("values_floats", "default_float"),
}


def _contents(call: NodeView, table: Value) -> tuple[Array, Array]:
    """The keys and values of a table."""
    held = table.held if isinstance(table, Held) else None
    if held is None or not hasattr(held, "export"):
        call.fail("the table must be known at export")
    keys, values = held.export(call.node.op.name)
    return np.asarray(keys), np.asarray(values)


def _listed(call: NodeView, array: Array) -> list[Any]:
    """Python values; strings as str, as ONNX requires UTF-8."""
    found: list[Any] = array.reshape(-1).tolist()
    try:
        return [item.decode() if isinstance(item, bytes) else item for item in found]
    except UnicodeDecodeError:
        call.fail("the table's strings must be UTF-8, as in ONNX")


def _encoded(
    g: GraphBuilder, call: NodeView, x: Value, keys: Array, values: Array, dtype: DType, other: Any
) -> Value:
    """LabelEncoder, with `other` for missing keys."""
    kind = dtypes.string if keys.dtype == object else dtypes.int64
    if kind is dtypes.int64:
        x = g.as_int64(x)
    names = _VALUES[dtype]
    attrs = {_KEYS[kind]: _listed(call, keys), names[0]: _listed(call, values), names[1]: other}
    return g.with_bodies("LabelEncoder", [TensorSpec.of(x.shape, dtype)], x, **attrs)[0]


@converts("LookupTableFindV2")
def find(g: GraphBuilder, call: NodeView, table: Value, keys: Value, default: Value) -> Value:
    """LabelEncoder to the values, or to their indices for other types of values."""
    known, values = _contents(call, table)
    if not (keys.dtype is dtypes.string or keys.dtype.is_integer):
        call.fail(f"its keys must be strings or integers, got {keys.dtype.name}")
    dtype = call.output_spec().dtype
    if not known.size:
        sizes = (
            g.joined(g.shape_of(keys), g.shape_of(default)) if default.rank else g.shape_of(keys)
        )
        return g.expand(default, sizes)
    alone = call.constant(2)
    if dtype in _VALUES and values.ndim == 1 and alone is not None and not alone.ndim:
        other = _listed(call, alone)[0]
        return _encoded(g, call, keys, known, values, dtype, other)
    places = np.arange(len(known))
    place = _encoded(g, call, keys, known, places, dtypes.int64, -1)
    rows = g.op("Gather", g.constant(values, dtype=dtype), g.op("Max", place, g.index(0)), axis=0)
    found = g.binary("GreaterOrEqual", place, 0)
    width = values.ndim - 1
    return g.where(g.unsqueeze(found, *range(keys.rank, keys.rank + width)), rows, default)


@converts("LookupTableSizeV2")
def size(g: GraphBuilder, call: NodeView, table: Value) -> Value:
    """The number of entries, a constant."""
    return g.constant(np.array(len(_contents(call, table)[0]), np.int64))


@converts("LookupTableExportV2")
def export(g: GraphBuilder, call: NodeView, table: Value) -> tuple[Value, Value]:
    """The keys and values, constants."""
    keys, values = _contents(call, table)
    return (
        g.constant(keys, dtype=call.output_spec(0).dtype),
        g.constant(values, dtype=call.output_spec(1).dtype),
    )
