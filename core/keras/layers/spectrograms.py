"""Spectrograms: the strength of a signal's frequencies over time."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras import ops
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.image_format import checked_format
from pinnace.keras.input_spec import InputSpec
from pinnace.keras.layer import Layer, LayerOptions
from pinnace.keras.spectral_windows import checked_window
from pinnace.keras.stft_initializer import SCALINGS, STFT
from pinnace.ops.signal import mel

if TYPE_CHECKING:
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable

_MODES = ("log", "magnitude", "psd", "real", "imag", "angle", "stft")


class MelSpectrogram(Layer):
    """The power of a signal in bands of the mel scale: [..., samples] → [..., bands, frames].

    Args:
        fft_length: length of the Fourier transforms, in samples.
        sequence_stride: from one frame to the next, in samples.
        sequence_length: length of a frame, in samples; `fft_length` if None.
        window: window function that frames are multiplied by: "hann", "hamming", the numbers, or
            None.
        sampling_rate: samples per second.
        num_mel_bins: how many bands there are.
        min_freq: start of the first band, in Hz.
        max_freq: end of the last one, in Hz; half of `sampling_rate` if None.
        power_to_db: whether the result is in decibels.
        top_db: how far below the loudest anything may be, in decibels.
        mag_exp: power of the amplitudes: 1 for energy, 2 for power.
        min_power: lower bound of the power.
        ref_power: the power of 0 decibels.
        **options: see Layer.

    Shapes:
        x [..., samples] → [..., num_mel_bins, frames].

    Raises:
        ValueError: `fft_length` is below `sequence_length`.
    """

    def __init__(
        self,
        fft_length: int = 2048,
        sequence_stride: int = 512,
        sequence_length: int | None = None,
        window: Any = "hann",
        sampling_rate: int = 16000,
        num_mel_bins: int = 128,
        min_freq: float = 20.0,
        max_freq: float | None = None,
        power_to_db: bool = True,
        top_db: float = 80.0,
        mag_exp: float = 2.0,
        min_power: float = 1e-10,
        ref_power: float = 1.0,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.fft_length = fft_length
        self.sequence_stride = sequence_stride
        self.sequence_length = sequence_length or fft_length
        if self.fft_length < self.sequence_length:
            raise ValueError(
                "MelSpectrogram: `fft_length` must be greater than or equal to `sequence_length`, "
                f"got {fft_length} and {sequence_length}"
            )
        self.window = window
        self.sampling_rate = sampling_rate
        self.num_mel_bins = num_mel_bins
        self.min_freq = min_freq
        self.max_freq = max_freq or int(sampling_rate / 2)
        self.power_to_db = power_to_db
        self.top_db = top_db
        self.mag_exp = mag_exp
        self.min_power = min_power
        self.ref_power = ref_power
        self._build_at_init()

    def call(self, inputs: Tensor) -> Tensor:
        """The spectrogram."""
        kind = self.compute_dtype if self.compute_dtype == "float64" else "float32"
        x = ops.cast(inputs, kind)
        frames = (self.sequence_length, self.sequence_stride, self.fft_length, self.window)
        real, imaginary = ops.stft(x, *frames)
        strength = ops.power(ops.sqrt(real * real + imaginary * imaginary), self.mag_exp)
        bands = mel.linear_to_mel_weight_matrix(
            self.num_mel_bins,
            self.fft_length // 2 + 1,
            self.sampling_rate,
            self.min_freq,
            self.max_freq,
            strength.dtype,
        )
        y = ops.swapaxes(ops.tensordot(strength, bands, 1), -1, -2)
        return ops.cast(self._decibels(y) if self.power_to_db else y, self.compute_dtype)

    def _decibels(self, x: Tensor) -> Tensor:
        loudness = 10.0 * ops.log10(ops.maximum(x, self.min_power))
        loudness = loudness - 10.0 * math.log10(max(abs(self.ref_power), self.min_power))
        return ops.maximum(loudness, ops.max(loudness) - self.top_db)


class STFTSpectrogram(Layer):
    """A short-time Fourier transform as a convolution, whose kernels may be trained.

    Args:
        mode: "log", "magnitude", "psd" (power), "real", "imag", "angle" or "stft" (real, then
            imaginary parts).
        frame_length: length of a frame, in samples.
        frame_step: from one frame to the next; half of `frame_length` if None.
        fft_length: length of the transforms; the next power of 2 if None.
        window: window function that frames are multiplied by; see `keras.initializers.STFT`.
        periodic: whether the window is periodic, not symmetric.
        scaling: "density", "spectrum" or None; see `keras.initializers.STFT`.
        padding: "valid", or "same" with zeros around.
        expand_dims: whether channels have an axis of their own.
        data_format: "channels_last" or "channels_first".
        **options: see Layer.

    Shapes:
        x [batch, samples, channels] → [batch, frames, channels · frequencies], or with
        `expand_dims` [batch, frames, frequencies, channels]; channels first likewise.

    Raises:
        ValueError: unknown mode, scaling, padding or window, or lengths that do not fit.
    """

    def __init__(
        self,
        mode: str = "log",
        frame_length: int = 256,
        frame_step: int | None = None,
        fft_length: int | None = None,
        window: Any = "hann",
        periodic: bool = False,
        scaling: str | None = "density",
        padding: str = "valid",
        expand_dims: bool = False,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        who = "STFTSpectrogram"
        if frame_step is not None and not 1 <= frame_step <= frame_length:
            raise ValueError(
                f"{who}: `frame_step` should be a positive integer not greater than "
                f"`frame_length`, got {frame_step} and {frame_length}"
            )
        if fft_length is not None and fft_length < frame_length:
            raise ValueError(
                f"{who}: `fft_length` should be not less than `frame_length`, got {fft_length} "
                f"and {frame_length}"
            )
        if fft_length is not None and fft_length & (fft_length - 1):
            told = f"{who}: `fft_length` is recommended to be a power of two, got {fft_length}"
            warnings.warn(told, stacklevel=2)
        for argument, given, known in (
            ("Output mode", mode, _MODES),
            ("Scaling", scaling, SCALINGS),
            ("Padding", padding, ("valid", "same")),
        ):
            if given not in known:
                words = ", ".join(map(str, known))
                raise ValueError(
                    f"{who}: {argument} is invalid, it must be one of {words}, got {given!r}"
                )
        checked_window(who, window)
        self.mode = mode
        self.frame_length = frame_length
        self.frame_step = frame_step
        self.fft_length = fft_length
        self.window = window
        self.periodic = periodic
        self.scaling = scaling
        self.padding = padding
        self.expand_dims = expand_dims
        self.data_format = checked_format(who, data_format)
        self.input_spec = InputSpec(ndim=3)

    # A mode may not need both.
    real_kernel: Variable
    imag_kernel: Variable

    @property
    def _bins(self) -> int:
        whole = self.fft_length or 2 ** math.ceil(math.log2(self.frame_length))
        return whole // 2 + 1

    def build(self, x: TensorSpec) -> None:
        """Create the kernels."""
        del x
        shape = [self.frame_length, 1, self._bins]
        for side in ("real", "imag"):
            if self.mode != {"real": "imag", "imag": "real"}[side]:
                start = STFT(side, self.window, self.scaling, self.periodic)
                setattr(self, f"{side}_kernel", self.add_weight(f"{side}_kernel", shape, start))

    def call(self, inputs: Tensor) -> Tensor:
        """The spectrogram."""
        if self.mode in {"real", "imag"}:
            return self._arranged(self._frames(inputs, getattr(self, f"{self.mode}_kernel")))
        real = self._frames(inputs, self.real_kernel)
        imaginary = self._frames(inputs, self.imag_kernel)
        if self.mode == "angle":
            return self._arranged(ops.arctan2(imaginary, real))
        if self.mode == "stft":
            return self._arranged(ops.concatenate([real, imaginary], -1))
        power = ops.square(real) + ops.square(imaginary)
        if self.mode == "psd":
            # Frequencies other than 0 and the Nyquist frequency also represent negative ones.
            twice = ops.pad(power[..., 1:-1], [[0, 0], [0, 0], [0, 0], [1, 1]])
            return self._arranged(power + twice)
        strength = self._arranged(ops.sqrt(ops.maximum(power, epsilon())))
        return strength if self.mode == "magnitude" else ops.log(ops.maximum(strength, epsilon()))

    def _frames(self, x: Tensor, kernel: Any) -> Tensor:
        """The transforms of every channel, [batch, channels, frames, frequencies]."""
        if self.data_format == "channels_last":
            x = ops.transpose(x, [0, 2, 1])
        _, channels, samples = ops.shape(x)
        step = self.frame_step or self.frame_length // 2
        rows = ops.reshape(x, [-1, samples, 1])
        found = ops.conv(rows, ops.cast(kernel, x.dtype), step, self.padding)
        return ops.reshape(found, [-1, channels, *ops.shape(found)[1:]])

    def _arranged(self, x: Tensor) -> Tensor:
        last = self.data_format == "channels_last"
        if self.expand_dims:
            return ops.transpose(x, [0, 2, 3, 1]) if last else x
        _, channels, frames, bins = ops.shape(x)
        if last:
            return ops.reshape(ops.transpose(x, [0, 2, 1, 3]), [-1, frames, channels * bins])
        return ops.reshape(ops.transpose(x, [0, 1, 3, 2]), [-1, channels * bins, frames])
