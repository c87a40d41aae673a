"""Signatures of a main graph ↔ SignatureDef: which of its tensors are inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinnace.framework.composite import CompositeSpec, name_in_files, spec_class
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.functions.component_names import named_tensors
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.shapes import decode_shape, encode_shape
from pinnace.proto.saved_model_pb2 import SignatureDef, TensorInfo
from pinnace.saved_model.codecs.structures import decode_composite, encode_composite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape

PREDICT = "tensorflow/serving/predict"
_SPARSE = "SPARSE_TENSOR_SPEC"


@dataclass(frozen=True, slots=True)
class GraphTensor:
    """A tensor of the main graph: its reference, dtype and shape."""

    reference: str
    dtype: DType
    shape: Shape

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype."""
        return TensorSpec.of(self.shape, self.dtype)


@dataclass(frozen=True, slots=True)
class GraphSignature:
    """Names for tensors of the main graph that are fed and fetched together.

    Attributes:
        inputs: tensors by name; the components of a ragged `x` are `x/values` and `x/row_splits`.
        outputs: the same for the results.
        method: the SignatureDef's method_name.
        defaults: default values of optional inputs, by name.
        composite_inputs: specs of composite inputs, by their own names.
        composite_outputs: the same for the outputs.
    """

    inputs: Mapping[str, GraphTensor]
    outputs: Mapping[str, GraphTensor]
    method: str = PREDICT
    defaults: frozenset[str] = field(default_factory=frozenset)
    composite_inputs: Mapping[str, CompositeSpec] = field(default_factory=dict)
    composite_outputs: Mapping[str, CompositeSpec] = field(default_factory=dict)

    @property
    def input_specs(self) -> dict[str, TensorSpec | CompositeSpec]:
        """The input specs, by name."""
        return _specs(self.inputs, self.composite_inputs)

    @property
    def output_specs(self) -> dict[str, TensorSpec | CompositeSpec]:
        """The output specs, by name."""
        return _specs(self.outputs, self.composite_outputs)


def _specs(
    tensors: Mapping[str, GraphTensor], composites: Mapping[str, CompositeSpec]
) -> dict[str, TensorSpec | CompositeSpec]:
    parts = named_tensors(composites)
    alone: dict[str, TensorSpec | CompositeSpec] = {
        key: one.spec.with_name(key) for key, one in tensors.items() if key not in parts
    }
    return dict(sorted({**alone, **composites}.items()))


def encode_signature(signature: GraphSignature) -> SignatureDef:
    """A signature as a message."""
    message = SignatureDef(method_name=signature.method)
    for infos, tensors, composites in (
        (message.inputs, signature.inputs, signature.composite_inputs),
        (message.outputs, signature.outputs, signature.composite_outputs),
    ):
        parts = named_tensors(composites)
        for name, tensor in tensors.items():
            if name not in parts:
                infos[name].CopyFrom(encode_tensor_info(tensor))
        for name, spec in composites.items():
            own = [tensors[key] for key in named_tensors({name: spec})]
            infos[name].CopyFrom(_encode_composite_info(spec, own))
    return message


def _encode_composite_info(spec: CompositeSpec, tensors: Sequence[GraphTensor]) -> TensorInfo:
    message = TensorInfo()
    if name_in_files(type(spec)) == _SPARSE:
        indices, values, shape = tensors
        message.dtype = values.dtype.enum  # type: ignore[assignment]  # the stubs want the enum's own int
        message.tensor_shape.CopyFrom(encode_shape(spec._serialize()[0]))
        message.coo_sparse.indices_tensor_name = indices.reference
        message.coo_sparse.values_tensor_name = values.reference
        message.coo_sparse.dense_shape_tensor_name = shape.reference
        return message
    message.composite_tensor.type_spec.CopyFrom(encode_composite(spec))
    message.composite_tensor.components.extend(map(encode_tensor_info, tensors))
    return message


def decode_signature(message: SignatureDef, where: str) -> GraphSignature:
    """The inverse of `encode_signature`.

    Raises:
        InvalidArgumentError: a tensor has no name, or an unknown dtype.
        UnimplementedError: a composite tensor has an unknown class.
    """
    inputs, composite_inputs = decode_infos(message.inputs, f"{where}, input")
    outputs, composite_outputs = decode_infos(message.outputs, f"{where}, output")
    return GraphSignature(
        inputs,
        outputs,
        message.method_name,
        frozenset(message.defaults),
        composite_inputs,
        composite_outputs,
    )


def decode_infos(
    messages: Mapping[str, TensorInfo], where: str
) -> tuple[dict[str, GraphTensor], dict[str, CompositeSpec]]:
    """Decode the tensors of inputs or outputs, and the specs of those that are composite.

    Raises:
        InvalidArgumentError: a tensor has no name, or an unknown dtype; two have the same name.
        UnimplementedError: a composite tensor has an unknown class.
    """
    tensors: dict[str, GraphTensor] = {}
    composites: dict[str, CompositeSpec] = {}
    for name in sorted(messages):
        place = f"{where} {name!r}"
        parts = {name: messages[name]}
        if messages[name].WhichOneof("encoding") in ("coo_sparse", "composite_tensor"):
            composites[name], infos = _decode_composite_info(messages[name], place)
            names = list(named_tensors({name: composites[name]}))
            if len(names) != len(infos):
                raise InvalidArgumentError(
                    f"{place}: its spec has {len(names)} components, the signature has {len(infos)}"
                )
            parts = dict(zip(names, infos, strict=True))
        for key, info in parts.items():
            if key in tensors:
                raise InvalidArgumentError(f"{place}: there is another tensor {key!r}")
            tensors[key] = decode_tensor_info(info, place)
    return tensors, composites


def _decode_composite_info(
    message: TensorInfo, where: str
) -> tuple[CompositeSpec, list[TensorInfo]]:
    if message.WhichOneof("encoding") == "composite_tensor":
        spec = decode_composite(message.composite_tensor.type_spec, where)
        if not isinstance(spec, CompositeSpec):
            raise UnimplementedError(f"{where}: values of class {spec!r} are not supported")
        return spec, list(message.composite_tensor.components)
    kind = spec_class(_SPARSE)
    if kind is None:
        raise UnimplementedError(f"{where}: sparse tensors are not supported")
    shape = decode_shape(message.tensor_shape, f"{where}.tensor_shape")
    dtype = decode_dtype(message.dtype, f"{where}.dtype")
    found = kind._deserialize((shape, dtype))
    names = tensor_names(message)
    return found, [
        TensorInfo(name=name, dtype=spec.dtype.enum, tensor_shape=encode_shape(spec.shape))  # type: ignore[arg-type]  # the stubs want the enum's own int
        for name, spec in zip(names, found.component_specs(), strict=True)
    ]


def tensor_names(message: TensorInfo) -> list[str]:
    """The tensors that an input or output is, or is made of, as the file spells them."""
    if message.WhichOneof("encoding") == "composite_tensor":
        return [one.name for one in message.composite_tensor.components]
    if message.WhichOneof("encoding") == "coo_sparse":
        parts = message.coo_sparse
        return [
            parts.indices_tensor_name,
            parts.values_tensor_name,
            parts.dense_shape_tensor_name,
        ]
    return [message.name]


def encode_tensor_info(tensor: GraphTensor) -> TensorInfo:
    """One tensor of a signature."""
    return TensorInfo(
        name=tensor.reference,
        dtype=tensor.dtype.enum,  # type: ignore[arg-type]  # the stubs want the enum's own int
        tensor_shape=encode_shape(tensor.shape),
    )


def decode_tensor_info(message: TensorInfo, where: str) -> GraphTensor:
    """The inverse of `encode_tensor_info`.

    Raises:
        InvalidArgumentError: the tensor has no name, or an unknown dtype.
        UnimplementedError: the tensor is composite.
    """
    encoding = message.WhichOneof("encoding")
    if encoding in ("coo_sparse", "composite_tensor"):
        raise UnimplementedError(f"{where}: a composite tensor in place of a single one")
    if not message.name:
        raise InvalidArgumentError(f"{where}: the tensor has no name")
    return GraphTensor(
        message.name,
        decode_dtype(message.dtype, f"{where}.dtype"),
        decode_shape(message.tensor_shape, f"{where}.tensor_shape"),
    )
