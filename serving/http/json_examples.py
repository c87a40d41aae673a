"""TensorFlow Serving's classify and regress in JSON, as wires.

Source: TensorFlow Serving, util/json_tensor.cc; docs/reference/serving_api.md 1.5.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import numpy as np
import orjson

from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.codec.tensors import listed
from pinnace.proto.example_pb2 import Example
from pinnace.serving.http.json_arrays import encode_array, is_base64_object
from pinnace.serving.http.json_pieces import drop_items
from pinnace.serving.http.json_tensors import asked_signature
from pinnace.serving.http.json_text import dump_excerpt, parse_json, type_name
from pinnace.serving.http.replies import JSON, refusal
from pinnace.serving.requests.classify_regress import (
    classifications,
    example_feeds,
    regression_values,
)
from pinnace.serving.requests.expansion import check_expansion, joined
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.wires import Decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pinnace.proto.example_pb2 import Feature
    from pinnace.serving.http.json_text import Json
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Arrays

_INT64 = range(-(2**63), 2**63)


class JsonExamples:
    """`POST …:classify` and `POST …:regress`.

    Args:
        api: `classify` or `regress`.
        encode: returns the results of a number of examples as JSON.
    """

    entrypoint = "REST"

    def __init__(self, api: str, encode: Callable[[Arrays, int], bytes]) -> None:
        self.api = api
        self._encode = encode

    def decode(self, servable: Servable, body: bytes, _: Mapping[bytes, bytes]) -> Decoded:
        """The feeds and options of the request body.

        Raises:
            InvalidArgumentError: it cannot be understood; the message says where.
        """
        signature_name, examples = read_examples(body)
        count = len(examples)
        headers = (JSON, (b"x-model-version", str(servable.version).encode()))

        def encode(outputs: Arrays) -> Reply:
            return Reply(b'{"results":' + self._encode(outputs, count) + b"}", 200, headers)

        feeds = example_feeds(servable, signature_name, listed(examples, object), self.api)
        return Decoded(signature_name, feeds, encode)

    def is_quick(self, _: Servable, __: bytes, ___: Mapping[bytes, bytes], ____: int) -> bool:
        """False, since values are decoded one by one."""
        return False

    def refuse(self, error: BaseException) -> Reply:
        """`{"error": message}`."""
        return refusal(error)


def read_examples(body: bytes) -> tuple[str, list[bytes]]:
    """Return a body's signature name and its examples, serialized.

    The features of `context` precede each example's own: if both have one, the example's is used,
    since a later map entry replaces an earlier one.

    Raises:
        InvalidArgumentError: the body cannot be understood; the message says where.
    """
    document = parse_json(body)
    if not isinstance(document, dict):
        raise InvalidArgumentError(
            f"JSON Value: {dump_excerpt(document)} Type: {type_name(document)} Is not object"
        )
    name = asked_signature(document)
    if "examples" not in document:
        raise InvalidArgumentError(
            f"JSON Value: {dump_excerpt(document)} When method is classify, key 'examples' is "
            "expected and was not found"
        )
    examples = document["examples"]
    if not isinstance(examples, list):
        raise InvalidArgumentError(
            f"JSON Value: {dump_excerpt(document)} Expecting 'examples' value to be an list/array"
        )
    if not examples:
        raise InvalidArgumentError(
            f"JSON Value: {dump_excerpt(document)} 'examples' value is an empty array"
        )
    context = b""
    if "context" in document:
        context = _serialize(document["context"], "context")
        check_expansion(len(context) * len(examples), "'context' before each of 'examples'")
    try:
        return name, [
            context + _serialize(example, f"example {i}") for i, example in enumerate(examples)
        ]
    finally:
        drop_items(examples)


def _serialize(features: Json, where: str) -> bytes:
    if not isinstance(features, dict):
        raise InvalidArgumentError(
            f"Example must be JSON object but got JSON {type_name(features)}: {where} is "
            f"{dump_excerpt(features)}"
        )
    message = Example()
    for name, value in features.items():
        items: list[Json] = value if isinstance(value, list) else [value]
        _fill(message.features.feature[name], items, name, where)
    return message.SerializeToString(deterministic=True)


def _fill(feature: Feature, items: list[Json], name: str, where: str) -> None:
    if not items:
        return
    kind = _kind(items[0], name, where)
    for item in items:
        if _kind(item, name, where) != kind:
            raise InvalidArgumentError(
                f"Unexpected element type in feature: {name} expecting type: {kind}, got "
                f"{dump_excerpt(item)} in {where}: one feature holds one kind; write 1.0 for a "
                "decimal number"
            )
    if kind == "bytes":
        feature.bytes_list.value.extend(_bytes(item, f"feature '{name}'") for item in items)
    elif kind == "float":
        feature.float_list.value.extend(float(np.float32(item)) for item in items)  # type: ignore[arg-type]
    else:
        feature.int64_list.value.extend(int(item) for item in items)  # type: ignore[arg-type]


def _kind(item: Json, name: str, where: str) -> str:
    if isinstance(item, bool):
        return "int64"
    if isinstance(item, int):
        if item not in _INT64:
            raise InvalidArgumentError(
                f"Feature: {name} has uint64_t element. Only int64_t is supported. Got {item}"
            )
        return "int64"
    if isinstance(item, float):
        return "float"
    if isinstance(item, str) or is_base64_object(item):
        return "bytes"
    raise InvalidArgumentError(
        f"Feature: {name} has element with unexpected JSON type: {type_name(item)}; {where} may "
        "have a number, true, false, a string, {'b64': …} or a list of these"
    )


def _bytes(item: Json, where: str) -> bytes:
    if isinstance(item, str):
        return item.encode("utf-8", "surrogatepass")
    text = str(item["b64"]) if isinstance(item, dict) else ""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidArgumentError(
            f"{where}: Unable to base64 decode {dump_excerpt(item)}"
        ) from None


def _classes_text(outputs: Arrays, count: int) -> bytes:
    return joined(_class_rows(outputs, count))


def _class_rows(outputs: Arrays, count: int) -> Iterator[bytes]:
    before = b"["
    for row in classifications(outputs, count):
        scores = encode_array(np.array([score for _, score in row], np.float32))
        pairs = (
            b"[" + orjson.dumps(label) + b"," + score + b"]"
            for (label, _), score in zip(row, scores[1:-1].split(b","), strict=False)
        )
        yield before + b"[" + b",".join(pairs) + b"]"
        before = b","
    yield b"]"


def _values_text(outputs: Arrays, count: int) -> bytes:
    return encode_array(regression_values(outputs, count))


CLASSIFY = JsonExamples("classify", _classes_text)
REGRESS = JsonExamples("regress", _values_text)
