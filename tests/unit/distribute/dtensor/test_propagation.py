"""Values never depend on layouts, and layouts of results are ones that the results can have."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.experimental import dtensor
from unit.distribute.dtensor.meshes import SIZES, eight_devices, laid_out, layout, on, text_of

__all__ = ["eight_devices"]

OPS: dict[str, Any] = {
    "negative": lambda x: -x,
    "sum": tf.reduce_sum,
    "sum of an axis": lambda x: tf.reduce_sum(x, -1, keepdims=True) if x.ndim else x,
    "transpose": tf.transpose,
    "flat": lambda x: tf.reshape(x, [-1]),
    "halves": lambda x: tf.reshape(x, [2, -1]) if x.shape.num_elements() % 2 == 0 else x,
    "softmax": lambda x: tf.nn.softmax(x) if x.ndim else x,
    "rows": lambda x: x[0] if x.ndim else x,
    "columns": lambda x: x[..., :1] if x.ndim else x,
    "new axis": lambda x: x[tf.newaxis],
    "stack": lambda x: tf.stack([x, x], -1),
    "concat": lambda x: tf.concat([x, x], 0) if x.ndim else x,
    "tile": lambda x: tf.tile(x, [2] * x.ndim) if x.ndim else x,
    "pad": lambda x: tf.pad(x, [[1, 0]] * x.ndim) if x.ndim else x,
    "roll": lambda x: tf.roll(x, 1, 0) if x.ndim else x,
    "gather": lambda x: tf.gather(x, [0, 0]) if x.ndim else x,
    "cumsum": lambda x: tf.cumsum(x) if x.ndim else x,
    "argmax": lambda x: tf.argmax(x) if x.ndim else x,
    "one_hot": lambda x: tf.one_hot(tf.cast(x, tf.int32), 4),
    "outer": lambda x: tf.tensordot(x, x, 0),
    "products": lambda x: tf.matmul(x, x, transpose_b=True) if x.ndim > 1 else x,
    "other products": lambda x: tf.matmul(x, x, transpose_a=True) if x.ndim > 1 else x,
    "reverse": lambda x: x[::-1] if x.ndim else x,
    "sort": lambda x: tf.sort(x) if x.ndim else x,
    "where": lambda x: tf.where(x > 0, x, 0.0),
}


def assert_valid(found: Any, expected: Any) -> None:
    """That it has these values, and a layout that a tensor of its shape can have."""
    text = text_of(found)
    assert len(text) == found.ndim
    assert all(text.count(letter) < 2 for letter in SIZES)
    assert all(size % SIZES.get(s, 1) == 0 for s, size in zip(text, found.shape, strict=True))
    whole = dtensor.relayout(found, layout("." * found.ndim))
    np.testing.assert_allclose(whole.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", OPS)
@given(case=laid_out())
def test_an_op_gives_what_it_gives_of_the_whole(name: str, case: Any) -> None:
    array, text = case
    expected = OPS[name](tf.constant(array))
    found = OPS[name](on(array, text))
    assert_valid(found, expected)
    # A graph goes by the same rules.
    traced = tf.function(OPS[name])(on(array, text))
    assert_valid(traced, expected)
    assert text_of(traced) == text_of(found)


@given(data=st.data())
def test_two_operands_give_what_the_wholes_give(data: Any) -> None:
    one, left = data.draw(laid_out("".join(data.draw(st.sampled_from(["x.", ".y", "xy", ".."])))))
    text = "".join(data.draw(st.sampled_from([".", "y", "x"])))
    size = one.shape[1]
    text = text if size % SIZES.get(text, 1) == 0 else "."
    other = np.arange(size, dtype=np.float32)
    expected = tf.constant(one) * tf.constant(other)
    assert_valid(on(one, left) * on(other, text), expected)
    assert_valid(tf.function(tf.multiply)(on(one, left), on(other, text)), expected)


def test_loops_and_branches_carry_layouts() -> None:
    @tf.function
    def grown(x: Any) -> Any:
        for _ in tf.range(3):
            x = x * 2.0
        if tf.reduce_sum(x) > 0:
            x = x + 1.0
        return x

    found = grown(on(np.ones([4, 4], "f"), "x."))
    assert text_of(found) == "x."
    assert dtensor.unpack(found)[0].numpy()[0, 0] == 9.0


def test_a_graph_gives_each_layout_its_own_results() -> None:
    twice = tf.function(lambda x: x + x)
    assert [text_of(twice(on(np.ones([4, 4], "f"), t))) for t in ("x.", ".y", "..")] == [
        "x.",
        ".y",
        "..",
    ]
    assert twice.experimental_get_tracing_count() == 1


def test_a_saved_function_keeps_its_relayouts(tmp_path: Any) -> None:
    module = tf.Module()
    module.f = tf.function(
        lambda x: dtensor.relayout(x * 2.0, layout("x")), input_signature=[tf.TensorSpec([4])]
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert text_of(loaded.f(tf.ones([4]))) == "x"


def test_random_numbers_are_drawn_part_by_part() -> None:
    drawn = dtensor.call_with_layout(
        tf.function(tf.random.stateless_uniform), layout("xy"), [4, 8], seed=[1, 2]
    )
    parts = [part.numpy() for part in dtensor.unpack(drawn)]
    assert len({part.tobytes() for part in parts}) == 8
    whole = dtensor.call_with_layout(
        tf.function(tf.random.stateless_uniform), layout(".."), [4, 8], seed=[1, 2]
    )
    np.testing.assert_array_equal(
        whole.numpy(), tf.random.stateless_uniform([4, 8], seed=[1, 2]).numpy()
    )


def test_gradients_have_values_of_the_whole_and_layouts() -> None:
    x, w = np.ones([4, 8], "f"), np.arange(32, dtype="f").reshape(8, 4)

    def gradient_of(x: Any, w: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(w)
            loss = tf.reduce_mean(tf.tanh(tf.matmul(x, w) * 0.01) ** 2)
        return tape.gradient(loss, w)

    expected = gradient_of(tf.constant(x), tf.constant(w))
    assert_valid(gradient_of(on(x, "x."), on(w, ".y")), expected)
    assert_valid(tf.function(gradient_of)(on(x, "x."), on(w, ".y")), expected)
