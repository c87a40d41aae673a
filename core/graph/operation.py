"""Operation: a read-only view of a node with TensorFlow's interface.

Methods that return messages import the codec when called: most programs need none, and load no
protobuf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pinnace.framework import dtypes
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.tensor import SymbolicTensor, Tensor

if TYPE_CHECKING:
    from pinnace.graph.graph import Graph, GraphBuilder, Node, Value
    from pinnace.proto.node_def_pb2 import NodeDef
    from pinnace.proto.op_def_pb2 import OpDef as OpDefMessage


class Operation:
    """One node of a graph: its op, its attributes, its inputs and its outputs.

    Equal, with an equal hash, to every other view on the same node.

    Args:
        node: the node.
        owner: the graph that it is in.
    """

    __slots__ = ("_node", "_owner")

    def __init__(self, node: Node, owner: Graph | GraphBuilder) -> None:
        self._node = node
        self._owner = owner

    @property
    def node(self) -> Node:
        """The node itself."""
        return self._node

    @property
    def name(self) -> str:
        """The name, unique in its graph."""
        return self._node.name

    @property
    def type(self) -> str:
        """The name of its op, such as `MatMul`."""
        return self._node.op.name

    @property
    def graph(self) -> Any:
        """The graph that it is in."""
        return getattr(self._owner, "finished", None) or self._owner

    @property
    def device(self) -> str:
        """An empty string: nodes are not placed on devices."""
        return ""

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input tensors as a flat list."""
        return tuple(symbol_of(value, self._owner) for value in self._node.inputs)

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that it gives."""
        return [symbol_of(value, self._owner) for value in self._node.outputs]

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that must run before it, besides those whose tensors it uses."""
        return [Operation(one, self._owner) for one in self._node.controls]

    def values(self) -> tuple[Tensor, ...]:
        """The output tensors as a tuple."""
        return tuple(self.outputs)

    def colocation_groups(self) -> list[bytes]:
        """Its own group only."""
        return [b"loc:@" + self.name.encode()]

    @property
    def node_def(self) -> NodeDef:
        """The node as a NodeDef, including attributes with default values."""
        from pinnace.graph.codec.encoding import encode_node_whole

        return encode_node_whole(self._node, {})

    @property
    def op_def(self) -> OpDefMessage:
        """The definition of its op."""
        from pinnace.graph.codec.op_definitions import encode_op

        return encode_op(self._node.op)

    def get_attr(self, name: str) -> Any:
        """An attribute.

        Args:
            name: name of the attribute.

        Returns:
            A bool, int, float, bytes, DType, or a TensorShapeProto, TensorProto or NameAttrList; a
            list of them for a list.

        Raises:
            ValueError: the op has no such attribute.
        """
        attrs = self.node_def.attr
        if name not in attrs:
            known = ", ".join(sorted(attrs)) or "none"
            raise ValueError(
                f"Operation {self.name!r} has no attr named {name!r}.\n  It has {known}"
            )
        message = attrs[name]
        field = message.WhichOneof("value")
        if field is None:
            return []
        if field != "list":
            found = getattr(message, field)
            return dtypes.as_dtype(found) if field == "type" else found
        for one in message.list.DESCRIPTOR.fields:
            items = list(getattr(message.list, one.name))
            if items:
                return [dtypes.as_dtype(kind) for kind in items] if one.name == "type" else items
        return []

    def run(self, feed_dict: Any = None, session: Any = None) -> NoReturn:
        """Refused: there are no sessions.

        Raises:
            UnimplementedError: always.
        """
        del feed_dict, session
        raise UnimplementedError(
            f"Operation.run: there are no sessions, and no default session is registered for "
            f"{self.name!r}\n  Try: compat.v1.wrap_function(...).prune(feeds, fetches), and call it"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self._node is other._node

    def __hash__(self) -> int:
        return hash(self._node)

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)


def symbol_of(value: Value, owner: Graph | GraphBuilder) -> SymbolicTensor:
    """The one symbolic tensor of a value."""
    if value.tensor is None:
        value.tensor = SymbolicTensor(value, owner)
    return value.tensor
