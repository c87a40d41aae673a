"""Small models written with NumPy, which the server runs in tests instead of SavedModels."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import DataLossError, NotFoundError
from pinnace.framework.specs import TensorSpec
from pinnace.serving.models.loaded_model import LoadedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pinnace.serving.running.signatures import Arrays


JSON_DTYPES = (
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint32",
    "uint64",
    "bool",
    "string",
)


@dataclass(frozen=True)
class NumpyModel:
    """A signature that calls a function of arrays."""

    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    function: Callable[[Arrays], Arrays]
    is_pure: bool = False

    def run_arrays(self, feeds: Arrays) -> Arrays:
        """The outputs for these inputs."""
        return self.function(feeds)


def half_plus_two(offset: float = 2.0) -> NumpyModel:
    """x / 2 + 2, TensorFlow Serving's own example."""
    return NumpyModel(
        {"x": TensorSpec([None], "float32")},
        {"y": TensorSpec([None], "float32")},
        lambda feeds: {"y": feeds["x"] * np.float32(0.5) + np.float32(offset)},
    )


def digits() -> NumpyModel:
    """Images to ten numbers: the sums of their rows, and two zeros."""

    def run(feeds: Arrays) -> Arrays:
        sums = feeds["image"].sum(axis=(2, 3))
        return {"scores": np.pad(sums, ((0, 0), (0, 2))).astype(np.float32)}

    return NumpyModel(
        {"image": TensorSpec([None, 8, 8, 1], "float32")},
        {"scores": TensorSpec([None, 10], "float32")},
        run,
    )


def sum_and_difference() -> NumpyModel:
    """Two inputs, two outputs."""
    return NumpyModel(
        {"a": TensorSpec([None, 2], "float32"), "b": TensorSpec([None, 2], "float32")},
        {"sum": TensorSpec([None, 2], "float32"), "difference": TensorSpec([None, 2], "float32")},
        lambda feeds: {"sum": feeds["a"] + feeds["b"], "difference": feeds["a"] - feeds["b"]},
    )


def echo(dtype: str, output: str = "y", shape: list[int | None] | None = None) -> NumpyModel:
    """The identity, for any shape."""
    return NumpyModel(
        {"x": TensorSpec(shape, dtype)},
        {output: TensorSpec(shape, dtype)},
        lambda feeds: {output: feeds["x"]},
    )


def total() -> NumpyModel:
    """The sum, without a batch axis, and the number of elements."""
    return NumpyModel(
        {"x": TensorSpec([None], "float32")},
        {"total": TensorSpec([], "float32"), "rows": TensorSpec([None], "float32")},
        lambda feeds: {"total": feeds["x"].sum(), "rows": feeds["x"][:1]},
    )


def failing(error: Exception) -> NumpyModel:
    """A model that raises an error."""

    def run(_: Arrays) -> Arrays:
        raise error

    return NumpyModel(half_plus_two().inputs, half_plus_two().outputs, run)


def slow(seconds: float) -> NumpyModel:
    """Half plus two, after a delay."""

    def run(feeds: Arrays) -> Arrays:
        time.sleep(seconds)
        return half_plus_two().run_arrays(feeds)

    return NumpyModel(half_plus_two().inputs, half_plus_two().outputs, run)


def every_kind() -> LoadedModel:
    """A model with a signature for each purpose of the tests."""
    signatures = {
        "serving_default": half_plus_two(),
        "digits": digits(),
        "two": sum_and_difference(),
        "total": total(),
        "text_bytes": echo("string", "text_bytes"),
        "float16": echo("float16"),
        "slow": slow(0.3),
        "value_error": failing(ValueError("a fault in the model")),
        "memory_error": failing(MemoryError()),
        "not_found": failing(NotFoundError("table 'words' has no key 'x'")),
        **{f"echo_{dtype}": echo(dtype) for dtype in JSON_DTYPES},
    }
    return LoadedModel(signatures)


def write_version(base: Path, version: int | str, offset: float | None = 2.0) -> Path:
    """Write a folder for `read_version`, which cannot be loaded without an offset."""
    folder = base / str(version)
    folder.mkdir(parents=True)
    text = "damaged" if offset is None else json.dumps({"offset": offset})
    (folder / "saved_model.pb").write_text(text)
    return folder


def read_version(folder: Path) -> LoadedModel:
    """Half plus the offset in the folder's file."""
    try:
        offset = json.loads((folder / "saved_model.pb").read_text())["offset"]
    except OSError:
        raise NotFoundError(f"{folder}: saved_model.pb is missing") from None
    except ValueError:
        raise DataLossError(f"{folder / 'saved_model.pb'}: damaged") from None
    return LoadedModel({"serving_default": half_plus_two(offset)})
