"""GraphBuilder: an ONNX graph in the making, whose values know their dtypes and shapes."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import defs, helper, shape_inference

from pinnace.deploy.onnx import arithmetic
from pinnace.deploy.onnx.kernels import computed_in
from pinnace.deploy.onnx.messages import tensor_message, type_message
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType, as_dtype, from_numpy
from pinnace.framework.errors import InternalError, UnimplementedError
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Array

# Constants up to this size are looked at by shape inference and shared when equal (bytes).
SMALL = 1024
# A constant that several constants make is computed here up to this size (bytes); moving bytes
# has no limit.
_LARGEST = 1 << 20
_BAD = re.compile(r"[^A-Za-z0-9_./-]")
# The input whose type decides, where it is not the first.
_TYPED_BY = {"Where": 1, "OneHot": 2, "Loop": -1, "If": -1}


class Value:
    """What a node gives, a graph takes, or a constant.

    Attributes:
        name: in the file.
        dtype: the element type.
        shape: as far as it is known.
        array: of a constant, else None. Constants get unique names when the file is written.
        node: that computes it; None for an input or a constant.
        is_size: whether it holds sizes of axes, which fit every integer type.
    """

    __slots__ = ("array", "dtype", "is_size", "name", "node", "shape")

    def __init__(self, name: str, dtype: DType, shape: Shape, array: Array | None = None) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.array = array
        self.node: Node | None = None
        self.is_size = False

    @property
    def rank(self) -> int:
        """The number of axes.

        Raises:
            UnimplementedError: it is unknown.
        """
        if self.shape.rank is None:
            message = f"the rank of {self.name!r} is unknown"
            raise UnimplementedError(message)
        return self.shape.rank

    def size(self, axis: int) -> int | None:
        """The size of an axis, None if it is unknown."""
        return self.shape[axis]

    def refine(self, shape: Shape) -> None:
        """Know more about the shape."""
        if self.shape.is_compatible_with(shape):
            self.shape = self.shape.merge_with(shape)

    def __repr__(self) -> str:
        return f"<{self.name} {self.dtype.name}{self.shape.text}>"


class Node:
    """One operator.

    Attributes:
        kind: the operator.
        name: unique.
        inputs: the values it takes, None where an optional one is left out.
        outputs: the values it gives.
        attrs: Python values, by name.
        moved: whether its first input and first output are channels-last here and channels-first in
            the file.
        origin: name of the node it was made for.
    """

    __slots__ = ("attrs", "inputs", "kind", "moved", "name", "origin", "outputs")

    def __init__(
        self, kind: str, name: str, inputs: list[Value | None], attrs: dict[str, Any]
    ) -> None:
        self.kind = kind
        self.name = name
        self.inputs = inputs
        self.attrs = attrs
        self.outputs: list[Value] = []
        self.moved = False
        self.origin = ""

    @property
    def bodies(self) -> list[GraphBuilder]:
        """The graphs among its attributes."""
        return [value for value in self.attrs.values() if isinstance(value, GraphBuilder)]

    @property
    def captured(self) -> list[Value]:
        """What its bodies take from around them, by name."""
        found: dict[Value, None] = {}
        for body in self.bodies:
            found.update(dict.fromkeys(body.captured()))
        return list(found)

    @property
    def taken(self) -> Iterator[Value]:
        """The inputs that are there, and what the bodies take."""
        yield from (value for value in self.inputs if value is not None)
        if self.bodies:
            yield from self.captured

    def __repr__(self) -> str:
        given = ", ".join(value.name if value is not None else "" for value in self.inputs)
        return f"<{self.kind} {self.name!r}({given})>"


Operand: TypeAlias = Value | None
Number: TypeAlias = int | float | bool


class GraphBuilder:
    """Makes nodes; knows dtype and shape of everything it made.

    Args:
        opset: version of the operators.
        outer: the graph around this one, if it is the body of a node; names and constants are those
            of both.

    Attributes:
        is_body: whether it is the body of a node.
        nodes: in an order in which they can run.
        inputs: of the graph.
        outputs: name in the file and value, in order.
        casts: `"Conv float64 -> float32"`: how often a type without kernel was computed in another.
    """

    def __init__(self, opset: int, outer: GraphBuilder | None = None) -> None:
        self.opset = opset
        self.is_body = outer is not None
        self.nodes: list[Node] = []
        self.inputs: list[Value] = []
        self.outputs: list[tuple[str, Value]] = []
        self.casts: dict[str, int] = {} if outer is None else outer.casts
        self._names: dict[str, int] = {} if outer is None else outer._names
        self._constants: dict[object, Value] = {} if outer is None else outer._constants
        self._scope: str = "" if outer is None else outer._scope
        self._origin: str = "" if outer is None else outer._origin

    # Names.

    def unique(self, wanted: str) -> str:
        """`wanted`, with a number behind it if the name is taken."""
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
        """A new argument of the graph."""
        value = Value(self.unique(name), spec.dtype, spec.shape)
        self.inputs.append(value)
        return value

    def output(self, name: str, value: Value) -> None:
        """`value` is a result of the graph."""
        self.outputs.append((name, value))

    def constant(self, array: Any, name: str = "", dtype: DType | None = None) -> Value:
        """A constant; equal small ones are one."""
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
        """The one output of a new node, or of the constant that it would always give."""
        return self.ops(kind, 1, *inputs, **attrs)[0]

    def moved(self, kind: str, *inputs: Operand, **attrs: Any) -> Value:
        """The output of an operator that wants channels first; here it has them last."""
        return self.moved_ops(kind, 1, *inputs, **attrs)[0]

    def moved_ops(self, kind: str, count: int, *inputs: Operand, **attrs: Any) -> tuple[Value, ...]:
        """Outputs of an operator that wants channels first; input 0 and output 0 have them last."""
        return self.ops(kind, count, *inputs, _moved=True, **attrs)

    def ops(
        self, kind: str, count: int, *inputs: Operand, _moved: bool = False, **attrs: Any
    ) -> tuple[Value, ...]:
        """The outputs of a new node.

        Args:
            kind: the operator.
            count: how many outputs are wanted.
            inputs: None leaves an optional one out.
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
        typed_by = self._typed_by(kind, schema, given)
        if typed_by is None:
            return self._add(kind, count, given, attrs, _moved, schema)
        letter, dtype = typed_by
        other = computed_in(kind, dtype)
        if other is None:
            message = f"ONNX Runtime has no kernel of {kind} for {dtype.name}"
            raise UnimplementedError(message)
        if other is dtype:
            return self._add(kind, count, given, attrs, _moved, schema)
        note = f"{kind} {dtype.name} -> {other.name}"
        self.casts[note] = self.casts.get(note, 0) + 1
        letters = _letters(schema, len(given))
        wide = [
            self.cast(value, other)
            if value is not None and mine == letter and value.dtype is dtype
            else value
            for value, mine in zip(given, letters, strict=True)
        ]
        results = self._add(kind, count, wide, attrs, _moved, schema)
        back = [output.type_str == letter for output in schema.outputs]
        return tuple(
            self.cast(result, dtype) if back[min(index, len(back) - 1)] else result
            for index, result in enumerate(results)
        )

    @staticmethod
    def _typed_by(kind: str, schema: Any, given: Sequence[Operand]) -> tuple[str, DType] | None:
        """The type variable that decides, and what it is here."""
        index = _TYPED_BY.get(kind, 0)
        if index < 0 or index >= len(given):
            return None
        value = given[index]
        if value is None:
            return None
        return _letters(schema, len(given))[index], value.dtype

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
        """Inference on channels-first shapes, for values that have the channels last here."""
        first = node.inputs[0]
        if first is None:
            message = f"{node.kind} has no first input"
            raise InternalError(message)
        there = Value(first.name, first.dtype, channels_first(first.shape))
        node.inputs[0] = there
        try:
            specs = infer(node, count, schema, self.opset)
        finally:
            node.inputs[0] = first
        dtype, shape = specs[0]
        return [(dtype, channels_last(shape)), *specs[1:]]

    def body(self) -> GraphBuilder:
        """An empty graph that sees the values of this one."""
        return GraphBuilder(self.opset, self)

    def with_bodies(
        self, kind: str, specs: Sequence[TensorSpec], *inputs: Operand, **attrs: Any
    ) -> tuple[Value, ...]:
        """The outputs of a new node with graphs among its attributes; their specs are told."""
        node = Node(kind, self.unique(f"{self._scope}{kind}"), list(inputs), attrs)
        node.origin = self._origin
        for index, spec in enumerate(specs):
            name = f"{self._scope}{kind}_out" if index == 0 else f"{self._scope}{kind}_out{index}"
            value = Value(self.unique(name), spec.dtype, spec.shape)
            value.node = node
            node.outputs.append(value)
        self.nodes.append(node)
        return tuple(node.outputs)

    def result(self, value: Value) -> None:
        """`value` is a result of this body, which must be made inside."""
        if value.node is None or value.node not in self.nodes:
            loose = Value(value.name, value.dtype, value.shape)
            made = self.op("Identity", loose)
            if made.node is not None:
                made.node.inputs = [value]
            value = made
        self.output(value.name, value)

    def captured(self) -> list[Value]:
        """What is taken from around this body, constants included."""
        inside = set(self.inputs) | {value for node in self.nodes for value in node.outputs}
        used: dict[Value, None] = {}
        for node in self.nodes:
            used.update(dict.fromkeys(node.taken))
        used.update(dict.fromkeys(value for _, value in self.outputs))
        return [value for value in used if value not in inside]

    def _in_int64(self, kind: str, given: list[Operand], attrs: dict[str, Any]) -> Value | None:
        """Arithmetic on sizes, which are int64 in ONNX and int32 in the program: cast afterwards."""
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
        if count != 1 or not given or any(v is not None and v.array is None for v in given):
            return None
        present = [array for array in arrays if array is not None]
        result = arithmetic.compute(kind, arrays, attrs)
        if result is None or (result.nbytes > max(_LARGEST, sum(a.nbytes for a in present))):
            return None
        source = given[0] if len(present) == 1 or kind in _MOVES else None
        return (self.constant(result, "" if source is None else source.name),)

    # What converters often need.

    def cast(self, x: Value, dtype: DType) -> Value:
        """`x` as `dtype`; sizes of axes skip the types in between."""
        if x.dtype is dtype:
            return x
        before = x.node
        if before is not None and before.kind == "Cast" and x.is_size:
            source = before.inputs[0]
            if source is not None and source.is_size:
                return self.cast(source, dtype)
        if dtype.onnx is None:
            message = f"ONNX has no type {dtype.name}"
            raise UnimplementedError(message)
        return self.op("Cast", x, to=dtype.onnx)

    def as_int64(self, x: Value) -> Value:
        """`x` as int64."""
        return self.cast(x, dtypes.int64)

    def shape_of(self, x: Value, start: int | None = None, end: int | None = None) -> Value:
        """The sizes of the axes of `x`, int64; a constant if they are known."""
        if x.shape.rank is not None:
            sizes = list(x.shape)[slice(start, end)]
            if None not in sizes:
                return self.ints(*[int(size) for size in sizes if size is not None])
        return self.op("Shape", x, start=start, end=end)

    def size_of(self, x: Value, axis: int) -> Value:
        """The size of one axis as a vector of one int64."""
        size = x.size(axis)
        if size is not None:
            return self.ints(size)
        axis %= x.rank
        return self.op("Shape", x, start=axis, end=axis + 1)

    def joined(self, *parts: Value) -> Value:
        """Vectors one behind the other."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def reshape(self, x: Value, sizes: Sequence[int] | Value) -> Value:
        """`x` with other sizes; one may be -1, and none means to copy one."""
        if not isinstance(sizes, Value):
            if x.shape.is_fully_defined() and list(sizes) == x.shape.as_list():
                return x
            if _keeps_first(x.shape, sizes):
                # 0 copies the size: it keeps its name, and may be 0 itself.
                return self.op("Reshape", x, self.ints(0, *sizes[1:]))
            sizes = self.ints(*sizes)
        literal = sizes.array is None or (0 in sizes.array and -1 not in sizes.array)
        return self.op("Reshape", x, sizes, allowzero=1 if literal else None)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        """`x` with new axes of size 1 at these places of the result."""
        return self.op("Unsqueeze", x, self.ints(*axes)) if axes else x

    def squeeze(self, x: Value, *axes: int) -> Value:
        """`x` without these axes, which have size 1."""
        return self.op("Squeeze", x, self.ints(*axes)) if axes else x

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        """`x` with its axes in another order; nothing if it is the same."""
        if list(perm) == list(range(len(perm))):
            return x
        return self.op("Transpose", x, perm=list(perm))

    def expand(self, x: Value, sizes: Value) -> Value:
        """`x` broadcast to these sizes."""
        if (
            sizes.array is not None
            and x.shape.is_fully_defined()
            and sizes.array.tolist() == x.shape.as_list()
        ):
            return x
        if sizes.array is not None and 0 in sizes.array and x.rank <= sizes.array.size:
            # ONNX Runtime 1.31 drops an Expand to nothing.
            empty = np.broadcast_shapes(tuple(sizes.array.tolist()), tuple(1 for _ in x.shape))
            return self.constant(np.zeros(empty, x.dtype.numpy), dtype=x.dtype)
        return self.op("Expand", x, sizes)

    def slice(
        self, x: Value, axis: int, start: int | Value, end: int | Value, step: int = 1
    ) -> Value:
        """x[..., start:end:step, ...] at one axis."""
        first = start if isinstance(start, Value) else self.ints(start)
        last = end if isinstance(end, Value) else self.ints(end)
        return self.op(
            "Slice", x, first, last, self.ints(axis), self.ints(step) if step != 1 else None
        )

    def fill(self, sizes: Value, number: Value) -> Value:
        """A tensor full of a scalar."""
        if sizes.array is not None and number.array is not None:
            whole = np.full(tuple(sizes.array.tolist()), number.array)
            if whole.nbytes <= SMALL:
                return self.constant(whole, dtype=number.dtype)
        return self.op("Expand", number, sizes)

    def iota(self, count: Value) -> Value:
        """0, 1, ... as int64, as many as the scalar says."""
        if count.array is not None:
            return self.constant(np.arange(int(count.array), dtype=np.int64))
        return self.op("Range", self.index(0), count, self.index(1))

    def scalar(self, x: Value) -> Value:
        """A vector of one element as a scalar."""
        return self.squeeze(x, 0)

    def binary(self, kind: str, x: Value, number: Number) -> Value:
        """An operator on `x` and a number of its dtype."""
        return self.op(kind, x, self.like(x, number))

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Tensors one behind the other."""
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=axis)

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        """`x` where the condition holds, else `y`."""
        return self.op("Where", condition, x, y)

    def users(self) -> dict[Value, list[Node]]:
        """The nodes that take each value."""
        found: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in node.taken:
                found.setdefault(value, []).append(node)
        return found

    def constants(self) -> list[Value]:
        """The constants that nodes or outputs take, each once, in order of use."""
        found: dict[Value, None] = {}
        for node in self.nodes:
            for value in node.taken:
                if value.array is not None:
                    found[value] = None
        for _, value in self.outputs:
            if value.array is not None:
                found[value] = None
        return list(found)

    def prune(self) -> None:
        """Drop the nodes that no output needs."""
        live = {value for _, value in self.outputs}
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if any(value in live for value in node.outputs):
                for body in node.bodies:
                    body.prune()
                live.update(node.taken)
                kept.append(node)
        kept.reverse()
        self.nodes = kept

    def replace(self, places: Mapping[Value, Value]) -> None:
        """Whoever took a key takes its value instead."""
        if not places:
            return

        def found(value: Value) -> Value:
            while value in places:
                value = places[value]
            return value

        for node in self.nodes:
            node.inputs = [None if value is None else found(value) for value in node.inputs]
            for body in node.bodies:
                body.replace(places)
        self.outputs = [(name, found(value)) for name, value in self.outputs]


# Operators that move the elements of their first input: what they make of a constant keeps its
# name.
_MOVES = frozenset({"Transpose", "Reshape", "Unsqueeze", "Squeeze", "Cast"})
# Operators that give sizes when they are given sizes; how many of their inputs are such.
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


def _keeps_first(shape: Shape, sizes: Sequence[int]) -> bool:
    """Whether -1 at the front can only be the size of the first axis."""
    if not sizes or sizes[0] != -1 or not shape.rank or shape[0] is not None:
        return False
    rest = shape[1:].num_elements()
    return rest is not None and rest > 0 and rest == int(np.prod(sizes[1:]))


def channels_first(shape: Shape) -> Shape:
    """[n, c, ...] for [n, ..., c]."""
    if shape.rank is None:
        return shape
    sizes = list(shape)
    return Shape.of((sizes[0], sizes[-1], *sizes[1:-1]))


def channels_last(shape: Shape) -> Shape:
    """[n, ..., c] for [n, c, ...]."""
    if shape.rank is None:
        return shape
    sizes = list(shape)
    return Shape.of((sizes[0], *sizes[2:], sizes[1]))


def _letters(schema: Any, count: int) -> list[str]:
    """The type variable of each input."""
    formal = [entry.type_str for entry in schema.inputs]
    return [formal[min(index, len(formal) - 1)] for index in range(count)]


def infer(node: Node, count: int, schema: Any, opset: int) -> list[tuple[DType, Shape]]:
    """Dtype and shape of each output, by ONNX's own rules.

    Raises:
        InternalError: ONNX does not allow the node: a converter is wrong.
    """
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    names = []
    for index, value in enumerate(node.inputs):
        if value is None:
            names.append("")
            continue
        name = f"i{index}"
        names.append(name)
        types[name] = type_message(value.dtype, value.shape)
        if value.array is not None and value.array.nbytes <= SMALL:
            data[name] = tensor_message(value.array, name, value.dtype)
    outputs = [f"o{index}" for index in range(count)]
    message = helper.make_node(node.kind, names, outputs, **node.attrs)
    try:
        found = shape_inference.infer_node_outputs(
            schema,
            message,
            types,
            data,
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=8,
        )
    except Exception as error:
        given = ", ".join(
            "-" if v is None else f"{v.dtype.name}{v.shape.text}" for v in node.inputs
        )
        explained = (
            f"{node.kind}({given}) {node.attrs} made for node {node.origin!r} is not valid "
            f"ONNX: {error}"
        )
        raise InternalError(explained) from error
    specs = []
    for name in outputs:
        inferred = found[name].tensor_type
        specs.append((_dtype_of(inferred.elem_type), _shape_of(inferred)))
    return specs


_BY_ONNX = {dtype.onnx: dtype for dtype in dtypes.ANY if dtype.onnx is not None}


def _dtype_of(number: int) -> DType:
    return as_dtype(_BY_ONNX[number])


def _shape_of(message: Any) -> Shape:
    if not message.HasField("shape"):
        return Shape(None)
    return Shape(
        [dim.dim_value if dim.HasField("dim_value") else None for dim in message.shape.dim]
    )


def sizes_of(shape: Iterable[int | None]) -> list[int]:
    """Sizes with -1 for an unknown one."""
    return [-1 if size is None else size for size in shape]
