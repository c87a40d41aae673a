"""Fourier transforms."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "the exporter has no complex numbers, which ONNX keeps as pairs of real ones",
    "FFT",
    "IFFT",
    "RFFT",
    "IRFFT",
    "FFT2D",
    "IFFT2D",
    "RFFT2D",
    "IRFFT2D",
    "FFT3D",
    "IFFT3D",
    "RFFT3D",
    "IRFFT3D",
    "FFTND",
    "IFFTND",
    "RFFTND",
    "IRFFTND",
)
