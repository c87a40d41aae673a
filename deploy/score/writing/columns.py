"""Outputs with one value per row as plain columns, for table formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.deploy.score.fitting import Rows
    from pinnace.deploy.score.writing.writer import Writer


def column_specs(outputs: Mapping[str, TensorSpec]) -> dict[str, TensorSpec]:
    """The specs in a table: an output declared as [?, 1] becomes [?]."""
    return {
        name: TensorSpec(Shape([None]), spec.dtype, name) if _is_single(spec) else spec
        for name, spec in outputs.items()
    }


class ColumnsWriter:
    """A writer of tables, in which outputs of shape [?, 1] are scalars instead of lists of one.

    Args:
        inner: the writer of the table.
        outputs: specs of the outputs.
    """

    def __init__(self, inner: Writer, outputs: Mapping[str, TensorSpec]) -> None:
        self._inner = inner
        self._single = {name for name, spec in outputs.items() if _is_single(spec)}

    def write(self, count: int, kept: Mapping[str, Any], outputs: Mapping[str, Rows]) -> None:
        """See `Writer.write`."""
        flat = {
            name: _column(rows) if name in self._single else rows for name, rows in outputs.items()
        }
        self._inner.write(count, kept, flat)

    def close(self) -> None:
        """See `Writer.close`."""
        self._inner.close()

    def abandon(self) -> None:
        """See `Writer.abandon`."""
        self._inner.abandon()


def _is_single(spec: TensorSpec) -> bool:
    return spec.shape.rank == 2 and spec.shape[1] == 1


def _column(rows: Rows) -> Rows:
    """Rows of shape [1] as scalars; other rows unchanged."""
    array = np.concatenate(rows) if isinstance(rows, list) and rows else np.asarray(rows)
    return array.reshape(len(rows)) if array.size == len(rows) else rows
