"""Readers of the operators, one file per subject; importing this package registers them all."""

from pinnace.deploy.lite.reading.operators import (
    arithmetic,
    arrays,
    choices,
    control,
    convolution,
    custom,
    images,
    products,
    quantisation,
    recurrent,
    reduction,
    spectra,
    stablehlo,
    streaming,
)

__all__ = [
    "arithmetic",
    "arrays",
    "choices",
    "control",
    "convolution",
    "custom",
    "images",
    "products",
    "quantisation",
    "recurrent",
    "reduction",
    "spectra",
    "stablehlo",
    "streaming",
]
