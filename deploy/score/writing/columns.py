"""Outputs of one value a row as plain columns, for formats that are tables."""

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
    """The outputs as a table has them: what is declared as [?, 1] has no axis but that of rows."""
    return {
        name: TensorSpec(Shape([None]), spec.dtype, name) if _is_single(spec) else spec
        for name, spec in outputs.items()
    }


class ColumnsWriter:
    """A table whose outputs of the shape [?, 1] are numbers or texts rather than lists of one.

    Args:
        inner: writes what is left.
        outputs: specs of the outputs.
    """

    def __init__(self, inner: Writer, outputs: Mapping[str, TensorSpec]) -> None:
        self._inner = inner
        self._single = {name for name, spec in outputs.items() if _is_single(spec)}

    def write(self, count: int, kept: Mapping[str, Any], outputs: Mapping[str, Rows]) -> None:
        """As `Writer.write`."""
        flat = {
            name: _column(rows) if name in self._single else rows for name, rows in outputs.items()
        }
        self._inner.write(count, kept, flat)

    def close(self) -> None:
        """As `Writer.close`."""
        self._inner.close()

    def abandon(self) -> None:
        """As `Writer.abandon`."""
        self._inner.abandon()


def _is_single(spec: TensorSpec) -> bool:
    return spec.shape.rank == 2 and spec.shape[1] == 1


def _column(rows: Rows) -> Rows:
    """Rows of one value each as those values; what the model gave otherwise stays as it is."""
    array = np.concatenate(rows) if isinstance(rows, list) and rows else np.asarray(rows)
    return array.reshape(len(rows)) if array.size == len(rows) else rows
