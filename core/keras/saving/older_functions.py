"""Keras 2's layers around TensorFlow functions and ops, converted to Keras 3's configurations."""

from __future__ import annotations

import inspect
from typing import Any

from pinnace.keras.public_functions import public_function

# Keras 2's names for layers of functions, methods and properties.
KINDS = {
    *("TFOpLambda", "SlicingOpLambda"),
    *("ClassMethod", "InstanceMethod", "InstanceProperty", "TensorFlowOpLayer"),
}
# Functions of several tensors: Keras 2 records only named arguments.
_LOST = {"einsum", "meshgrid"}


def layer(entry: dict[str, Any], calls: list[dict[str, Any]]) -> dict[str, Any]:
    """The configuration of a layer around a function.

    Args:
        entry: the entry in Keras 2's format.
        calls: its calls, in the form of Keras 3.

    Raises:
        ValueError: a function without a name, or one of which the file does not say all.
    """
    config = entry["config"]
    kind = str(entry["class_name"]).replace("SlicingOpLambda", "TFOpLambda")
    function = config.get("function")
    if kind == "TFOpLambda" and not isinstance(function, str):
        raise ValueError(f"layer {entry.get('name')!r} does not say which function it calls")
    if function in _LOST:
        raise ValueError(
            f"the model calls tf.{function}: Keras 2 does not write the tensors of this function "
            "into its files, and cannot read them either\n"
            "  Try: a Layer of your own around it, where the model was made; or a SavedModel"
        )
    left = {key: x for key, x in config.items() if key not in {"trainable", "dtype"}}
    return {
        "module": "pinnace",
        "class_name": kind,
        "registered_name": f"pinnace>{kind}",
        "config": {**left, "name": str(entry.get("name")).replace("/", "_")},
        "name": entry.get("name"),
        "inbound_nodes": [_by_name(function, call) for call in calls] if function else calls,
    }


def _by_name(function: str, call: dict[str, Any]) -> dict[str, Any]:
    """A leading list of numbers as a keyword: unnamed, it would be taken for tensors."""
    args = call["args"]
    if not args or not isinstance(args[0], list) or _has_tensors(args[0]):
        return call
    first = next(iter(inspect.signature(public_function(function)).parameters))
    return {"args": [], "kwargs": {first: args[0], **call["kwargs"]}}


def _has_tensors(value: Any) -> bool:
    if isinstance(value, dict):
        return "class_name" in value or any(_has_tensors(item) for item in value.values())
    return isinstance(value, list) and any(_has_tensors(item) for item in value)
