"""`tensorflow.serving.PredictionService`.

Source: docs/reference/serving_api.md 2.
"""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import TYPE_CHECKING, cast

from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.proto.inference_pb2 import ExamplesRequest, MultiInferenceResponse, TasksRequest
from pinnace.proto.model_service_pb2 import (
    GetModelMetadataRequest,
    GetModelMetadataResponse,
    SignatureDefMap,
)
from pinnace.proto.predict_pb2 import PredictRequest
from pinnace.proto.types_pb2 import DataType
from pinnace.serving.grpc.methods import answer, parsed
from pinnace.serving.messages.examples import Classify, Regress, count_examples
from pinnace.serving.messages.fields import parse, which_model
from pinnace.serving.messages.prediction import Predict
from pinnace.serving.models.metadata import read_metadata
from pinnace.serving.requests.classify_regress import CLASSIFY, REGRESS
from pinnace.serving.requests.expansion import (
    ALLOWANCE,
    COPIES,
    PIECE_BYTES,
    allowed_bytes,
    check_expansion,
    check_reply,
    joined,
    pieces_of_bytes,
)
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE
from pinnace.storage.varints import field_header

if TYPE_CHECKING:
    from pinnace.proto.saved_model_pb2 import SignatureDef, TensorInfo
    from pinnace.serving.grpc.methods import Context, Methods
    from pinnace.serving.models.loaded_model import SignatureDefinition, TensorDefinition
    from pinnace.serving.requests.exchange import Exchange

_NAME = "tensorflow.serving.PredictionService"
_SIGNATURES = "signature_def"
_MAX_TASKS = 64
_KINDS: dict[str, type[Classify | Regress]] = {CLASSIFY: Classify, REGRESS: Regress}
_ANSWER_BYTES = 8  # per example, at least
_RESULTS = MultiInferenceResponse.RESULTS_FIELD_NUMBER


class PredictionService:
    """The methods of the service.

    Args:
        exchange: the exchange that answers.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def register(self, methods: Methods) -> None:
        """Add the methods of the service to those of a server."""
        methods.unary |= {
            f"/{_NAME}/Predict": self.predict,
            f"/{_NAME}/Classify": self.classify,
            f"/{_NAME}/Regress": self.regress,
            f"/{_NAME}/MultiInference": self.multi_inference,
            f"/{_NAME}/GetModelMetadata": self.get_model_metadata,
        }

    async def predict(self, data: bytes, context: Context) -> bytes:
        """Run a signature on tensors."""
        message = await parsed(PredictRequest, data)
        which = which_model(message.model_spec)
        wire = Predict(message, self._exchange.settings.tensor_content)
        return await answer(self._exchange, wire, which, data, context)

    async def classify(self, data: bytes, context: Context) -> bytes:
        """Labels and scores of examples."""
        message = await parsed(ExamplesRequest, data, "ClassificationRequest")
        wire = Classify(message.model_spec, message.input)
        return await answer(self._exchange, wire, which_model(message.model_spec), data, context)

    async def regress(self, data: bytes, context: Context) -> bytes:
        """One value for each example."""
        message = await parsed(ExamplesRequest, data, "RegressionRequest")
        wire = Regress(message.model_spec, message.input)
        return await answer(self._exchange, wire, which_model(message.model_spec), data, context)

    async def multi_inference(self, data: bytes, context: Context) -> bytes:
        """Several classify and regress tasks on the same examples, of one model."""
        message = await parsed(TasksRequest, data, "MultiInferenceRequest")
        if not message.tasks:
            raise InvalidArgumentError("Inference request has no tasks")
        if len(message.tasks) > _MAX_TASKS:  # each reads the same examples
            raise InvalidArgumentError(f"A request has at most {_MAX_TASKS} tasks")
        if any(not task.model_spec.name for task in message.tasks):
            raise InvalidArgumentError("Found ModelSpec with an empty model name.")
        if len({task.model_spec.name for task in message.tasks}) > 1:
            raise InvalidArgumentError(
                "All ModelSpecs in a MultiInferenceRequest must access the same model name."
            )
        kinds: list[type[Classify | Regress]] = []
        asked: set[str] = set()
        for task in message.tasks:
            signature = task.model_spec.signature_name or DEFAULT_SIGNATURE
            if signature in asked:
                raise InvalidArgumentError(f"Duplicate evaluation of signature: {signature[:200]}")
            asked.add(signature)
            kind = _KINDS.get(task.method_name)
            if kind is None:
                raise UnimplementedError(
                    f"Unsupported signature method_name: {task.method_name[:80]}; "
                    f"must be {CLASSIFY} or {REGRESS}"
                )
            kinds.append(kind)
        # Each task has an answer for each example, and all of them are one message.
        ALLOWANCE.most = allowed_bytes(len(data), self._exchange.most_expanded)
        count = len(kinds) * count_examples(message.input)
        check_expansion(COPIES * _ANSWER_BYTES * count, f"{count} answers to {len(kinds)} tasks")
        parts: list[bytes] = []
        size = 0
        for task, kind in zip(message.tasks, kinds, strict=True):
            wire = kind(task.model_spec, message.input, is_task=True)
            which = which_model(task.model_spec)
            found = await answer(self._exchange, wire, which, data, context)
            parts += [field_header(_RESULTS, len(found)), found]
            size += len(found)
            check_reply(size, self._exchange.most_reply)
        if size <= PIECE_BYTES:
            return b"".join(parts)
        return await asyncio.to_thread(joined, chain.from_iterable(map(pieces_of_bytes, parts)))

    async def get_model_metadata(self, data: bytes, _: Context) -> bytes:
        """The signatures of a model."""
        message = parse(GetModelMetadataRequest, data)
        which = which_model(message.model_spec)
        if list(message.metadata_field[:2]) != [_SIGNATURES]:
            raise InvalidArgumentError(
                f"metadata_field must be ['{_SIGNATURES}'], "
                f"got {str(list(message.metadata_field[:10]))[:400]}"
            )
        found = read_metadata(self._exchange.repository, which)
        signatures = SignatureDefMap()
        for name, definition in found.signatures.items():
            _define(signatures.signature_def[name], definition)
        response = GetModelMetadataResponse()
        response.model_spec.name = found.name
        response.model_spec.version.value = found.version
        packed = response.metadata[_SIGNATURES]
        # The type that TensorFlow's clients expect; this project's message has another name.
        packed.type_url = "type.googleapis.com/tensorflow.serving.SignatureDefMap"
        packed.value = signatures.SerializeToString()
        return response.SerializeToString()


def _define(message: SignatureDef, definition: SignatureDefinition) -> None:
    message.method_name = definition.method_name
    for name, tensor in definition.inputs.items():
        _define_tensor(message.inputs[name], tensor)
    for name, tensor in definition.outputs.items():
        _define_tensor(message.outputs[name], tensor)
    for name, value in definition.defaults.items():
        message.defaults[name].CopyFrom(value)


def _define_tensor(message: TensorInfo, tensor: TensorDefinition) -> None:
    message.name = tensor.name
    message.dtype = cast("DataType", DataType.Value(tensor.dtype))
    if tensor.shape is None:
        message.tensor_shape.unknown_rank = True
    else:
        message.tensor_shape.SetInParent()
        for size in tensor.shape:
            message.tensor_shape.dim.add(size=size)
