"""Signatures of a main graph ↔ SignatureDef: which of its tensors are inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.shapes import decode_shape, encode_shape
from pinnace.proto.saved_model_pb2 import SignatureDef, TensorInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape

PREDICT = "tensorflow/serving/predict"


@dataclass(frozen=True, slots=True)
class GraphTensor:
    """A tensor of the main graph: its reference there, and what is known of it."""

    reference: str
    dtype: DType
    shape: Shape

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype."""
        return TensorSpec.of(self.shape, self.dtype)


@dataclass(frozen=True, slots=True)
class GraphSignature:
    """Names for tensors of the main graph that are fed and fetched together."""

    inputs: Mapping[str, GraphTensor]
    outputs: Mapping[str, GraphTensor]
    method: str = PREDICT
    defaults: frozenset[str] = field(default_factory=frozenset)


def encode_signature(signature: GraphSignature) -> SignatureDef:
    """A signature as a message."""
    message = SignatureDef(method_name=signature.method)
    for name, tensor in signature.inputs.items():
        message.inputs[name].CopyFrom(encode_tensor_info(tensor))
    for name, tensor in signature.outputs.items():
        message.outputs[name].CopyFrom(encode_tensor_info(tensor))
    return message


def decode_signature(message: SignatureDef, where: str) -> GraphSignature:
    """The inverse of `encode_signature`.

    Raises:
        InvalidArgumentError: it names no tensor, or one of an unknown dtype.
        UnimplementedError: a sparse or composite tensor.
    """
    return GraphSignature(
        _decode_infos(message.inputs, f"{where}, input"),
        _decode_infos(message.outputs, f"{where}, output"),
        message.method_name,
        frozenset(message.defaults),
    )


def _decode_infos(messages: Mapping[str, TensorInfo], where: str) -> dict[str, GraphTensor]:
    return {
        name: decode_tensor_info(messages[name], f"{where} {name!r}") for name in sorted(messages)
    }


def encode_tensor_info(tensor: GraphTensor) -> TensorInfo:
    """One tensor of a signature."""
    return TensorInfo(
        name=tensor.reference,
        dtype=tensor.dtype.enum,  # type: ignore[arg-type]  # the stubs want the enum's own int
        tensor_shape=encode_shape(tensor.shape),
    )


def decode_tensor_info(message: TensorInfo, where: str) -> GraphTensor:
    """The inverse of `encode_tensor_info`."""
    encoding = message.WhichOneof("encoding")
    if encoding in ("coo_sparse", "composite_tensor"):
        raise UnimplementedError(f"{where}: a tensor made of several is not implemented")
    if not message.name:
        raise InvalidArgumentError(f"{where}: the tensor has no name")
    return GraphTensor(
        message.name,
        decode_dtype(message.dtype, f"{where}.dtype"),
        decode_shape(message.tensor_shape, f"{where}.tensor_shape"),
    )
