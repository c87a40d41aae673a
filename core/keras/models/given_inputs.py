"""Matches the arguments of a functional model to its inputs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from collections.abc import Sequence


def in_order(inputs: Any, flat_inputs: Sequence[KerasTensor], given: Any) -> list[Any]:
    """The values for the inputs, one after the other.

    A dict is matched by name, at any depth; anything else by position. If the structure differs
    from the model's but can be matched, a warning is given once.

    Args:
        inputs: the inputs of the model, in their structure.
        flat_inputs: the same, flat.
        given: the model's input.

    Raises:
        ValueError: wrong number of values; a missing name; values in a list for a dict whose order
            is not that of its names; None for an input that is not optional.

    Source:
        As in Keras, some structures are warned of and some are refused.
    """
    if isinstance(given, dict) and not isinstance(inputs, dict):
        # Inputs in a list, or a single input, may also be passed by name.
        names = [x.name for x in flat_inputs]
        _check_names(names, given)
        values = [given[name] for name in names]
    else:
        listed = isinstance(inputs, dict) and not isinstance(given, dict)
        if listed and list(inputs) != sorted(inputs):
            raise ValueError(_other_structure(inputs, given))
        if not _is_alike(inputs, given) and not _is_symbolic(given):
            warnings.warn(_other_structure(inputs, given), stacklevel=2)
        values = _picked(inputs, given)
    if len(values) != len(flat_inputs):
        kind = (
            f" named input(s) with keys {list(inputs)}" if isinstance(inputs, dict) else " input(s)"
        )
        raise ValueError(f"Model expects {len(flat_inputs)}{kind}, got {len(values)}")
    for x, value in zip(flat_inputs, values, strict=True):
        if value is None and not _is_optional(x):
            raise ValueError(
                f"Model: input {x.name!r} is not optional, got None\n"
                "  Try: a tensor, or Input(…, optional=True)"
            )
    return values


def path_of(inputs: Any, index: int) -> str:
    """The path of an input in its structure, `0.name`; empty for a single input."""
    return ".".join(str(key) for key in structure.flatten_with_paths(inputs)[index][0])


def _is_optional(x: KerasTensor) -> bool:
    """Whether None may be passed for the input; also for inputs that are not the user's."""
    layer = None if x.node is None or x.node.inputs else x.node.layer
    return layer is None or getattr(layer, "optional", True)


def _check_names(names: Sequence[str], given: dict[str, Any]) -> None:
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(
            f"Model: inputs {', '.join(map(str, missing))} are missing, "
            f"got {', '.join(sorted(map(str, given)))}"
        )


def _picked(inputs: Any, given: Any, *, is_whole: bool = True) -> list[Any]:
    if isinstance(inputs, dict) and isinstance(given, dict):
        _check_names(sorted(inputs), given)
        return [
            x for key in sorted(inputs) for x in _picked(inputs[key], given[key], is_whole=False)
        ]
    if _are_lists(inputs, given) and len(inputs) == len(given):
        return [
            x for pair in zip(inputs, given, strict=True) for x in _picked(*pair, is_whole=False)
        ]
    flat = structure.flatten(given)
    # Inside a structure, a list of numbers or strings is one value.
    return list(flat) if is_whole or len(flat) == 1 else [given]


def _is_symbolic(given: Any) -> bool:
    """Whether the argument is symbolic: it is checked later, when the model is called."""
    return any(isinstance(x, KerasTensor) for x in structure.flatten(given))


def _is_alike(inputs: Any, given: Any) -> bool:
    """Whether the structures match, as far as they identify each value's input.

    A list and a tuple are the same, and so are a tensor and a list of it. Names that are missing
    are refused later.
    """
    if isinstance(inputs, dict):
        return (
            isinstance(given, dict)
            and set(inputs) >= set(given)
            and all(_is_alike(inputs[key], value) for key, value in given.items())
        )
    if isinstance(inputs, (list, tuple)):
        if not isinstance(given, (list, tuple)):
            return len(inputs) == 1
        return len(inputs) == len(given) and all(map(_is_alike, inputs, given))
    return not isinstance(given, dict)


def _are_lists(inputs: Any, given: Any) -> bool:
    return isinstance(inputs, (list, tuple)) and isinstance(given, (list, tuple))


def _other_structure(inputs: Any, given: Any) -> str:
    def told(x: Any) -> str:
        return "None" if x is None else f"Tensor(shape={tuple(getattr(x, 'shape', ()))})"

    return (
        "The structure of `inputs` doesn't match the expected structure.\n"
        f"Expected: {structure.map_structure(lambda x: x.name, inputs)}\n"
        f"Received: inputs={structure.map_structure(told, given)}"
    )
