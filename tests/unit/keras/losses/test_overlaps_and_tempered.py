"""Losses of segmentation, of noisy labels and of sequences against their formulas in float64."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.keras import losses
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object

SEEDS = st.integers(0, 2**32 - 1)
EPSILON = 1e-7
# Sums of a few dozen numbers below 10 in float32.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def drawn(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return np.eye(4)[rng.integers(0, 4, 12)], rng.uniform(0.01, 1, (12, 4))


@given(seed=SEEDS, alpha=st.floats(0, 2), beta=st.floats(0, 2))
@pytest.mark.parametrize("axis", [None, -1, [1], [0, 1]])
def test_overlaps(seed: int, alpha: float, beta: float, axis: Any) -> None:
    t, p = drawn(seed)
    over = tuple(axis) if isinstance(axis, list) else axis
    both, missed, wrong = ((x).sum(over) for x in (t * p, t * (1 - p), (1 - t) * p))
    found = losses.Dice(axis=axis, reduction="none")(t, p)
    wanted = 1 - 2 * both / (t.sum(over) + p.sum(over) + EPSILON)
    np.testing.assert_allclose(found, wanted, **CLOSE)
    found = losses.Tversky(alpha, beta, axis=axis, reduction="none")(t, p)
    wanted = 1 - both / (both + alpha * missed + beta * wrong + EPSILON)
    np.testing.assert_allclose(found, wanted, **CLOSE)


@given(seed=SEEDS, gamma=st.floats(0, 4), smoothing=st.sampled_from([0.0, 0.2]))
def test_focal_crossentropy(seed: int, gamma: float, smoothing: float) -> None:
    t, p = drawn(seed)
    share = np.clip(p / p.sum(-1, keepdims=True), EPSILON, 1 - EPSILON)
    smooth = t * (1 - smoothing) + smoothing / 4
    alpha = [0.1, 0.2, 0.3, 0.4]
    wanted = -(np.array(alpha) * (1 - share) ** gamma * smooth * np.log(share)).sum(-1)
    make = losses.CategoricalFocalCrossentropy
    found = make(alpha, gamma, label_smoothing=smoothing, reduction="none")(t, p)
    np.testing.assert_allclose(found, wanted, **CLOSE)
    logits = make(alpha, gamma, True, smoothing, reduction="none")(t, np.log(p))
    np.testing.assert_allclose(logits, wanted, rtol=1e-4, atol=1e-5)  # through log and exp


@given(seed=SEEDS, q=st.floats(0.1, 0.9))
def test_generalised_crossentropy(seed: int, q: float) -> None:
    t, p = drawn(seed)
    p /= p.sum(-1, keepdims=True)
    found = losses.CategoricalGeneralizedCrossEntropy(q, reduction="none")(t.argmax(-1), p)
    np.testing.assert_allclose(found, (1 - (t * p).sum(-1) ** q) / q, **CLOSE)


@given(seed=SEEDS)
def test_ctc_sums_over_every_way_to_say_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(2, 4, 3))
    labels = np.array([[1, 2], [rng.integers(1, 3), 0]])
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)

    def said(path: tuple[int, ...]) -> list[int]:
        return [c for c, _ in itertools.groupby(path) if c]

    wanted = [
        -np.log(
            sum(
                np.prod([p[row, step, c] for step, c in enumerate(path)])
                for path in itertools.product(range(3), repeat=4)
                if said(path) == [c for c in labels[row] if c]
            )
        )
        for row in range(2)
    ]
    np.testing.assert_allclose(losses.CTC("none")(labels, logits), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "loss",
    [
        losses.Dice(axis=[1, 2]),
        losses.Tversky(0.3, 0.7),
        losses.CategoricalFocalCrossentropy([0.1, 0.9], 1.0, label_smoothing=0.1),
        losses.CategoricalGeneralizedCrossEntropy(0.7, "sum"),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_a_loss_comes_back_from_its_configuration(loss: Any) -> None:
    again = deserialize_keras_object(serialize_keras_object(loss))
    t, p = drawn(0)
    truth = t.argmax(-1) if isinstance(loss, losses.CategoricalGeneralizedCrossEntropy) else t
    if isinstance(loss, losses.CategoricalFocalCrossentropy):
        truth, p = t[:, :2], p[:, :2]
    if isinstance(loss, losses.Dice):
        truth, p = t.reshape(2, 6, 4), p.reshape(2, 6, 4)
    assert again(truth, p) == loss(truth, p)


def test_a_model_learns_by_the_name_of_a_loss() -> None:
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(3, "softmax")])
    model.compile(tf.keras.optimizers.SGD(0.5), "dice")
    x = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    y = np.eye(3, dtype=np.float32)[np.arange(30) % 3]
    history = model.fit(x, y, epochs=5, verbose=0).history["loss"]
    assert history[-1] < history[0]


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="q must be between 0 and 1"):
        losses.CategoricalGeneralizedCrossEntropy(1.5)
    with pytest.raises(ValueError, match="Try: binary_focal_crossentropy"):
        losses.categorical_focal_crossentropy([[1.0]], [[0.5]])
    with pytest.raises(ValueError, match=r"\[batch, steps, classes\], got shapes \[1\]"):
        losses.ctc([1], [[[0.5]]])
