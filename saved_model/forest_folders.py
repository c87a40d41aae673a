"""Folders as ydf saves its models, made SavedModels: the graph around the forest is written here.

The SavedModel is what ydf's `to_tensorflow_saved_model(mode="tf")` writes of the same forest: an
input for each feature, tables for categories, the forest's files among the assets.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.asset_path import Asset
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.functions.function import function
from pinnace.functions.resources import TrackableResource
from pinnace.lookup.initializers import KeyValueTensorInitializer
from pinnace.lookup.static import StaticHashTable
from pinnace.ops.array.casting import cast
from pinnace.ops.array.constants import constant
from pinnace.ops.array.joining import stack
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.strings.patterns import regex_replace
from pinnace.ops.trees.decision_forests import HANDLE, LOAD, PREDICT
from pinnace.ops.trees.forest_files import read_forest, read_header
from pinnace.ops.trees.forest_folders import prefix_of, reader
from pinnace.proto.decision_forest_pb2 import DataColumn, ForestModel
from pinnace.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from pinnace.saved_model.writing import save

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor
    from pinnace.ops.trees.forest_files import Columns

_counter = itertools.count()
# The indices of a missing category, and of one that the forest does not know.
_MISSING, _UNKNOWN = -1, 0
# The column types of the training data, as ydf numbers them.
_DTYPES: tuple[DType | None, ...] = (
    *(None, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
    *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool, dtypes.string),
)


class _Loaded(TrackableResource):
    """A forest loaded from assets."""

    def __init__(self, folder: Path, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix
        files = sorted(path for path in folder.iterdir() if path.name.startswith(prefix))
        self.files = [Asset(path) for path in files if path.is_file()]

    def _create_resource(self) -> Tensor:
        return execute_one(HANDLE, shared_name=f"forest_{next(_counter)}")

    def _initialize(self) -> None:
        folder = regex_replace(self.files[0].asset_path, "[^/]*$", "")
        execute(LOAD, self.resource_handle, folder, file_prefix=self._prefix)


def save_forest(folder: Path, target: str | os.PathLike[str]) -> None:
    """Write a folder of ydf as a SavedModel with one signature, `serving_default`.

    Args:
        folder: a folder written by ydf's `model.save`.
        target: the SavedModel's folder.

    Raises:
        InvalidArgumentError: the folder has no forest.
        DataLossError: a file is damaged.
        UnimplementedError: the forest has unknown features, or conditions on sets of categories.
    """
    read = reader(folder)
    forest, columns = read_forest(read)
    header = read_header(read)
    if columns.sets:
        names = ", ".join(repr(_text(columns.column(k).name)) for k in columns.sets)
        raise UnimplementedError(
            f"{folder}: columns of sets of categories ({names}) cannot be inputs\n"
            "  Try: ydf's to_tensorflow_saved_model, whose SavedModel is read"
        )
    module: Any = AutoTrackable()
    module.forest = _Loaded(folder, prefix_of(folder) or "")
    module.tables = {
        f"table_{index}": _table(columns.column(index))
        for index in columns.categorical
        if not columns.column(index).categorical.is_already_integerized
    }
    inputs = _inputs(columns)
    outputs = len(forest.labels)
    # ydf's outputs: the second probability alone for two classes, a vector for regression.
    chosen: int | None = min(1, outputs - 1)
    if header.task != ForestModel.CLASSIFICATION:
        chosen = 0
    elif outputs > 2:
        chosen = None

    def serve(*given: Tensor) -> dict[str, Tensor]:
        values = inputs.by_column(given)
        found = execute(
            PREDICT,
            _numbers(values, columns.numerical),
            _numbers(values, columns.boolean),
            _categories(values, columns, module.tables),
            constant(np.zeros(0, np.int32)),
            constant(np.zeros(1, np.int64)),
            constant(np.zeros(1, np.int64)),
            module.forest.resource_handle,
            dense_output_dim=outputs,
        )
        predictions = found[0]
        return {"output": predictions if chosen is None else predictions[:, chosen]}

    module.serve = function(serve, input_signature=inputs.specs, autograph=False)
    save(module, target, {DEFAULT_SERVING_SIGNATURE_DEF_KEY: module.serve})


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


class _Inputs:
    """The inputs: a tensor for each column, or for the columns of a vector.

    Attributes:
        specs: the specs of the tensors.
    """

    def __init__(self) -> None:
        self.specs: list[TensorSpec] = []
        self._places: dict[int, tuple[int, int | None]] = {}

    def add(self, spec: TensorSpec, columns: list[int]) -> None:
        """Add a tensor that has these columns."""
        is_vector = len(spec.shape) == 2
        for place, column in enumerate(columns):
            self._places[column] = len(self.specs), place if is_vector else None
        self.specs.append(spec)

    def by_column(self, given: tuple[Tensor, ...]) -> dict[int, Tensor]:
        """The value of each column."""
        return {
            column: given[index] if place is None else given[index][:, place]
            for column, (index, place) in self._places.items()
        }


def _inputs(columns: Columns) -> _Inputs:
    inputs = _Inputs()
    wanted = sorted({*columns.numerical, *columns.boolean, *columns.categorical})
    for vector in columns.spec.unstackeds:
        first, size = vector.begin_column_idx, vector.size
        if first in wanted:
            dtype = _dtype(columns.column(first))
            spec = TensorSpec([None, size], dtype, _text(vector.original_name))
            inputs.add(spec, list(range(first, first + size)))
            wanted = [index for index in wanted if not first <= index < first + size]
    for index in wanted:
        column = columns.column(index)
        inputs.add(TensorSpec([None], _dtype(column), _text(column.name)), [index])
    return inputs


def _dtype(column: DataColumn) -> DType:
    """The dtype that a column had in training, or the default of its kind."""
    known = _DTYPES[column.dtype] if 0 <= column.dtype < len(_DTYPES) else None
    if known is not None:
        return known
    if column.type == DataColumn.CATEGORICAL:
        return dtypes.int64 if column.categorical.is_already_integerized else dtypes.string
    return dtypes.int64 if column.type == DataColumn.BOOLEAN else dtypes.float32


def _table(column: DataColumn) -> StaticHashTable:
    """The table from a column's strings to indices; an empty string is a missing value."""
    items = {item.key: item.value.index for item in column.categorical.items}
    words = {word: number for word, number in items.items() if number != _UNKNOWN}
    if b"" not in items:
        words[b""] = _MISSING
    words.setdefault(b"-2147483647", _MISSING)
    keys = constant(np.array(list(words), object))
    values = constant(np.array(list(words.values()), np.int32))
    return StaticHashTable(KeyValueTensorInitializer(keys, values), _UNKNOWN)


def _numbers(values: Mapping[int, Tensor], home: Mapping[int, int]) -> Tensor:
    if not home:
        return constant(np.zeros((0, 0), np.float32))
    return stack([cast(values[index], dtypes.float32) for index in home], axis=1)


def _categories(
    values: Mapping[int, Tensor], columns: Columns, tables: Mapping[str, StaticHashTable]
) -> Tensor:
    if not columns.categorical:
        return constant(np.zeros((0, 0), np.int32))
    found = []
    for index in columns.categorical:
        table = tables.get(f"table_{index}")
        value = values[index]
        found.append(cast(value, dtypes.int32) if table is None else table.lookup(value))
    return stack(found, axis=1)
