"""Fourier transforms of many rows are those of the definition."""

from __future__ import annotations

import numpy as np
import pytest

import pinnace as tf


@pytest.mark.parametrize("shape", [(300, 40), (2, 150, 40), (1, 40)])
def test_transforms_of_many_rows(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(7)
    x = random.standard_normal((2, 8, *shape)).astype(np.float32)
    x = x.reshape(-1, *shape[1:])
    turns = np.exp(-2j * np.pi / 40 * np.outer(np.arange(40), np.arange(40)))
    wanted = x.astype(np.float64) @ turns
    np.testing.assert_allclose(tf.signal.rfft(x), wanted[..., :21], atol=1e-4)
    np.testing.assert_allclose(tf.signal.fft(x.astype(np.complex64)), wanted, atol=1e-4)
    np.testing.assert_allclose(tf.signal.ifft(wanted), x, atol=1e-5)
    np.testing.assert_allclose(tf.signal.irfft(wanted[..., :21].astype(np.complex64)), x, atol=1e-4)
    wide = tf.signal.rfft(x.astype(np.float64), [30])
    short = np.exp(-2j * np.pi / 30 * np.outer(np.arange(30), np.arange(16)))
    np.testing.assert_allclose(wide, x[..., :30].astype(np.float64) @ short, atol=1e-10)
