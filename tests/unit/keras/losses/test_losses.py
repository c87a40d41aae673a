"""Losses against their formulas in float64."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import pinnace as tf
from pinnace.functions.function import function
from pinnace.keras import Input, Sequential, activations, layers, losses, ops
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object
from pinnace.ops.nn.softmaxes import softmax

F = NDArray[np.float64]
EPSILON = 1e-7


def clipped(p: F) -> F:
    return np.clip(p, EPSILON, 1 - EPSILON)


def shares(x: F) -> F:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def msle(t: F, p: F) -> F:
    return ((np.log1p(np.maximum(t, EPSILON)) - np.log1p(np.maximum(p, EPSILON))) ** 2).mean(-1)


def huber(t: F, p: F) -> F:
    e = np.abs(t - p)
    return np.where(e <= 1, e**2 / 2, e - 0.5).mean(-1)


def binary(t: F, p: F) -> F:
    q = clipped(p)
    return -(t * np.log(q) + (1 - t) * np.log(1 - q)).mean(-1)


def categorical(t: F, p: F) -> F:
    return -(t * np.log(clipped(p / p.sum(-1, keepdims=True)))).sum(-1)


def focal(t: F, p: F) -> F:
    q = clipped(p)
    right = t * p + (1 - t) * (1 - p)
    return -((1 - right) ** 2 * (t * np.log(q) + (1 - t) * np.log(1 - q))).mean(-1)


def kl(t: F, p: F) -> F:
    t, p = np.clip(t, EPSILON, 1), np.clip(p, EPSILON, 1)
    return (t * np.log(t / p)).sum(-1)


def cosine(t: F, p: F) -> F:
    return (t * p).sum(-1) / np.linalg.norm(t, axis=-1) / np.linalg.norm(p, axis=-1)


def categorical_hinge(t: F, p: F) -> F:
    return np.maximum(((1 - t) * p).max(-1) - (t * p).sum(-1) + 1, 0)


POSITIVE = (0.05, 0.95)
REAL = (-3.0, 3.0)
REFERENCES: list[tuple[str, tuple[float, float], Callable[[F, F], F]]] = [
    ("mean_squared_error", REAL, lambda t, p: ((t - p) ** 2).mean(-1)),
    ("mean_absolute_error", REAL, lambda t, p: np.abs(t - p).mean(-1)),
    ("mean_absolute_percentage_error", POSITIVE, lambda t, p: 100 * np.abs((t - p) / t).mean(-1)),
    ("mean_squared_logarithmic_error", POSITIVE, msle),
    ("huber", REAL, huber),
    ("log_cosh", REAL, lambda t, p: np.log(np.cosh(t - p)).mean(-1)),
    ("poisson", POSITIVE, lambda t, p: (p - t * np.log(p + EPSILON)).mean(-1)),
    ("cosine_similarity", REAL, cosine),
    ("kl_divergence", POSITIVE, kl),
    ("binary_crossentropy", POSITIVE, binary),
    ("binary_focal_crossentropy", POSITIVE, focal),
    ("categorical_crossentropy", POSITIVE, categorical),
    ("hinge", REAL, lambda t, p: np.maximum(1 - t * p, 0).mean(-1)),
    ("squared_hinge", REAL, lambda t, p: (np.maximum(1 - t * p, 0) ** 2).mean(-1)),
    ("categorical_hinge", POSITIVE, categorical_hinge),
]
CLASSES = {
    "mean_squared_error": losses.MeanSquaredError,
    "mean_absolute_error": losses.MeanAbsoluteError,
    "huber": losses.Huber,
    "kl_divergence": losses.KLDivergence,
    "binary_crossentropy": losses.BinaryCrossentropy,
    "categorical_crossentropy": losses.CategoricalCrossentropy,
    "hinge": losses.Hinge,
    "log_cosh": losses.LogCosh,
    "poisson": losses.Poisson,
}


@pytest.mark.parametrize(
    ("name", "bounds", "reference"), REFERENCES, ids=[row[0] for row in REFERENCES]
)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_loss_is_its_formula(
    name: str, bounds: tuple[float, float], reference: Callable[[F, F], F], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    t, p = generator.uniform(*bounds, (2, 4, 5))
    found = getattr(losses, name)(t.astype(np.float32), p.astype(np.float32)).numpy()
    wanted = reference(
        t.astype(np.float32).astype(np.float64), p.astype(np.float32).astype(np.float64)
    )
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_loss_object_reduces_its_function(name: str) -> None:
    generator = np.random.default_rng(3)
    t, p = generator.uniform(0.1, 0.9, (2, 4, 5)).astype(np.float32)
    each = getattr(losses, name)(t, p).numpy()
    weights = np.array([1, 0, 2, 0.5], np.float32)
    make: Any = CLASSES[name]
    assert float(make()(t, p)) == pytest.approx(each.mean(), rel=1e-5)
    assert float(make(reduction="sum")(t, p)) == pytest.approx(each.sum(), rel=1e-5)
    np.testing.assert_allclose(make(reduction="none")(t, p).numpy(), each, rtol=1e-5)
    assert float(make()(t, p, weights)) == pytest.approx((each * weights).mean(), rel=1e-5)
    mean = (each * weights).sum() / weights.sum()
    weighted = make(reduction="mean_with_sample_weight")(t, p, weights)
    assert float(weighted) == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize(
    ("weights", "wanted"), [(2.0, 0.5), ([2.0], 0.5), ([2.0, 3.0], 0.25), ([[2.0], [3.0]], 0.25)]
)
def test_a_weight_counts_once_in_a_weighted_mean(weights: Any, wanted: float) -> None:
    # Keras 3.15: one weight for both samples is divided by once.
    loss = losses.MeanSquaredError(reduction="mean_with_sample_weight")
    y = np.ones((2, 3), np.float32)
    assert float(loss(y, y / 2, np.array(weights, np.float32))) == wanted


def test_class_numbers_and_one_hot_rows_have_one_loss() -> None:
    generator = np.random.default_rng(0)
    p = shares(generator.normal(size=(6, 4))).astype(np.float32)
    y = generator.integers(0, 4, 6)
    one_hot = np.eye(4, dtype=np.float32)[y]
    sparse = losses.SparseCategoricalCrossentropy()
    wanted = -np.log(p[np.arange(6), y]).mean()
    assert float(sparse(y, p)) == pytest.approx(wanted, rel=1e-5)
    assert float(sparse(y[:, None], p)) == pytest.approx(wanted, rel=1e-5)
    assert float(losses.CategoricalCrossentropy()(one_hot, p)) == pytest.approx(wanted, rel=1e-5)


def test_logits_give_the_loss_of_their_probabilities() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(6, 4)).astype(np.float32)
    y = generator.integers(0, 4, 6)
    one_hot = np.eye(4, dtype=np.float32)[y]
    p = shares(x)
    for make, truth, predicted in (
        (losses.SparseCategoricalCrossentropy, y, p),
        (losses.CategoricalCrossentropy, one_hot, p),
        (losses.BinaryCrossentropy, one_hot, 1 / (1 + np.exp(-x))),
    ):
        logits = float(make(from_logits=True)(truth, x))
        assert logits == pytest.approx(float(make()(truth, predicted)), rel=1e-4)


# TensorFlow's Keras 3.15: the sum of the loss, and that of the gradient's absolute values.
BEHIND = {
    ("softmax", "categorical_crossentropy"): (610.40759, 4.669518),
    ("softmax", "sparse_categorical_crossentropy"): (610.40759, 4.669518),
    ("sigmoid", "binary_crossentropy"): (205.49838, 2.3446314),
    ("sigmoid", "categorical_crossentropy"): (610.40759, 4.669518),
    ("softmax", "binary_crossentropy"): (205.49838, 2.3446314),
}


@pytest.mark.parametrize(("activation", "name"), BEHIND)
@pytest.mark.parametrize("way", ["activation", "op", "layer", "model"])
@pytest.mark.parametrize("from_logits", [False, True])
@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.filterwarnings("ignore:from_logits=True")
def test_crossentropies_read_the_logits_behind_an_activation(
    activation: str, name: str, way: str, from_logits: bool, is_traced: bool
) -> None:
    dense = layers.Dense(3, activation, kernel_initializer="identity")
    ways = {
        "activation": getattr(activations, activation),
        "op": getattr(ops, activation),
        "layer": layers.Activation(activation),
        "model": Sequential([Input((3,)), dense]),
    }
    x = tf.constant([[60.0, -50, 3], [0, 1, 2], [-300, 200, 1]])
    y = np.float32([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    truth = y.argmax(-1) if name.startswith("sparse") else y

    def values() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            shares = ways[way](x)
            loss = tf.reduce_sum(getattr(losses, name)(truth, shares, from_logits=from_logits))
        return loss, tf.reduce_sum(tf.abs(tape.gradient(loss, x)))

    told = (function(values) if is_traced else values)()
    np.testing.assert_allclose([float(v) for v in told], BEHIND[activation, name], rtol=1e-5)


def test_logits_that_are_probabilities_are_warned_of() -> None:
    shares = activations.sigmoid(tf.constant([[1.0]]))
    with pytest.warns(UserWarning, match="from_logits=True, but"):
        losses.binary_crossentropy([[1.0]], shares, from_logits=True)


def test_a_traced_loss_looks_behind_the_softmax() -> None:
    x = np.array([[200.0, 0.0]], np.float32)
    y = np.array([1])
    loss = losses.SparseCategoricalCrossentropy()
    traced = function(lambda x, y: loss(y, softmax(x)))
    assert float(traced(x, y)) == 200  # not -log(1e-7) = 16.1
    assert float(loss(y, softmax(x))) == pytest.approx(-np.log(EPSILON), rel=1e-3)


def test_an_ignored_class_has_no_loss() -> None:
    p = np.full((3, 2), 0.5, np.float32)
    found = losses.sparse_categorical_crossentropy(np.array([0, -1, 1]), p, ignore_class=-1)
    np.testing.assert_allclose(found.numpy(), [np.log(2), 0, np.log(2)], rtol=1e-5)


def test_labels_are_smoothed() -> None:
    t, p = np.array([[0.0, 1.0]]), np.array([[0.3, 0.7]])
    smooth = losses.CategoricalCrossentropy(label_smoothing=0.2)
    assert float(smooth(t, p)) == pytest.approx(-(0.1 * np.log(0.3) + 0.9 * np.log(0.7)), rel=1e-5)
    smooth = losses.BinaryCrossentropy(label_smoothing=0.2)
    assert float(smooth([[1.0]], [[0.7]])) == pytest.approx(
        -(0.9 * np.log(0.7) + 0.1 * np.log(0.3)), rel=1e-5
    )


def test_truths_of_0_and_1_are_signs_for_hinges() -> None:
    assert losses.hinge([[0.0, 1.0]], [[0.5, 0.5]]).numpy() == pytest.approx([(1.5 + 0.5) / 2])


def test_a_column_too_many_is_dropped() -> None:
    mse = losses.MeanSquaredError()
    assert float(mse(np.ones((4,)), np.zeros((4, 1)))) == 1


def test_wrong_shapes_are_told() -> None:
    with pytest.raises(ValueError, match=r"must have the same shape, got \[2\] and \[2, 3\]"):
        losses.categorical_crossentropy([0, 1], np.ones((2, 3)) / 3)
    with pytest.raises(
        ValueError, match=r"Try: categorical_crossentropy, which takes one-hot rows"
    ):
        losses.sparse_categorical_crossentropy(np.eye(3), np.ones((3, 3)) / 3)
    with pytest.raises(ValueError, match="must have a column per class"):
        losses.categorical_crossentropy(np.ones((2, 1)), np.ones((2, 1)))


def test_unknown_names_and_reductions_are_told() -> None:
    with pytest.raises(ValueError, match=r"loss: name must be one of .*mse.*, got 'msee'"):
        losses.get("msee")
    with pytest.raises(ValueError, match=r"`reduction`: it must be one of .*, got 'average'"):
        losses.MeanSquaredError(reduction="average")


@pytest.mark.parametrize("name", ["mse", "MSE", "mean_squared_error", "MeanSquaredError"])
def test_names_stand_for_losses(name: str) -> None:
    found = losses.get(name)
    assert float(np.mean(np.asarray(found(np.ones((2, 2)), np.zeros((2, 2)))))) == 1


@pytest.mark.parametrize(
    "loss",
    [
        losses.Huber(delta=2.0, reduction="sum"),
        losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1),
        losses.SparseCategoricalCrossentropy(ignore_class=3, name="mine"),
        losses.CosineSimilarity(axis=1),
        losses.MeanSquaredError(),
    ],
    ids=lambda loss: loss.name,
)
def test_a_loss_is_made_again_from_its_configuration(loss: losses.Loss) -> None:
    again = deserialize_keras_object(serialize_keras_object(loss))
    assert type(again) is type(loss)
    assert again.get_config() == loss.get_config()


def test_a_subclass_defines_call() -> None:
    class Cubed(losses.Loss):
        def call(self, y_true: Any, y_pred: Any) -> Any:
            return (y_pred - y_true) ** 3

    assert float(Cubed()([0.0, 0.0], [1.0, 2.0])) == 4.5


def test_binary_crossentropy_takes_pairs_only() -> None:
    with pytest.raises(ValueError, match=r"must have the same shape, got \[3, 1\] and \[3, 2\]"):
        losses.BinaryCrossentropy()(np.ones((3, 1)), np.ones((3, 2)))
