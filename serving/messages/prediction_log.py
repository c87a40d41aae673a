"""PredictionLogs, the records of warm-up files and of recorded requests.

Source: TensorFlow Serving, apis/prediction_log.proto;
docs/reference/serving_api.md 3, warm-up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.codec.tensors import encode_tensor
from pinnace.proto.inference_pb2 import ExamplesRequest, RegressionRequest
from pinnace.proto.prediction_log_pb2 import PredictionLog
from pinnace.serving.messages.examples import Classify, Regress
from pinnace.serving.messages.prediction import Predict, describe
from pinnace.serving.requests.classify_regress import CLASSIFY
from pinnace.storage.record import read_records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinnace.proto.inference_pb2 import (
        ClassificationRequest,
        ModelSpec,
        SerializedInput,
    )
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.requests.wires import Wire
    from pinnace.serving.running.signatures import Arrays


def wires_of(log: PredictionLog) -> list[Wire]:
    """Return the requests of one record; several for a MultiInference.

    Raises:
        InvalidArgumentError: the record has no request that can be answered here.
    """
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        return [Predict(log.predict_log.request)]
    if kind == "classify_log":
        return [Classify(*_asked(log.classify_log.request))]
    if kind == "regress_log":
        return [Regress(*_asked(log.regress_log.request))]
    if kind == "multi_inference_log":
        request = log.multi_inference_log.request
        wires: list[Wire] = []
        for task in request.tasks:
            asked = RegressionRequest(model_spec=task.model_spec, input=request.input)
            wire = Classify if task.method_name == CLASSIFY else Regress
            wires.append(wire(*_asked(asked)))
        return wires
    raise InvalidArgumentError(f"a record of kind {kind or 'none'} cannot be answered")


def _asked(
    request: ClassificationRequest | RegressionRequest,
) -> tuple[ModelSpec, SerializedInput]:
    """Return the target of a request, and its examples as bytes."""
    found = ExamplesRequest.FromString(request.SerializeToString())
    return found.model_spec, found.input


def read_logs(path: Path) -> Iterator[PredictionLog]:
    """Yield the PredictionLogs of a TFRecord file.

    Raises:
        OpError: the file is damaged; the message names the record.
    """
    for i, record in enumerate(read_records(path)):
        try:
            yield PredictionLog.FromString(record)
        except DecodeError:
            raise InvalidArgumentError(f"{path}: record {i} is not a PredictionLog") from None


def encode_log(
    servable: Servable, signature_name: str, feeds: Arrays, outputs: Arrays, at_s: float
) -> bytes:
    """Return a PredictionLog, serialized.

    Args:
        servable: the version that answered.
        signature_name: the signature that ran.
        feeds: its inputs.
        outputs: its outputs.
        at_s: the time, in seconds since 1970.
    """
    log = PredictionLog()
    request, response = log.predict_log.request, log.predict_log.response
    describe(request.model_spec, servable, signature_name)
    describe(response.model_spec, servable, signature_name)
    for name, array in feeds.items():
        request.inputs[name].CopyFrom(encode_tensor(array))
    for name, array in outputs.items():
        response.outputs[name].CopyFrom(encode_tensor(array))
    log.log_metadata.timestamp_secs = int(at_s)
    return log.SerializeToString()
