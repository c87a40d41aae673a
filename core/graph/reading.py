"""TensorFlow's read-only interface of a graph, finished or under construction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.graph.operation import Operation, symbol_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.graph.graph import Node
    from pinnace.proto.graph_pb2 import GraphDef


class Readable:
    """Methods for inspecting a graph."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def nodes(self) -> Sequence[Node]: ...  # noqa: D102 (each class describes its own)

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were made."""
        return [Operation(node, self) for node in self.nodes]  # type: ignore[arg-type]  # a graph

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of a name.

        Raises:
            KeyError: no operation has that name.
            ValueError: the name is that of a tensor.
            TypeError: the name is no text.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        found = self.as_graph_element(name, allow_tensor=False)
        assert isinstance(found, Operation)  # noqa: S101 (tensors are not allowed)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of a name, `operation:0`.

        Raises:
            KeyError: no tensor has that name.
            ValueError: the name is that of an operation.
            TypeError: the name is no text.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        found = self.as_graph_element(name, allow_operation=False)
        assert isinstance(found, Tensor)  # noqa: S101 (operations are not allowed)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """The tensor or operation that an object, or a name, means in this graph.

        Args:
            obj: a tensor or operation of this graph, or the name of one.
            allow_tensor: whether it may be a tensor.
            allow_operation: whether it may be an operation.

        Raises:
            KeyError: nothing in the graph has that name.
            ValueError: the object is of a kind that is not allowed, or of another graph.
            TypeError: the object is neither a name, a tensor nor an operation.
        """
        if isinstance(obj, (SymbolicTensor, Operation)):
            kind = "Tensor" if isinstance(obj, Tensor) else "Operation"
            if not (allow_tensor if isinstance(obj, Tensor) else allow_operation):
                raise TypeError(f"as_graph_element: {obj!r} is a {kind}, which is not allowed here")
            node = obj.value.node if isinstance(obj, SymbolicTensor) else obj.node
            if node not in self.nodes:
                raise ValueError(f"{kind} {obj!r} is not an element of this graph.")
            return obj
        if not isinstance(obj, str):
            kinds = " or ".join(
                name
                for name, wanted in (("Tensor", allow_tensor), ("Operation", allow_operation))
                if wanted
            )
            raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")
        return self._named(obj, allow_tensor, allow_operation)

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
        operation, colon, index = name.partition(":")
        if colon and not allow_tensor:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        if not colon and not allow_operation:
            raise ValueError(
                f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of "
                'the form "<op_name>:<output_index>".'
            )
        if colon and not (index.isascii() and index.isdigit()):
            raise ValueError(
                f"The name {name!r} looks like a Tensor name, but is not a valid one. Tensor names "
                'must be of the form "<op_name>:<output_index>".'
            )
        node = next((one for one in self.nodes if one.name == operation), None)
        if node is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{operation!r}, does not exist in the graph."
                if colon
                else f"The name {name!r} refers to an Operation not in the graph."
            )
        if not colon:
            return Operation(node, self)  # type: ignore[arg-type]  # a graph
        if int(index) >= len(node.outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{operation!r}, exists but only has {len(node.outputs)} outputs."
            )
        return symbol_of(node.outputs[int(index)], self)  # type: ignore[arg-type]  # a graph

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """The whole graph as a message: all nodes as they are saved, and the functions they call.

        Args:
            from_version: number of nodes left out at the beginning.
            add_shapes: whether each node has the shapes of its outputs, as `_output_shapes`.

        Returns:
            A GraphDef: TensorFlow reads its bytes.
        """
        # Imported here, for most programs need no message and load no protobuf.
        from pinnace.graph.codec.encoding import encode_whole

        return encode_whole(self, from_version or 0, add_shapes)  # type: ignore[arg-type]  # a graph

    @property
    def version(self) -> int:
        """The number of operations."""
        return len(self.nodes)

    @property
    def finalized(self) -> bool:
        """Whether nothing can be added to the graph any more."""
        return True

    @property
    def building_function(self) -> bool:
        """Whether it is the graph of a function."""
        return True

    def is_fetchable(self, tensor_or_op: object) -> bool:
        """Whether it can be fetched: always true for members of a graph."""
        return isinstance(tensor_or_op, (SymbolicTensor, Operation))

    def is_feedable(self, tensor: object) -> bool:
        """Whether it can be fed: always true for tensors of a graph."""
        return isinstance(tensor, SymbolicTensor)
