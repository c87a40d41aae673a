"""Losses of many classes, computed in blocks by several threads, equal those of each row."""

import numpy as np
import pytest
from scipy import special

import pinnace as tf
from pinnace.ops.kernels import team
from pinnace.ops.nn import losses


@pytest.mark.parametrize("rows", [1, 7, 64])
@pytest.mark.parametrize("block", [1, 100, 1 << 16])
@pytest.mark.parametrize("classes", [1, 3, 32, 33])
def test_blocks_of_logits(
    rows: int, block: int, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "_BLOCK_NUMBERS", block)
    monkeypatch.setattr(losses, "_SHARED_NUMBERS", 1)
    monkeypatch.setattr(team, "size", lambda: 2)
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)
    random = np.random.default_rng(rows)
    logits = (10 * random.standard_normal((rows, classes))).astype(np.float32)
    labels = random.integers(0, classes, rows)
    given = logits.copy()
    loss, slopes = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=labels)
    np.testing.assert_array_equal(logits, given)
    exact = special.log_softmax(logits.astype(np.float64), axis=1)
    # exp and log are within one or two ulps; logits of about 30 are rounded to 2e-6.
    wanted = -exact[np.arange(rows), labels]
    np.testing.assert_allclose(loss.numpy(), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(slopes.numpy(), np.exp(exact) - np.eye(classes)[labels], atol=1e-5)
