"""Elements from SQLite databases: one per row of a query's result."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.data.elements import Element, Nest, text_of
from pinnace.data.stage import Run, Stage
from pinnace.framework import structure
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

_WHO = "SqlDataset"


class SqlRows(Stage):
    """The rows of a query's result, one scalar per column.

    Args:
        driver: "sqlite".
        source: path of the database, which is opened for reading only.
        query: SQL.
        types: a tuple of dtypes, one per column; NULL becomes 0 or "".
    """

    def __init__(self, driver: Any, source: Any, query: Any, types: Nest) -> None:
        scalar = Shape(())
        super().__init__(
            structure.map_structure(lambda kind: TensorSpec.of(scalar, as_dtype(kind)), types)
        )
        if text_of(driver, _WHO, "driver_name") != "sqlite":
            raise InvalidArgumentError(f"{_WHO}: driver_name must be 'sqlite', got {driver!r}")
        self._source = text_of(source, _WHO, "data_source_name")
        self._query = text_of(query, _WHO, "query")

    def elements(self, run: Run) -> Iterator[Element]:
        """The rows."""
        del run
        path = Path(self._source)
        if not path.exists():
            raise NotFoundError(f"{_WHO}: there is no database {self._source}")
        address = f"{path.absolute().as_uri()}?mode=ro"
        kinds = [leaf.dtype for leaf in self.leaves]
        try:
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
            try:
                found = connection.execute(self._query)
                count = len(found.description or ())
                if count != len(kinds):
                    raise InvalidArgumentError(
                        f"{_WHO}: output_types must name a type for each of the {count} columns, "
                        f"got {len(kinds)}"
                    )
                for row in found:
                    yield tuple([_leaf(v, kind) for v, kind in zip(row, kinds, strict=True)])
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise InvalidArgumentError(f"{_WHO}: {error}: {self._query!r}") from error


def _leaf(value: Any, kind: Any) -> Any:
    if kind.name == "string":
        if isinstance(value, bytes):
            return value
        return b"" if value is None else str(value).encode()
    try:
        return np.array(0 if value is None else value).astype(kind.numpy)[()]
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{_WHO}: a value must be {kind.name}, got {value!r}") from error
