"""Random functions of a row: all rows at once give the same results as row by row."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.data.functions import of_many
from pinnace.functions.control.batching import keeps_rows

ROWS = 3
Step = Callable[[Any], Any]


def _constant(shape: list[int]) -> Any:
    return tf.constant(np.linspace(-1.5, 2.0, int(np.prod(shape))).reshape(shape), tf.float32)


def _steps(shape: list[int]) -> dict[str, Step]:
    """Steps that take a tensor of this shape; all return float32."""
    rank = len(shape)
    found: dict[str, Step] = {
        "tanh": tf.tanh,
        "affine": lambda x: x * 2.0 - 0.25,
        "with_itself": lambda x: tf.maximum(x, -x) + x,
        "against_more_axes": lambda x: x * _constant([2, *([1] * rank)]),
        "cast": lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32),
        "compared": lambda x: tf.where(x > 0.5, x, 0.125),
        "front": lambda x: tf.expand_dims(x, 0),
        "back": lambda x: tf.expand_dims(x, -1),
        "flat": lambda x: tf.reshape(x, [-1]),
        "hot": lambda x: tf.one_hot(tf.cast(tf.abs(x), tf.int32), 3),
        "identity": tf.identity,
        "stack": lambda x: tf.stack([x, x + 1.0], -1),
        "sizes": lambda x: x + tf.cast(tf.size(x), tf.float32),
        "shared": lambda x: x + tf.reduce_sum(_constant([4])),
    }
    if rank:
        found |= {
            "sum": lambda x: tf.reduce_sum(x, 0),
            "mean": lambda x: tf.reduce_mean(x, -1, keepdims=True),
            "softmax": tf.nn.softmax,
            "largest": lambda x: tf.cast(tf.argmax(x, -1), tf.float32),
            "cumsum": lambda x: tf.cumsum(x, rank - 1),
            "concat": lambda x: tf.concat([x, x * 2.0], -1),
            "with_constant": lambda x: tf.concat([x, _constant(shape)], 0),
            "first": lambda x: x[0],
            "slice": lambda x: x[..., -1:],
            "gather": lambda x: tf.gather(x, [0, 0], axis=-1),
            "tile": lambda x: tf.tile(x, [2] + [1] * (rank - 1)),
            "pad": lambda x: tf.pad(x, [[0, 1]] * rank),
            "turned": tf.transpose,
            "product": lambda x: (
                tf.matmul(x[None], _constant([shape[-1], 2]))
                if rank == 1
                else tf.matmul(x, _constant([*([1] * (rank - 2)), shape[-1], 2]))
            ),
            "squeeze": lambda x: tf.squeeze(tf.expand_dims(x, 1), [1]),
        }
    return found


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[int], Step]:
    """The shape of a row, and a function of it."""
    shape = draw(st.lists(st.integers(1, 3), max_size=2))
    taken: list[Step] = []
    now = list(shape)
    for _ in range(draw(st.integers(1, 5))):
        steps = _steps(now)
        name = draw(st.sampled_from(sorted(steps)))
        after = steps[name](tf.zeros(now)).shape.as_list()
        if len(after) > 4 or np.prod(after) > 200:
            continue
        taken.append(steps[name])
        now = after

    def run(x: Any) -> Any:
        for step in taken:
            x = step(x)
        return x

    return shape, run


def _rows(shape: list[int], seed: int, count: int = ROWS) -> Any:
    drawn = np.random.default_rng(seed).uniform(-3, 3, [count, *shape])
    return drawn.astype(np.float32)


@given(programs(), st.integers(0, 99))
def test_all_rows_at_once_are_the_rows_one_by_one(program: Any, seed: int) -> None:
    shape, run = program
    rows = _rows(shape, seed)
    found = tf.vectorized_map(run, tf.constant(rows), fallback_to_while_loop=False)
    for row, result in zip(rows, found, strict=True):
        # Sums of some numbers in another order.
        np.testing.assert_allclose(result.numpy(), run(tf.constant(row)).numpy(), 1e-5, 1e-5)


@given(programs(), st.integers(0, 99))
def test_a_form_for_many_elements_gives_the_same_bits(program: Any, seed: int) -> None:
    shape, run = program
    one = tf.function(run).get_concrete_function(tf.TensorSpec(shape, tf.float32))
    many = of_many(one)
    if many is None:
        return
    rows = _rows(shape, seed)
    function, constant = many
    captured = [np.asarray(tensor) for tensor in one.captured]
    (found,) = function.run([rows, *captured])
    for index, row in enumerate(rows):
        (wanted,) = one.run([row, *captured])
        np.testing.assert_array_equal(found if constant[0] else found[index], wanted)


@given(programs(), st.integers(0, 99))
def test_where_rows_are_kept_a_batch_is_its_rows(program: Any, seed: int) -> None:
    shape, run = program
    graph_of = tf.function(run).get_concrete_function
    try:
        batched = graph_of(tf.TensorSpec([None, *shape], tf.float32))
    except ValueError:
        return  # a step that only fits a row's axes
    graph = batched.graph
    if batched.captured or not keeps_rows(graph, graph.inputs):
        return
    rows = _rows(shape, seed)
    (whole,) = batched.run([rows])
    assert len(whole) == len(rows)
    for index in range(len(rows)):
        (alone,) = batched.run([rows[index : index + 1]])
        np.testing.assert_array_equal(whole[index : index + 1], alone)
