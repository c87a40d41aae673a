"""Outputs: targets, losses and metrics by output of a model."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure

if TYPE_CHECKING:
    from collections.abc import Sequence


def outputs_by_name(y_pred: Any, known: Sequence[str] | None = None) -> list[tuple[str, Any]]:
    """The outputs of a model by key, known name, or output_0, …."""
    if isinstance(y_pred, dict):
        return [(str(key), y_pred[key]) for key in sorted(y_pred)]
    values = list(y_pred) if isinstance(y_pred, (list, tuple)) else [y_pred]
    if known is None or len(set(known)) != len(values):
        known = [f"output_{index}" for index in range(len(values))]
    return list(zip(known, values, strict=True))


def without_list(outputs: Any) -> Any:
    """A functional model's outputs: the tensor for a list of one.

    Source:
        Keras, where such a model tells a list of one spec, and gives one tensor.
    """
    single = isinstance(outputs, (list, tuple)) and len(outputs) == 1
    return outputs[0] if single else outputs


def is_nested_deeper(y_pred: Any) -> bool:
    """Whether a part of the outputs is itself a structure."""
    parts = y_pred.values() if isinstance(y_pred, dict) else y_pred
    return structure.is_nested(y_pred) and any(map(structure.is_nested, parts))


def shallow(given: Any, y_pred: Any) -> list[Any]:
    """The argument for each output, in a structure like the outputs'; None if missing."""
    if given is None or not structure.is_nested(y_pred):
        return [given] * len(structure.flatten(y_pred))
    found = []
    if isinstance(y_pred, dict):
        for key in sorted(y_pred):
            found += shallow(given.get(key) if isinstance(given, dict) else given, y_pred[key])
        return found
    fits = isinstance(given, (list, tuple)) and len(given) == len(y_pred)
    for place, part in enumerate(y_pred):
        found += shallow(given[place] if fits else given, part)
    return found


def classes_as(y: Any, y_pred: Any) -> str:
    """The encoding of y by shapes: `binary`, `sparse` (indices) or `categorical` (rows).

    Source:
        Keras, whose `accuracy` and `crossentropy` mean one of three by this rule.
    """
    true, predicted = y.shape, y_pred.shape
    if len(predicted) > 0 and predicted[-1] == 1:
        return "binary"
    sparse = len(true) < len(predicted) or (true[-1] == 1 and (predicted[-1] or 2) > 1)
    return "sparse" if sparse else "categorical"


def names_of_outputs(model: Any) -> list[str] | None:
    """The names of a functional model's output layers; None for other models. Source: Keras."""
    names: list[str] | None = getattr(model, "output_names", None)
    return names


def aligned(what: str, value: Any, names: Sequence[str], *, same: bool = False) -> list[Any]:
    """One entry per output.

    Raises:
        ValueError: the number of entries differs, or a name is missing.
    """
    if value is None:
        return [None] * len(names)
    if isinstance(value, dict):
        missing = [name for name in names if name not in value]
        if missing and not same:
            raise ValueError(
                f"{what} must have an entry for {', '.join(missing)}, has {sorted(value)}"
            )
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)) and len(names) > 1:
        if len(value) != len(names):
            raise ValueError(
                f"{what} must have {len(names)} entries, one per output, got {len(value)}"
            )
        return list(value)
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return [value[0]]
    if len(names) == 1 or same:
        return [value] * len(names)
    raise ValueError(f"{what} must have {len(names)} entries, one per output, got one")


def spread(what: str, given: Any, outputs: Sequence[tuple[str, Any]], *, same: bool) -> list[Any]:
    """One entry per output from an argument of `compile`."""
    names = [name for name, _ in outputs]
    if given is None:
        return [None] * len(names)
    if isinstance(given, dict):
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise ValueError(
                f"compile: Invalid `{what}`: it names {', '.join(unknown)}, the outputs are "
                f"{', '.join(names)}"
            )
        return [given.get(name) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ValueError(
                f"compile: {what} must have {len(names)} entries, one per output, got {len(given)}"
            )
        return list(given)
    if same:
        return [given] * len(names)
    raise ValueError(
        f"compile: {what} must be a list or dict for {len(names)} outputs, got {given!r}"
    )


def spread_lists(
    what: str, given: Any, outputs: Sequence[tuple[str, Any]], *, alone: bool = False
) -> list[list[Any]]:
    """A list of metrics per output.

    Args:
        what: for messages: `metrics`.
        given: to `compile`.
        outputs: names and values.
        alone: whether the outputs are one tensor: it has them all, whatever they are called.
    """
    if given is None:
        return [[] for _ in outputs]
    if alone:
        if isinstance(given, dict) and not {name for name, _ in outputs} & set(given):
            named = ", ".join(map(str, given))
            warnings.warn(
                f"compile: `{what}` names {named}, but the only output has another name: "
                "they are applied to it, as in Keras",
                stacklevel=2,
            )
        return [[leaf for leaf in structure.flatten(given) if leaf is not None]]
    if isinstance(given, dict):
        return [_as_list(entry) for entry in spread(what, given, outputs, same=False)]
    given = _as_list(given)
    if len(outputs) == 1:
        if len(given) == 1 and isinstance(given[0], (list, tuple)):
            given = list(given[0])
        return [given]
    if any(isinstance(entry, (list, tuple)) for entry in given) or len(given) == len(outputs):
        return [_as_list(entry) for entry in spread(what, given, outputs, same=False)]
    return [list(given) for _ in outputs]


def _as_list(entry: Any) -> list[Any]:
    if entry is None:
        return []
    return list(entry) if isinstance(entry, (list, tuple)) else [entry]
