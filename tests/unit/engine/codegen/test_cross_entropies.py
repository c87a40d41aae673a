"""Cross entropies in machine code, against the formula in float64."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.engine.codegen import cross_entropies, kernels
from pinnace.ops.kernels import compiled, image_shares


@pytest.fixture(autouse=True, scope="module")
def _kernel_is_made() -> Iterator[list[str]]:
    asked: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        made = {name: kernels.function(name) for name in cross_entropies.TEXTS}
        patch.setattr(compiled, "made", lambda name: asked.append(name) or made[name])
        patch.setattr(image_shares, "_SHARED", 500)
        patch.setattr(image_shares.team, "members", lambda: 3)
        yield asked
    assert asked


def both(x: Any, labels: Any) -> tuple[Any, Any]:
    found = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=labels)
    return found.loss.numpy(), found.backprop.numpy()


@given(
    st.integers(1, 40),
    st.integers(1, 70),
    st.sampled_from([0.1, 1.0, 30.0]),
    st.sampled_from([np.int32, np.int64]),
    st.integers(0, 2**32 - 1),
)
def test_losses_and_slopes_are_those_of_the_formula(
    rows: int, classes: int, scale: float, kind: type, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x = (random.standard_normal((rows, classes)) * scale).astype(np.float32)
    labels = random.integers(0, classes, rows).astype(kind)
    exact = x.astype(np.float64)
    shifted = exact - exact.max(1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    loss, slopes = both(x, labels)
    # A difference of float32 numbers up to 60 `scale`s apart has an error of half their ulp.
    chosen = -log_softmax[np.arange(rows), labels]
    np.testing.assert_allclose(loss, chosen, rtol=2e-6, atol=scale * 4e-6 + 1e-6)
    wanted = np.exp(log_softmax)
    wanted[np.arange(rows), labels] -= 1
    np.testing.assert_allclose(slopes, wanted, rtol=0, atol=scale * 4e-6 + 1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_row(bad: float) -> None:
    x = np.zeros((3, 40), np.float32)
    x[1, 7] = bad
    loss, slopes = both(x, np.array([0, 1, 2]))
    assert np.isnan(loss).tolist() == [False, True, False]
    assert np.isfinite(slopes[[0, 2]]).all()
    assert np.isnan(slopes[1, 7])


def test_a_class_that_is_out_of_the_question() -> None:
    x = np.zeros((2, 3), np.float32)
    x[:, 2] = -np.inf
    loss, slopes = both(x, np.array([0, 2]))
    np.testing.assert_allclose(loss, [np.log(2), np.inf], rtol=1e-6)
    np.testing.assert_allclose(slopes, [[-0.5, 0.5, 0], [0.5, 0.5, -1]], rtol=1e-6)


@pytest.mark.parametrize("label", [-1, 3])
def test_no_class(label: int) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"in \[0, 3\)"):
        both(np.zeros((2, 3), np.float32), np.array([0, label]))
