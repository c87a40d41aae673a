"""Feeds with undeclared shapes, on which TensorFlow runs the graph.

The expected results are those of the same Python function.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.config.batching_config import BatchOptions
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loading import load_model
from pinnace.serving.models.servable import Servable
from unit.serving.memory_server import Server, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import httpx

W = tf.constant(np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32))
KERNEL = tf.constant(np.random.default_rng(1).normal(size=(3, 3, 1, 2)).astype(np.float32))


def half_plus_two(x: tf.Tensor) -> tf.Tensor:
    return x * 0.5 + 2.0


def dense(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(tf.matmul(x, W))


def rows_of(x: tf.Tensor) -> tf.Tensor:
    return tf.reshape(x, [tf.shape(x)[0], -1]) + tf.cast(tf.size(x), tf.float32)


def image(x: tf.Tensor) -> tf.Tensor:
    y = tf.nn.relu(tf.nn.conv2d(x, KERNEL, 1, "SAME"))
    return tf.reduce_mean(y, [1, 2])


def loop(x: tf.Tensor) -> tf.Tensor:
    def add(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, total + x[i] * x[i]

    return tf.while_loop(lambda i, _: i < tf.shape(x)[0], add, (0, x[0] * 0.0))[1]


def branch(x: tf.Tensor) -> tf.Tensor:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x + 1.0, lambda: x - tf.reduce_max(x))


def inner(x: tf.Tensor) -> tf.Tensor:
    return tf.function(half_plus_two)(x) * tf.cast(tf.size(x), tf.float32)


def total(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(x, axis=-1)


CASES: list[tuple[Callable[[tf.Tensor], tf.Tensor], list[int | None], list[Sequence[int]]]] = [
    (half_plus_two, [None, 1], [(3,), (), (2, 3), (2, 1, 4), (0,), (0, 1), (5, 1)]),
    (half_plus_two, [1], [(3,), (1, 3), (), (1,)]),
    (half_plus_two, [], [(3,), (2, 2), ()]),
    (dense, [1, 3], [(4, 3), (0, 3), (1, 3), (100, 3)]),
    (dense, [None, 3], [(2, 3)]),
    (rows_of, [None, 4], [(3, 5), (2, 3, 4), (6, 4)]),
    (image, [1, 8, 8, 1], [(4, 8, 8, 1), (1, 6, 9, 1), (3, 1, 1, 1), (1, 8, 8, 1)]),
    (loop, [None, 2], [(4, 3), (4, 2, 2), (3, 2)]),
    (branch, [2], [(5,), (9,), (2,)]),
    (inner, [None, 1], [(4,), (2, 2), (3, 1)]),
    (total, [None, 4], [(4,), (3, 5), (2, 3, 4)]),
]


def save(base: Path, function: Callable[..., Any], *specs: tf.TensorSpec) -> Path:
    module = tf.Module()
    module.f = tf.function(function, input_signature=list(specs))
    folder = base / "1"
    tf.saved_model.save(module, str(folder), signatures=module.f)
    return folder


@pytest.mark.parametrize(
    ("function", "declared", "shapes"),
    CASES,
    ids=[f"{function.__name__}-{declared}" for function, declared, _ in CASES],
)
def test_a_graph_computes_what_it_can(
    tmp_path: Path,
    function: Callable[[tf.Tensor], tf.Tensor],
    declared: list[int | None],
    shapes: list[Sequence[int]],
) -> None:
    spec = tf.TensorSpec(declared, tf.float32, name="x")
    model = load_model(save(tmp_path, lambda x: {"y": function(x)}, spec))
    servable = Servable("m", 1, model, batching=BatchOptions())
    draw = np.random.default_rng(2)
    for _ in range(2):  # and from cached plans
        for shape in shapes:
            x = draw.normal(size=shape).astype(np.float32)
            expected = function(tf.constant(x)).numpy()
            found = servable.run_now("serving_default", {"x": x})["y"]
            assert found.shape == expected.shape, shape
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    servable.close()


@pytest.mark.parametrize("shape", [(2, 4), (3,), (), (2, 2, 4), (0, 2)])
def test_an_op_that_cannot_take_it_complains(tmp_path: Path, shape: tuple[int, ...]) -> None:
    spec = tf.TensorSpec([1, 3], tf.float32, name="x")
    servable = Servable("m", 1, load_model(save(tmp_path, lambda x: {"y": dense(x)}, spec)))
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match=r"(?i)matmul") as refusal:
            servable.run_now("serving_default", {"x": np.zeros(shape, np.float32)})
        assert "Input 'x' must be float32[1, 3], got float32" in str(refusal.value)
    servable.close()


def test_a_dtype_is_held_to(tmp_path: Path) -> None:
    spec = tf.TensorSpec([None, 1], tf.float32, name="x")
    servable = Servable("m", 1, load_model(save(tmp_path, lambda x: {"y": x * 2}, spec)))
    with pytest.raises(InvalidArgumentError, match=r"must be float32\[\?, 1\], got float64\[3\]"):
        servable.run_now("serving_default", {"x": np.zeros(3)})
    servable.close()


def test_plans_of_other_shapes_are_few(tmp_path: Path) -> None:
    spec = tf.TensorSpec([1, 1, 1, 1], tf.float32, name="x")
    model = load_model(save(tmp_path, lambda x: {"y": x + 1.0}, spec))
    signature: Any = model.signatures["serving_default"]
    for rank in range(1, 20):
        for size in range(2, 5):
            x = (
                np.zeros([size] * rank, np.float32)
                if rank < 5
                else np.zeros([1] * rank, np.float32)
            )
            assert signature.run_other_shapes({"x": x})["y"].shape == x.shape
    assert len(signature.run_other_shapes.__self__._plans) <= 8


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """TensorFlow Serving's first example, with the declaration of its file."""
    spec = tf.TensorSpec([None, 1], tf.float32, name="x")
    save(tmp_path / "half_plus_two", lambda x: {"y": half_plus_two(x)}, spec)
    models = (ModelConfig("half_plus_two", str(tmp_path / "half_plus_two")),)
    with running(Settings(models=models, file_system_poll_s=0), load_model) as server:
        yield server


def predict(server: Server, document: object) -> httpx.Response:
    path = "/v1/models/half_plus_two:predict"
    return server.ask("POST", path, content=json.dumps(document))


def test_the_first_request_of_tensorflow_serving(server: Server) -> None:
    reply = predict(server, {"instances": [1.0, 2.0, 5.0]})
    assert reply.json() == {"predictions": [2.5, 3.0, 4.5]}
    assert predict(server, {"instances": [[1.0], [5.0]]}).json() == {"predictions": [[2.5], [4.5]]}
    assert predict(server, {"inputs": 2.0}).json() == {"outputs": 3.0}
    assert predict(server, {"inputs": [[[4.0, 6.0]]]}).json() == {"outputs": [[[4.0, 5.0]]]}


def test_rows_are_joined_only_with_rows_of_the_declared_shape(server: Server) -> None:
    for _ in range(3):
        requests, expected = [], []
        for i in range(40):
            shape = [(3,), (2, 1), (1, 1), (), (2, 2)][i % 5]
            x = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape) + i
            content = json.dumps({"inputs": x.tolist()})
            requests.append(("POST", "/v1/models/half_plus_two:predict", {"content": content}))
            expected.append({"outputs": (x / 2 + 2).tolist()})
        assert [reply.json() for reply in server.ask_all(requests)] == expected
