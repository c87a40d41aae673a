"""keras.backend against NumPy; `make oracle` compares it with Keras."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import pinnace as tf

k = tf.keras.backend
MATRICES = npst.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.floats(-8, 8)
)


@given(MATRICES, st.sampled_from([0, 1, -1, None]), st.booleans())
def test_along_axes(x: Any, axis: Any, keep: bool) -> None:
    for name in ("sum", "mean", "std", "var", "prod", "max", "min"):
        found = getattr(k, name)(tf.constant(x), axis, keep)
        wanted = getattr(np, name)(x, axis=axis, keepdims=keep)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    share = k.mean(tf.constant(x > 0), axis, keep)
    np.testing.assert_allclose(share, np.mean(x > 0, axis=axis, keepdims=keep), rtol=1e-6)


@given(MATRICES, st.floats(0, 1), st.floats(0.5, 4), st.floats(-1, 0.5))
def test_elements(x: Any, alpha: float, most: float, threshold: float) -> None:
    wanted = np.where(x > threshold, np.minimum(x, most), alpha * (x - threshold))
    np.testing.assert_allclose(k.relu(x, alpha, most, threshold), wanted, rtol=1e-12)
    np.testing.assert_allclose(k.sqrt(x), np.sqrt(np.maximum(x, 0)), rtol=1e-12)
    np.testing.assert_array_equal(k.clip(x, None, 1.0), np.minimum(x, 1))
    np.testing.assert_array_equal(k.clip(x, 2, 1), np.full_like(x, 2))
    np.testing.assert_allclose(k.hard_sigmoid(x), np.clip(0.2 * x + 0.5, 0, 1), rtol=1e-12)
    np.testing.assert_array_equal(
        k.switch(tf.constant(x > 0), tf.constant(x), tf.constant(-x)), np.abs(x)
    )


@given(MATRICES)
def test_products_and_shapes(x: Any) -> None:
    cube = np.stack([x, 2 * x, 3 * x])
    np.testing.assert_allclose(
        k.dot(tf.constant(cube), tf.constant(x.T)), cube @ x.T, rtol=1e-12, atol=1e-12
    )
    assert k.int_shape(k.batch_flatten(tf.constant(cube))) == (3, x.size)
    np.testing.assert_array_equal(k.repeat_elements(tf.constant(x), 2, 1), np.repeat(x, 2, 1))
    np.testing.assert_array_equal(k.temporal_padding(cube), np.pad(cube, [(0, 0), (1, 1), (0, 0)]))


def test_a_loss_of_ones_own_trains_a_model() -> None:
    def dice(y_true: Any, y_pred: Any) -> Any:
        overlap = k.sum(k.flatten(y_true) * k.flatten(y_pred))
        return 1 - (2 * overlap + 1) / (k.sum(y_true) + k.sum(y_pred) + k.epsilon() + 1)

    x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    y = (x[:, :1] > 0).astype(np.float32)
    model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(1, "sigmoid")])
    model.compile(tf.keras.optimizers.Adam(0.05), loss=dice)
    losses = model.fit(x, y, epochs=10, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]


def test_values_and_facts() -> None:
    v = k.variable([[1.0, 2.0]])
    k.update_sub(v, [[0.5, 0.5]])
    k.moving_average_update(v, k.zeros((1, 2)), 0.5)
    assert k.get_value(v).tolist() == [[0.25, 0.75]]
    k.batch_set_value([(v, [[3, 4]])])
    assert k.batch_get_value([v])[0].tolist() == [[3.0, 4.0]]
    assert (k.ndim(v), k.count_params(v), k.dtype(v)) == (2, 2, "float32")
    assert k.is_keras_tensor(tf.keras.Input([2]))
    assert not k.is_keras_tensor(v)
    assert k.standardize_dtype(tf.int64) == "int64"
    with pytest.raises(ValueError, match="x must be a matrix, got shape"):
        k.repeat(tf.ones([2]), 3)


def test_batch_dot_multiplies_sample_by_sample() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((3, 4, 5)), rng.random((3, 5, 2))
    np.testing.assert_allclose(
        k.batch_dot(x, y), np.stack([a @ b for a, b in zip(x, y, strict=True)])
    )
    u, v = rng.random((3, 5)), rng.random((3, 5))
    np.testing.assert_allclose(k.batch_dot(u, v), [[a @ b] for a, b in zip(u, v, strict=True)])
    np.testing.assert_allclose(
        k.batch_dot(x, u, (2, 1)), [a @ b for a, b in zip(x, u, strict=True)]
    )
    deep = rng.random((3, 2, 5, 6))
    wanted = [np.tensordot(a, b, [[1], [1]]) for a, b in zip(x, deep, strict=True)]
    np.testing.assert_allclose(k.batch_dot(x, deep, 2), wanted)
    wrong = {
        "must have 2 axes or more": (u[0], v, None),
        "batches must have one size, got 3 and 2": (u, v[:2], None),
        "axes that are summed must have one size, got 4 and 5": (x, y, 1),
        "not the batch's, 0": (u, v, 0),
        r"a pair of axes, got \[\[1\], \[1\]\]": (u, v, [[1], [1]]),
    }
    for told, arguments in wrong.items():
        with pytest.raises(ValueError, match=told):
            k.batch_dot(*arguments)


def test_blocks_name_what_is_made_in_them() -> None:
    with k.name_scope("a/b") as prefix:
        assert prefix == "a/b/"
        assert tf.Variable(1.0, name="v").name == "a/b/v:0"
    dense = tf.keras.layers.Dense(2, name="d")
    block = tf.keras.name_scope("outer")
    with block as same:
        assert same is block
        dense(tf.ones([1, 3]))
    # Keras 3.15: outer/d/kernel.
    assert dense.kernel.path == "outer/d/kernel"
    assert tf.Variable(1.0, name="v").name == "v:0"
    with pytest.raises(ValueError, match="name must be a text without a slash, got 'a/b'"):
        tf.keras.name_scope("a/b")
    with pytest.raises(TypeError, match="there is no argument 'values'"):
        tf.keras.name_scope("a", values=[])
    assert tf.keras.version() == tf.keras.__version__
