"""TensorFlow Serving's requests with Examples over gRPC, as wires; Examples stay bytes.

Source: TensorFlow Serving, apis/inference.proto, apis/input.proto;
docs/reference/serving_api.md 2.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.codec.tensors import listed
from pinnace.proto.inference_pb2 import ClassificationResult, Classifications, ModelSpec
from pinnace.serving.messages.fields import refusal
from pinnace.serving.messages.prediction import describe
from pinnace.serving.requests.classify_regress import (
    classifications,
    example_feeds,
    regression_values,
)
from pinnace.serving.requests.datatypes import SLICE
from pinnace.serving.requests.expansion import check_expansion, joined, pieces_of_bytes
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.wires import Decoded
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE
from pinnace.storage.varints import field_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinnace.proto.inference_pb2 import SerializedInput
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Array, Arrays

_REGRESSION_HEAD = np.frombuffer(b"\x0a\x05\x0d", np.uint8)  # before the four bytes of a float


class _OfExamples:
    """A request with examples, or such a task of a MultiInferenceRequest.

    Args:
        spec: the requested version and signature.
        given: the examples.
        is_task: whether the reply is an InferenceResult, not a response of its own.
    """

    api: str
    entrypoint = "GRPC"
    # The number of the result's field in an InferenceResult.
    _field: int

    def __init__(self, spec: ModelSpec, given: SerializedInput, is_task: bool = False) -> None:
        self._spec = spec
        self._given = given
        self._is_task = is_task

    @staticmethod
    def _encoded(outputs: Arrays, count: int) -> bytes:
        """The result for a number of examples, serialized."""
        raise NotImplementedError

    def decode(self, servable: Servable, _: bytes, __: Mapping[bytes, bytes]) -> Decoded:
        """Return the request that the message holds.

        Raises:
            InvalidArgumentError: the signature does not exist or has another method, or there is no
                example.
        """
        name = self._spec.signature_name or DEFAULT_SIGNATURE
        examples = read_input(self._given)
        count, encoded = len(examples), self._encoded
        around = _Around(servable, name, self._field if self._is_task else 0)

        def encode(outputs: Arrays) -> Reply:
            return around.reply(encoded(outputs, count))

        return Decoded(name, example_feeds(servable, name, examples, self.api), encode)

    def is_quick(self, _: Servable, __: bytes, ___: Mapping[bytes, bytes], ____: int) -> bool:
        """False, since each example becomes an object."""
        return False

    def refuse(self, error: BaseException) -> Reply:
        """Return the reply for an error."""
        return refusal(error)


class Classify(_OfExamples):
    """One ClassificationRequest, or one such task; arguments: see `_OfExamples`."""

    api = "classify"
    _field = 2

    @staticmethod
    def _encoded(outputs: Arrays, count: int) -> bytes:
        return joined(_class_rows(outputs, count))


class Regress(_OfExamples):
    """One RegressionRequest, or one such task; arguments: see `_OfExamples`."""

    api = "regress"
    _field = 3

    @staticmethod
    def _encoded(outputs: Arrays, count: int) -> bytes:
        return encode_regressions(regression_values(outputs, count))


def _class_rows(outputs: Arrays, count: int) -> Iterator[bytes]:
    """Yield the fields of a ClassificationResult, one per example; other threads run in between."""
    number = ClassificationResult.CLASSIFICATIONS_FIELD_NUMBER
    for row in classifications(outputs, count):
        message = Classifications()
        for label, score in row:
            message.classes.add(label=label, score=score)
        yield field_header(number, message.ByteSize()) + message.SerializeToString()


class _Around:
    """The rest of a response besides its result. It holds neither the request nor the version.

    Args:
        servable: the version that answers.
        signature: the signature that was run.
        task: the number of the result's field in an InferenceResult; 0 for a response of its own.
    """

    __slots__ = ("_spec", "_task")

    def __init__(self, servable: Servable, signature: str, task: int) -> None:
        spec = ModelSpec()
        describe(spec, servable, signature)
        self._spec = spec.SerializeToString()
        self._task = task

    def reply(self, result: bytes) -> Reply:
        """Return the response with this result."""
        spec, task = self._spec, self._task
        fields = ((1, spec), (task, result)) if task else ((1, result), (2, spec))
        parts = [
            part for number, data in fields for part in (field_header(number, len(data)), data)
        ]
        return Reply(joined(chain.from_iterable(map(pieces_of_bytes, parts))), 0)


def encode_regressions(values: Array) -> bytes:
    """Return a RegressionResult, written directly, since a message per number is much slower."""
    rows = np.empty((len(values), 7), np.uint8)
    rows[:, :3] = _REGRESSION_HEAD
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite
        rows[:, 3:] = values.astype("<f4").view(np.uint8).reshape(-1, 4)
    is_zero = ~rows[:, 3:].any(axis=1)
    if not is_zero.any():
        return rows.tobytes()
    rows[is_zero, 1] = 0  # a message without fields means 0
    kept = np.ones(rows.shape, np.bool_)
    kept[is_zero, 2:] = False
    return rows[kept].tobytes()


def read_input(message: SerializedInput) -> Array:
    """Return the examples of a request, serialized, each after the context.

    Raises:
        InvalidArgumentError: there are no examples.
    """
    kind = message.WhichOneof("kind")
    if kind == "example_list":
        return listed(message.example_list.examples, object)
    if kind != "example_list_with_context":
        raise InvalidArgumentError("Input is empty: there must be at least one example")
    both = message.example_list_with_context
    context = b"".join(both.context)
    check_expansion(len(context) * len(both.examples), "the context before each example")
    examples = listed(both.examples, object)
    for begin in range(0, len(examples) if context else 0, SLICE):  # other threads run in between
        examples[begin : begin + SLICE] = context + examples[begin : begin + SLICE]
    return examples


def count_examples(message: SerializedInput) -> int:
    """The number of examples in a request."""
    # Only one of the two lists is set; the other is empty.
    return len(message.example_list.examples) + len(message.example_list_with_context.examples)
