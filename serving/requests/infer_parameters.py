"""Parameters of the Open Inference Protocol's requests: each has an effect or is refused by name.

Parameters that neither this protocol nor Triton's extensions define are the client's own, and are
ignored.
Source: docs/reference/serving_api.md 4; Triton's extensions: classification, sequence, schedule
policy, shared memory, model repository.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.serving.requests.regions import place_of
from pinnace.serving.running.sequences import Mark
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.requests.regions import TensorInRegion
    from pinnace.serving.running.signatures import Array

# Parameters that are refused unless they have the default value, which clients send.
_REFUSED: Mapping[str, str] = {
    "priority": "requests are answered in their order",
    "timeout": "send a deadline of gRPC, or start the server with --rest_api_timeout_in_ms",
}
_MOST_SHOWN = 80
_MOST_ID = 128  # letters of a sequence's name, as in Triton


@dataclass(frozen=True, slots=True)
class RequestedOutput:
    """A requested output.

    Attributes:
        name: the output's name.
        is_binary: whether it is sent as bytes.
        classes: the number of best classes to name in place of the values; 0 for the values.
        place: the place in shared memory to write it to; None to send it.
    """

    name: str
    is_binary: bool
    classes: int
    place: TensorInRegion | None = None

    def of(self, array: Array) -> Array:
        """Return the part of the output that is sent.

        Raises:
            InvalidArgumentError: classes are requested, but the output has none.
        """
        return best_classes(self.name, array, self.classes) if self.classes else array


def asked_signature(parameters: Mapping[str, object]) -> str:
    """Return the signature named by the parameters of a request.

    Raises:
        InvalidArgumentError: the name is not a string.
        UnimplementedError: a parameter is not supported.
    """
    for name, reason in _REFUSED.items():
        value = parameters.get(name)
        if value:
            raise UnimplementedError(
                f"parameter '{name}' is not supported: {reason}; got {str(value)[:_MOST_SHOWN]}"
            )
    signature = parameters.get("signature_name", DEFAULT_SIGNATURE)
    if not isinstance(signature, str):
        raise InvalidArgumentError("parameter 'signature_name' must be a string")
    return signature or DEFAULT_SIGNATURE


def asked_sequence(parameters: Mapping[str, object]) -> Mark | None:
    """Return a request's position in a sequence, from its parameters; None if it is in none.

    Raises:
        InvalidArgumentError: the parameters have another type, or name no sequence.
    """
    key = parameters.get("sequence_id", 0)
    if not isinstance(key, int | str) or isinstance(key, bool) or len(str(key)) > _MOST_ID:
        raise InvalidArgumentError(
            "parameter 'sequence_id' must be a number or a string of at most "
            f"{_MOST_ID} letters, got {str(key)[:_MOST_SHOWN]}"
        )
    marks = []
    for name in ("sequence_start", "sequence_end"):
        mark = parameters.get(name, False)
        if not isinstance(mark, bool):
            raise InvalidArgumentError(f"parameter '{name}' must be true or false")
        if mark and not key:
            raise InvalidArgumentError(
                f"parameter '{name}' is for a sequence: inference requests must specify a "
                "non-zero or non-empty correlation ID, 'sequence_id'"
            )
        marks.append(mark)
    return Mark(key, *marks) if key else None


def requested_output(
    name: str, parameters: Mapping[str, object], *, is_binary: bool
) -> RequestedOutput:
    """Return a requested output with the options in its parameters.

    Args:
        name: the output's name.
        parameters: the output's parameters.
        is_binary: whether outputs are sent as bytes by default.

    Raises:
        InvalidArgumentError: a parameter has the wrong type.
        UnimplementedError: a parameter is not supported.
    """
    place = place_of(f"output '{name}'", parameters)
    own = parameters.get("binary_data", is_binary)
    classes = parameters.get("classification", 0)
    if not isinstance(own, bool):
        raise InvalidArgumentError(f"binary_data of output '{name}' must be true or false")
    if type(classes) is not int or classes < 0:
        raise InvalidArgumentError(f"classification of output '{name}' must be a number of classes")
    return RequestedOutput(name, own and place is None, classes, place)


def check_load(parameters: Mapping[str, object]) -> None:
    """Check that the parameters of a request to load a model do not override the model's files.

    Raises:
        InvalidArgumentError: a parameter is unknown.
        UnimplementedError: a parameter overrides files.
    """
    for name in parameters:
        if name == "config" or name.startswith("file:"):
            raise UnimplementedError(
                f"parameter '{name[:_MOST_SHOWN]}' of a load is not supported: a model consists of "
                "the files in its folder\n  Try: write them there, and load without parameters"
            )
        raise InvalidArgumentError(f"unknown parameter '{name[:_MOST_SHOWN]}' of a load")


def check_unload(parameters: Mapping[str, object]) -> None:
    """Check the parameters of a request to unload a model.

    Raises:
        InvalidArgumentError: a parameter is unknown or has the wrong type.
    """
    for name, value in parameters.items():
        # No model depends on another one.
        if name != "unload_dependents" or not isinstance(value, bool):
            raise InvalidArgumentError(
                f"parameters of an unload may be 'unload_dependents', true or false; "
                f"got '{name[:_MOST_SHOWN]}'"
            )


def best_classes(name: str, array: Array, wanted: int) -> Array:
    """Return the best classes of each row as `value:index`, best first.

    Args:
        name: the output's name.
        array: [..., classes].
        wanted: the number of classes.

    Raises:
        InvalidArgumentError: the array has no class axis.
    """
    if array.ndim == 0 or array.dtype == object:
        raise InvalidArgumentError(f"output '{name}' has no classes")
    rows = array.reshape(-1, array.shape[-1])
    best = np.argsort(-rows.astype(np.float64), axis=1, kind="stable")[:, :wanted]
    found = np.empty(best.shape, dtype=object)
    for i, indices in enumerate(best):
        for j, index in enumerate(indices):
            found[i, j] = f"{rows[i, index]:f}:{index}".encode()
    return found.reshape(*array.shape[:-1], best.shape[1])
