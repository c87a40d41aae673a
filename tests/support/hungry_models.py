"""SavedModels of version 1 that allocate much memory while they are loaded, or never finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.graph.codec.tensors import encode_tensor
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.proto.types_pb2 import DataType
from support.changed_models import write_changed

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.proto.node_def_pb2 import NodeDef

_FLOAT, _INT = DataType.DT_FLOAT, DataType.DT_INT32


def save_hungry(folder: Path, side: int) -> Path:
    """A model whose main op creates a matrix; it computes x + the matrix's largest element.

    Args:
        folder: folder of the model.
        side: size of the square float32 matrix.
    """
    return _save(folder, side, is_endless=False)


def save_endless(folder: Path) -> Path:
    """A model whose main op waits for a queue that nobody fills."""
    return _save(folder, 1, is_endless=True)


def _save(folder: Path, side: int, *, is_endless: bool) -> Path:
    model = SavedModel(saved_model_schema_version=1)
    meta = model.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    graph = meta.graph_def
    graph.versions.producer = 1087

    def node(name: str, op: str, *inputs: str, **types: DataType) -> NodeDef:
        one = graph.node.add(name=name, op=op, input=inputs)
        for key, value in types.items():
            one.attr[key].type = value
        return one

    for name, value in (("sizes", [side, side]), ("axes", [0, 1])):
        constant = node(name, "Const", dtype=_INT)
        constant.attr["value"].tensor.CopyFrom(encode_tensor(np.array(value, np.int32)))
    node("drawn", "RandomUniform", "sizes", dtype=_FLOAT, T=_INT)
    node("largest", "Max", "drawn", "axes", T=_FLOAT, Tidx=_INT)
    handle = node("v", "VarHandleOp", dtype=_FLOAT)
    handle.attr["shape"].shape.SetInParent()
    handle.attr["shared_name"].s = b"v"
    node("assign", "AssignVariableOp", "v", "largest", dtype=_FLOAT)
    ends = ["^assign"]
    if is_endless:
        queue = node("queue", "FIFOQueueV2")
        queue.attr["component_types"].list.type.append(_FLOAT)
        queue.attr["shared_name"].s = b"queue"
        taken = node("taken", "QueueDequeueV2", "queue")
        taken.attr["component_types"].list.type.append(_FLOAT)
        ends.append("^taken")
    node("init", "NoOp", *ends)
    placeholder = node("x", "Placeholder", dtype=_FLOAT)
    placeholder.attr["shape"].shape.dim.add(size=-1)
    node("read", "ReadVariableOp", "v", dtype=_FLOAT)
    node("y", "AddV2", "x", "read", T=_FLOAT)
    signature = meta.signature_def["serving_default"]
    signature.method_name = "tensorflow/serving/predict"
    for infos, name in ((signature.inputs, "x"), (signature.outputs, "y")):
        infos[name].name, infos[name].dtype = f"{name}:0", _FLOAT
        infos[name].tensor_shape.dim.add(size=-1)
    meta.collection_def["saved_model_main_op"].node_list.value.append("init")
    folder.mkdir(parents=True)
    write_changed(folder / "saved_model.pb", model)
    return folder
