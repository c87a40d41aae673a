"""Classify and regress: signatures that read serialized Examples, and their outputs.

Source: TensorFlow Serving, servables/tensorflow/classifier.cc and regressor.cc;
docs/reference/serving_api.md 1.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.requests.expansion import (
    PIECE_BYTES,
    check_reply,
    chunks_of,
    text_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Array, Arrays

CLASSIFY = "tensorflow/serving/classify"
REGRESS = "tensorflow/serving/regress"

_INPUT = "inputs"
_CLASSES, _SCORES, _VALUES = "classes", "scores", "outputs"
# Bytes per class: tag and length; per score other than 0: a tag and a float32.
_BYTES_OF_CLASS, _BYTES_OF_SCORE = 2, 5
_METHODS = {"classify": CLASSIFY, "regress": REGRESS}


def example_feeds(
    servable: Servable, signature_name: str, examples: Array, api: str
) -> dict[str, Array]:
    """Return the feeds of a signature that reads Examples.

    Args:
        servable: the version.
        signature_name: the signature's name.
        examples: serialized Examples, of dtype object.
        api: `classify` or `regress`.

    Raises:
        InvalidArgumentError: the signature does not exist or has another method; or no example.
    """
    signature = servable.signatures.get(signature_name)
    if signature is None:
        known = ", ".join(sorted(servable.signatures))
        raise InvalidArgumentError(
            f"No signature was found with the name: {signature_name}; there are: {known}"
        )
    inputs, outputs = signature.inputs, signature.outputs
    definition = servable.model.definitions.get(signature_name)
    method = "" if definition is None else definition.method_name
    if method in _METHODS.values() and method != _METHODS[api]:
        raise InvalidArgumentError(
            f"Signature '{signature_name}' is not for {api}: its method_name is {method}"
        )
    if len(inputs) != 1:
        raise InvalidArgumentError(f"Expected one input Tensor. {_found(inputs)}")
    ((name, spec),) = inputs.items()
    if spec.dtype is not dtypes.string:
        raise InvalidArgumentError(
            f"Signature '{signature_name}' does not read Examples: expected one string input "
            f"'{_INPUT}'. {_found(inputs)}\n  Try: predict"
        )
    if api == "regress":
        if len(outputs) != 1:
            raise InvalidArgumentError(f"Expected one output Tensor. {_found(outputs)}")
        if _VALUES not in outputs:
            raise InvalidArgumentError(
                f"No regression outputs found in SignatureDef: expected '{_VALUES}'. "
                f"{_found(outputs)}"
            )
    elif not outputs.keys() & {_CLASSES, _SCORES}:
        raise InvalidArgumentError(
            "Expected classification signature outputs to contain at least one of "
            f'"{_CLASSES}" or "{_SCORES}". {_found(outputs)}'
        )
    if not len(examples):
        raise InvalidArgumentError("Input is empty: there must be at least one example")
    return {name: examples}


def classifications(outputs: Arrays, count: int) -> Iterator[list[tuple[str, float]]]:
    """Yield the labels with their scores, for each example.

    Args:
        outputs: `classes` [batch, n] of strings, `scores` [batch, n] of float32, or one of them.
        count: the number of examples.

    Returns:
        The label is empty without `classes`, the score 0 without `scores`.

    Raises:
        InvalidArgumentError: the outputs have other dtypes or shapes.
        ResourceExhaustedError: the answer would be too large.
    """
    classes, scores = outputs.get(_CLASSES), outputs.get(_SCORES)
    for name, array, dtype in (
        (_CLASSES, classes, dtypes.string),
        (_SCORES, scores, dtypes.float32),
    ):
        if array is None:
            continue
        if array.ndim != 2:
            raise InvalidArgumentError(
                "Expected Tensor shape: [batch_size num_classes] but got "
                f"{list(array.shape)} of output '{name}'"
            )
        _check_dtype(name, array, dtype)
        if len(array) != count:
            raise InvalidArgumentError(
                f"Expected {name} output batch size of {count}. Got: {len(array)}"
            )
    if classes is not None and scores is not None and classes.shape != scores.shape:
        raise InvalidArgumentError(
            "Tensors class and score should match in dim_size(1). Got "
            f"{classes.shape[1]} vs. {scores.shape[1]}"
        )
    check_reply(_least_bytes(classes, scores))
    return _rows(classes, scores, count)


def _least_bytes(classes: Array | None, scores: Array | None) -> int:
    """The bytes of the shortest encoding of labels and scores, which is protobuf's."""
    size = 0
    if scores is not None:
        size += _BYTES_OF_CLASS * scores.size
        counts = map(np.count_nonzero, chunks_of(scores, PIECE_BYTES))
        size += _BYTES_OF_SCORE * sum(map(int, counts))
    if classes is not None:
        size += _BYTES_OF_CLASS * classes.size if scores is None else 0
        size += text_bytes(classes)
    return size


def _rows(
    classes: Array | None, scores: Array | None, count: int
) -> Iterator[list[tuple[str, float]]]:
    for i in range(count):
        labels = None if classes is None else [_label(item) for item in classes[i].tolist()]
        values = None if scores is None else [float(x) for x in scores[i]]
        size = len(labels if labels is not None else values or ())
        yield list(zip(labels or [""] * size, values or [0.0] * size, strict=True))


def regression_values(outputs: Arrays, count: int) -> Array:
    """Return one value for each example, [count].

    Args:
        outputs: `outputs`, [batch] or [batch, 1] of float32.
        count: the number of examples.

    Raises:
        InvalidArgumentError: the output has another dtype or shape.
    """
    values = outputs[_VALUES]
    if values.ndim not in (1, 2) or (values.ndim == 2 and values.shape[1] != 1):
        raise InvalidArgumentError(
            "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got "
            f"{list(values.shape)}"
        )
    if len(values) != count:
        raise InvalidArgumentError(
            f"Input batch size did not match output batch size: {count} vs. {len(values)}"
        )
    _check_dtype(_VALUES, values, dtypes.float32)
    return values.reshape(-1)


def _check_dtype(name: str, array: Array, dtype: DType) -> None:
    found = dtypes.string if array.dtype == object else dtypes.as_dtype(array.dtype)
    if found is not dtype:
        from pinnace.proto.types_pb2 import DataType  # late: HTTP does not need protobuf for this

        expected, got = (DataType.Name(cast("DataType", one.enum)) for one in (dtype, found))
        raise InvalidArgumentError(f"Expected {name} Tensor of {expected}. Got: {got}")


def _label(item: object) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)


def _found(specs: Mapping[str, TensorSpec]) -> str:
    described = ", ".join(f"{name}: {spec.dtype.name}" for name, spec in specs.items())
    return f"Got: {{{described}}}"
