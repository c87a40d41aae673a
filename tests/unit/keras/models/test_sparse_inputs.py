"""Models and layers on sparse and ragged inputs: called, trained, saved."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace import keras

layers = keras.layers
WIDE = tf.SparseTensor([[0, 1], [2, 0], [2, 3]], [1.0, 2.0, 0.5], [3, 4])
IDS = tf.ragged.constant([[1, 2, 0], [4], [3, 3]], dtype=tf.int64)
Y = np.array([[0.5, 1.0], [0.25, 0.0], [1.0, 1.0]], np.float32)
KERNEL = np.arange(8, dtype=np.float32).reshape(4, 2) / 8


def wide_model() -> Any:
    x = keras.Input((4,), sparse=True, name="wide")
    dense = layers.Dense(2)
    model = keras.Model(x, dense(x))
    dense.set_weights([KERNEL, np.array([1.0, -1.0], np.float32)])
    return model


def ids_model() -> Any:
    x = keras.Input((None,), dtype="int64", ragged=True, name="ids")
    embedding = layers.Embedding(5, 2)
    model = keras.Model(x, layers.GlobalAveragePooling1D()(embedding(x)))
    embedding.set_weights([np.arange(10, dtype=np.float32).reshape(5, 2) / 8])
    return model


CASES: dict[str, Any] = {
    "sparse": (wide_model, WIDE, lambda: tf.sparse.to_dense(WIDE).numpy() @ KERNEL + [1.0, -1.0]),
    "ragged": (
        ids_model,
        IDS,
        lambda: np.array([(np.array(row)[:, None] * 2 + [0, 1]).mean(0) / 8 for row in IDS]),
    ),
}
each_case = pytest.mark.parametrize("name", CASES)


@each_case
def test_a_model_runs_and_comes_back_from_files(name: str, tmp_path: Path) -> None:
    make, x, wanted = CASES[name]
    model = make()
    model.save(tmp_path / "model.keras")
    tf.saved_model.save(model, tmp_path / "saved")
    model.export(tmp_path / "exported", verbose=False)
    again = keras.models.load_model(tmp_path / "model.keras")
    assert [(i.sparse, i.ragged) for i in again.inputs] == [(name == "sparse", name == "ragged")]
    restored = tf.saved_model.load(tmp_path / "saved")
    exported = tf.saved_model.load(tmp_path / "exported").serve
    for f in (model, again, restored, exported, tf.function(model), keras.models.clone_model):
        if f is keras.models.clone_model:
            f = f(model)
            f.set_weights(model.get_weights())
        np.testing.assert_allclose(f(x), wanted(), rtol=1e-6)  # float32 sums of up to 4


def test_a_signature_takes_dense_inputs_by_their_names(tmp_path: Path) -> None:
    model = wide_model()
    tf.saved_model.save(model, tmp_path / "saved")
    serve = tf.saved_model.load(tmp_path / "saved").signatures["serving_default"]
    dense = tf.sparse.to_dense(WIDE)
    np.testing.assert_allclose(serve(wide=dense)["output_0"], CASES["sparse"][2](), rtol=1e-6)


@each_case
@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_batches_are_cut_from_it_as_from_an_array(name: str, batch_size: int) -> None:
    make, x, wanted = CASES[name]
    model = make()
    found = model.predict(x, batch_size=batch_size, verbose=0)
    np.testing.assert_allclose(found, wanted(), rtol=1e-6)  # float32 sums of up to 4
    model.compile("sgd", "mse")
    loss = model.evaluate(x, Y, batch_size=batch_size, verbose=0)
    np.testing.assert_allclose(loss, np.mean((wanted() - Y) ** 2), rtol=1e-5)  # a mean of means


def test_a_step_moves_the_kernel_of_a_sparse_input_by_the_gradient() -> None:
    model = wide_model()
    model.compile(keras.optimizers.SGD(0.5), "mse")
    model.fit(WIDE, Y, batch_size=3, epochs=1, verbose=0)
    x = tf.sparse.to_dense(WIDE).numpy()
    error = CASES["sparse"][2]() - Y
    wanted = KERNEL - 0.5 * (2 / error.size) * x.T @ error
    np.testing.assert_allclose(model.get_weights()[0], wanted, rtol=1e-5, atol=1e-6)  # float32


@each_case
def test_shuffled_samples_stay_beside_their_truths(name: str) -> None:
    make, x, wanted = CASES[name]
    model = make()
    model.compile(keras.optimizers.SGD(0.0), "mse")
    history = model.fit(x, wanted(), batch_size=1, shuffle=True, verbose=0)
    assert history.history["loss"][0] < 1e-12


@each_case
def test_the_last_samples_validate(name: str) -> None:
    make, x, wanted = CASES[name]
    model = make()
    model.compile(keras.optimizers.SGD(0.0), "mse")
    found = model.fit(x, Y, validation_split=0.3, verbose=0).history["val_loss"]
    np.testing.assert_allclose(found, [np.mean((wanted()[2] - Y[2]) ** 2)], rtol=1e-5)


def test_a_model_makes_dense_what_was_not_declared_sparse() -> None:
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.append(type(x).__name__)
        return x

    for sparse in (False, True):
        x = keras.Input((4,), sparse=sparse)
        keras.Model(x, layers.Lambda(look)(x))(WIDE)
    assert "SparseTensor" not in seen[: len(seen) // 2]
    assert seen[-1] == "SparseTensor"


@given(
    at=st.sets(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), max_size=8),
    kind=st.sampled_from(["float32", "int64"]),
)
def test_dense_multiplies_a_sparse_tensor_of_any_rank(at: Any, kind: str) -> None:
    x = np.zeros((2, 3, 4), kind)
    for number, place in enumerate(sorted(at)):
        x[place] = number + 1
    layer = layers.Dense(2)
    layer.build((None, None, 4))
    layer.set_weights([KERNEL, np.zeros(2, np.float32)])
    found = layer(tf.sparse.from_dense(x))
    assert found.shape.as_list() == [2, 3, 2]
    np.testing.assert_allclose(found, x @ KERNEL, rtol=1e-6)  # float32 sums of up to 4


def test_concatenate_and_add_stay_sparse_if_all_are() -> None:
    dense = tf.sparse.to_dense(WIDE).numpy()
    joined = layers.Concatenate()([WIDE, WIDE])
    summed = layers.Add()([WIDE, WIDE, WIDE])
    assert isinstance(joined, tf.SparseTensor)
    assert isinstance(summed, tf.SparseTensor)
    assert joined.shape.as_list() == [3, 8]
    np.testing.assert_array_equal(tf.sparse.to_dense(joined), np.concatenate([dense, dense], 1))
    np.testing.assert_array_equal(tf.sparse.to_dense(summed), 3 * dense)
    ones = tf.ones([3, 4])
    np.testing.assert_array_equal(
        layers.Concatenate()([WIDE, ones]), np.concatenate([dense, ones], 1)
    )
    np.testing.assert_array_equal(layers.Add()([ones, WIDE]), dense + 1)


def test_sparse_outputs_of_batches_are_one_sparse_tensor() -> None:
    x = keras.Input((4,), sparse=True)
    model = keras.Model(x, layers.Concatenate()([x, x]))
    found = model.predict(WIDE, batch_size=2, verbose=0)
    assert isinstance(found, tf.SparseTensor)
    dense = tf.sparse.to_dense(WIDE).numpy()
    np.testing.assert_array_equal(tf.sparse.to_dense(found), np.concatenate([dense, dense], 1))


def test_a_symbolic_tensor_tells_its_form() -> None:
    sparse = keras.Input((4,), sparse=True)
    ragged = keras.Input((None, 2), ragged=True)
    assert (sparse.sparse, sparse.ragged, sparse.ragged_rank) == (True, False, None)
    assert (ragged.sparse, ragged.ragged, ragged.ragged_rank) == (False, True, 1)
    assert ragged.row_splits_dtype == "int64"
    assert "sparse=True" in repr(sparse)
    made = keras.KerasTensor((None, None), ragged=True, ragged_rank=1, row_splits_dtype="int32")
    assert made.row_splits_dtype == "int32"


def test_a_tensor_is_not_sparse_and_ragged_at_once() -> None:
    for make in (keras.Input, keras.KerasTensor):
        with pytest.raises(ValueError, match="sparse and ragged must not both be True"):
            make((2,), sparse=True, ragged=True)
    with pytest.raises(ValueError, match="cannot provide an incompatible `sparse`"):
        keras.Input(tensor=keras.KerasTensor((2,)), sparse=True)


def test_a_keras_tensor_says_whether_it_is_sparse() -> None:
    """The attribute has Keras's name."""
    dense = keras.Input((4,), name="a")
    sparse = keras.Input((4,), dtype="int64", sparse=True, name="b")
    assert repr(dense) == (
        "<KerasTensor shape=(None, 4), dtype=float32, sparse=False, ragged=False, name=a>"
    )
    assert "dtype=int64, sparse=True, ragged=False, name=b>" in repr(sparse)
