"""Sparse SciPy matrices in fit, evaluate and predict give the results of dense arrays."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pinnace as tf
from pinnace import keras

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]
_drawn = np.random.default_rng(5)
DENSE = _drawn.random((37, 6)) * (_drawn.random((37, 6)) < 0.4)
Y = _drawn.random((37, 1)).astype(np.float32)
WEIGHTS = _drawn.random(37).astype(np.float32)


class Subclassed(keras.Model):
    """A subclassed model that passes its input to a Dense layer."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = _dense(3), _dense(1)

    def call(self, x: Any) -> Any:
        return self.out(self.hidden(x))


def _dense(units: int) -> Any:
    kernel = keras.initializers.Constant(0.1)
    return keras.layers.Dense(units, kernel_initializer=kernel)


def _functional(**options: Any) -> Any:
    x = keras.Input((6,), name="words", **options)
    return keras.Model(x, _dense(1)(_dense(3)(x)))


MODELS: dict[str, Any] = {
    "sequential": lambda: keras.Sequential([keras.Input((6,)), _dense(3), _dense(1)]),
    "sequential, not built": lambda: keras.Sequential([_dense(3), _dense(1)]),
    "functional": _functional,
    "sparse input": lambda: _functional(sparse=True),
    "subclassed": Subclassed,
}
each_model = pytest.mark.parametrize("name", MODELS)


def made(name: str) -> Any:
    keras.utils.set_random_seed(11)
    model = MODELS[name]()
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"], weighted_metrics=["mse"])
    return model


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=2e-6)  # sums of floats in another order


def histories_agree(name: str, sparse: dict[str, Any], dense: dict[str, Any], **both: Any) -> None:
    found = made(name).fit(**sparse, **both, batch_size=8, epochs=2, verbose=0).history
    wanted = made(name).fit(**dense, **both, batch_size=8, epochs=2, verbose=0).history
    assert found.keys() == wanted.keys()
    for key, values in wanted.items():
        same(found[key], values)


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_its_dense_array(form: str, kind: str) -> None:
    x = getattr(scipy.sparse, f"{form}_{kind}")(DENSE)
    histories_agree("functional", {"x": x}, {"x": DENSE}, y=Y, sample_weight=WEIGHTS)
    same(made("functional").predict(x, verbose=0), made("functional").predict(DENSE, verbose=0))


@each_model
@pytest.mark.parametrize(
    "options",
    [
        {"shuffle": False},
        {"shuffle": True},
        {"shuffle": "batch"},
        {"validation_split": 0.25},
        {"steps_per_epoch": 2},
        {"sample_weight": WEIGHTS},
    ],
    ids=str,
)
def test_fit_takes_the_same_rows(name: str, options: Any) -> None:
    x = scipy.sparse.csr_matrix(DENSE)
    histories_agree(name, {"x": x}, {"x": DENSE}, y=Y, **options)


@each_model
def test_every_method_takes_them(name: str) -> None:
    x = scipy.sparse.csc_array(DENSE)
    for ask in (
        lambda model, x: model.evaluate(x, Y, sample_weight=WEIGHTS, batch_size=5, verbose=0),
        lambda model, x: model.predict(x, batch_size=5, verbose=0),
        lambda model, x: model.train_on_batch(x, Y, WEIGHTS),
        lambda model, x: model.test_on_batch(x, Y),
        lambda model, x: model.predict_on_batch(x),
        lambda model, x: model(x),
        lambda model, x: model.fit(x, Y, validation_data=(x, Y, WEIGHTS), verbose=0).history[
            "val_loss"
        ],
    ):
        same(ask(made(name), x), ask(made(name), DENSE))


@each_model
def test_generators_and_sequences_give_them(name: str) -> None:
    x = scipy.sparse.csr_array(DENSE)

    class Rows(keras.utils.PyDataset):
        def __init__(self, rows: Any) -> None:
            super().__init__()
            self.rows = rows

        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            part = slice(12 * index, 12 * index + 12)
            return self.rows[part], Y[part]

    def batches(rows: Any) -> Iterator[Any]:
        for start in range(0, 37, 9):
            yield rows[start : start + 9], Y[start : start + 9]

    for source in (batches, Rows):
        found, wanted = (
            made(name).fit(source(rows), shuffle=False, verbose=0).history for rows in (x, DENSE)
        )
        same(found["loss"], wanted["loss"])


def test_they_stand_beside_other_inputs() -> None:
    x = scipy.sparse.csr_matrix(DENSE)

    def loss(pack: Any, rows: Any) -> Any:
        a, b = keras.Input((6,), name="a"), keras.Input((1,), name="b")
        model = keras.Model(pack(a, b), _dense(1)(keras.layers.Concatenate()([a, b])))
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model.fit(pack(rows, Y), Y, shuffle=False, verbose=0).history["loss"]

    for pack in (lambda a, b: {"a": a, "b": b}, lambda a, b: [a, b], lambda a, b: (a, b)):
        found, wanted = (loss(pack, rows) for rows in (x, DENSE))
        same(found, wanted)


def test_truths_may_be_sparse_and_weights_of_classes_know_them() -> None:
    labels = np.eye(6, dtype=np.float32)[np.arange(37) % 6]

    def losses(x: Any, y: Any) -> Any:
        model = keras.Sequential([keras.Input((6,)), _dense(6), keras.layers.Softmax()])
        model.compile(keras.optimizers.SGD(0.1), "categorical_crossentropy")
        weights = dict.fromkeys(range(6), 1.0) | {2: 5.0}
        return model.fit(x, y, class_weight=weights, shuffle=False, verbose=0).history["loss"]

    same(
        losses(scipy.sparse.csr_matrix(DENSE), scipy.sparse.csr_matrix(labels)),
        losses(DENSE, labels),
    )


def test_elements_that_stand_twice_are_added_up_and_the_matrix_stays() -> None:
    x = scipy.sparse.coo_matrix(([1.0, 2.0, 4.0], ([1, 0, 1], [2, 0, 2])), shape=(2, 6))
    found = made("functional").predict(x, verbose=0)
    same(found, made("functional").predict(x.toarray(), verbose=0))
    assert x.nnz == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_numbers_of_every_kind(dtype: Any) -> None:
    dense = (DENSE > 0).astype(dtype)
    x = scipy.sparse.csr_array(dense)
    for name in MODELS:
        same(made(name).predict(x, verbose=0), made(name).predict(dense, verbose=0))


def test_lengths_that_differ_are_told() -> None:
    with pytest.raises(ValueError, match=r"fit: all arrays must have the same number.*37 and 36"):
        made("functional").fit(scipy.sparse.csr_matrix(DENSE), Y[1:], verbose=0)


def test_what_makes_tensors_of_values_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"csr_matrix\) to a tensor\n  Try: its toarray\(\)"):
        tf.convert_to_tensor(scipy.sparse.csr_matrix(DENSE))
