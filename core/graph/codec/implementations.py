"""Functions with several implementations, of which TensorFlow runs the one for CPUs.

The attribute `api_implements` names the interface that a function implements, and
`api_preferred_device` the device. A model calls any of them; Grappler's implementation selector
replaces it by the one for the device when the model runs. The others may give other numbers: the
samplers of TensorFlow Probability call one for XLA, and draw from another on CPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.proto.function_pb2 import FunctionDef

_INTERFACE = "api_implements"
_DEVICE = "api_preferred_device"
# Attributes of forward and backward functions, whose arguments and results differ from the others'.
_HALVES = ("forward_function_name", "backward_function_name")


def replaced_on_cpus(functions: Mapping[str, FunctionDef]) -> dict[str, str]:
    """Which functions are replaced by which others on CPUs.

    Args:
        functions: all of a file, by name.

    Returns:
        Name -> the name of the function that replaces it.
    """
    families: dict[bytes, list[FunctionDef]] = {}
    for message in functions.values():
        if _INTERFACE in message.attr and not any(half in message.attr for half in _HALVES):
            families.setdefault(message.attr[_INTERFACE].s, []).append(message)
    found = {}
    for family in families.values():
        made_for_cpus = [one for one in family if _is_for_cpus(one)]
        for message in family:
            alike = (one for one in made_for_cpus if _types(one) == _types(message))
            # TensorFlow's choice among several is arbitrary: it iterates over a hash table.
            chosen = None if message in made_for_cpus else next(alike, None)
            if chosen is not None:
                found[message.signature.name] = chosen.signature.name
    return found


def _is_for_cpus(message: FunctionDef) -> bool:
    return _DEVICE in message.attr and message.attr[_DEVICE].s == b"CPU"


def _types(message: FunctionDef) -> tuple[list[int], list[int]]:
    """The dtypes of arguments and results."""
    signature = message.signature
    return [one.type for one in signature.input_arg], [one.type for one in signature.output_arg]
