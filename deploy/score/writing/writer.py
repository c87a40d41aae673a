"""The interface of writers, and values for formats without types."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.deploy.score.fitting import Rows
    from pinnace.framework.tensor import Array

# TF Serving's rule for JSON: outputs with such names are bytes, other strings are text.
BYTES_ENDING = "_bytes"


class Writer(Protocol):
    """A writer of a file of results."""

    def write(self, count: int, kept: Mapping[str, Any], outputs: Mapping[str, Rows]) -> None:
        """Add rows.

        Args:
            count: the number of rows.
            kept: columns copied from the source, as in `Chunk.kept`.
            outputs: the model's outputs by name.
        """

    def close(self) -> None:
        """Write buffered rows. The file stays open."""

    def abandon(self) -> None:
        """Write nothing more, as the file will be removed."""


def plain_array(array: Array) -> Array:
    """An array in a dtype that other tools know: float16 and bfloat16 become float32."""
    return array.astype(np.float32) if array.dtype.kind == "V" or _is_small(array) else array


def _is_small(array: Array) -> bool:
    return array.dtype.kind == "f" and array.dtype.itemsize < 4


def text_of(value: bytes) -> str | dict[str, str]:
    """Bytes as a string, or as TF Serving's `{"b64": …}` if they are not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode()}


def json_value(name: str, value: Any) -> Any:
    """A row of an output, or a kept value, in JSON types."""
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
    """A column as a sequence that can be indexed by row."""
    if isinstance(column, np.ndarray):
        return column if column.dtype == object else plain_array(column)
    return column if isinstance(column, list) else column.to_pylist()
