"""Windows by name are SciPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

import pinnace as tf
from pinnace.keras.spectral_windows import NAMES, named_window


@pytest.mark.parametrize("name", NAMES)
@given(length=st.integers(1, 40), periodic=st.booleans())
def test_a_window_is_scipys(name: str, length: int, periodic: bool) -> None:
    wanted = signal.get_window(name, length, periodic)
    np.testing.assert_allclose(named_window(name, length, periodic), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("side", ["real", "imag"])
def test_a_kernel_is_a_fourier_transform(side: str) -> None:
    kernel = tf.keras.initializers.STFT(side, None)([8, 1, 5], "float64").numpy()[:, 0]
    x = np.random.default_rng(1).normal(size=8)
    np.testing.assert_allclose(x @ kernel, getattr(np.fft.rfft(x), side), atol=1e-12)


def test_what_is_wrong_is_told() -> None:
    make = tf.keras.initializers.STFT
    with pytest.raises(ValueError, match="side should be"):
        make("both")
    with pytest.raises(ValueError, match="window must be one of"):
        make(window="flat")
    with pytest.raises(ValueError, match="Scaling is invalid"):
        make(scaling="whole")
    with pytest.raises(ValueError, match="must be equal to"):
        make(window=[1.0, 2.0])([3, 1, 3])
