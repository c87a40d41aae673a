"""The interface of a format of results, and values as formats without types take them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.deploy.score.fitting import Rows
    from pinnace.framework.tensor import Array

# As TF Serving's JSON has it: outputs of such names are bytes, all other texts.
BYTES_ENDING = "_bytes"


class Writer(Protocol):
    """A file of results in the making."""

    def write(self, count: int, kept: Mapping[str, Any], outputs: Mapping[str, Rows]) -> None:
        """Add rows.

        Args:
            count: how many.
            kept: columns that are carried over, as in `Chunk.kept`.
            outputs: of the model, by name.
        """

    def close(self) -> None:
        """Write what is left. The file stays open."""

    def abandon(self) -> None:
        """Write nothing more: the file will be removed."""


def plain_array(array: Array) -> Array:
    """An array of numbers in a dtype that others know: small floats become float32."""
    return array.astype(np.float32) if array.dtype.kind == "V" or _is_small(array) else array


def _is_small(array: Array) -> bool:
    return array.dtype.kind == "f" and array.dtype.itemsize < 4


def text_of(value: bytes) -> str | dict[str, str]:
    """Bytes as text, or as TF Serving's JSON has bytes that are none."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}


def json_value(name: str, value: Any) -> Any:
    """A row of an output, or a kept value, as JSON has it."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return json_value(name, value.tolist())
        return np.ascontiguousarray(value)
    if isinstance(value, list):
        return [json_value(name, one) for one in value]
    if isinstance(value, bytes):
        if name.endswith(BYTES_ENDING):
            return {"b64": base64.b64encode(value).decode()}
        return text_of(value)
    return value


def values_of(column: Any) -> Any:
    """A column as something that has a value at each place."""
    if isinstance(column, np.ndarray):
        return column if column.dtype == object else plain_array(column)
    return column if isinstance(column, list) else column.to_pylist()
