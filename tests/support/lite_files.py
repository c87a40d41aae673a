"""`.tflite` files as older converters wrote them: without signatures, or with SignatureDefs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from flatbuffers import flexbuffers

from pinnace.deploy.lite.files.flatbuffer import Table, written
from pinnace.deploy.lite.files.parsing import parsed
from pinnace.deploy.lite.files.serialising import serialised
from pinnace.deploy.lite.ir.model import Model, Operator, Signature, Subgraph, Tensor
from pinnace.deploy.lite.reading.signatures import METADATA
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.proto.saved_model_pb2 import SignatureDef

if TYPE_CHECKING:
    from collections.abc import Mapping


def without_signatures(subgraph: Subgraph, metadata: Mapping[str, bytes] | None = None) -> bytes:
    """A file with one subgraph whose only names are those of its tensors.

    Args:
        subgraph: its operators and tensors.
        metadata: name -> bytes.
    """
    inputs, outputs = ({one.name: one for one in x} for x in (subgraph.inputs, subgraph.outputs))
    signature = Signature("", inputs, outputs, subgraph)
    content = serialised(Model([signature], metadata=dict(metadata or {})))
    fields: dict[str, Any] = dict(parsed(content, "the file").fields)
    del fields["signature_defs"]
    return written(Table("Model", fields), len(content))


def signature_defs(**signatures: SignatureDef) -> dict[str, bytes]:
    """The metadata that TensorFlow's `set_signature_defs` writes."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, message in signatures.items():
            builder.Key(name)
            builder.String(message.SerializeToString().decode("latin-1"))
    return {METADATA: bytes(builder.Finish())}


def signature_def(
    inputs: Mapping[str, str], outputs: Mapping[str, str], method: str = ""
) -> SignatureDef:
    """A message with these tensors by these names."""
    message = SignatureDef(method_name=method)
    for infos, names in ((message.inputs, inputs), (message.outputs, outputs)):
        for name, tensor in names.items():
            infos[name].name = tensor
    return message


def half_plus(number: float, x: str = "x", y: str = "y") -> Subgraph:
    """y = x / 2 + number, for one row of one number.

    Args:
        number: the summand.
        x: name of the input.
        y: name of the output.
    """

    def tensor(name: str, *sizes: int, data: Any = None) -> Tensor:
        return Tensor(name, dtypes.float32, Shape(sizes), data)

    given, half, found = tensor(x, 1, 1), tensor("half", 1, 1), tensor(y, 1, 1)
    a, b = (tensor(name, data=np.array(n, np.float32)) for name, n in (("a", 0.5), ("b", number)))
    operators = [Operator("MUL", [given, a], [half]), Operator("ADD", [half, b], [found])]
    return Subgraph("main", [given], [found], operators)


def half_of_records() -> Subgraph:
    """y = x / 2 + 2, where x is a feature of serialised `Example`s, as Serving classifies them."""

    def words(name: str, *texts: bytes) -> Tensor:
        return Tensor(name, dtypes.string, Shape([len(texts)]), np.array(texts, object))

    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Int("num_sparse", 0)
    subgraph = half_plus(2, "parsed")
    records = Tensor("records", dtypes.string, Shape([1]))
    keys = [words("none"), words("sparse"), words("dense", b"x"), words("ragged")]
    default = Tensor("default", dtypes.float32, Shape([1]), np.zeros(1, np.float32))
    parse = Operator(
        "CUSTOM",
        [records, *keys, default],
        subgraph.inputs,
        custom="ParseExampleV2",
        payload=bytes(builder.Finish()),
    )
    return Subgraph("main", [records], subgraph.outputs, [parse, *subgraph.operators])
