"""Records in JSON: DecodeJSONExample."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE
from pinnace.ops.registry import define, same_as_input
from pinnace.proto.example_pb2 import Example

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["decode_json_example"]


def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Example messages of JSON, as bytes that `parse_example` reads.

    Args:
        json_examples: [...], string, each the JSON of an Example as protobuf writes it.
        name: name of the node while tracing.

    Returns:
        [...], string.

    Raises:
        InvalidArgumentError: one is no JSON of an Example.

    Source:
        TensorFlow op `DecodeJSONExample`.
    """
    return execute_one(DECODE_JSON_EXAMPLE, json_examples, name=name)


def _kernel(json_examples: Array) -> Array:
    from google.protobuf import json_format  # late: few programs need it

    found = np.empty(json_examples.shape, object)
    for at, text in np.ndenumerate(json_examples):
        try:
            read = json.loads(text.decode(), parse_float=_single, object_pairs_hook=_unique)
            message = json_format.ParseDict(read, Example())
        except (json_format.ParseError, ValueError) as error:
            raise InvalidArgumentError(
                f"DecodeJSONExample: Error while parsing JSON at {list(at)}: {error}"
            ) from error
        found[at] = message.SerializeToString()
    return found


def _single(text: str) -> float:
    """A number as the float32 that it is nearest to.

    The largest float32 is written with so few digits that it is read as a larger number.
    """
    value = float(text)
    with np.errstate(over="ignore"):
        single = float(np.float32(value))
    return single if math.isfinite(single) else value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a key is given twice: {[key for key, _ in pairs]}")
    return found


DECODE_JSON_EXAMPLE = define(
    name="DecodeJSONExample",
    signature="json_examples: string -> binary_examples: string",
    infer=same_as_input,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
