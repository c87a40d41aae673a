"""STFT: the kernel of a convolution that computes a short-time Fourier transform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.initializer import Initializer
from pinnace.keras.spectral_windows import checked_window, named_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

SCALINGS = (None, "density", "spectrum")


class STFT(Initializer):
    """The real or the imaginary parts of a Fourier transform, for frames of a signal.

    Args:
        side: "real" or "imag".
        window: window function that frames are multiplied by: "hann", "hamming", "blackman",
            "bartlett", …, the numbers, or None.
        scaling: whether the squares of the window ("density") or the window itself ("spectrum")
            sum up to 1; None leaves it.
        periodic: whether the window is periodic, not symmetric.

    Raises:
        ValueError: unknown side, window or scaling.
    """

    def __init__(
        self,
        side: str = "real",
        window: Any = "hann",
        scaling: str | None = "density",
        periodic: bool = False,
    ) -> None:
        if side not in {"real", "imag"}:
            raise ValueError(f"STFT: side should be 'real' or 'imag', not {side!r}")
        checked_window("STFT", window)
        if scaling not in SCALINGS:
            raise ValueError(
                f"STFT: Scaling is invalid, it must be `None`, 'density' or 'spectrum', got "
                f"{scaling!r}"
            )
        self.side = side
        self.window = window
        self.scaling = scaling
        self.periodic = periodic

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        """The kernel.

        Args:
            shape: [frame length, 1, fft length / 2 + 1].
            dtype: dtype of the result; `floatx()` if None.

        Raises:
            ValueError: the window has another length.
        """
        length, _, bins = (int(n) for n in shape)
        kind = dtypes.as_dtype(dtype or floatx())
        turns = np.arange(length)[:, None] * np.arange(bins) / ((bins - 1) * 2)
        angles = -2 * np.pi * turns
        kernel = np.cos(angles) if self.side == "real" else np.sin(angles)
        if self.window is not None:
            kernel = kernel * self._scaled_window(length)[:, None]
        return convert_to_tensor(kernel[:, None].astype(kind.numpy))

    def _scaled_window(self, length: int) -> Any:
        if isinstance(self.window, str):
            values = named_window(self.window, length, self.periodic)
        else:
            values = np.asarray(self.window, np.float64)
        if values.shape != (length,):
            raise ValueError(
                "STFT: The shape of `window` must be equal to [frame_length], got "
                f"{list(values.shape)} for frames of {length}"
            )
        if self.scaling is None:
            return values
        scale = np.sqrt(np.sum(values**2)) if self.scaling == "density" else np.abs(values).sum()
        return values / scale

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "side": self.side,
            "window": self.window,
            "periodic": self.periodic,
            "scaling": self.scaling,
        }
