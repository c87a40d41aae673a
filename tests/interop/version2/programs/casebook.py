"""The list of models to write: functions that save one each, by name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

SEED = 20240607
Call = tuple[str, dict[str, Any]]
# From a folder to the calls that are recorded: a signature's name and its inputs.
Writer = Callable[[Path], Sequence[Call]]
CASES: dict[str, Writer] = {}


def case(kind: str) -> Callable[[Writer], Writer]:
    """A decorator: the function writes a model that shows `kind`."""

    def add(writer: Writer) -> Writer:
        CASES[f"{kind}/{writer.__name__}"] = writer
        return writer

    return add


def numbers(*shape: int) -> np.ndarray:
    """Random numbers, the same for each model."""
    return np.random.default_rng(sum(shape) + 7).standard_normal(shape).astype(np.float32)


def integers(most: int, *shape: int) -> np.ndarray:
    """Random integers from 0."""
    return np.random.default_rng(sum(shape) + 11).integers(0, most, shape)


def texts(*values: str) -> np.ndarray:
    """A string tensor."""
    return np.array([value.encode() for value in values], object)


def first_input(folder: Path, signature: str = "serving_default") -> str:
    """The name of the only input of a saved signature."""
    loaded = tf.saved_model.load(str(folder))
    (name,) = loaded.signatures[signature].structured_input_signature[1]
    return str(name)


def served(folder: Path, *values: Any) -> list[Call]:
    """Calls of `serving_default` with these values of its only input."""
    name = first_input(folder)
    return [("serving_default", {name: value}) for value in values]
