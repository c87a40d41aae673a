"""The ops of TensorFlow Decision Forests: a forest's handle, its loading, its predictions.

The forest is in the model's assets, as Yggdrasil's own files. Training is not supported.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.asset_path import AssetFolder
from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    PermissionDeniedError,
)
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, scalar
from pinnace.ops.state.variables import resource_of
from pinnace.ops.trees.handles import handle_kernel
from pinnace.ops.trees.nodes import Features
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.trees.forest import Forest
    from pinnace.ops.trees.forest_files import Columns

__all__: list[str] = []

_LOAD = "SimpleMLLoadModelFromPathWithHandle"
_FEATURES = (
    "numerical_features: float32, boolean_features: float32, categorical_int_features: int32, "
    "categorical_set_int_features_values: int32, "
    "categorical_set_int_features_row_splits_dim_1: int64, "
    "categorical_set_int_features_row_splits_dim_2: int64"
)

# The inputs with a column for each feature.
_KINDS = ("numerical_features", "boolean_features", "categorical_int_features")


class LoadedForest:
    """The resource behind a handle: a forest, once it is loaded.

    Args:
        name: name in error messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._found: tuple[Forest, Columns] | None = None

    def load(self, folder: Path, prefix: str, *, guarded: bool) -> None:
        """Read the forest from a folder.

        Args:
            folder: with ydf's files.
            prefix: prefix of its file names.
            guarded: whether links may not lead out of the model, in which the folder lies.

        Raises:
            PermissionDeniedError: one does.
            NotFoundError: a file is missing.
            OpError: the files are damaged, or none of a forest that is known here.
        """
        from pinnace.ops.trees.forest_files import read_forest

        if "/" in prefix or os.sep in prefix or "\0" in prefix:
            raise InvalidArgumentError(
                f"{_LOAD}: file_prefix must be part of a name, got {prefix!r}"
            )
        inside = os.path.realpath(folder.parent)

        def read(name: str) -> bytes:
            file = folder / (prefix + name)
            real = os.path.realpath(file)
            if guarded and not Path(real).is_relative_to(inside):
                raise PermissionDeniedError(
                    f"{_LOAD}: {file} is a link to {real}, outside of the model's folder\n"
                    "  Try: copy the model with `cp -rL`, so that its files are its own, or\n"
                    "  load(path, options=LoadOptions(allow_io=True)), if you trust it"
                )
            with explained("read", file), open_regular(file) as opened:
                return opened.read()

        self._found = read_forest(read)

    def get(self, op: str) -> tuple[Forest, Columns]:
        """The forest and its columns; FailedPreconditionError if none was loaded."""
        if self._found is None:
            raise FailedPreconditionError(f"{op}: the forest {self.name!r} was not loaded yet")
        return self._found

    def __repr__(self) -> str:
        return f"<LoadedForest {self.name!r}>"


def _of(handle: Array) -> LoadedForest:
    found = resource_of(handle)
    if not isinstance(found, LoadedForest):
        raise InvalidArgumentError(
            f"decision forest: model_handle must be the handle of a forest, got that of {found!r}"
        )
    return found


HANDLE = define(
    name="SimpleMLCreateModelResource",
    signature="-> model_handle: resource",
    attrs={"container": attr("string", default=""), "shared_name": attr("string", default="")},
    infer=scalar,
    kernel=handle_kernel("forest", "forest", LoadedForest),
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _nothing(_: InferCall) -> tuple[Shape, ...]:
    return ()


def _string(path: Array) -> Any:
    """A scalar string, or the only one of a vector."""
    if path.size != 1:
        raise InvalidArgumentError(
            f"{_LOAD}: path must be one string, got shape {list(path.shape)}"
        )
    return path.reshape(-1)[0]


def _load_kernel(
    model_handle: Array,
    path: Array,
    *,
    output_types: list[str],
    file_prefix: str,
    allow_slow_inference: bool,
) -> None:
    # The options concern TensorFlow's engines: every forest has leaves, and one way to evaluate it.
    del output_types, allow_slow_inference
    _of(model_handle).load(Path(os.fsdecode(_string(path))), file_prefix, guarded=False)


def _guarded_load_kernel(
    model_handle: Array,
    path: Array,
    *,
    output_types: list[str],
    file_prefix: str,
    allow_slow_inference: bool,
) -> None:
    """Load a forest for an untrusted graph: from its assets' folder only."""
    del output_types, allow_slow_inference
    folder = _string(path)
    if not isinstance(folder, AssetFolder):
        raise PermissionDeniedError(
            f"{_LOAD}: a forest is read from the assets of its model; {folder!r} is a path that a "
            "graph made\n"
            "  Try: load(path, options=LoadOptions(allow_io=True)), if you trust it"
        )
    _of(model_handle).load(Path(os.fsdecode(folder)), file_prefix, guarded=True)


LOAD = define(
    name=_LOAD,
    signature="model_handle: resource, path: string ->",
    attrs={
        "output_types": attr("list(string)", default=()),
        "file_prefix": attr("string", default=""),
        "allow_slow_inference": attr("bool", default=True),
    },
    infer=_nothing,
    kernel=_load_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
    reaches="files",
    guarded=_guarded_load_kernel,
)


def _features(op: str, columns: Columns, arrays: tuple[Array, ...]) -> tuple[Features, int]:
    """The inputs, and their number of rows.

    Raises:
        InvalidArgumentError: the inputs do not fit the model.
    """
    numbers, booleans, categories, items, bounds, rows = arrays
    wanted = (len(columns.numerical), len(columns.boolean), len(columns.categorical))
    # Kinds of features that the model lacks may have no rows.
    sizes = [len(numbers), len(booleans), len(categories), max(0, len(rows) - 1)]
    batch = max(sizes)
    if batch and sizes.count(0) + sizes.count(batch) != len(sizes):
        raise InvalidArgumentError(
            f"{op}: all features must have the same number of rows, got {sizes}"
        )
    for name, one, count in zip(_KINDS, arrays, wanted, strict=False):
        if count and one.shape != (batch, count):
            raise InvalidArgumentError(
                f"{op}: {name} must have shape [{batch}, {count}], got {list(one.shape)}"
            )
    if wanted[1]:
        numbers = booleans if not wanted[0] else np.concatenate([numbers, booleans], axis=1)
    set_columns = len(columns.sets)
    if set_columns and batch:
        # Each row has the same number of sets, and bounds increase.
        expected = np.arange(batch + 1, dtype=np.int64) * set_columns
        if (
            not np.array_equal(rows, expected)
            or len(bounds) != expected[-1] + 1
            or bounds[0] < 0
            or (np.diff(bounds) < 0).any()
            or bounds[-1] > len(items)
        ):
            raise InvalidArgumentError(
                f"{op}: the sets of categories must be [{batch}, {set_columns}, (items)], got "
                f"{len(rows)} and {len(bounds)} row splits for {len(items)} items"
            )
    return Features(numbers, categories, items, bounds, set_columns), batch


def _infer_batch(call: InferCall) -> Shape:
    batch = Shape([None])
    for index, rank in enumerate((2, 2, 2, 1, 1, 1)):
        if call.spec(index).shape.rank not in {None, rank}:
            call.fail(f"input {index} must have {rank} axes, got {call.spec(index).shape.text}")
    for index in range(3):
        shape = call.spec(index).shape
        # No rows: the model has no features of this kind.
        if shape.rank is not None and shape[0] and shape[1] != 0:
            if not batch.is_compatible_with(shape[:1]):
                call.fail("all features must have the same number of rows")
            batch = batch.merge_with(shape[:1])
    return batch


def _infer_predictions(call: InferCall) -> tuple[Shape, ...]:
    if call.attrs["dense_output_dim"] < 1:
        call.fail("dense_output_dim must be at least 1")
    outputs = call.attrs["dense_output_dim"]
    return _infer_batch(call).concatenate([outputs]), Shape([outputs])


def _predict_kernel(*arrays: Array, dense_output_dim: int) -> tuple[Array, Array]:
    op = "SimpleMLInferenceOpWithHandle"
    forest, columns = _of(arrays[6]).get(op)
    features, rows = _features(op, columns, arrays[:6])
    if len(forest.labels) != dense_output_dim:
        raise InvalidArgumentError(
            f"{op}: dense_output_dim must be {len(forest.labels)} for this forest, got "
            f"{dense_output_dim}"
        )
    labels = np.empty(dense_output_dim, object)
    labels[:] = forest.labels
    return forest.predict(features, rows), labels


PREDICT = define(
    name="SimpleMLInferenceOpWithHandle",
    signature=(
        f"{_FEATURES}, model_handle: resource -> "
        "dense_predictions: float32, dense_col_representation: string"
    ),
    attrs={"dense_output_dim": attr("int")},
    infer=_infer_predictions,
    kernel=_predict_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="read",
)


def _leaves_kernel(*arrays: Array) -> Array:
    op = "SimpleMLInferenceLeafIndexOpWithHandle"
    trees, columns = _of(arrays[6]).get(op)
    features, rows = _features(op, columns, arrays[:6])
    return trees.leaves(features, rows)


LEAVES = define(
    name="SimpleMLInferenceLeafIndexOpWithHandle",
    signature=f"{_FEATURES}, model_handle: resource -> leaves: int32",
    infer=lambda call: _infer_batch(call).concatenate([None]),
    kernel=_leaves_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)
