"""Maker: creates operators and infers the dtypes and shapes of their outputs."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from onnx import defs

from pinnace.deploy.onnx.ir import arithmetic
from pinnace.deploy.onnx.ir.element_types import computed_in
from pinnace.deploy.onnx.ir.graph import (
    Node,
    OnnxGraph,
    Operand,
    Value,
    channels_first,
    channels_last,
)
from pinnace.deploy.onnx.ir.inference import SMALL, deciding_type, infer, letters
from pinnace.deploy.onnx.ir.size_origins import told
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType, from_numpy
from pinnace.framework.errors import InternalError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Constants computed from constants are folded up to this size (bytes); operators that only move
# bytes have no limit.
_LARGEST = 1 << 20
_BAD = re.compile(r"[^A-Za-z0-9_./-]")

# Operators that move the elements of their first input; a folded constant keeps its name.
_MOVES = frozenset({"Transpose", "Reshape", "Unsqueeze", "Squeeze", "Cast"})
# Operators whose outputs are sizes if their first inputs are -> the number of these inputs.
_ALL = 1 << 20
_SIZE_OPERANDS = {
    "Add": 2,
    "Concat": _ALL,
    "Gather": 1,
    "Max": _ALL,
    "Min": _ALL,
    "Mul": 2,
    "Slice": 1,
    "Squeeze": 1,
    "Sub": 2,
    "Unsqueeze": 1,
}
_OF_SIZES = frozenset({"Shape", "Size", "Cast", "Reshape", "ReduceProd", *_SIZE_OPERANDS})

Number: TypeAlias = int | float | bool


class Maker(OnnxGraph):
    """Creates nodes.

    Args:
        opset: the version of the operators.
        outer: the enclosing graph of a body, which shares names and constants with it.

    Attributes:
        is_body: whether it is the body of a node.
        casts: `"Conv float64 -> float32"` -> number of nodes computed in another type.
    """

    def __init__(self, opset: int, outer: Maker | None = None) -> None:
        super().__init__()
        self.opset = opset
        self.is_body = outer is not None
        self.casts: dict[str, int] = {} if outer is None else outer.casts
        self._names: dict[str, int] = {} if outer is None else outer._names
        self._constants: dict[object, Value] = {} if outer is None else outer._constants
        self._scope: str = "" if outer is None else outer._scope
        self._origin: str = "" if outer is None else outer._origin

    # Names.

    def unique(self, wanted: str) -> str:
        """`wanted`, with a numerical suffix if the name is taken."""
        wanted = _BAD.sub("_", wanted) or "value"
        count = self._names.get(wanted)
        if count is None:
            self._names[wanted] = 0
            return wanted
        while True:
            count += 1
            name = f"{wanted}_{count}"
            if name not in self._names:
                self._names[wanted] = count
                self._names[name] = 0
                return name

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Nodes made inside are named after `name`."""
        before = self._scope, self._origin
        self._scope, self._origin = f"{name}/", name
        try:
            yield
        finally:
            self._scope, self._origin = before

    # Values.

    def input(self, name: str, spec: TensorSpec) -> Value:
        """A new argument of the graph; that of a model keeps its name, with any characters."""
        if self.is_body or not name or name in self._names:
            name = self.unique(name)
        self._names.setdefault(name, 0)
        value = Value(name, spec.dtype, spec.shape)
        self.inputs.append(value)
        return value

    def output(self, name: str, value: Value) -> None:
        """Make `value` a result of the graph."""
        self.outputs.append((name, value))

    def constant(self, array: Any, name: str = "", dtype: DType | None = None) -> Value:
        """A constant; small equal ones are shared."""
        array = np.asarray(array, None if dtype is None else dtype.numpy)
        dtype = dtype or from_numpy(array.dtype)
        key: object = id(array)
        if array.dtype == object:
            key = (dtype, array.shape, tuple(array.reshape(-1).tolist()))
        elif array.nbytes <= SMALL:
            key = (dtype, array.shape, array.tobytes())
        known = self._constants.get(key)
        if known is None:
            known = Value(name or f"{self._scope}constant", dtype, Shape.of(array.shape), array)
            self._constants[key] = known
        return known

    def ints(self, *values: int) -> Value:
        """A vector of int64."""
        return self.constant(np.array(values, np.int64))

    def index(self, value: int) -> Value:
        """A scalar int64."""
        return self.constant(np.array(value, np.int64))

    def like(self, x: Value, number: Number) -> Value:
        """A scalar of the dtype of `x`."""
        return self.constant(np.array(number).astype(x.dtype.numpy), dtype=x.dtype)

    # Nodes.

    def op(self, kind: str, *inputs: Operand, **attrs: Any) -> Value:
        """The output of a new node, or its value as a constant if it can be folded."""
        return self.ops(kind, 1, *inputs, **attrs)[0]

    def moved(self, kind: str, *inputs: Operand, **attrs: Any) -> Value:
        """The output of an operator that needs channels first, for a channels-last input."""
        return self.moved_ops(kind, 1, *inputs, **attrs)[0]

    def moved_ops(self, kind: str, count: int, *inputs: Operand, **attrs: Any) -> tuple[Value, ...]:
        """The same for several outputs; input 0 and output 0 are channels last."""
        return self.ops(kind, count, *inputs, _moved=True, **attrs)

    def ops(
        self, kind: str, count: int, *inputs: Operand, _moved: bool = False, **attrs: Any
    ) -> tuple[Value, ...]:
        """The outputs of a new node, or constants.

        Args:
            kind: the operator.
            count: the number of outputs.
            inputs: its inputs; None for an optional one that is left out.
            attrs: attributes; None leaves one out.
        """
        attrs = {name: value for name, value in attrs.items() if value is not None}
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        sizes = self._in_int64(kind, given, attrs)
        if sizes is not None:
            return (sizes,)
        if not _moved:
            folded = self._folded(kind, count, given, attrs)
            if folded is not None:
                return folded
        schema = defs.get_schema(kind, self.opset, "")
        typed_by = deciding_type(kind, schema, given)
        if typed_by is None:
            return self._add(kind, count, given, attrs, _moved, schema)
        letter, dtype = typed_by
        other = computed_in(kind, dtype)
        if other is None:
            raise UnimplementedError(f"ONNX Runtime has no kernel of {kind} for {dtype.name}")
        if other is dtype:
            return self._add(kind, count, given, attrs, _moved, schema)
        note = f"{kind} {dtype.name} -> {other.name}"
        self.casts[note] = self.casts.get(note, 0) + 1
        kinds = letters(schema, len(given))
        wide = [
            self.cast(value, other)
            if value is not None and mine == letter and value.dtype is dtype
            else value
            for value, mine in zip(given, kinds, strict=True)
        ]
        results = self._add(kind, count, wide, attrs, _moved, schema)
        back = [output.type_str == letter for output in schema.outputs]
        return tuple(
            self.cast(result, dtype) if back[min(index, len(back) - 1)] else result
            for index, result in enumerate(results)
        )

    def _add(
        self,
        kind: str,
        count: int,
        given: list[Operand],
        attrs: dict[str, Any],
        moved: bool,
        schema: Any,
    ) -> tuple[Value, ...]:
        node = Node(kind, self.unique(f"{self._scope}{kind}"), given, attrs)
        node.moved = moved
        node.origin = self._origin
        specs = (
            self._moved_specs(node, count, schema)
            if moved
            else infer(node, count, schema, self.opset)
        )
        for index, (dtype, shape) in enumerate(specs):
            name = f"{self._scope}{kind}_out" if index == 0 else f"{self._scope}{kind}_out{index}"
            value = Value(self.unique(name), dtype, shape)
            value.node = node
            node.outputs.append(value)
        if kind in _OF_SIZES:
            first = node.inputs[0]
            sized = kind in {"Shape", "Size"} or all(
                v.is_size or v.array is not None for v in node.taken
            )
            node.outputs[0].is_size = sized and (kind in {"Shape", "Size"} or first is not None)
        self.nodes.append(node)
        return tuple(node.outputs)

    def _moved_specs(self, node: Node, count: int, schema: Any) -> list[tuple[DType, Shape]]:
        """Inference on channels-first shapes, for values that are channels last here."""
        place = node.moved_input
        data = node.inputs[place]
        if data is None:
            raise InternalError(f"{node.kind} has no input")
        node.inputs[place] = Value(data.name, data.dtype, channels_first(data.shape), data.array)
        try:
            specs = infer(node, count, schema, self.opset)
        finally:
            node.inputs[place] = data
        dtype, shape = specs[0]
        return [(dtype, channels_last(shape)), *specs[1:]]

    def body(self) -> Self:
        """An empty graph for a body, which can use the values of this one."""
        return type(self)(self.opset, self)

    def with_bodies(
        self, kind: str, specs: Sequence[TensorSpec], *inputs: Operand, **attrs: Any
    ) -> tuple[Value, ...]:
        """The outputs of a new node with graphs among its attributes, with given specs."""
        node = Node(kind, self.unique(f"{self._scope}{kind}"), list(inputs), attrs)
        node.origin = self._origin
        for index, spec in enumerate(specs):
            name = f"{self._scope}{kind}_out" if index == 0 else f"{self._scope}{kind}_out{index}"
            value = Value(self.unique(name), spec.dtype, spec.shape)
            value.node = node
            node.outputs.append(value)
        self.nodes.append(node)
        return tuple(node.outputs)

    def formula(self, kind: str, x: Value) -> Value:
        """An elementwise function that ONNX lacks; `passes.activations` expands it."""
        return self.with_bodies(kind, [TensorSpec.of(x.shape, x.dtype)], x)[0]

    def result(self, value: Value) -> None:
        """Make `value` a result of this body, by a node inside it."""
        if value.node is None or value.node not in self.nodes:
            loose = Value(value.name, value.dtype, value.shape)
            made = self.op("Identity", loose)
            if made.node is not None:
                made.node.inputs = [value]
            value = made
        self.output(value.name, value)

    def _in_int64(self, kind: str, given: list[Operand], attrs: dict[str, Any]) -> Value | None:
        """Arithmetic on sizes, int64 in ONNX and int32 in the program, with a cast afterwards."""
        count = _SIZE_OPERANDS.get(kind)
        if count is None or any(value is None for value in given):
            return None
        data = [value for value in given[:count] if value is not None]
        wide = []
        for value in data:
            before = value.node
            source = before.inputs[0] if before is not None and before.kind == "Cast" else None
            if value.dtype is not dtypes.int32:
                return None
            if value.array is not None:
                wide.append(self.constant(value.array.astype(np.int64)))
            elif value.is_size and source is not None and source.is_size:
                wide.append(source)
            else:
                return None
        if all(value.array is not None for value in data):
            return None
        result = self.op(kind, *wide, *given[count:], **attrs)
        return self.cast(result, dtypes.int32)

    def _folded(
        self, kind: str, count: int, given: list[Operand], attrs: dict[str, Any]
    ) -> tuple[Value, ...] | None:
        arrays = [None if value is None else value.array for value in given]
        if (
            kind == "Split"
            and count > 1
            and all(v is not None and v.array is not None for v in given)
        ):
            pieces = arithmetic.split(count, arrays, attrs)
            return None if pieces is None else tuple(self.constant(piece) for piece in pieces)
        if kind in {"Gather", "Slice"}:
            sizes = told(Node(kind, "", given, attrs))
            if sizes is not None:
                return (self.constant(sizes, dtype=given[0].dtype if given[0] else None),)
        if count != 1 or not given or any(v is not None and v.array is None for v in given):
            return None
        present = [array for array in arrays if array is not None]
        result = arithmetic.compute(kind, arrays, attrs)
        if result is None or (result.nbytes > max(_LARGEST, sum(a.nbytes for a in present))):
            return None
        source = given[0] if len(present) == 1 or kind in _MOVES else None
        return (self.constant(result, "" if source is None else source.name),)

    def cast(self, x: Value, dtype: DType) -> Value:
        """`x` as `dtype`; sizes skip intermediate types."""
        if x.dtype is dtype:
            return x
        before = x.node
        if before is not None and before.kind == "Cast" and x.is_size:
            source = before.inputs[0]
            if source is not None and source.is_size:
                return self.cast(source, dtype)
        if dtype.onnx is None:
            raise UnimplementedError(f"ONNX has no type {dtype.name}")
        return self.op("Cast", x, to=dtype.onnx)
