"""What a workload of the zoo is made of: a network, inputs for it, and how it may be trained."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Inputs = dict[str, np.ndarray]
Draw = Callable[[np.random.Generator, int], Inputs]

# Rows for inference: the batches are the first row alone, and all of them.
ROWS = 32
BATCHES = (1, ROWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A training step with Adam, of one program that either library runs.

    Attributes:
        targets: given random numbers and rows, what the outputs should be.
        loss: `classes` for logits and the numbers of their classes, `squares`, or `yes_no` for
            logits and 0 or 1.
        rows: the batch.
        rate: Adam's.
    """

    targets: Callable[[np.random.Generator, int], np.ndarray]
    loss: str
    rows: int = 32
    rate: float = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network that people have, in a size that a benchmark can wait for.

    Attributes:
        title: what it is, in a few words.
        build: the Keras model, or the `tf.Module` whose `answer` is the signature, by a library.
        draw: inputs by name. One input needs no name of its own: its signature has but one.
        training: how it is trained; None if it is not.
        inference: whether it is saved and asked.
        batches: how many of the drawn rows it is asked for at a time.
        onnx: whether ONNX Runtime can be asked; a string is the reason why not.
        rtol: float32 sums in another order through all layers, between the libraries.
    """

    title: str
    build: Callable[[Any], Any]
    draw: Draw
    training: Training | None = None
    inference: bool = True
    batches: tuple[int, ...] = BATCHES
    onnx: bool | str = True
    rtol: float = 1e-3


def with_positions(tf: Any, x: Any) -> Any:
    """`x`, of [batch, places, features], and numbers for each place that are learnt."""

    class Positions(tf.keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.table = self.add_weight(shape=tuple(shape[1:]), name="table")

        def call(self, x: Any) -> Any:
            return x + self.table

    return Positions()(x)


def images(size: int, channels: int = 3, *, most: float = 1.0) -> Draw:
    """Square images, uniform from 0 to `most`."""
    return floats(size, size, channels, most=most)


def floats(*shape: int, most: float = 1.0) -> Draw:
    """One input of uniform numbers, each row in a brightness of its own: rows differ."""

    def draw(random: np.random.Generator, rows: int) -> Inputs:
        brightness = random.random((rows, *[1] * len(shape)))
        return {"x": (random.random((rows, *shape)) * brightness * most).astype(np.float32)}

    return draw


def ids(length: int, most: int, *, padded: bool = False) -> Draw:
    """One input of token numbers; padded with zeros to lengths of their own, or full."""

    def draw(random: np.random.Generator, rows: int) -> Inputs:
        found = random.integers(1, most, (rows, length)).astype(np.int32)
        if padded:
            lengths = random.integers(length // 4, length + 1, (rows, 1))
            found *= np.arange(length) < lengths
        return {"ids": found}

    return draw


def classes(number: int, *shape: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Targets: a class for each row, or for each place of a shape."""
    return lambda random, rows: random.integers(0, number, (rows, *shape)).astype(np.int32)


def numbers(*shape: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Targets: uniform numbers."""
    return lambda random, rows: random.random((rows, *shape)).astype(np.float32)


def yes_no(random: np.random.Generator, rows: int) -> np.ndarray:
    """Targets: 0 or 1 for each row."""
    return random.integers(0, 2, (rows, 1)).astype(np.float32)
