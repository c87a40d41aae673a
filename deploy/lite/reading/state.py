"""The state of a file between runs: variables and tables, initialised by CALL_ONCE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.reading.quantised import is_quantised
from pinnace.framework import dtypes
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.errors import DataLossError, ResourceExhaustedError, UnimplementedError
from pinnace.framework.variable import Variable
from pinnace.lookup.initializers import KeyValueTensorInitializer
from pinnace.lookup.static import StaticHashTable
from pinnace.ops.array.constants import constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.deploy.lite.ir import model as lite
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

_HANDLES = frozenset({"VAR_HANDLE", "HASHTABLE"})
_MOST_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Handle:
    """The identity of a resource.

    Attributes:
        kind: the operator that creates it.
        key: the name of a variable, or the id of a table.
    """

    kind: str
    key: object


class State:
    """The variables and tables of a file.

    Args:
        model: the file's contents.

    Attributes:
        module: the trackable object that owns them.
    """

    def __init__(self, model: lite.Model) -> None:
        self.module: Any = AutoTrackable()
        self.module.variables = []
        self.module.tables = []
        self._variables: dict[object, Variable] = {}
        self._tables: dict[object, StaticHashTable] = {}
        self._values: dict[object, Array] = {}
        self._entries: dict[object, tuple[Array, Array]] = {}
        self._starts: set[int] = set()
        for operator in model.operators():
            if operator.kind == "CALL_ONCE":
                self._start(operator.options["init_subgraph_index"])

    def weight(self, data: Array) -> Variable:
        """A new variable that holds a constant."""
        with init_scope():
            made = Variable(data, trainable=False)
        self.module.variables.append(made)
        return made

    def variable(self, handle: Handle, dtype: DType, shape: Any) -> Variable:
        """The variable of a handle.

        Args:
            handle: the handle.
            dtype: the element type.
            shape: its shape, if it has no initial value.
        """
        found = self._variables.get(handle.key)
        if found is None:
            value = self._values.get(handle.key)
            if value is None:
                if not shape.is_fully_defined():
                    raise UnimplementedError(
                        f"variable {handle.key!r:.120} has no initial value and no known shape"
                    )
                sizes = [int(n or 0) for n in shape]
                if math.prod(sizes) * dtype.size > _MOST_BYTES:
                    raise ResourceExhaustedError(
                        f"variable {handle.key!r:.120} has no initial value, and "
                        f"would be {sizes} zeros"
                    )
                value = np.zeros(sizes, dtype.numpy)
            if value.dtype != dtype.numpy:
                raise DataLossError(
                    f"variable {handle.key!r:.120} is {value.dtype}, but is read as {dtype.name}"
                )
            with init_scope():
                found = self._variables[handle.key] = Variable(value, trainable=False)
            self.module.variables.append(found)
        return found

    def table(self, handle: Handle, keys: DType, values: DType) -> StaticHashTable:
        """The table of a handle."""
        found = self._tables.get(handle.key)
        if found is None:
            entries = self._entries.get(handle.key)
            if entries is None:
                empty = [np.zeros(0, kind.numpy) for kind in (keys, values)]
                entries = empty[0], empty[1]
            default: Any = b"" if values is dtypes.string else 0
            with init_scope():
                start = KeyValueTensorInitializer(
                    constant(entries[0], keys), constant(entries[1], values)
                )
                found = self._tables[handle.key] = StaticHashTable(start, default)
            self.module.tables.append(found)
        return found

    def known_table(self, handle: Handle) -> StaticHashTable | None:
        """The table of a handle; None if its contents are unknown."""
        entries = self._entries.get(handle.key)
        if handle.key not in self._tables and entries is not None:
            keys, values = (as_dtype(one.dtype) for one in entries)
            return self.table(handle, keys, values)
        return self._tables.get(handle.key)

    def _start(self, subgraph: lite.Subgraph) -> None:
        """Collect the initial values of variables and tables from a subgraph that runs once."""
        if id(subgraph) in self._starts:
            return
        self._starts.add(id(subgraph))
        handles: dict[int, Handle] = {}
        for operator in subgraph.operators:
            if operator.kind in _HANDLES:
                handles[id(operator.outputs[0])] = handle_of(operator)
            elif operator.kind == "ASSIGN_VARIABLE":
                handle, value = _taken(operator, handles, 2)
                self._values[handle.key] = value
            elif operator.kind == "HASHTABLE_IMPORT":
                handle, keys, values = _taken(operator, handles, 3)
                self._entries[handle.key] = (keys, values)
            else:
                raise UnimplementedError(
                    f"operator CALL_ONCE: its subgraph has {operator.kind}; only assignments of "
                    "constants to variables and tables are supported"
                )


def handle_of(operator: lite.Operator) -> Handle:
    """The resource that a VAR_HANDLE or HASHTABLE creates."""
    options: Mapping[str, Any] = operator.options
    if not operator.outputs:
        raise DataLossError(f"operator {operator.kind}: it must have an output")
    if operator.kind == "VAR_HANDLE":
        return Handle("VAR_HANDLE", (options["container"] or "", options["shared_name"] or ""))
    return Handle("HASHTABLE", options["table_id"])


def _taken(operator: lite.Operator, handles: Mapping[int, Handle], count: int) -> tuple[Any, ...]:
    """The handle and the constants among an operator's inputs."""
    inputs = operator.inputs
    handle = handles.get(id(inputs[0])) if inputs else None
    data = [None if one is None else one.data for one in inputs[1:]]
    if handle is None or len(inputs) != count:
        raise DataLossError(
            f"operator {operator.kind}: its inputs must be a handle and {count - 1} constants"
        )
    if any(one is None for one in data) or any(
        one is not None and is_quantised(one.dtype, one.quantization) for one in inputs[1:]
    ):
        raise UnimplementedError(f"operator {operator.kind}: its inputs must be constants")
    return (handle, *data)
