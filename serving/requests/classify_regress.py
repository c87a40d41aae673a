"""Classify and regress: signatures that read serialized Examples, and what their outputs mean.

Source: TensorFlow Serving, servables/tensorflow/classifier.cc and regressor.cc;
docs/reference/serving_api.md 1.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Array, Arrays

CLASSIFY = "tensorflow/serving/classify"
REGRESS = "tensorflow/serving/regress"

_INPUT = "inputs"
_CLASSES, _SCORES, _VALUES = "classes", "scores", "outputs"


def example_feeds(servable: Servable, signature_name: str, examples: Array) -> dict[str, Array]:
    """The feeds of a signature that reads Examples.

    Args:
        servable: the version to ask.
        signature_name: of the signature.
        examples: serialized, of dtype object.

    Raises:
        InvalidArgumentError: there is no such signature, or no example.
        FailedPreconditionError: the signature reads something else.
    """
    inputs = servable.signature(signature_name).inputs
    if not len(examples):
        raise InvalidArgumentError("Input is empty: there must be at least one example")
    if len(inputs) != 1 or next(iter(inputs.values())).dtype is not dtypes.string:
        described = ", ".join(f"{name}: {spec.dtype.name}" for name, spec in inputs.items())
        raise FailedPreconditionError(
            f"Signature '{signature_name}' does not read Examples: expected one string input "
            f"'{_INPUT}', it has {{{described}}}\n  Try: predict"
        )
    return {next(iter(inputs)): examples}


def classifications(outputs: Arrays, count: int) -> list[list[tuple[str, float]]]:
    """Labels with their scores, for each example.

    Args:
        outputs: `classes` [batch, n] of strings, `scores` [batch, n], or one of them.
        count: examples that were asked.

    Returns:
        The label is empty where there are only scores, the score 0 where there are only classes.

    Raises:
        FailedPreconditionError: the outputs are others.
    """
    classes, scores = outputs.get(_CLASSES), outputs.get(_SCORES)
    if classes is None and scores is None:
        raise _not_for("classify", f"'{_CLASSES}' or '{_SCORES}'", outputs)
    for name, array in ((_CLASSES, classes), (_SCORES, scores)):
        if array is not None and (array.ndim != 2 or len(array) != count):
            raise FailedPreconditionError(
                f"Output '{name}' must be [{count}, classes], got {list(array.shape)}"
            )
    if classes is not None and scores is not None and classes.shape != scores.shape:
        raise FailedPreconditionError(
            f"Outputs '{_CLASSES}' and '{_SCORES}' must have one shape, got "
            f"{list(classes.shape)} and {list(scores.shape)}"
        )
    rows: list[list[tuple[str, float]]] = []
    for i in range(count):
        labels = None if classes is None else [_label(item) for item in classes[i].tolist()]
        values = None if scores is None else [float(x) for x in scores[i]]
        size = len(labels if labels is not None else values or ())
        rows.append(list(zip(labels or [""] * size, values or [0.0] * size, strict=True)))
    return rows


def regression_values(outputs: Arrays, count: int) -> Array:
    """One value for each example, [count].

    Args:
        outputs: `outputs`, [batch] or [batch, 1].
        count: examples that were asked.

    Raises:
        FailedPreconditionError: the outputs are others.
    """
    values = outputs.get(_VALUES)
    if values is None and len(outputs) == 1:
        values = next(iter(outputs.values()))
    if values is None or values.dtype.kind != "f":
        raise _not_for("regress", f"float '{_VALUES}'", outputs)
    if values.shape not in ((count,), (count, 1)):
        raise FailedPreconditionError(
            f"Output '{_VALUES}' must be [{count}] or [{count}, 1], got {list(values.shape)}"
        )
    return values.reshape(-1)


def _label(item: object) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)


def _not_for(what: str, expected: str, outputs: Mapping[str, Array]) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"The signature is not for {what}: expected output {expected}, "
        f"it has {{{', '.join(sorted(outputs))}}}"
    )
