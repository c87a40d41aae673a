"""A case on disk: a SavedModel, inputs, and TensorFlow's results.

TensorFlow's interpreter writes cases and this project's reads them: both have only NumPy.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SETTINGS = "case.json"
_ARRAYS = "arrays.npz"


@dataclass(frozen=True)
class Feed:
    """Inputs by name, and TensorFlow's results for them.

    Attributes:
        kind: "own" for the test's own inputs, or how they were changed.
        inputs: arrays by name.
        answers: results by name.
    """

    kind: str
    inputs: Mapping[str, Any]
    answers: Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """The case of a test.

    Attributes:
        name: module, class, test and number.
        folder: folder of the SavedModel.
        rtol: the test's tolerance.
        atol: the test's absolute tolerance.
        mtol: larger numbers are clipped to it.
        looks_at: which of "value", "shape" and "dtype" the test compares.
        feeds: the inputs, its own first.
    """

    name: str
    folder: Path
    rtol: float
    atol: float
    mtol: float | None
    looks_at: tuple[str, ...]
    feeds: tuple[Feed, ...]


def save(case: Case) -> None:
    """Write the inputs and results beside the model; the settings last, which complete the case."""
    arrays, widened, kinds = {}, {}, []
    for number, feed in enumerate(case.feeds):
        kinds.append(feed.kind)
        for side, values in (("inputs", feed.inputs), ("answers", feed.answers)):
            for name, value in values.items():
                array = np.asarray(value)
                key = f"{number}/{side}/{name}"
                if array.dtype.kind == "V":  # bfloat16 and other dtypes that NumPy's files lack
                    widened[key] = str(array.dtype)
                    array = array.astype(np.float32)
                elif array.dtype.kind in "OU":
                    # Strings of either kind; a file has bytes of one length.
                    texts = [t if isinstance(t, bytes) else str(t).encode() for t in array.flat]
                    widened[key] = "object"
                    array = np.array(texts or [b""], "S")[: len(texts)].reshape(array.shape)
                arrays[key] = array
    with (case.folder / _ARRAYS).open("wb") as file:
        np.savez(file, **arrays)
    settings = {
        "rtol": case.rtol,
        "atol": case.atol,
        "mtol": case.mtol,
        "looks_at": case.looks_at,
        "kinds": kinds,
        "widened": widened,
    }
    (case.folder / SETTINGS).write_text(json.dumps(settings))


def read(folder: Path) -> Case:
    """The case in a folder."""
    settings = json.loads((folder / SETTINGS).read_text())
    sides: list[dict[str, dict[str, Any]]] = [
        {"inputs": {}, "answers": {}} for _ in settings["kinds"]
    ]
    with np.load(folder / _ARRAYS) as arrays:
        for key, array in arrays.items():
            number, side, name = key.split("/", 2)
            kind = settings["widened"].get(key)
            sides[int(number)][side][name] = array if kind is None else array.astype(kind)
    return Case(
        folder.name,
        folder,
        settings["rtol"],
        settings["atol"],
        settings["mtol"],
        tuple(settings["looks_at"]),
        tuple(Feed(kind, **side) for kind, side in zip(settings["kinds"], sides, strict=True)),
    )
