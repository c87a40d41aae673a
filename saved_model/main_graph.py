"""The main graph, which TensorFlow 1's and the C++ loader run by the names of nodes.

These loaders do not read the object graph. The main graph has a handle per variable, placeholders
and one call per signature, and the nodes of the checkpoint's save and restore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeSpec
from pinnace.framework.shapes import SCALAR, UNKNOWN, Shape
from pinnace.graph.codec.attrs import encode_attr
from pinnace.graph.codec.nodes import OUTPUT_SHAPES
from pinnace.graph.graph import FunctionRef, GraphBuilder
from pinnace.ops.state.table_state import KEYS, VALUES
from pinnace.proto.node_def_pb2 import NodeDef
from pinnace.proto.saved_model_pb2 import SaverDef
from pinnace.saved_model.codecs.signatures import GraphSignature, GraphTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array
    from pinnace.functions.concrete import ConcreteFunction


class MainGraph:
    """A main graph under construction.

    Args:
        name_of: returns the name under which a function is written.
    """

    def __init__(self, name_of: Callable[[FunctionRef], str]) -> None:
        self.nodes: list[NodeDef] = []
        self._name_of = name_of
        self._names = GraphBuilder("main")

    def add(
        self,
        op: str,
        name: str,
        inputs: Sequence[str] = (),
        shapes: Sequence[Shape] = (),
        **attrs: Any,
    ) -> str:
        """Add a node.

        Args:
            op: its op.
            name: its preferred name.
            inputs: references to its inputs.
            shapes: shapes of its outputs.
            **attrs: attribute values, whose kinds follow from their types.

        Returns:
            The node's name, which is unique.
        """
        unique = self._names.unique_name(name)
        message = NodeDef(name=unique, op=op, input=inputs)
        for key, value in attrs.items():
            message.attr[key].CopyFrom(encode_attr(value, name_of=self._name_of))
        if shapes:
            message.attr[OUTPUT_SHAPES].CopyFrom(encode_attr(tuple(shapes), "list(shape)"))
        self.nodes.append(message)
        return unique

    def variable(self, name: str, dtype: DType, shape: Shape) -> str:
        """Add the handle of a variable; its name and its shared_name are unique."""
        unique = self.add("VarHandleOp", name, (), [SCALAR], dtype=dtype, shape=shape)
        # Handles without a shared_name all refer to one variable.
        self.nodes[-1].attr["shared_name"].s = unique.encode()
        return unique

    def constant(self, value: Array, dtype: DType, name: str = "Const") -> str:
        """Add a constant."""
        unique = self.add("Const", name, (), [Shape.of(value.shape)], dtype=dtype)
        self.nodes[-1].attr["value"].CopyFrom(encode_attr(value, "tensor", dtype=dtype))
        return unique

    def strings(self, values: Sequence[bytes], name: str) -> str:
        """Add a vector of strings."""
        array = np.empty(len(values), object)
        array[:] = values
        return self.constant(array, dtypes.string, name)

    def placeholder(self, name: str, dtype: DType, shape: Shape) -> str:
        """Add a placeholder."""
        return self.add("Placeholder", name, (), [shape], dtype=dtype, shape=shape)

    def no_op(self, name: str, after: Sequence[str] = ()) -> str:
        """Add a node that runs after others."""
        return self.add("NoOp", name, [f"^{one}" for one in after])

    def call(self, function: ConcreteFunction, inputs: Sequence[str]) -> str:
        """Add a call of a function."""
        graph = function.graph
        op = "StatefulPartitionedCall" if function.stateful else "PartitionedCall"
        return self.add(
            op,
            op,
            inputs,
            [value.shape for value in graph.outputs],
            Tin=tuple(value.dtype for value in graph.inputs),
            Tout=tuple(value.dtype for value in graph.outputs),
            f=FunctionRef(graph.name, graph),
        )


def add_signature(
    main: MainGraph, name: str, function: ConcreteFunction, captured: Sequence[str]
) -> GraphSignature:
    """Add placeholders for a signature's inputs, and the call that computes its outputs.

    Args:
        main: the graph to add to.
        name: the signature's name.
        function: the function to call.
        captured: references to the tensors that the function captures.
    """
    inputs = {}
    placed = zip(function.array_inputs.items(), function.graph.inputs, strict=False)
    for (key, spec), value in placed:
        node = main.placeholder(f"{name}_{key}", value.dtype, value.shape)
        # The keyword replaces a name with special characters, which the spec keeps.
        own = spec.name if spec.name and keyword_for(spec.name) == key else key
        inputs[own] = GraphTensor(f"{node}:0", value.dtype, value.shape)
    references = [tensor.reference.removesuffix(":0") for tensor in inputs.values()]
    call = main.call(function, [*references, *captured])
    outputs = {
        key: GraphTensor(f"{call}:{index}", value.dtype, value.shape)
        for index, (key, value) in enumerate(
            zip(function.array_outputs, function.graph.outputs, strict=True)
        )
    }
    return GraphSignature(
        inputs,
        outputs,
        composite_inputs=_composites(function.structured_input_signature[1]),
        composite_outputs=_composites(function.structured_outputs),
    )


def keyword_for(name: str) -> str:
    """The name of an input as a keyword: TensorFlow binds inputs as it binds Python arguments."""
    letters = "".join(letter if letter.isalnum() else "_" for letter in name)
    return letters if letters[:1].isalpha() else f"arg_{letters}"


def _composites(specs: Mapping[str, Any]) -> dict[str, CompositeSpec]:
    return {name: spec for name, spec in specs.items() if isinstance(spec, CompositeSpec)}


def add_saver(
    main: MainGraph,
    variables: Sequence[tuple[str, str, DType]],
    tables: Sequence[tuple[str, str, DType, DType]],
    objects: bytes,
    objects_key: str,
) -> SaverDef:
    """Add the nodes that write variables and tables to a checkpoint and read them back.

    Args:
        main: the graph to add to.
        variables: (key in the checkpoint, handle, dtype) of each.
        tables: (key in the checkpoint, handle, dtypes of keys and values) of each mutable one.
        objects: the object graph of the checkpoint.
        objects_key: the key of the object graph.
    """
    prefix = main.placeholder("saver_filename", dtypes.string, SCALAR)
    keys = [key.encode() for key, _, _ in variables]
    kinds = tuple(dtype for _, _, dtype in variables)
    values = [
        main.add("ReadVariableOp", f"save/{handle}", [handle], dtype=dtype)
        for _, handle, dtype in variables
    ]
    for key, handle, *types in tables:
        keys.extend(f"{key}{suffix}".encode() for suffix in (KEYS, VALUES))
        kinds = (*kinds, *types)
        held = main.add(
            "LookupTableExportV2", f"save/{handle}", [handle], Tkeys=types[0], Tvalues=types[1]
        )
        values += [held, f"{held}:1"]
    array = np.empty((), object)
    array[()] = objects
    values.append(main.constant(array, dtypes.string, "save/objects"))
    names = main.strings([*keys, objects_key.encode()], "save/keys")
    slices = main.strings([b""] * (len(keys) + 1), "save/slices")
    written = main.add(
        "SaveV2", "save/SaveV2", [prefix, names, slices, *values], dtypes=(*kinds, dtypes.string)
    )
    saved = main.add("Identity", "save/path", [prefix, f"^{written}"], [SCALAR], T=dtypes.string)
    done = []
    if keys:
        names = main.strings(keys, "restore/keys")
        slices = main.strings([b""] * len(keys), "restore/slices")
        read = main.add(
            "RestoreV2",
            "restore/RestoreV2",
            [prefix, names, slices],
            [UNKNOWN] * len(keys),
            dtypes=kinds,
        )
        for index, (_, handle, dtype) in enumerate(variables):
            value = read if index == 0 else f"{read}:{index}"
            done.append(
                main.add("AssignVariableOp", f"restore/{handle}", [handle, value], dtype=dtype)
            )
        for index, (_, handle, *types) in enumerate(tables):
            first = len(variables) + 2 * index
            parts = [f"{read}:{first}" if first else read, f"{read}:{first + 1}"]
            done.append(
                main.add(
                    "LookupTableImportV2",
                    f"restore/{handle}",
                    [handle, *parts],
                    Tin=types[0],
                    Tout=types[1],
                )
            )
    restored = main.no_op("restore_all", done)
    return SaverDef(
        filename_tensor_name=f"{prefix}:0",
        save_tensor_name=f"{saved}:0",
        restore_op_name=restored,
        version=SaverDef.V2,
    )
