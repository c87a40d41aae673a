"""TFRecord files of `tf.train.Example`; arrays are flattened."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.score.writing.writer import values_of
from pinnace.framework.errors import InvalidArgumentError
from pinnace.storage.record import framed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.deploy.score.fitting import Rows


class ExamplesWriter:
    """Writes an Example for each row."""

    def __init__(self, file: IO[bytes]) -> None:
        from pinnace.proto.example_pb2 import Example

        self._file = file
        self._make = Example

    def write(self, count: int, kept: Mapping[str, Any], outputs: Mapping[str, Rows]) -> None:
        """See `Writer.write`."""
        columns = {name: values_of(column) for name, column in {**kept, **outputs}.items()}
        for place in range(count):
            example = self._make()
            for name, column in columns.items():
                _fill(example.features.feature[name], column[place], name)
            self._file.write(framed(example.SerializeToString(deterministic=True)))

    def close(self) -> None:
        """See `Writer.close`; all rows are already written."""

    def abandon(self) -> None:
        """See `Writer.abandon`; no rows are buffered."""


def _fill(feature: Any, value: Any, name: str) -> None:
    if value is None:
        return
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        feature.int64_list.value.extend(array.astype(np.int64).reshape(-1).tolist())
    elif array.dtype.kind == "f":
        feature.float_list.value.extend(array.astype(np.float32).reshape(-1).tolist())
    elif array.dtype.kind in "OSU":
        flat = np.asarray(value, object).reshape(-1).tolist()
        feature.bytes_list.value.extend(
            one if isinstance(one, bytes) else str(one).encode() for one in flat
        )
    else:
        raise InvalidArgumentError(f"column {name!r}: an Example cannot hold {array.dtype}")
