"""TensorArrays of TensorFlow 1's loops, rewritten as tensor lists.

The float `flow` only orders the ops of an array. Here the list itself takes its place, and a
constant without users takes the handle's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pinnace.deploy.refusals import Refusal, refused
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.shapes import SCALAR, Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node, Value, constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.array.constants import CONST
from pinnace.ops.registry import lookup

_PREFIX = "TensorArray"
_LIST = TensorSpec.of(SCALAR, dtypes.variant)
_NUMBER = TensorSpec.of(SCALAR, dtypes.int32)


def with_lists(graph: Graph) -> Graph:
    """The program with tensor lists in place of TensorArrays.

    Args:
        graph: with calls inlined.

    Raises:
        ExportRefusedError: an array is used in a way that lists do not support.
    """
    return _Lists(graph, {}).graph if _has_arrays(graph) else graph


def _functions(node: Node) -> list[FunctionRef]:
    return [
        ref
        for attr in node.attrs.values()
        for ref in (attr if isinstance(attr, tuple) else (attr,))
        if isinstance(ref, FunctionRef)
    ]


def _has_arrays(graph: Graph) -> bool:
    return any(
        node.op.name.startswith(_PREFIX) or any(_has_arrays(ref.graph) for ref in _functions(node))
        for node in ordered(graph)
    )


class _Array(NamedTuple):
    """Static facts about a TensorArray at a point of the graph.

    Attributes:
        dtype: the dtype of its elements.
        element: the elements' shape, as far as it is known.
        grows: whether a write beyond the end extends it.
        size: the initial number of elements; None in functions that did not create it.
        is_flow: whether this is the flow, not the handle.
        is_new: whether nothing has been written yet.
    """

    dtype: DType
    element: Shape
    grows: bool
    size: Value | None
    is_flow: bool
    is_new: bool = False

    @property
    def spec(self) -> TensorSpec:
        """The spec of the list that replaces it."""
        return _LIST if self.is_flow else _NUMBER


class _Lists:
    """The rewriting of one graph.

    Args:
        graph: with calls inlined.
        given: the inputs that are handles or flows.

    Attributes:
        graph: the new graph.
        results: the outputs that are handles or flows.
    """

    def __init__(self, graph: Graph, given: Mapping[int, _Array]) -> None:
        self._name = graph.name
        self._copy = Copy(GraphBuilder(graph.name))
        self._arrays: dict[Value, _Array] = {}
        for index, (value, name) in enumerate(zip(graph.inputs, graph.input_names, strict=True)):
            array = given.get(index)
            spec = value.spec if array is None else array.spec
            made = self.made.add_input(value.node.op, spec, name, value.handle)
            self._copy.values[value] = made
            self._copy.nodes[value.node] = (made.node,)
            if array is not None:
                self._arrays[value] = array._replace(size=None, is_new=False)
        arguments = {value.node for value in graph.inputs}
        for node in ordered(graph):
            if node not in arguments:
                self._node(node)
        self._copy.outputs(graph)
        self.graph = self.made.finish()
        self.results = {
            index: self._arrays[value]
            for index, value in enumerate(graph.outputs)
            if value in self._arrays
        }

    @property
    def made(self) -> GraphBuilder:
        """The builder of the new graph."""
        return self._copy.target

    def _node(self, node: Node) -> None:
        if node.op.name.startswith(_PREFIX):
            self._array_op(node)
        elif node.op.runs in ("branch", "loop"):
            self._functional(node)
        elif not any(value in self._arrays for value in node.inputs):
            self._copy.node(node)
        elif node.op.alias:
            for output, value in zip(node.outputs, node.inputs, strict=True):
                self._copy.values[output] = self._copy.values[value]
                if value in self._arrays:
                    self._arrays[output] = self._arrays[value]
            self._copy.nodes[node] = ()
        else:
            self._fail(node, "uses a TensorArray as a value, which lists do not support")

    def _fail(self, node: Node, reason: str) -> NoReturn:
        places = ((node.name, node.source or None),)
        raise refused(self._name, [Refusal(node.op.name, reason, places)])

    # Branches and loops.

    def _functional(self, node: Node) -> None:
        refs = _functions(node)
        first = len(node.inputs) - len(refs[0].graph.inputs)
        given = {
            index: self._arrays[value]
            for index, value in enumerate(node.inputs[first:])
            if value in self._arrays
        }
        if not given and not any(_has_arrays(ref.graph) for ref in refs):
            self._copy.node(node)
            return
        rewritten = {ref.name: _Lists(ref.graph, given) for ref in refs}
        made = {name: FunctionRef(name, lists.graph) for name, lists in rewritten.items()}
        if node.op.runs == "loop":
            results = given
            ends = [rewritten[node.attrs["body"].name]]
        else:
            ends = list(rewritten.values())
            results = ends[0].results
        for end in ends:
            if {i: a.spec for i, a in end.results.items()} != {
                i: a.spec for i, a in results.items()
            }:
                self._fail(node, "returns a TensorArray in one branch only")
        inputs = [self._copy.values[value] for value in node.inputs]
        specs = [
            results[index].spec if index in results else value.spec
            for index, value in enumerate(node.outputs)
        ]
        attrs = {name: _replaced(attr, made) for name, attr in node.attrs.items()}
        for name, kinds in (("Tin", inputs[first:]), ("T", inputs[first:]), ("Tout", specs)):
            if name in attrs:
                attrs[name] = tuple(kind.dtype for kind in kinds)
        self._add(node, node.op.name, inputs, attrs, specs)
        for index, array in results.items():
            self._arrays[node.outputs[index]] = array._replace(is_new=False)

    # The ops of TensorArrays.

    def _array_op(self, node: Node) -> None:
        name = node.op.name.removeprefix(_PREFIX).removesuffix("V3")
        if name == "Close":
            self._copy.nodes[node] = ()
            return
        if name == "":
            self._make(node)
            return
        flow = node.inputs[-1]
        array = self._arrays.get(flow)
        if array is None or not array.is_flow:
            self._fail(node, "takes a flow that belongs to no TensorArray")
        values = [self._copy.values[value] for value in node.inputs]
        write = {"Write": self._write, "Scatter": self._scatter, "Split": self._split}.get(name)
        if write is not None:
            write(node, array, values)
            self._arrays[node.outputs[0]] = array._replace(is_new=False)
            return
        read = {
            "Read": self._read,
            "Gather": self._gather,
            "Concat": self._concat,
            "Size": self._length,
        }.get(name)
        if read is None:
            self._fail(node, "is an unknown op on a TensorArray")
        read(node, array, values)

    def _make(self, node: Node) -> None:
        element = node.attrs["element_shape"]
        array = _Array(
            node.attrs["dtype"], element, node.attrs["dynamic_size"], node.inputs[0], False
        )
        inputs = [self._shape(node, element), self._copy.values[node.inputs[0]]]
        attrs = {"element_dtype": array.dtype, "shape_type": dtypes.int32}
        made = self._list_op(node, "Reserve", inputs, attrs, [_LIST])
        nothing = self._constant(node, np.int32(0), "handle")
        self._copy.values.update(zip(node.outputs, (nothing, made.outputs[0]), strict=True))
        handle, flow = node.outputs
        self._arrays[handle] = array
        self._arrays[flow] = array._replace(is_flow=True, is_new=True)

    def _write(self, node: Node, array: _Array, values: Sequence[Value]) -> None:
        _, index, item, flow = values
        attrs = {"element_dtype": array.dtype, "resize_if_index_out_of_bounds": array.grows}
        self._list_op(node, "SetItem", [flow, index, item], attrs, [_LIST])

    def _read(self, node: Node, array: _Array, values: Sequence[Value]) -> None:
        _, index, flow = values
        attrs = {"element_dtype": array.dtype, "Tshape": dtypes.int32}
        inputs = [flow, index, self._shape(node, array.element)]
        self._list_op(node, "GetItem", inputs, attrs)

    def _gather(self, node: Node, array: _Array, values: Sequence[Value]) -> None:
        _, indices, flow = values
        shape = self._shape(node, node.attrs["element_shape"])
        attrs: dict[str, Any] = {"element_dtype": array.dtype}
        if self._is_all(node, array):
            self._list_op(node, "Stack", [flow, shape], {**attrs, "num_elements": -1})
        else:
            self._list_op(node, "Gather", [flow, indices, shape], attrs)

    def _is_all(self, node: Node, array: _Array) -> bool:
        """Whether a node reads all elements in order, 0, 1, ..., n - 1."""
        limit = _counted(node.inputs[1])
        if limit is None:
            return False
        if limit.node.op.name == "TensorArraySizeV3":
            # The array is not written between: arrays are complete when they are gathered.
            return limit.node.inputs[-1] is node.inputs[-1]
        return not array.grows and array.size is not None and _same(limit, array.size)

    def _scatter(self, node: Node, array: _Array, values: Sequence[Value]) -> None:
        _, indices, tensor, flow = values
        limit = _counted(node.inputs[1])
        whole = limit is not None and _is_size_of(limit, node.inputs[2])
        empty = None if array.size is None else constant_of(array.size)
        fits = array.size is not None and (
            _is_size_of(array.size, node.inputs[2])
            or (array.grows and empty is not None and int(empty) == 0)
        )
        if array.is_new and whole and fits:
            attrs = {"element_dtype": array.dtype, "shape_type": dtypes.int32}
            inputs = [tensor, self._shape(node, array.element)]
            self._list_op(node, "FromTensor", inputs, attrs, [_LIST])
            return
        if array.grows:
            self._fail(node, "extends a TensorArray by a number of elements that indices determine")
        attrs = {"element_dtype": array.dtype}
        self._list_op(node, "ScatterIntoExistingList", [flow, tensor, indices], attrs, [_LIST])

    def _split(self, node: Node, array: _Array, values: Sequence[Value]) -> None:
        _, tensor, lengths, _ = values
        attrs = {"element_dtype": array.dtype, "shape_type": dtypes.int32}
        inputs = [tensor, self._shape(node, array.element), lengths]
        self._list_op(node, "Split", inputs, attrs, [_LIST])

    def _concat(self, node: Node, array: _Array, values: Sequence[Value]) -> None:
        _, flow = values
        rest = node.attrs["element_shape_except0"]
        shape = self._shape(node, Shape([None]).concatenate(rest))
        leading = self._constant(node, np.zeros(0, np.int64), "leading_dims")
        attrs = {"element_dtype": array.dtype, "shape_type": dtypes.int32}
        self._list_op(node, "ConcatV2", [flow, shape, leading], attrs)

    def _length(self, node: Node, array: _Array, values: Sequence[Value]) -> None:
        del array
        self._list_op(node, "Length", [values[-1]], {})

    # Construction of nodes.

    def _list_op(
        self,
        node: Node,
        kind: str,
        inputs: Sequence[Value],
        attrs: dict[str, Any],
        specs: Sequence[TensorSpec] | None = None,
    ) -> Node:
        return self._add(node, f"TensorList{kind}", inputs, attrs, specs)

    def _add(
        self,
        node: Node,
        op: str,
        inputs: Sequence[Value],
        attrs: dict[str, Any],
        specs: Sequence[TensorSpec] | None = None,
    ) -> Node:
        """Add a node that replaces another; `specs` are those of its outputs if they differ."""
        specs = [value.spec for value in node.outputs] if specs is None else specs
        controls = self._copy.controls(node.controls)
        made = self.made.add_raw(lookup(op), inputs, attrs, node.name, specs, controls)
        made.source = node.source
        for before, after in zip(node.outputs, made.outputs, strict=False):
            self._copy.values[before] = after
        self._copy.nodes[node] = (made,)
        return made

    def _shape(self, node: Node, shape: Shape) -> Value:
        """A shape as an input of an op; -1 for unknown sizes."""
        if shape.rank is None:
            return self._constant(node, np.int32(-1), "element_shape")
        sizes = [-1 if size is None else int(size) for size in shape]
        return self._constant(node, np.array(sizes, np.int32), "element_shape")

    def _constant(self, node: Node, array: Any, what: str) -> Value:
        value = np.asarray(array)
        kind = dtypes.as_dtype(value.dtype)
        spec = TensorSpec.of(Shape.of(value.shape), kind)
        attrs = {"value": value, "dtype": kind}
        return self.made.add_raw(CONST, (), attrs, f"{node.name}/{what}", [spec]).outputs[0]


def _replaced(attr: Any, made: Mapping[str, FunctionRef]) -> Any:
    if isinstance(attr, tuple):
        return tuple(_replaced(one, made) for one in attr)
    return made[attr.name] if isinstance(attr, FunctionRef) else attr


def _counted(value: Value) -> Value | None:
    """The n of range(0, n, 1)."""
    node = value.node
    if node.op.name != "Range":
        return None
    start, limit, delta = node.inputs
    numbers = [constant_of(start), constant_of(delta)]
    return limit if [None if n is None else n.tolist() for n in numbers] == [0, 1] else None


def _same(one: Value, other: Value) -> bool:
    """Whether two numbers are known to be equal."""
    if one is other:
        return True
    known = constant_of(one), constant_of(other)
    if known[0] is not None and known[1] is not None:
        return bool(np.array_equal(known[0], known[1]))
    tensor = _measured(one)
    return tensor is not None and tensor is _measured(other)


def _is_size_of(size: Value, tensor: Value) -> bool:
    """Whether a number is the first size of a tensor."""
    known = constant_of(size)
    if known is not None:
        return bool(tensor.shape.rank) and tensor.shape[0] == int(known)
    return _measured(size) is tensor


def _measured(value: Value) -> Value | None:
    """The x of shape(x)[0]."""
    node = value.node
    if node.op.name != "StridedSlice" or node.inputs[0].node.op.name != "Shape":
        return None
    begin = constant_of(node.inputs[1])
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask")
    if begin is None or begin.tolist() != [0] or any(node.attrs[mask] for mask in masks):
        return None
    return node.inputs[0].node.inputs[0] if node.attrs["shrink_axis_mask"] == 1 else None
