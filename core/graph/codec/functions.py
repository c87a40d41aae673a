"""FunctionDef → functions, in libraries that decode each function on demand."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import SCALAR, UNKNOWN
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.body import Body, stateful_before
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.gradients import Gradients
from pinnace.graph.codec.implementations import replaced_on_cpus
from pinnace.graph.codec.nodes import OUTPUT_SHAPES
from pinnace.graph.codec.opaque import opaque_op
from pinnace.graph.codec.shapes import decode_shape
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder
from pinnace.ops.array.constants import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.graph.codec.gradients import StoredGradient
    from pinnace.graph.graph import Value
    from pinnace.ops.opdef import OpDef
    from pinnace.proto.attr_value_pb2 import AttrValue
    from pinnace.proto.function_pb2 import FunctionDef
    from pinnace.proto.node_def_pb2 import NodeDef
    from pinnace.proto.op_def_pb2 import OpDef as OpDefMessage

# The deepest nesting of calls that is decoded. Decoding a function takes about ten frames of
# Python's stack and decodes the functions it calls; beyond the second depth these are decoded
# beforehand instead.
_DEPTH = 100
_RECURSIVE_DEPTH = 20


class _TooDeepError(Exception):
    """Too many nested calls; caught where decoding began, so that nodes do not add their names."""


class FunctionLibrary:
    """The functions of a file, each decoded to a graph on first use.

    Args:
        functions: the functions of the file.
        where: the file, for errors.
        ops: definitions that the file has of the ops it uses.
        allow_io: whether a model's ops may read and write files, or run Python.
        gradients: custom gradients of nodes, by the nodes' mark, from this library.

    Raises:
        InvalidArgumentError: two functions have one name.
    """

    def __init__(
        self,
        functions: Iterable[FunctionDef],
        where: str,
        ops: Iterable[OpDefMessage] = (),
        *,
        allow_io: bool = False,
        gradients: Callable[[FunctionLibrary], Mapping[str, StoredGradient]] | None = None,
    ) -> None:
        self.where = where
        self.allow_io = allow_io
        self._messages: dict[str, FunctionDef] = {}
        for message in functions:
            name = message.signature.name
            if name in self._messages and self._messages[name] != message:
                raise InvalidArgumentError(f"{where}: there are two functions named {name!r}")
            self._messages[name] = message
        self._instead = replaced_on_cpus(self._messages)
        self._ops = {message.name: message for message in ops}
        self._opaque: dict[str, OpDef] = {}
        # Decoded ops, attributes and output specs, by the serialized form of nodes; see `Body`.
        self.alike: dict[object, Any] = {}
        self._refs: dict[str, FunctionRef] = {}
        self._graphs: dict[str, Graph] = {}
        self._active: list[str] = []
        self._lock = threading.RLock()
        self.gradients = {} if gradients is None else gradients(self)

    def __contains__(self, name: object) -> bool:
        return name in self._messages

    def names(self) -> list[str]:
        """The names of all functions."""
        return list(self._messages)

    def signature(self, name: str) -> OpDefMessage:
        """Arguments and results of a function."""
        return self._message(name, self.where).signature

    def message(self, name: str) -> FunctionDef:
        """A function as it is in the file."""
        return self._message(name, self.where)

    def argument_types(self, name: str) -> list[DType]:
        """The dtypes of a function's arguments."""
        where = f"{self.where}: function {name!r}"
        return [
            decode_dtype(arg.type, f"{where}, argument {arg.name!r}")
            for arg in self.signature(name).input_arg
        ]

    def result_types(self, name: str) -> list[DType]:
        """The dtypes of a function's results."""
        where = f"{self.where}: function {name!r}"
        return [
            decode_dtype(arg.type, f"{where}, result {arg.name!r}")
            for arg in self.signature(name).output_arg
        ]

    def ref(self, name: str, where: str = "") -> FunctionRef:
        """A reference to a function, or to its replacement on CPUs.

        It is decoded when its graph is needed.

        Raises:
            InvalidArgumentError: no function has that name.
        """
        name = self._instead.get(name, name)
        found = self._refs.get(name)
        if found is None:
            self._message(name, where or self.where)
            found = self._refs[name] = FunctionRef(name, lambda: self.graph(name))
        return found

    def graph(self, name: str) -> Graph:
        """A function as a graph, always the same one.

        Raises:
            InvalidArgumentError: no function has that name, or its definition is damaged.
        """
        found = self._graphs.get(name)
        if found is None:
            with self._lock:
                found = self._graphs.get(name)
                if found is None:
                    found = self._graphs[name] = self._decode(name)
        return found

    def opaque_op(self, name: str) -> OpDef | None:
        """An op that only the file defines; None if it does not."""
        found = self._opaque.get(name)
        if found is None and name in self._ops:
            where = f"{self.where}: definition of op {name!r}"
            found = self._opaque[name] = opaque_op(self._ops[name], where)
        return found

    def default(self, op: str, attribute: str) -> AttrValue | None:
        """The default value that the file defines for an op's attribute."""
        definition = self._ops.get(op)
        for one in definition.attr if definition is not None else ():
            if one.name == attribute and one.HasField("default_value"):
                return one.default_value
        return None

    def _message(self, name: str, where: str) -> FunctionDef:
        message = self._messages.get(name)
        if message is None:
            raise InvalidArgumentError(f"{where}: there is no function {name!r} in the file")
        return message

    def _decode(self, name: str) -> Graph:
        where = f"{self.where}: function {name!r}"
        if name in self._active:
            raise self._recursion(name)
        if len(self._active) == _RECURSIVE_DEPTH:
            for inner in self._called_first(name):
                if inner not in self._graphs:
                    self._graphs[inner] = self._decode_alone(inner)
        try:
            return self._decode_alone(name)
        except _TooDeepError:
            if self._active:
                raise
            raise InvalidArgumentError(
                f"{where}: more than {_DEPTH} functions call one another, one inside the other"
            ) from None

    def _decode_alone(self, name: str) -> Graph:
        where = f"{self.where}: function {name!r}"
        self._active.append(name)
        try:
            return decode_function(self._message(name, self.where), self, where)
        finally:
            self._active.pop()

    def _recursion(self, name: str) -> InvalidArgumentError:
        where = f"{self.where}: function {name!r}"
        return InvalidArgumentError(f"{where} calls itself: recursion is not possible")

    def _called_first(self, name: str) -> list[str]:
        """The functions called by a function, directly or not, callees first; not recursive."""
        depths: dict[str, int] = {}
        path = {name: iter(self._called_by(name))}
        while path:
            current = next(reversed(path))
            for inner in path[current]:
                if inner in path:
                    raise self._recursion(inner)
                if inner not in depths and inner in self._messages:
                    path[inner] = iter(self._called_by(inner))
                    break
            else:
                del path[current]
                inside = self._called_by(current)
                depths[current] = 1 + max((depths.get(one, 0) for one in inside), default=0)
            if len(self._active) + len(path) + depths.get(current, 0) > _DEPTH:
                raise _TooDeepError
        del depths[name]
        return list(depths)

    def _called_by(self, name: str) -> list[str]:
        """The functions named by a function's nodes, or their replacements."""
        found: dict[str, None] = {}
        for node in self._message(name, self.where).node_def:
            for value in node.attr.values():
                named = [value.func] if value.HasField("func") else value.list.func
                for one in named:
                    found[self._instead.get(one.name, one.name)] = None
        return list(found)


def decode_function(message: FunctionDef, library: FunctionLibrary, where: str) -> Graph:
    """The inverse of `encode_function`.

    Args:
        message: the function.
        library: the functions it may call.
        where: the place, for error messages.

    Raises:
        InvalidArgumentError: the message is no function.
    """
    signature = message.signature
    graph = GraphBuilder(signature.name)
    arguments: dict[str, Value] = {}
    for index, arg in enumerate(signature.input_arg):
        arguments[arg.name] = _decode_argument(graph, message, index, arg, where)
    if len(arguments) != len(signature.input_arg):
        raise InvalidArgumentError(f"{where}: two arguments have one name")
    nodes = _by_name(message.node_def, where)
    for name in arguments:
        if name in nodes:
            raise InvalidArgumentError(f"{where}: {name!r} is an argument and a node")
    gradients = Gradients(library.gradients, signature.name, nodes, arguments)
    body = Body(
        graph, nodes, library, where, arguments, results=message.ret.values(), gradients=gradients
    )
    body.decode(nodes)
    for result in signature.output_arg:
        if result.name not in message.ret:
            raise InvalidArgumentError(f"{where}: nothing computes result {result.name!r}")
        value = body.value(message.ret[result.name], f"result {result.name!r}")
        declared = decode_dtype(result.type, f"{where}, result {result.name!r}")
        if value.dtype is not declared:
            raise InvalidArgumentError(
                f"{where}: result {result.name!r} is a {declared.name}, got {value.spec.text}"
            )
        graph.outputs.append(value)
        graph.output_names.append(result.name)
    for name in message.control_ret.values():
        if name not in nodes and name not in arguments:
            raise InvalidArgumentError(f"{where}: control_ret names {name!r}, which is no node")
    named = sorted(set(message.control_ret.values()) - set(arguments))
    graph.effects = stateful_before(body.node(name) for name in named)
    return graph.finish()


def _decode_argument(
    graph: GraphBuilder, message: FunctionDef, index: int, arg: OpDefMessage.ArgDef, where: str
) -> Value:
    place = f"{where}, argument {arg.name!r}"
    if arg.type_attr or arg.number_attr or arg.type_list_attr:
        raise InvalidArgumentError(f"{place}: an argument of a function has one fixed dtype")
    dtype = decode_dtype(arg.type, place)
    shape = UNKNOWN
    if dtype is dtypes.resource:
        shape = SCALAR
    elif index in message.arg_attr:
        attrs = message.arg_attr[index].attr
        if OUTPUT_SHAPES in attrs and len(attrs[OUTPUT_SHAPES].list.shape) == 1:
            shape = decode_shape(attrs[OUTPUT_SHAPES].list.shape[0], place)
    handle = None
    if len(arg.handle_data) == 1:
        known = arg.handle_data[0]
        handle = TensorSpec.of(decode_shape(known.shape, place), decode_dtype(known.dtype, place))
    value = graph.add_input(PLACEHOLDER, TensorSpec.of(shape, dtype), arg.name, handle)
    graph.input_names[-1] = arg.name
    return value


def _by_name(messages: Sequence[NodeDef], where: str) -> dict[str, NodeDef]:
    nodes = {message.name: message for message in messages}
    if len(nodes) != len(messages):
        seen: set[str] = set()
        for message in messages:
            if message.name in seen:
                raise InvalidArgumentError(f"{where}: two nodes are named {message.name!r}")
            seen.add(message.name)
    return nodes
