"""Readers of the operators, one file for each subject. Importing this package registers all."""

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
