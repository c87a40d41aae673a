"""The writing of a file: arrays without copies, once each, and products that are computed late."""

from __future__ import annotations

import io
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import lite
from pinnace.deploy.lite.files.parsing import parsed
from pinnace.deploy.lite.files.serialising import in_pieces, serialised
from pinnace.deploy.lite.ir.model import Model, Operator, Scaled, Signature, Subgraph, Tensor
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.framework.tensor import Array

RNG = np.random.default_rng(3)


def constant(data: Array) -> Tensor:
    return Tensor("w", dtypes.as_dtype(data.dtype), Shape.of(data.shape), data)


def model_with(*constants: Tensor) -> Model:
    """A file with these weights, which no interpreter would run."""
    x = Tensor("x", dtypes.float32, Shape([1]))
    y = Tensor("y", dtypes.float32, Shape([1]))
    operator = Operator("ADD_N", [x, *constants], [y])
    subgraph = Subgraph("main", [x], [y], [operator])
    return Model([Signature("serving_default", {"x": x}, {"y": y}, subgraph)])


def buffers_of(content: bytes) -> list[bytes]:
    """The buffers that are not empty."""
    return [bytes(x.list("data")) for x in parsed(content, "it").list("buffers") if x["data"]]


LONG = RNG.normal(size=(7, 60, 81)).astype(np.float32)
SHORT = RNG.normal(size=(3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("data", [LONG, SHORT, SHORT[0, 0, 0].reshape([])])
@pytest.mark.parametrize("order", ["as it is", "turned", "every other"])
def test_arrays_in_any_order(data: Array, order: str) -> None:
    turned = (
        data.T if order == "turned" else data[::2] if order != "as it is" and data.ndim else data
    )
    (found,) = buffers_of(serialised(model_with(constant(turned))))
    assert found == turned.tobytes()


@pytest.mark.parametrize("data", [LONG, SHORT, LONG.T, SHORT.T])
@pytest.mark.parametrize("axis", [0, 2])
def test_products(data: Array, axis: int) -> None:
    form = [1, 1, 1]
    form[axis] = data.shape[axis]
    factor = RNG.normal(size=form)
    scaled = Scaled(constant(data), factor)
    wanted = (data * factor).astype(np.float32)
    np.testing.assert_array_equal(scaled.data, wanted)
    model = model_with(scaled)
    assert buffers_of(serialised(model)) == [wanted.tobytes()]
    model.settle()
    assert not any(isinstance(x, Scaled) for one in model.operators() for x in one.inputs)
    assert buffers_of(serialised(model)) == [wanted.tobytes()]


def test_products_of_products_are_rounded_between() -> None:
    first, second = (RNG.normal(size=(7, 1, 1)) for _ in range(2))
    between = (LONG * first).astype(np.float32)
    scaled = Scaled(Scaled(constant(LONG), first), second)
    (found,) = buffers_of(serialised(model_with(scaled)))
    assert found == (between * second).astype(np.float32).tobytes()


@pytest.mark.parametrize("data", [LONG, SHORT])
def test_equal_numbers_are_there_once(data: Array) -> None:
    turned = constant(np.ascontiguousarray(data.T).T)
    one = Scaled(constant(data), np.ones((1, 1, 1)))
    whole = constant(data.view(np.int32))  # other values with the same bytes
    content = serialised(model_with(constant(data), turned, one, whole))
    assert buffers_of(content) == [data.tobytes()]


def test_numbers_with_the_same_ends_are_told_apart() -> None:
    second, third = LONG.copy(), LONG.copy()
    second[3, 3, 3] += 1
    content = serialised(model_with(*map(constant, (LONG, second, third, second))))
    assert buffers_of(content) == [LONG.tobytes(), second.tobytes()]


def test_pieces_are_the_file() -> None:
    model = model_with(
        constant(LONG.T), constant(SHORT), Scaled(constant(LONG), np.array([[[3.0]]]))
    )
    file = in_pieces(model)
    out = io.BytesIO()
    file.write_to(out)
    assert out.getvalue() == file.whole() == serialised(model)
    assert len(file) == len(out.getvalue())


def test_a_file_that_is_only_written_is_the_same(tmp_path: Path) -> None:
    model = tf.keras.Sequential(
        [
            tf.keras.Input([8, 8, 16]),
            tf.keras.layers.Conv2D(128, 3),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.DepthwiseConv2D(3),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(16, "relu"),
        ]
    )
    for weight in model.weights:
        weight.assign(RNG.uniform(0.1, 0.9, weight.shape))
    report = lite.export(model, tmp_path / "m.tflite", verify=False)
    content = (tmp_path / "m.tflite").read_bytes()
    assert report.file_bytes == len(content)
    assert lite.export(model).content == content


def test_weights_are_not_copied(tmp_path: Path) -> None:
    data = np.zeros((1 << 22, 4), np.float32)
    data[::3] = 1
    model = model_with(Scaled(constant(data.T), np.full((4, 1), 0.5)), constant(data))
    size = 2 * data.nbytes
    tracemalloc.start()
    with (tmp_path / "m.tflite").open("wb") as file:
        in_pieces(model).write_to(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The reserved space counts, although nothing is written.
    assert peak < 1.5 * size
